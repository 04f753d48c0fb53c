"""Sentences of the page, for each decision, kind, count and time."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest

UI = Path(__file__).parents[2] / "daemon" / "ui"
SCRIPT = Path(__file__).parent / "call_functions.js"
NODE = shutil.which("node")
LABEL = "$label"
DECISIONS = ("approved", "denied", "once more", "retry", "done")
STATUSES = ("waiting", "ready", "calling", "parked", "done", "denied", "failed", "cancelled")
NOW = "2026-03-01T12:00:00Z"
NOW_MS = 1_772_366_400_000
BROKEN = re.compile(r"\bit it\b|\bagain it\b|\b(\w+) \1\b|undefined|null|NaN|  | [.,:;]|\.\.|“”|\d\. time|\b1 \w+s\b")
pytestmark = pytest.mark.skipif(
    NODE is None or not (UI / "node_modules" / "rolldown").exists(), reason="needs node, and npm ci in daemon/ui"
)


def js(*calls: Any) -> list[Any]:
    """Call functions of the page's source."""
    text = "\n".join(json.dumps(call) for call in calls)
    command = [NODE or "", str(SCRIPT), str(UI)]
    answer = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    found: list[Any] = json.loads(answer.stdout)
    return found


def event(kind: str, **more: Any) -> dict[str, Any]:
    return {"seq": 1, "type": kind, "at": NOW, **more}


def gate(**more: Any) -> dict[str, Any]:
    usual = {
        "label": "Pay the vendor",
        "kind": "task",
        "tier": "high",
        "visit": 1,
        "signals": [],
        "missing": [],
        "reason": "",
    }
    return {**usual, "decisions": ["approved", "denied"], **more}


def visit(**more: Any) -> dict[str, Any]:
    return {"status": "done", "verdict": None, "resolved_by": None, **more}


def joined(found: Any) -> str:
    """Join the parts of a result."""
    if isinstance(found, list):
        return "Pay".join(found)
    if isinstance(found, dict):
        names = ("before", "by", "after") if "before" in found else ("by", "space", "text")
        return "".join(one for one in ({**found, "space": " "}[name] for name in names) if one).strip()
    return str(found or "")


def test_a_decision_is_told_of_a_step_by_its_label() -> None:
    assert js(*(["describeDecision", one, "“Pay the vendor”"] for one in DECISIONS)) == [
        "approved “Pay the vendor”",
        "denied “Pay the vendor”",
        "chose “Once more” at “Pay the vendor”",
        "sent “Pay the vendor” again",
        "marked “Pay the vendor” as done",
    ]


def test_a_decision_is_told_of_what_is_before_one() -> None:
    assert js(*(["describeDecision", one] for one in DECISIONS)) == [
        "approved it",
        "denied it",
        "chose “Once more”",
        "sent it again",
        "marked it as done",
    ]


def test_who_decided_begins_a_sentence() -> None:
    names = ("ada@example.test", "bob@example.test", "autopilot", "deadline")
    assert js(*(["actorName", name, "ada@example.test"] for name in names)) == [
        "You",
        "bob@example.test",
        "The autopilot",
        "The deadline",
    ]


def test_counts_and_lists_are_spelled_out() -> None:
    assert js(*(["ordinal", count] for count in (1, 2, 3, 4, 11, 12, 13, 21, 22, 103))) == [
        "1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "22nd", "103rd",
    ]  # fmt: skip
    assert js(*(["common", "findings", {"count": count}] for count in (0, 1, 2, 1_000))) == [
        "0 findings",
        "1 finding",
        "2 findings",
        "1,000 findings",
    ]
    assert js(*(["formatList", list(names)] for names in ("A", "AB", "ABC"))) == ["A", "A and B", "A, B and C"]
    assert js(*(["aRole", role] for role in ("manager", "owner", "admin"))) == ["a manager", "the owner", "an admin"]


def test_no_digit_of_a_number_or_an_amount_is_dropped() -> None:
    small = "0." + "1" * 24
    assert js(["formatNumber", 1.5e-30], ["formatMoney", "1250.5", "EUR"], ["formatMoney", small, "EUR"]) == [
        "0." + "0" * 29 + "15",
        "€1,250.50",
        f"EUR {small}",
    ]


def person(email: str, role: str, name: str | None = None, status: str = "active") -> dict[str, Any]:
    return {"id": email, "email": email, "name": name, "role": role, "status": status}


def policy(role: str = "manager", groups: Sequence[str] = (), **more: Any) -> dict[str, Any]:
    return {"role": role, "groups": groups, "quorum": 1, "denials": 1, "four_eyes": [], "on_deadline": None, **more}


def test_the_rules_of_a_gate_are_said_in_words() -> None:
    later = {"escalate": "admin", "again": "P1BD", "then": "denied"}
    assert js(
        ["quorumText", policy()],
        ["quorumText", policy(quorum=2)],
        ["quorumText", policy(denials=2)],
        ["fourEyesText", policy(four_eyes=["starter", "gate:list"]), "$label"],
        ["deadlineText", policy(on_deadline="denied"), False],
        ["deadlineText", policy(on_deadline="send_back"), False],
        ["deadlineText", policy(on_deadline=later), False],
        ["deadlineText", policy(on_deadline=later), True],
        *(["durationText", text] for text in ("PT72H", "P3BD", "P1M2D", "PT1H30M")),
    ) == [
        None,
        "2 people have to agree, 1 denial is enough to deny.",
        "1 person is enough to approve, 2 denials are enough to deny.",
        "Not who started the run or decided at “Watch list”.",
        "Then it is denied.",
        "Then “Send back” is taken.",
        "Then an admin may decide, too, and 1 business day later it is denied.",
        "Then it is denied.",
        *("72 hours", "3 business days", "1 month and 2 days", "1 hour and 30 minutes"),
    ]


def test_a_deadline_is_told_as_what_is_left() -> None:
    noon = 1_767_268_800_000
    due = "2026-01-01T12:00:00Z"
    befores = (90_061, 3_660, 600, 90, 0)
    assert [one.split(" since ")[0] for one in js(*(["dueText", due, noon - left * 1_000] for left in befores))] == [
        "Due in 1 d 1 h",
        "Due in 1 h 1 min",
        "Due in 10 min",
        "Due in 90 s",
        "Overdue",
    ]


def asking(role: str = "manager", groups: Sequence[str] = (), bound: bool | None = None) -> dict[str, Any]:
    """A gate that asks for a role and groups, and for a function that is bound or not."""
    filled = {"id": "medical-director", "label": "Medical director", "bound": bound}
    return gate(policy=policy(role, groups), function=None if bound is None else filled)


def test_who_decides_is_told_by_roles() -> None:
    assert js(*(["decidersText", asking(role)] for role in ("manager", "admin", "owner"))) == [
        "A manager, admin or owner decides here.",
        "An admin or owner decides here.",
        "The owner decides here.",
    ]
    assert js(["decidersText", asking(groups=["finance", "board"])], ["decidersText", asking("owner", ["board"])]) == [
        "A manager, admin or owner of the group finance or board decides here.",
        "The owner of the group board decides here.",
    ]
    assert js(*(["roleSentence", role] for role in ("viewer", "admin", "owner"))) == [
        "You are a viewer.",
        "You are an admin.",
        "You are the owner.",
    ]


def test_who_decides_is_told_by_a_function_and_what_stands_in_for_nobody() -> None:
    assert js(
        ["decidersText", asking("admin", ["board"], bound=True)],
        ["decidersText", asking(bound=False)],
        ["decidersText", asking("admin", ["board"], bound=False)],
        ["whyNotText", "function", asking(bound=True), {}, "ada@a.test", LABEL],
    ) == [
        "Who fills the function Medical director decides here, whatever their role.",
        "Nobody is bound to Medical director: any manager decides.",
        "Nobody is bound to Medical director: any admin of the group board decides.",
        "Who fills the function Medical director decides here, whatever their role. You are not bound to it.",
    ]


def test_those_who_may_decide_are_named() -> None:
    people = [person("ada@a.test", "owner", "Ada"), person("bob@a.test", "manager")]
    many = [person(f"m{number}@a.test", "manager", f"M{number}") for number in range(7)]
    all_of_them = [one["email"] for one in many]
    assert js(
        ["namedDeciders", people, ["bob@a.test", "ada@a.test"], 2, "conjunction"],
        ["namedDeciders", people, ["ada@a.test", "gone@a.test"], 2, "disjunction"],
        ["namedDeciders", people, [], 0, "conjunction"],
        ["namedDeciders", many, all_of_them, 7, "conjunction"],
        ["namedDeciders", many, all_of_them[:6], 6, "conjunction"],
        ["namedDeciders", many, all_of_them, 40, "conjunction"],
    ) == [
        "bob@a.test and Ada",
        "Ada or gone@a.test",
        None,
        "M0, M1, M2, M3, M4 and 2 others",
        "M0, M1, M2, M3, M4 and 1 other",
        "M0, M1, M2, M3, M4 and 35 others",
    ]


def test_a_name_that_several_have_comes_with_the_address() -> None:
    people = [person("A1@a.test", "member", "Ada"), person("a2@a.test", "member", "Ada"), person("b@a.test", "member")]
    assert js(["memberNames", people]) == [
        {"a1@a.test": "Ada (A1@a.test)", "a2@a.test": "Ada (a2@a.test)", "b@a.test": "b@a.test"}
    ]


def test_a_proposal_is_told_with_its_confidence() -> None:
    told = js(
        *(
            ["describeEvent", event("proposal_made", step_id="pay", decision="approved", by="bot", **more), LABEL]
            for more in ({}, {"confidence": 0.86}, {"confidence": 0.9999}, {"confidence": 1})
        )
    )
    assert [one["text"] for one in told] == [
        "proposed “Approve” at “Pay the vendor”",
        "proposed “Approve” at “Pay the vendor” with a confidence of 86 %",
        "proposed “Approve” at “Pay the vendor” with a confidence of 99.9 %",
        "proposed “Approve” at “Pay the vendor” with a confidence of 100 %",
    ]


@pytest.mark.parametrize(
    ("seconds", "since", "duration"),
    [
        (0, "just now", "for less than a minute"),
        (59, "just now", "for less than a minute"),
        (60, "1 minute ago", "for 1 minute"),
        (150, "2 minutes ago", "for 2 minutes"),
        (3_600, "1 hour ago", "for 1 hour"),
        (7_300, "2 hours ago", "for 2 hours"),
        (86_400, "yesterday", "for 1 day"),
        (432_000, "5 days ago", "for 5 days"),
        (-5, "just now", "for less than a minute"),
    ],
)
def test_a_time_is_told_as_a_moment_and_as_a_duration(seconds: int, since: str, duration: str) -> None:
    now = NOW_MS + seconds * 1_000
    assert js(["timeAgo", NOW, now], ["elapsedTime", NOW, now]) == [since, duration]


def test_a_duration_never_says_sixty() -> None:
    ends = ("12:00:00.250Z", "12:00:59.990Z", "12:01:59.900Z", "13:59:59.900Z")
    assert js(*(["formatDuration", NOW, f"2026-03-01T{end}"] for end in ends)) == [
        "250 ms",
        "59.9 s",
        "1 min 59 s",
        "1 h 59 min",
    ]


def test_a_step_is_called_by_its_kind() -> None:
    nodes = [{"kind": kind, "gate": False} for kind in ("task", "gate", "wait", "end", "note")]
    told = js(*(["nodeKindLabel", node] for node in [*nodes, {"kind": "task", "gate": True}]))
    assert told == ["Automatic step", "Sign-off", "Wait", "End", "Note", "Step that needs approval"]


def test_a_history_names_people_where_people_did_it() -> None:
    by = "ada@example.test"
    told = js(
        ["describeEvent", event("run_started", by=by), LABEL],
        ["describeEvent", event("step_entered", step_id="pay", visit=1), LABEL],
        ["describeEvent", event("step_entered", step_id="pay", visit=2), LABEL],
        ["describeEvent", event("step_entered", step_id="pay", visit=2, by=by), LABEL],
        ["describeEvent", event("step_entered", step_id="pay", waiting=True), LABEL],
        ["describeEvent", event("step_cleared", step_id="pay", by="autopilot"), LABEL],
        ["describeEvent", event("step_cleared", step_id="pay", by=by), LABEL],
        ["describeEvent", event("step_cleared", step_id="pay", by="autopilot", branch="in policy"), LABEL],
        ["describeEvent", event("call_settled", step_id="pay", by="autopilot"), LABEL],
        ["describeEvent", event("call_settled", step_id="pay", error={"detail": "The bank said no."}), LABEL],
        ["describeEvent", event("gate_opened", step_id="pay"), LABEL],
        ["describeEvent", event("run_ended", status="completed", outcome="paid"), LABEL],
        ["describeEvent", event("run_ended", status="cancelled", by=by), LABEL],
        ["describeEvent", event("run_ended", status="failed", error={"detail": "Too many steps."}), LABEL],
        ["describeEvent", event("gate_changed", step_id="pay"), LABEL],
    )
    assert [f"{one['by'] or ''} {one['text']}".strip() for one in told] == [
        "ada@example.test started the run",
        "“Pay the vendor” started",
        "“Pay the vendor” started for the 2nd time",
        "ada@example.test retried “Pay the vendor”",
        "“Pay the vendor” waits for its other branches",
        "“Pay the vendor” was cleared to run",
        "ada@example.test cleared “Pay the vendor” to run",
        "“Pay the vendor” went on to “in policy”",
        "“Pay the vendor” finished",
        "“Pay the vendor” failed: The bank said no",
        "“Pay the vendor” waits for a decision",
        "The run completed: Paid",
        "ada@example.test cancelled the run",
        "The run failed: Too many steps",
        "Gate changed: “Pay the vendor”",
    ]


def test_what_becomes_of_clocks_and_of_broken_glass_is_told() -> None:
    by, clock = "ada@example.test", {"clock": "notice"}
    told = js(
        ["describeEvent", event("clock_started", **clock, label="Decision"), LABEL],
        ["describeEvent", event("clock_paused", **clock, during="list"), LABEL],
        ["describeEvent", event("clock_resumed", **clock), LABEL],
        ["describeEvent", event("clock_extended", **clock), LABEL],
        ["describeEvent", event("clock_rescheduled", **clock), LABEL],
        ["describeEvent", event("clock_warned", **clock), LABEL],
        ["describeEvent", event("clock_breached", **clock), LABEL],
        ["describeEvent", event("clock_stopped", **clock, stopped_by="pay"), LABEL],
        ["describeEvent", event("clock_stopped", **clock, reason="withdrawn"), LABEL],
        ["describeEvent", event("glass_broken", by=by), LABEL],
        ["describeEvent", event("glass_mended", reader=by), LABEL],
    )
    assert [f"{one['by'] or ''} {one['text']}".strip() for one in told] == [
        "The clock “Decision” started",
        "The clock “Notice” stands still",
        "The clock “Notice” goes on",
        "The clock “Notice” was extended",
        "The clock “Notice” was moved",
        "The clock “Notice” is close to its end",
        "The clock “Notice” was breached",
        "“Pay the vendor” stopped the clock “Notice”",
        "The clock “Notice” stopped",
        "ada@example.test broke the glass to read this run",
        "The hour is over in which ada@example.test read this run by breaking the glass",
    ]
    dated = js(["describeEvent", event("clock_warned", **clock, due_at="2026-03-08T12:00:00Z"), LABEL])
    assert re.fullmatch("The clock “Notice” is close to its end: due Mar 8, 2026, .+", dated[0]["text"])


def test_what_becomes_of_the_action_of_an_agent_is_told() -> None:
    by = "ada@example.test"
    told = js(
        ["describeEvent", event("gate_asked", step_id="pay", by=by, text="Why twice?"), LABEL],
        ["describeEvent", event("gate_answered", step_id="pay", by="helper", text="The bank did."), LABEL],
        ["describeEvent", event("call_granted", step_id="pay"), LABEL],
        ["describeEvent", event("call_consumed", step_id="pay", by="helper"), LABEL],
        ["describeEvent", event("call_consumed", step_id="pay"), LABEL],
    )
    assert [f"{one['by'] or ''} {one['text']}".strip() for one in told] == [
        "ada@example.test asked the agent at “Pay the vendor”: “Why twice?”",
        "helper answered the question at “Pay the vendor”: “The bank did.”",
        "The agent may make the call of “Pay the vendor”, once",
        "helper makes the call of “Pay the vendor” now",
        "The agent makes the call of “Pay the vendor”",
    ]


STARTED, DUE = "2026-03-01T12:00:00Z", "2026-03-08T12:00:00Z"
DAY_MS = 86_400_000


def clock(state: str = "running", **more: Any) -> dict[str, Any]:
    """A clock of a week."""
    usual = {
        "id": "notice",
        "label": "Notice",
        "state": state,
        "started_at": STARTED,
        "due_at": DUE,
        "paused_s": 0,
        "extended": 0,
        "breached_at": None,
        "stopped_at": None,
        "stopped_by": None,
        "reason": None,
        "source": None,
        "assumed": [],
    }
    return {**usual, **more}


def rule(within: str = "P7D", **more: Any) -> dict[str, Any]:
    usual = {"id": "notice", "stops": ["pay"], "pauses": [], "extend": None, "warn": []}
    return {**usual, "within": within, **more}


def test_a_clock_says_how_much_is_left_of_what() -> None:
    def read(one: dict[str, Any], by: dict[str, Any] | None, days: float) -> Any:
        now = NOW_MS + int(days * DAY_MS)
        return ["readClock", one, by, now, now]

    stopped = clock("stopped", stopped_at="2026-03-06T11:00:05Z", stopped_by="pay")
    late = {**stopped, "stopped_at": "2026-03-09T12:00:01Z", "breached_at": DUE}
    more = {"at": "list", "decision": "extended", "by": "P14D", "once_done": "pay"}
    longer = clock(extended=1, due_at="2026-03-22T12:00:00Z")
    found = js(
        read(clock(), rule(), 2.5),
        read(clock(), rule("PT168H"), 6.999),
        read(clock(), rule("inputs.expedited ? 'PT72H' : 'P7D'"), 2),
        read(clock(paused_s=86_400), None, 2),
        read(longer, rule(extend=more), 2),
        read(clock("breached", breached_at=DUE), rule("P5BD"), 8.25),
        read(stopped, rule(), 30),
        read({**stopped, "stopped_by": None, "reason": "withdrawn"}, rule(), 30),
        read(late, rule(), 30),
        read(clock(due_at=None), rule(), 2),
    )
    assert [one["text"] for one in found] == [
        "4 d 12 h left of 7 days",
        "1 min 26 s left of 168 hours",
        "5 d left of 7 d",
        "5 d left of 6 d",
        "19 d left of 7 days and 14 days",
        "Breached: 1 d 6 h over the 5 business days",
        "Done with 2 d 59 min 55 s left of 7 days",
        "Stopped with 2 d 59 min 55 s left of 7 days",
        "Done late: 1 d 1 s over the 7 days",
        "How long it is, is not known yet",
    ]
    assert [one["state"] for one in found[-4:]] == ["stopped", "stopped", "late", "running"]


def test_a_clock_that_stands_still_has_as_much_left_as_when_it_was_looked_at() -> None:
    seen = NOW_MS + 2 * DAY_MS
    first, later = js(*(["readClock", clock("paused"), rule(), seen + ms, seen] for ms in (0, DAY_MS)))
    assert first["text"] == later["text"] == "5 d left of 7 days"


def test_a_clock_is_near_its_end_once_its_template_warns() -> None:
    warned = rule(warn=["P2D", "PT12H"])
    found = js(*(["readClock", clock(), warned, NOW_MS + days * DAY_MS, 0] for days in (4, 5, 6)))
    assert [one["near"] for one in found] == [False, True, True]


def test_why_a_gate_waits_is_a_sentence() -> None:
    reasons = [
        gate(reason="tier critical needs a human verdict", tier="critical"),
        gate(reason="the signal of list is not decided yet", signals=["list"]),
        gate(reason="the signal of list, bank is not decided yet", signals=["list", "bank"]),
        gate(reason="the input member_id is missing"),
        gate(reason="the input member_id is missing", missing=["/member_id"]),
        gate(reason="the input member_id is missing", missing=["/member_id", "/amount"]),
        gate(reason="tier high needs a human verdict, and the input member_id is missing", missing=["/member_id"]),
        gate(reason="changed since approval"),
        gate(reason="failed after it may have been sent"),
        gate(reason="the condition inputs.a > 1 has no clear answer: no such key: a."),
        gate(reason="something new"),
    ]
    assert js(*(["gateReason", one, LABEL] for one in reasons)) == [
        "Steps of critical risk always wait for a person.",
        "Signal raised by “Watch list”. A person reviews it first.",
        "Signals raised by “Watch list” and “Bank check”. A person reviews them first.",
        "The input “Member id” is missing.",
        "The input “Member id” is missing.",
        "The inputs “Member id” and “Amount” are missing.",
        "Steps of high risk always wait for a person. The input “Member id” is missing.",
        "The connector of this call changed after the approval, so the call was not sent. Review the current call.",
        "This call failed and may have reached the endpoint. It is sent again only if you decide so.",
        "The condition inputs.a > 1 has no clear answer: no such key: a.",
        "Something new.",
    ]


def test_sending_again_is_told_once() -> None:
    verdict = event("verdict_given", by="ada", decision="retry", step_id="pay")
    again = event("step_entered", by="ada", step_id="pay", visit=2)
    assert js(["repeatsVerdict", again, verdict], ["repeatsVerdict", again, {**verdict, "decision": "approved"}]) == [
        True,
        False,
    ]


def test_a_call_is_not_said_to_have_been_sent_when_it_was_not() -> None:
    verdict = {"by": "ada", "decision": "approved"}
    states = js(
        ["callState", visit(status="parked"), gate()],
        ["callState", visit(status="parked"), gate(reason="outcome unknown")],
        ["callState", visit(status="calling", verdict=verdict), None],
        ["callState", visit(status="done", verdict=verdict), None],
        ["callState", visit(status="failed", verdict=verdict), None],
        ["callState", visit(status="failed", verdict={**verdict, "decision": "retry"}), None],
        ["callState", visit(status="denied", verdict={**verdict, "decision": "denied"}), None],
        ["callState", visit(status="done", verdict={**verdict, "decision": "done"}), None],
        ["callState", visit(status="cancelled"), None],
        ["callState", visit(status="cancelled", resolved_by="ada", verdict=verdict), None],
    )
    assert states == [
        "planned",
        "unknown",
        "running",
        "sent",
        "failed",
        "unknown",
        "not_sent",
        "confirmed",
        "not_sent",
        "interrupted",
    ]
    (unsent, sent, shadow) = js(
        ["describeCall", "live", "not_sent"], ["describeCall", "live", "sent"], ["describeCall", "shadow", "not_sent"]
    )
    assert "was not sent" in unsent
    assert sent == "This call was sent."
    assert shadow == "This call was not sent."


def test_no_combination_is_broken() -> None:
    calls: list[Any] = []
    for decision, status, by in product(DECISIONS, STATUSES, ("ada@example.test", "autopilot")):
        verdict = {"by": by, "decision": decision}
        calls.append(["stepActor", visit(status=status, verdict=verdict, resolved_by=by), "Done"])
        calls.append(["stepActor", visit(status=status, resolved_by=by), "Done"])
        calls.append(["describeEvent", event("verdict_given", by=by, decision=decision, step_id="pay"), LABEL])
    for kind, reason, decision in product(("task", "gate", "gateway"), ("", "outcome unknown"), DECISIONS):
        calls.append(["gateQuestion", gate(kind=kind, reason=reason, decisions=[decision])])
    for call, found in zip(calls, js(*calls), strict=True):
        text = joined(found).replace("Once more", "once")
        assert not BROKEN.search(text), (call, text)


def test_an_answer_is_read_as_json_or_as_lines() -> None:
    assert js(
        ["parseToolOutput", ""],
        ["parseToolOutput", '{"a": [1]}'],
        ["parseToolOutput", "reference = PAY-77\namount: 15000\npaid = true"],
        ["parseToolOutput", "a = 1\na = 2"],
        ["parseToolOutput", '{"a": '],
        ["parseToolOutput", "no value"],
    ) == [
        {},
        {"value": {"a": [1]}},
        {"value": {"reference": "PAY-77", "amount": 15000, "paid": True}},
        {"error": "Names a twice"},
        {"error": "Must be JSON, or lines of the form name = value"},
        {"error": "Must be JSON, or lines of the form name = value"},
    ]


def test_a_change_of_what_an_approval_reaches_is_named() -> None:
    bank = {"origin": "https://bank.example.com", "method": "POST", "path": "/pay", "version": 3}
    reach = {
        "step_id": "pay",
        "label": "Pay",
        "tool": "pay",
        "decisions": ["approved"],
        "mode": "shadow",
        "connector": bank,
        "call": None,
    }
    asked = {**gate(), "effect": None, "effects": [reach]}

    def after(**more: Any) -> dict[str, Any]:
        changed = {**asked, "effects": [{**reach, **more}]}
        return {"run": {"inputs": {}, "facts": {}}, "gate": changed}

    before = after()
    assert js(
        ["gateDifferences", before, after(mode="live")],
        ["gateDifferences", before, after(connector={**bank, "path": "/v2", "version": 4})],
        ["gateDifferences", before, {**before, "gate": {**asked, "effects": []}}],
        ["gateDifferences", {**before, "gate": {**asked, "effects": []}}, after(mode="live")],
    ) == [
        ["“Pay” was a dry run and is now live."],
        ["The connector of “Pay” changed: it now calls POST https://bank.example.com/v2 (version 4)."],
        ["“Pay” is no longer sent."],
        ["“Pay” can now be sent."],
    ]


def test_a_gate_that_nobody_can_pass_counts_no_people_where_there_are_none() -> None:
    one, more = (
        js(["describeEvent", event("gate_blocked", step_id="pay", needed=needed, eligible=eligible), LABEL])[0]["text"]
        for needed, eligible in ((1, 0), (2, 1))
    )
    assert one == "“Pay the vendor” needs somebody who may decide, and there is nobody"
    assert more == "“Pay the vendor” needs 2 people, and only 1 may decide"


def test_why_a_step_went_on_is_a_sentence_of_the_page() -> None:
    reasons = ("tier low is cleared by the autopilot", "tier high needs a human verdict", "no other branch applies")
    assert js(*(["stepReason", reason] for reason in (*reasons, "inputs.amount > 3 holds"))) == [
        "Steps of low risk go on without a person.",
        "Steps of high risk always wait for a person.",
        "No other branch applies.",
        "inputs.amount > 3 holds.",
    ]
