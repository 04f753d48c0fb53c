"""Clocks of the law: when they begin, stand still, get more time, are breached, and stop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from msgspec import structs

from actors.core.eligibility import Decider, Setting, why_not
from actors.core.gate_policy import AnchoredDeadline, Escalation
from actors.core.kinds import TURN_STEPS_MAX
from actors.core.messages import ClockBreached, ClockStarted, ClockStopped, Elapsed
from actors.core.people import Company, Person
from actors.core.preview import Lapse, RehearsedVerdict, rehearse
from actors.core.run import Clock
from actors.core.schedule import BusinessCalendar, Duration, duration
from actors.core.template import ClockExtension, ClockRule, ConditionFailed, Node, Template
from tests.conversations import MORNING, Conversation, fold
from tests.processes import choice, connector, end, gate, parallel, process, task, wait

DAY, HOUR = timedelta(days=1), timedelta(hours=1)
MINUTE = timedelta(minutes=1)
FRIDAY = datetime(2026, 3, 6, 16, 0, tzinfo=UTC)
WORKDAYS = BusinessCalendar()


@dataclass(frozen=True)
class Told:
    """An expression made of a Python function; where that finds no key there is no clear answer."""

    text: str
    answer: Callable[..., Any]
    reads: tuple[str, ...] = ()

    def time(self, *about: Any) -> Any:
        try:
            return self.answer(*about)
        except KeyError as missing:
            raise ConditionFailed(f"there is no {missing}") from missing

    duration = time


RECEIVED = Told("inputs.received", lambda inputs, *_: datetime.fromisoformat(inputs["received"]))
SPEED = Told("inputs.urgent ? 'PT72H' : 'P7D'", lambda inputs, _: "PT72H" if inputs["urgent"] else "P7D")


def ruled(within: Any = "P7D", stops: tuple[str, ...] = ("send",), **rule: Any) -> ClockRule:
    return ClockRule(**{"id": "notice", "label": "Decision and notice", "within": within, "stops": stops, **rule})


def clocked(*nodes: Node, ways: str, clocks: tuple[ClockRule, ...], **more: Any) -> Template:
    return replace(process(*nodes, ways=ways, **more), clocks=clocks)


def deciding(rule: ClockRule | None = None, **policy: Any) -> Conversation:
    """A sign-off, the notice, and the end; the clock runs until the notice is sent."""
    nodes = (gate("signoff", **policy), task("send"), end())
    return Conversation(clocked(*nodes, ways="signoff -> send -> end", clocks=(rule or ruled(),)))


def asking(rule: ClockRule | None = None) -> Conversation:
    """As above, behind a wait for records and a choice whether to ask for them again."""
    nodes = (wait("records", message="came", within="P30D"), gate("signoff"), task("send"), end())
    ways = "records -[message]-> signoff -> send -> end\nrecords -[timeout]-> signoff\nsignoff -[denied]-> records"
    return Conversation(clocked(*nodes, ways=ways, clocks=(rule or ruled(pauses=("records",)),)))


def happened(talk: Conversation) -> tuple[str, ...]:
    return talk.events


def the_clock(talk: Conversation, clock_id: str = "notice") -> Clock:
    found = talk.run.clock(clock_id)
    assert found is not None
    assert fold(talk.history) == talk.run
    return found


# ------------------------------------------------------------------------------------- beginning


def test_a_clock_counts_from_the_start_of_the_run_until_its_act_is_done() -> None:
    talk = deciding().start()
    assert happened(talk) == ("run_started", "clock_started", "step_entered", "gate_opened")
    assert (the_clock(talk).state, the_clock(talk).due_at) == ("running", MORNING + 7 * DAY)
    assert talk.run.wake_at == talk.run.clock_due_at == MORNING + 7 * DAY
    talk.resume("signoff")
    assert happened(talk) == (
        "verdict_given",
        "step_entered",
        "call_settled",
        "clock_stopped",
        "step_entered",
        "run_ended",
    )
    stopped = the_clock(talk)
    assert (stopped.state, stopped.stopped_by, stopped.stopped_at) == ("stopped", "send", MORNING + MINUTE)
    assert (talk.run.wake_at, talk.run.clock_due_at, stopped.breached_at) == (None, None, None)


def test_a_clock_counts_from_the_time_that_an_expression_gives() -> None:
    talk = deciding(ruled(since=RECEIVED)).start({"received": "2026-03-01T09:00:00Z"})
    assert (the_clock(talk).started_at, the_clock(talk).due_at) == (MORNING - DAY, MORNING + 6 * DAY)


def test_without_a_clear_start_it_counts_from_the_start_of_the_run_until_there_is_one() -> None:
    nodes = (gate("signoff"), task("look", needs=("inputs.received",)), task("send"), end())
    template = clocked(*nodes, ways="signoff -> look -> send -> end", clocks=(ruled(since=RECEIVED),))
    talk = Conversation(template).start()
    assert (the_clock(talk).assumed, the_clock(talk).started_at) == (("from",), MORNING)
    talk.resume("signoff")
    assert talk.parked == ["look"]
    talk.resume("look", inputs={"received": "2026-02-27T09:00:00Z"})
    assert "clock_rescheduled" in happened(talk)
    assert (the_clock(talk).assumed, the_clock(talk).started_at) == ((), MORNING - 3 * DAY)
    assert the_clock(talk).due_at == MORNING + 4 * DAY


@pytest.mark.parametrize(("inputs", "due"), [({"urgent": True}, 3), ({"urgent": False}, 7), ({}, 3)])
def test_without_a_clear_length_the_shortest_that_the_expression_names_counts(inputs: dict[str, Any], due: int) -> None:
    talk = deciding(ruled(within=SPEED)).start(inputs)
    assert the_clock(talk).due_at == MORNING + due * DAY
    assert the_clock(talk).assumed == (() if inputs else ("within",))


def test_a_length_that_nobody_knows_is_asked_for_again_when_facts_change() -> None:
    length = Told("facts.look.within", lambda _, facts: facts["look"]["ok"] and "P2D")
    nodes = (gate("signoff"), task("look"), gate("last"), task("send"), end())
    template = clocked(*nodes, ways="signoff -> look -> last -> send -> end", clocks=(ruled(within=length),))
    talk = Conversation(template).start()
    assert (the_clock(talk).due_at, talk.run.wake_at) == (None, None)
    live = Conversation(template, connectors={"look": connector("look")}).start()
    live.resume("signoff")
    live.returned("look", output={"ok": True})
    assert (the_clock(live).due_at, the_clock(live).assumed) == (MORNING + 2 * DAY, ())


def test_a_time_that_no_case_counts_from_is_no_clear_answer() -> None:
    far = Told("far", lambda *_: datetime(9_999, 12, 31, tzinfo=UTC))
    assert the_clock(deciding(ruled(since=far)).start()).assumed == ("from",)


def test_a_clock_of_a_step_begins_when_that_was_done_for_the_first_time() -> None:
    nodes = (gate("intake"), gate("signoff"), task("send"), end())
    ways = "intake -> signoff -> send -> end\nsignoff -[denied]-> intake"
    talk = Conversation(clocked(*nodes, ways=ways, clocks=(ruled(from_step="intake"),))).start()
    assert talk.run.clocks == ()
    talk.resume("intake")
    assert (happened(talk)[:2], the_clock(talk).started_at) == (("verdict_given", "clock_started"), MORNING + MINUTE)
    talk.resume("signoff", "denied")
    talk.resume("intake")
    assert "clock_started" not in happened(talk)
    assert the_clock(talk).started_at == MORNING + MINUTE


def test_a_denied_gate_is_not_the_act() -> None:
    nodes = (gate("act"), gate("signoff"), end())
    template = clocked(*nodes, ways="act -> end\nact -[denied]-> signoff -> end", clocks=(ruled(stops=("act",)),))
    talk = Conversation(template).start()
    talk.resume("act", "denied")
    assert the_clock(talk).state == "running"
    again = Conversation(template).start()
    again.resume("act")
    assert the_clock(again).stopped_by == "act"


def test_an_end_may_be_the_act() -> None:
    talk = Conversation(clocked(gate("a"), end(), ways="a -> end", clocks=(ruled(stops=("end",)),))).start()
    talk.resume("a")
    assert (happened(talk)[-2:], the_clock(talk).stopped_by) == (("clock_stopped", "run_ended"), "end")


def test_an_end_that_undoes_what_was_done_is_the_act_before_it_has_undone_it() -> None:
    nodes = (task("book", compensate="unbook"), gate("signoff"), task("send"), end())
    ways = "book -> signoff -> send -> end\nsignoff -[denied]-> undone"
    template = clocked(*nodes, end("undone", compensates=True), ways=ways, clocks=(ruled(stops=("send", "undone")),))
    talk = Conversation(template, connectors={"unbook": connector("unbook")}).start()
    talk.resume("signoff", "denied")
    assert (talk.run.status, the_clock(talk).stopped_by) == ("compensating", "undone")
    assert talk.run.wake_at is None


def test_an_end_says_why_the_law_asks_for_nothing_more() -> None:
    silent = structs.replace(end("withdrawn"), ends_clocks={"notice": "the request was withdrawn"})
    nodes = (gate("signoff"), task("send"), end(), silent)
    template = clocked(*nodes, ways="signoff -> send -> end\nsignoff -[denied]-> withdrawn", clocks=(ruled(),))
    talk = Conversation(template).start()
    talk.resume("signoff", "denied")
    assert (the_clock(talk).stopped_by, the_clock(talk).reason) == (None, "the request was withdrawn")


def test_a_run_that_ends_without_the_act_closes_its_clock() -> None:
    talk = deciding().start()
    talk.cancel("withdrawn")
    assert happened(talk) == ("clock_stopped", "run_ended")
    assert (the_clock(talk).state, the_clock(talk).reason) == ("stopped", "the run has ended: cancelled")


# ------------------------------------------------------------------------------- warnings, breach


def test_a_clock_warns_and_is_breached_once() -> None:
    talk = deciding(ruled(warn=("P1D", "P2D"))).start()
    assert the_clock(talk).warn_at == (MORNING + 5 * DAY, MORNING + 6 * DAY)
    seen = []
    for _ in range(10):
        talk.due(DAY)
        seen.append(happened(talk))
    assert [one for one in seen if one] == [("clock_warned",), ("clock_warned",), ("clock_breached",)]
    assert (the_clock(talk).state, the_clock(talk).breached_at) == ("breached", MORNING + 7 * DAY)
    assert talk.run.wake_at is None


def test_a_daemon_that_was_down_tells_of_several_warnings_at_once_and_of_none_behind_the_breach() -> None:
    talk = deciding(ruled(warn=("P1D", "P2D"))).start()
    talk.due(6 * DAY)
    assert happened(talk) == ("clock_warned",)
    late = deciding(ruled(warn=("P1D", "P2D"))).start()
    late.due(8 * DAY)
    assert happened(late) == ("clock_breached",)


def test_a_late_act_stops_a_clock_that_was_breached_though_no_timer_has_told() -> None:
    talk = deciding().start()
    talk.passed = 8 * DAY
    talk.resume("signoff")
    assert [one for one in happened(talk) if one.startswith("clock")] == ["clock_breached", "clock_stopped"]
    assert (the_clock(talk).state, the_clock(talk).breached_at) == ("stopped", MORNING + 7 * DAY)


def test_a_case_that_came_too_late_is_breached_at_once() -> None:
    talk = deciding(ruled(since=RECEIVED)).start({"received": "2026-01-01T00:00:00Z"})
    assert the_clock(talk).state == "breached"


PEOPLE = {
    "ann": Person("1", "ann", "owner", frozenset()),
    "amy": Person("2", "amy", "admin", frozenset()),
    "bob": Person("3", "bob", "manager", frozenset({"physicians"})),
}


def allowed(talk: Conversation, name: str) -> str | None:
    visit = talk.run.at("signoff")
    assert visit is not None
    return why_not(Decider(PEOPLE[name]), visit, talk.run, Setting(talk.template, {}, talk.company))


def test_a_breach_opens_the_gates_in_the_way_to_a_role_past_groups_and_never_past_four_eyes() -> None:
    talk = deciding(ruled(escalate="admin"), groups=("physicians",), four_eyes=("starter",))
    talk.company = Company(PEOPLE)
    talk.start()
    assert [allowed(talk, one) for one in ("amy", "bob", "ann")] == ["group", None, "group"]
    talk.due(8 * DAY)
    assert [allowed(talk, one) for one in ("amy", "bob", "ann")] == [None, None, "four_eyes"]
    assert talk.gate("signoff").escalated is None


def test_a_gate_that_opens_after_the_breach_is_open_to_the_role_and_one_behind_the_act_is_not() -> None:
    nodes = (gate("first"), gate("signoff", groups=("physicians",)), task("send"), gate("after"), end())
    template = clocked(*nodes, ways="first -> signoff -> send -> after -> end", clocks=(ruled(escalate="admin"),))
    talk = Conversation(template, company=Company(PEOPLE)).start()
    talk.due(8 * DAY)
    talk.resume("first", by="ann")
    assert talk.gate("signoff").breach_role == "admin"
    talk.resume("signoff", by="amy", role="admin")
    assert talk.gate("after").breach_role is None


# --------------------------------------------------------------------------------------- pauses


def test_a_clock_stands_still_while_the_run_waits_for_records() -> None:
    talk = asking().start()
    assert happened(talk) == ("run_started", "clock_started", "step_entered", "wait_began", "clock_paused")
    assert (the_clock(talk).state, talk.run.wake_at) == ("paused", MORNING + 30 * DAY)
    talk.due(10 * DAY)
    assert happened(talk) == ()
    talk.deliver("came")
    assert happened(talk) == ("message_received", "wait_ended", "clock_resumed", "step_entered", "gate_opened")
    stood = 10 * DAY + 2 * MINUTE
    assert (the_clock(talk).paused, the_clock(talk).due_at) == (stood, MORNING + stood + 7 * DAY)


def test_a_clock_that_stands_still_is_due_as_if_it_went_on_now() -> None:
    talk = asking().start()
    at = MORNING + 3 * DAY
    assert the_clock(talk).as_of(at, WORKDAYS).due_at == at + 7 * DAY
    assert the_clock(talk).as_of(at, WORKDAYS).paused == 3 * DAY


def test_no_loop_resets_a_clock() -> None:
    talk = asking().start()
    talk.deliver("came")
    talk.passed = DAY
    talk.resume("signoff", "denied")
    assert the_clock(talk).state == "paused"
    talk.deliver("came")
    assert (the_clock(talk).paused, the_clock(talk).started_at) == (2 * MINUTE, MORNING)
    assert the_clock(talk).due_at == MORNING + 7 * DAY + 2 * MINUTE


def test_overlapping_pauses_count_once() -> None:
    fork = (parallel("fork"), wait("one", message="a"), wait("two", message="b"), parallel("join"), task("send"), end())
    ways = "fork -> one -> join -> send -> end\nfork -> two -> join"
    talk = Conversation(clocked(*fork, ways=ways, clocks=(ruled(pauses=("one", "two")),))).start()
    talk.passed = DAY
    talk.deliver("a")
    assert (the_clock(talk).state, "clock_resumed" in happened(talk)) == ("paused", False)
    talk.passed = 2 * DAY
    talk.deliver("b")
    assert the_clock(talk).paused == 2 * DAY + 2 * MINUTE
    assert the_clock(talk).state == "stopped"


def test_a_warning_that_was_told_before_a_pause_is_not_told_again() -> None:
    talk = asking(ruled(pauses=("records",), warn=("P6D", "P1D"))).start()
    talk.deliver("came")
    talk.due(2 * DAY)
    assert happened(talk) == ("clock_warned",)
    talk.resume("signoff", "denied")
    talk.due(3 * DAY)
    talk.deliver("came")
    assert len(the_clock(talk).warn_at) == 1
    assert talk.run.wake_at == the_clock(talk).warn_at[0]


def test_a_pause_that_begins_before_the_clock_counts_costs_nothing() -> None:
    begins = Told("later", lambda *_: MORNING + 2 * DAY)
    talk = asking(ruled(pauses=("records",), since=begins)).start()
    talk.passed = 3 * DAY
    talk.deliver("came")
    assert the_clock(talk).paused == DAY + MINUTE
    assert the_clock(talk).due_at == MORNING + 10 * DAY + MINUTE


# ------------------------------------------------------------------------------- business days


@pytest.mark.parametrize(
    ("paused", "resumed", "due"),
    [
        ("2026-03-03T10:00Z", "2026-03-03T10:00Z", "2026-03-05T10:00Z"),  # not at all
        ("2026-03-03T10:00Z", "2026-03-04T10:00Z", "2026-03-06T10:00Z"),  # one business day
        ("2026-03-03T10:00Z", "2026-03-07T10:00Z", "2026-03-10T10:00Z"),  # two were left on a Saturday
        ("2026-03-04T14:00Z", "2026-03-09T16:00Z", "2026-03-10T12:00Z"),  # 20 hours of one day were left
    ],
)
def test_of_business_days_those_are_left_that_had_not_begun(paused: str, resumed: str, due: str) -> None:
    begun = datetime(2026, 3, 2, 10, tzinfo=UTC)
    left = duration("P3BD").left(begun, datetime.fromisoformat(paused), WORKDAYS)
    assert left.after(datetime.fromisoformat(resumed), WORKDAYS) == datetime.fromisoformat(due)


def test_a_pause_over_a_night_or_a_weekend_brings_no_clock_of_business_days_forward() -> None:
    """Paused on Friday at 20:00 and until Sunday at 5:00, it would be due on Sunday at 21:00."""
    friday = Told("friday", lambda *_: FRIDAY - 4 * HOUR)
    talk = asking(ruled("P1BD", since=friday, pauses=("records",))).start()
    talk.deliver("came")
    talk.passed = FRIDAY + 4 * HOUR - MORNING
    talk.resume("signoff", "denied")
    monday = FRIDAY + 3 * DAY - 4 * HOUR
    assert the_clock(talk).state == "paused"
    assert the_clock(talk).as_of(FRIDAY + 37 * HOUR, WORKDAYS).due_at == monday
    talk.passed += 33 * HOUR
    talk.deliver("came")
    assert (the_clock(talk).state, the_clock(talk).due_at) == ("running", monday)
    talk.due(20 * HOUR)
    assert (the_clock(talk).state, talk.run.wake_at) == ("running", monday)


def test_a_change_of_the_calendar_moves_a_clock_in_business_days() -> None:
    talk = deciding(ruled(within="P3BD", warn=("P1BD",))).start()
    assert (talk.run.reviewed, the_clock(talk).warn_at) == (True, (MORNING + 2 * DAY,))
    off = Company(solo=True, calendar=BusinessCalendar(holidays=frozenset({date(2026, 3, 3)})))
    talk.review(off)
    assert happened(talk) == ("clock_rescheduled",)
    assert (the_clock(talk).due_at, the_clock(talk).warn_at) == (MORNING + 4 * DAY, (MORNING + 3 * DAY,))
    talk.review(off)
    assert happened(talk) == ()
    talk.due(3 * DAY)
    assert happened(talk) == ("clock_warned",)


def test_a_holiday_that_nobody_has_reviewed_yet_keeps_a_timer_from_a_breach() -> None:
    talk = deciding(ruled(within="P3BD")).start()
    talk.company = Company(solo=True, calendar=BusinessCalendar(holidays=frozenset({date(2026, 3, 3)})))
    talk.due(3 * DAY)
    assert (happened(talk), the_clock(talk).state) == (("clock_rescheduled",), "running")


# ---------------------------------------------------------------------------------- extensions


MORE = ClockExtension("extension", "extended", "P14D", "send-extension")


def extending(rule: ClockRule) -> Conversation:
    nodes = (choice("extension", "high"), task("send-extension"), gate("signoff"), task("send"), end())
    ways = (
        "extension -[extended]-> send-extension -> signoff -> send -> end\nextension -[not needed]-> signoff\n"
        "signoff -[denied]-> extension"
    )
    return Conversation(clocked(*nodes, ways=ways, clocks=(rule,))).start()


def test_a_decision_gives_more_time_once_when_its_notice_is_done() -> None:
    talk = extending(ruled(extend=MORE))
    talk.resume("extension", "extended")
    assert (the_clock(talk).extended_by, the_clock(talk).due_at) == (("P14D",), MORNING + 21 * DAY)
    talk.resume("signoff", "denied")
    talk.resume("extension", "extended")
    assert (the_clock(talk).extended_by, the_clock(talk).due_at) == (("P14D",), MORNING + 21 * DAY)


def test_another_decision_gives_no_more_time() -> None:
    talk = extending(ruled(extend=MORE))
    talk.resume("extension", "not needed")
    assert (the_clock(talk).extended_by, the_clock(talk).due_at) == ((), MORNING + 7 * DAY)


def test_a_decision_that_the_process_makes_itself_gives_more_time_as_well() -> None:
    nodes = (choice("extension"), task("send-extension"), gate("signoff"), task("send"), end())
    ways = "extension -[extended]-> send-extension -> signoff -> send -> end\nextension -[not needed]-> signoff"
    talk = Conversation(clocked(*nodes, ways=ways, clocks=(ruled(extend=MORE),))).start()
    assert talk.parked == ["signoff"]
    assert the_clock(talk).extended_by == ("P14D",)


def test_a_notice_after_the_breach_gives_no_more_time() -> None:
    talk = extending(ruled(extend=MORE))
    talk.passed = 8 * DAY
    talk.resume("extension", "extended")
    assert (the_clock(talk).state, the_clock(talk).extended_by) == ("breached", ())


# ------------------------------------------------------------------- what hangs on a clock


ANCHORED = AnchoredDeadline("notice", "P2D")


def test_an_anchored_deadline_moves_with_its_clock() -> None:
    fork = (
        parallel("fork"),
        wait("records", message="came"),
        gate("signoff", deadline=ANCHORED, on_deadline=Escalation("admin")),
        parallel("join"),
        task("send"),
        end(),
    )
    ways = "fork -> signoff -> join -> send -> end\nfork -> records -> join"
    talk = Conversation(clocked(*fork, ways=ways, clocks=(ruled(pauses=("records",)),))).start()
    assert (the_clock(talk).state, talk.gate("signoff").due_at, talk.run.wake_at) == ("paused", None, None)
    talk.passed = 3 * DAY
    talk.deliver("came")
    due = MORNING + 3 * DAY + MINUTE + 5 * DAY
    assert "gate_rescheduled" in happened(talk)
    assert (talk.gate("signoff").due_at, talk.run.wake_at) == (due, due)
    talk.due(6 * DAY)
    assert (happened(talk), talk.gate("signoff").escalated) == (("gate_escalated",), "admin")


def test_an_anchored_deadline_is_found_when_its_gate_opens_and_moves_when_the_clock_is_extended() -> None:
    nodes = (
        choice("extension", "high"),
        parallel("fork"),
        task("send-extension"),
        gate("signoff", deadline=ANCHORED, on_deadline="denied"),
        parallel("join"),
        task("send"),
        end(),
    )
    ways = (
        "extension -[extended]-> fork -> signoff -> join -> send -> end\nfork -> send-extension -> join\n"
        "extension -[no]-> send"
    )
    talk = Conversation(clocked(*nodes, ways=ways, clocks=(ruled(extend=MORE),))).start()
    talk.resume("extension", "extended")
    assert talk.gate("signoff").due_at == MORNING + 19 * DAY


class Due:
    """Two days before the clock is due."""

    text = "clocks.notice.due_at - duration('48h')"
    reads = ()

    def time(self, _inputs: object, _facts: object, clocks: dict[str, Any]) -> datetime:
        if "notice" not in clocks:
            raise ConditionFailed("there is no notice")
        return datetime.fromisoformat(clocks["notice"]["due_at"]) - timedelta(hours=48)


def waiting_beside_a_pause(until: Any) -> Conversation:
    fork = (
        parallel("fork"),
        wait("records", message="came"),
        wait("nearly", until=until),
        parallel("join"),
        task("send"),
        end(),
    )
    ways = "fork -> nearly -> join -> send -> end\nfork -> records -> join"
    return Conversation(clocked(*fork, ways=ways, clocks=(ruled(pauses=("records",)),)))


@pytest.mark.parametrize("named", ["clocks.notice", 'clocks["notice"]', "clocks[ 'notice' ]", "clocks .notice"])
def test_a_wait_for_a_time_of_a_clock_moves_with_it(named: str) -> None:
    talk = waiting_beside_a_pause(Told(f"timestamp({named}.due_at) - duration('48h')", Due().time)).start()
    waiting = talk.visit("nearly").wait
    assert waiting is not None
    assert (waiting.until, talk.run.status) == (None, "waiting")
    talk.due(30 * DAY)
    assert happened(talk) == ()
    talk.deliver("came")
    due = MORNING + 30 * DAY + 2 * MINUTE + 5 * DAY
    assert talk.run.wake_at == due
    talk.due(6 * DAY)
    assert happened(talk)[0] == "wait_ended"


def test_a_wait_for_an_input_that_has_the_name_of_a_clock_does_not_stand_still_with_it() -> None:
    hearing = MORNING + 3 * DAY
    talk = waiting_beside_a_pause(Told("timestamp(inputs.notice.hearing)", lambda *_: hearing)).start()
    assert talk.run.wake_at == hearing


def test_a_wait_for_a_time_of_a_clock_stays_where_a_new_calendar_moves_nothing() -> None:
    nodes = (wait("nearly", until=Due()), task("send"), end())
    talk = Conversation(clocked(*nodes, ways="nearly -> send -> end", clocks=(ruled("P3BD"),))).start()
    off = (date(2026, 4, 3), date(2026, 3, 3))
    talk.review(Company(solo=True, calendar=BusinessCalendar(holidays=frozenset(off[:1]))))
    assert happened(talk) == ()
    talk.review(Company(solo=True, calendar=BusinessCalendar(holidays=frozenset(off))))
    assert happened(talk) == ("clock_rescheduled", "wait_began")


def test_a_wait_for_a_time_of_a_clock_that_has_not_begun_parks() -> None:
    nodes = (wait("nearly", until=Due()), gate("later"), task("send"), end())
    rule = ruled(from_step="later")
    talk = Conversation(clocked(*nodes, ways="nearly -> later -> send -> end", clocks=(rule,))).start()
    assert talk.parked == ["nearly"]


# ----------------------------------------------------------------------------- another version


def onto(template: Template, *rules: ClockRule) -> Template:
    return replace(template, version=2, digest="sha256:two", clocks=rules)


def test_a_migration_keeps_the_start_and_the_pauses_of_a_clock() -> None:
    talk = asking().start()
    talk.passed = DAY
    talk.deliver("came")
    talk.migrate(onto(talk.template, ruled("P14D", pauses=("records",), source="a new law")))
    now = the_clock(talk)
    assert (now.started_at, now.paused, now.source) == (MORNING, DAY + MINUTE, "a new law")
    assert now.due_at == MORNING + 15 * DAY + MINUTE


def test_a_migration_closes_clocks_that_the_version_lacks_and_begins_new_ones() -> None:
    talk = deciding().start()
    talk.passed = DAY
    talk.migrate(onto(talk.template, ruled("P3D", id="answer", label="Answer")))
    assert the_clock(talk).reason == "version 2 has no such clock"
    assert (the_clock(talk, "answer").started_at, the_clock(talk, "answer").due_at) == (MORNING, MORNING + 3 * DAY)
    plain = deciding().start()
    plain.migrate(onto(plain.template))
    assert (the_clock(plain).state, plain.run.wake_at) == ("stopped", None)


def test_a_migration_stops_a_clock_whose_act_is_done_since_it_began() -> None:
    nodes = (task("tell"), task("send"), gate("signoff"), task("reply"), end())

    def rules(*stops: str) -> tuple[ClockRule, ...]:
        return ruled(stops=stops), ruled(id="answer", stops=stops, from_step="send")

    ways = "tell -> send -> signoff -> reply -> end"
    talk = Conversation(clocked(*nodes, ways=ways, clocks=rules("reply"))).start()
    talk.passed = DAY
    talk.migrate(onto(talk.template, *rules("tell", "reply")))
    assert (the_clock(talk).state, the_clock(talk).stopped_by) == ("stopped", "tell")
    assert the_clock(talk, "answer").state == "running"
    talk.resume("signoff")
    assert the_clock(talk, "answer").stopped_by == "reply"


def test_a_run_without_clocks_gets_them_by_a_migration_unless_their_act_is_done() -> None:
    nodes = (task("send"), gate("signoff"), gate("last"), task("tell"), end())
    template = process(*nodes, ways="send -> signoff -> last -> tell -> end")
    talk = Conversation(template).start()
    talk.migrate(onto(template, ruled(), ruled(id="answer", label="Answer", stops=("tell",), from_step="send")))
    assert [one.id for one in talk.run.clocks] == ["answer"]
    talk.resume("signoff")
    talk.resume("last")
    assert the_clock(talk, "answer").stopped_by == "tell"


def test_a_migration_counts_for_as_long_as_the_version_says_and_leaves_what_is_over_as_it_is() -> None:
    """One clock has stopped, one is breached, and one begins at a step that is not done yet."""
    nodes = (task("send"), gate("signoff"), task("tell"), end())
    later = ruled("P9D", id="later", from_step="tell", stops=("end",))
    rules = (ruled(), ruled("P1D", id="answer", stops=("tell",)), ruled("P5D", id="reply", stops=("tell",)))
    talk = Conversation(clocked(*nodes, ways="send -> signoff -> tell -> end", clocks=(*rules, later))).start()
    talk.due(2 * DAY)
    assert (the_clock(talk).state, the_clock(talk, "answer").state) == ("stopped", "breached")
    before = the_clock(talk), the_clock(talk, "answer").due_at
    longer = (ruled("P8D"), ruled("P6D", id="answer", stops=("tell",)), ruled("P6D", id="reply", stops=("tell",)))
    talk.migrate(onto(talk.template, *longer, later))
    assert (the_clock(talk), the_clock(talk, "answer").due_at) == before
    assert the_clock(talk, "reply").due_at == MORNING + 6 * DAY
    assert talk.run.clock("later") is None


def test_a_migration_that_changes_the_words_alone_moves_nothing() -> None:
    talk = deciding().start()
    talk.migrate(onto(talk.template, ruled(source="a new law")))
    assert (the_clock(talk).source, the_clock(talk).due_at) == ("a new law", MORNING + 7 * DAY)


def test_a_migration_follows_the_pauses_of_the_version_at_once() -> None:
    talk = asking(ruled()).start()
    talk.migrate(onto(talk.template, ruled(pauses=("records",))))
    assert (happened(talk)[-1], the_clock(talk).state) == ("clock_paused", "paused")
    talk = asking().start()
    talk.passed = DAY
    talk.migrate(onto(talk.template, ruled()))
    assert (happened(talk)[-1], the_clock(talk).state) == ("clock_resumed", "running")
    assert talk.run.wake_at == the_clock(talk).due_at == MORNING + 8 * DAY + MINUTE


def test_a_migration_warns_by_the_version_of_what_is_still_to_come() -> None:
    talk = deciding(ruled(warn=("P6D", "P3D"))).start()
    talk.due(2 * DAY)
    talk.migrate(onto(talk.template, ruled(warn=("P6D", "P2D", "P1D"))))
    assert happened(talk)[:2] == ("run_migrated", "clock_rescheduled")
    assert the_clock(talk).warn_at == (MORNING + 5 * DAY, MORNING + 6 * DAY)
    still = asking(ruled(pauses=("records",))).start()
    still.passed = DAY
    still.migrate(onto(still.template, ruled(pauses=("records",), warn=("P2D", "P1D"))))
    still.deliver("came")
    due = the_clock(still).due_at
    assert due is not None
    assert the_clock(still).warn_at == (due - 2 * DAY, due - DAY)


def test_a_length_that_becomes_clear_after_the_breach_mends_nothing() -> None:
    nodes = (gate("signoff"), task("look", needs=("inputs.urgent",)), task("send"), end())
    template = clocked(*nodes, ways="signoff -> look -> send -> end", clocks=(ruled(within=SPEED),))
    talk = Conversation(template).start()
    talk.due(4 * DAY)
    talk.resume("signoff")
    talk.resume("look", inputs={"urgent": False})
    assert (the_clock(talk).assumed, the_clock(talk).breached_at) == (("within",), MORNING + 3 * DAY)


# ------------------------------------------------------------------------- histories and times


def test_a_history_that_starts_a_clock_twice_or_goes_on_after_its_stop_is_none() -> None:
    talk = deciding().start()
    (begun,) = [one for one in talk.history if isinstance(one, ClockStarted)]
    stop = ClockStopped(at=MORNING, clock="notice", reason="none")
    for wrong in ([begun], [stop, stop], [stop, ClockBreached(at=MORNING, clock="notice", due_at=MORNING)]):
        with pytest.raises(ValueError, match="notice"):
            fold([*talk.history, *wrong])


def test_a_breach_opens_no_step_that_is_no_gate() -> None:
    talk = asking().start()
    told = ClockBreached(at=MORNING, clock="notice", due_at=MORNING, escalate="admin", gates=("records",))
    (visit,) = fold([*talk.history, told]).open
    assert (visit.step_id, visit.gate) == ("records", None)


def test_a_clock_that_is_due_has_nothing_left_and_one_that_goes_has_not_stood_still() -> None:
    clock = the_clock(deciding().start())
    assert clock.left(MORNING + 7 * DAY, WORKDAYS) == (Duration(),)
    assert clock.left(MORNING + 6 * DAY, WORKDAYS) == (duration("PT24H"),)
    assert clock.paused_until(MORNING + DAY) == timedelta()
    assert clock.as_of(MORNING + DAY, WORKDAYS) is clock
    extended = structs.replace(clock, spans=(duration("P7D"), duration("P14D")))
    assert extended.left(MORNING + 8 * DAY, WORKDAYS) == (duration("PT312H"),)
    assert Conversation(process(gate("a"), end(), ways="a -> end")).start().run.clock_due_at is None


# ---------------------------------------------------------------------------------- rehearsals


def test_a_rehearsal_lets_the_clock_pass() -> None:
    template = deciding(ruled(warn=("P1D",))).template
    acts = (Lapse(), Lapse(), RehearsedVerdict(gate="signoff", decision="approved", by="bob"))
    done = rehearse(template, {}, acts, by="ann", at=MORNING, calendar=WORKDAYS)
    (clock,) = done.run.clocks
    assert (clock.state, clock.breached_at, clock.stopped_by) == ("stopped", MORNING + 7 * DAY, "send")


def test_an_earlier_sight_of_a_run_still_counts_after_a_warning() -> None:
    talk = deciding(ruled(warn=("P1D",))).start()
    seen = talk.run.version
    talk.due(6 * DAY)
    talk.resume("signoff", versions={seen})
    assert talk.run.status == "completed"


# ---------------------------------------------------------------- what is due at one moment


def at_due(talk: Conversation, passed: timedelta = 7 * DAY) -> Conversation:
    """Bring the conversation to the very moment at which its clock is due, or so much later."""
    talk.passed = passed - talk.minutes * MINUTE
    return talk


def leading(rule: ClockRule | None = None, **policy: Any) -> Conversation:
    """A sign-off that a deadline denies, behind which the notice is sent all the same."""
    nodes = (gate("signoff", on_deadline="denied", **policy), task("send"), end())
    ways = "signoff -> send -> end\nsignoff -[denied]-> send"
    return Conversation(clocked(*nodes, ways=ways, clocks=(rule or ruled(),))).start()


def test_what_a_deadline_leads_to_at_the_moment_a_clock_is_due_comes_in_time() -> None:
    talk = at_due(leading(deadline="P7D"))
    assert talk.run.wake_at == talk.at
    talk.due()
    assert happened(talk)[:3] == ("gate_expired", "step_entered", "call_settled")
    assert (the_clock(talk).stopped_at, the_clock(talk).breached_at) == (MORNING + 7 * DAY, None)


def test_a_verdict_at_the_moment_a_clock_is_due_comes_in_time() -> None:
    talk = at_due(deciding().start())
    talk.resume("signoff")
    assert (the_clock(talk).stopped_by, the_clock(talk).breached_at) == ("send", None)


def test_what_still_stands_open_at_the_moment_a_clock_is_due_is_breached_behind_all_else() -> None:
    nodes = (gate("signoff", deadline="P7D", on_deadline="denied"), gate("again"), task("send"), end())
    ways = "signoff -> send -> end\nsignoff -[denied]-> again -> send"
    talk = at_due(Conversation(clocked(*nodes, ways=ways, clocks=(ruled(escalate="admin"),))).start())
    talk.due()
    assert happened(talk) == ("gate_expired", "step_entered", "gate_opened", "clock_breached")
    assert talk.gate("again").breach_role == "admin"


def test_a_late_timer_does_what_was_due_in_the_order_of_its_times() -> None:
    nodes = (
        parallel("fork"),
        gate("late", deadline="P9D", on_deadline="denied"),
        gate("early", deadline="P5D", on_deadline="denied"),
        parallel("join"),
        task("send"),
        end(),
    )
    ways = "fork -> late -> join -> send -> end\nfork -> early -> join\nlate -[denied]-> join\nearly -[denied]-> join"
    talk = Conversation(clocked(*nodes, ways=ways, clocks=(ruled(warn=("P3D", "P1D")),))).start()
    talk.due(10 * DAY)
    told = [one for one in happened(talk) if one.startswith(("gate_", "clock_"))]
    assert told == ["gate_expired", "clock_breached", "gate_expired", "clock_stopped"]
    assert the_clock(talk).breached_at == MORNING + 7 * DAY


def test_a_pause_that_begins_as_a_clock_is_due_holds_it_up_with_nothing_left() -> None:
    nodes = (gate("signoff", deadline="P7D", on_deadline="denied"), wait("records", message="came"), gate("last"))
    ways = "signoff -> records -> last -> send -> end\nsignoff -[denied]-> records"
    template = clocked(*nodes, task("send"), end(), ways=ways, clocks=(ruled(pauses=("records",)),))
    talk = at_due(Conversation(template).start())
    talk.due()
    assert (the_clock(talk).state, the_clock(talk).spans) == ("paused", (Duration(),))
    at_due(talk, 9 * DAY).deliver("came")
    assert (the_clock(talk).state, the_clock(talk).due_at, talk.run.wake_at) == ("running", *[MORNING + 9 * DAY] * 2)
    talk.due()
    assert (the_clock(talk).state, the_clock(talk).breached_at) == ("breached", MORNING + 9 * DAY)


def test_a_notice_at_the_moment_a_clock_is_due_gives_more_time() -> None:
    talk = at_due(extending(ruled(extend=MORE)))
    talk.resume("extension", "extended")
    assert (the_clock(talk).state, the_clock(talk).extended_by) == ("running", ("P14D",))


def test_a_gate_that_opens_just_as_its_time_ends_may_be_decided_then() -> None:
    nodes = (wait("records", duration="P5D"), gate("signoff", deadline=ANCHORED, on_deadline="denied"), task("send"))
    ways = "records -> signoff -> send -> end\nsignoff -[denied]-> end"
    talk = at_due(Conversation(clocked(*nodes, end(), ways=ways, clocks=(ruled("P7D"),))).start(), 5 * DAY)
    talk.due()
    assert (talk.parked, talk.gate("signoff").due_at) == (["signoff"], MORNING + 5 * DAY)
    at_due(talk, 5 * DAY).due()
    assert happened(talk)[0] == "gate_expired"


def test_gates_that_open_when_their_time_is_past_expire_in_the_same_turn() -> None:
    nodes = (gate("one", deadline=ANCHORED, on_deadline="denied"), gate("two", deadline=ANCHORED, on_deadline="denied"))
    ways = "one -> two -> send -> end\none -[denied]-> two\ntwo -[denied]-> send"
    talk = Conversation(clocked(*nodes, task("send"), end(), ways=ways, clocks=(ruled(),))).start()
    at_due(talk, 6 * DAY).due()
    assert talk.run.status == "completed"
    assert the_clock(talk).stopped_at == MORNING + 6 * DAY


def test_a_clock_is_not_breached_while_steps_of_its_moment_are_still_to_come() -> None:
    names = [f"step-{number}" for number in range(2 * TURN_STEPS_MAX)]
    nodes = (gate("signoff", deadline="P7D", on_deadline="denied"), *map(task, names), task("send"), end())
    ways = f"signoff -> {' -> '.join(names)} -> send -> end\nsignoff -[denied]-> {names[0]}"
    talk = at_due(Conversation(clocked(*nodes, ways=ways, clocks=(ruled(),))).start())
    due = talk.at
    talk.due()
    assert (talk.run.ended, the_clock(talk).state) == (None, "running")
    talk.say(Elapsed(step_id="send", visit=1, at=due))
    assert (the_clock(talk).stopped_by, the_clock(talk).breached_at) == ("send", None)


def test_a_gate_that_leads_back_to_itself_when_its_time_is_past_leaves_the_rest_to_the_next_timer() -> None:
    nodes = (gate("signoff", deadline=AnchoredDeadline("notice", "P7D"), on_deadline="denied"), task("send"), end())
    ways = "signoff -> send -> end\nsignoff -[denied]-> signoff"
    talk = Conversation(clocked(*nodes, ways=ways, clocks=(ruled(),))).start()
    at_due(talk).due()
    assert happened(talk).count("gate_expired") > TURN_STEPS_MAX
    assert the_clock(talk).state == "running"
    talk.due()
    assert the_clock(talk).state == "breached"
