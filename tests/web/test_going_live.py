"""Going live disarms no stop: what a tool answers leads a live run the way that it leads a shadowed
one.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web

from actors.core.decider import step
from actors.core.messages import Deliver
from actors.core.run import Run
from daemon.templates.loading import CatalogEntry, LazyTemplate, load_json
from tests.conversations import ALONE
from tests.journeys import FIRST, JOURNEYS
from tests.listening import Listener
from tests.shelf import shipped
from tests.templates.test_shipped import AT, ENTRIES, brought, resume, start, taken
from tests.web.support import EventStream, House, Person

CHOICES = range(6)
VERDICTS_MAX = 100
MORE: dict[str, list[dict[str, Any]]] = {
    "aml": [{"risk_band": "medium"}],
    "chargeback-representment": [
        {"amount": 249, "reason_code": reason, "issuer_response": "declined", "arbitration_won": won}
        for reason in ("10.4", "13.1")
        for won in (True, False)
    ]
    + [{"amount": 249, "issuer_response": "pending"}],
    "insurance-claim": [
        {"claim_id": "CL-7710", "policy_id": "HO-3391", "claimed_amount": 1450, "prior_claims": 0, **one}
        for one in ({"fraud_score": 49, "payable": 0}, {"fraud_score": 50, "payable": 1})
    ],
    "loan-underwriting": [
        {"application_id": "LA-1", "amount": 15000, "credit_score": 742, "dti": 0.29, "accepted": False}
    ],
    "prior-auth": [{"plan": "Medicare Advantage", "appealed": True}],
    "refund": [{"order_id": "O-1", "amount": 20, "days_since_delivery": 3, "refunds_this_year": 9}],
}
LATE = {"send-extension", "keep-report", "keep-rejection", "send-withdrawal"}
"""Steps that a run comes to only once time has passed, or a person has held a call back."""
CLEAN = {journey.vertical: journey.inputs for journey in JOURNEYS if journey.name == "clean"}


@dataclass
class Way:
    """How a run went: its outcome, its steps, and where it stopped and why."""

    outcome: str | None = None
    steps: list[tuple[str, int, str]] = field(default_factory=list)
    stops: dict[tuple[str, int], tuple[str, tuple[str, ...]]] = field(default_factory=dict)


@dataclass
class Rehearsal:
    """A shadowed run: what it was given, what its tools answered, how it went."""

    inputs: dict[str, Any]
    choice: int
    answers: dict[tuple[str, int], Any] = field(default_factory=dict)
    way: Way = field(default_factory=Way)

    @property
    def cases(self) -> set[tuple[str, str]]:
        """Which answers it has seen."""
        return {(step_id, repr(output)) for (step_id, _), output in self.answers.items()}


class Scripted(Listener):
    """A far side for all tools: it answers the steps of a run as it was told to."""

    def __init__(self) -> None:
        super().__init__()
        self.answers: dict[tuple[str, int], Any] = {}

    async def handle(self, request: web.Request) -> web.Response:
        _, step_id, visit = request.headers["Idempotency-Key"].split(":")
        return web.json_response(self.answers[step_id, int(visit)])


@pytest.fixture
async def tools() -> AsyncIterator[Scripted]:
    async with Scripted() as side:
        yield side


def chosen(decisions: tuple[str, ...], choice: int, visit: int) -> str:
    return decisions[(choice + visit) % len(decisions)]


def rehearsed(entry: CatalogEntry, inputs: dict[str, Any], choice: int) -> Rehearsal:
    """A shadowed run to its end, deciding by the choice at each visit of a gate."""
    one, run = Rehearsal(inputs, choice), answered(entry, start(entry.template, inputs))
    while run.parked:
        visit = run.parked[0]
        assert visit.gate is not None
        one.way.stops[visit.step_id, visit.visit] = (visit.gate.reason, visit.gate.signals)
        decision = chosen(visit.gate.decisions, choice, visit.visit)
        run = answered(entry, resume(run, entry.template, visit.step_id, decision))
        assert len(one.way.stops) < VERDICTS_MAX
    one.way.steps = sorted((visit.step_id, visit.visit, visit.status) for visit in run.trace)
    one.way.outcome = run.ended.outcome if run.ended is not None else None
    one.answers = answers(run)
    return one


def answered(entry: CatalogEntry, run: Run) -> Run:
    """The run once whatever it waits for has come."""
    while run.status == "waiting":
        (name,) = {visit.wait.message for visit in run.open if visit.wait is not None}
        assert name is not None
        run = taken(step(run, Deliver(name=name, by="u", at=AT), entry.template, {}, company=ALONE))
    return run


def answers(run: Run) -> dict[tuple[str, int], Any]:
    """What the tools of a run answered, by step and visit."""
    return {(v.step_id, v.visit): v.output for v in run.trace if v.kind == "task" and v.status == "done"}


def variants(entry: CatalogEntry) -> Iterator[dict[str, Any]]:
    """The inputs of the journeys, with each yes or no the other way round, and without what may be
    missing.
    """
    told = [journey.inputs for journey in JOURNEYS if journey.vertical == entry.template.vertical]
    yield from (*told, *MORE.get(entry.template.vertical, []))
    yield {name: told[0][name] for name in entry.inputs_schema.get("required", [])}
    for name, schema in entry.inputs_schema["properties"].items():
        if schema.get("type") == "boolean":
            yield from ({**one, name: answer} for one in told for answer in (True, False))


def rehearsals(entry: CatalogEntry) -> list[Rehearsal]:
    """Shadowed runs that between them see every answer, every step and every stop."""
    kept: list[Rehearsal] = []
    seen: set[Any] = set()
    for inputs in variants(entry):
        for choice in CHOICES:
            one = rehearsed(entry, inputs, choice)
            new = one.cases | {*one.way.steps} | {*one.way.stops.items()}
            if new - seen:
                kept.append(one)
                seen |= new
    return kept


async def go_live(ann: Person, entry: CatalogEntry, url: str) -> None:
    """Connect every tool of a template for real, those that undo something, too."""
    named = {tool for node in entry.template.nodes for tool in (node.tool, node.compensate) if tool is not None}
    for tool in sorted(named):
        await ann.connect(tool, url)


async def answered_live(ann: Person, vertical: str, run: Any) -> Any:
    """The run after the message that it waits for."""
    nodes = ENTRIES[vertical].template
    (wait,) = {visit["step_id"] for visit in run["trace"] if visit["status"] == "waiting"}
    asked = nodes.node(wait).wait
    assert asked is not None
    answer = await ann.post(f"/process-runs/{run['id']}/messages", {"name": asked.message})
    assert answer.status in (200, 202), answer.raw
    async with EventStream(ann, run["id"]) as stream:
        while (now := await ann.run(run))["status"] == "executing":
            await anext(stream)
    return now


async def lived(ann: Person, vertical: str, one: Rehearsal) -> Way:
    """How the same run goes live."""
    way, run = Way(), await ann.start(vertical, one.inputs)
    while run["status"] in ("parked", "waiting"):
        if run["status"] == "waiting":
            run = await answered_live(ann, vertical, run)
            continue
        gate = run["gate"]
        way.stops[gate["step_id"], gate["visit"]] = (gate["reason"], tuple(gate["signals"]))
        decision = chosen(gate["decisions"], one.choice, gate["visit"])
        verdict = {"gate": gate["step_id"], "decision": decision, "comment": "as the file says"}
        verdict |= brought(ENTRIES[vertical].template.node(gate["step_id"]).policy, decision)
        answer = await ann.post(f"/process-runs/{run['id']}/resume", verdict)
        assert answer.status == 200, answer.raw
        run = answer.json
        assert len(way.stops) < VERDICTS_MAX
    way.steps = sorted((visit["step_id"], visit["visit"], visit["status"]) for visit in run["trace"])
    way.outcome = run["outcome"]
    assert {visit["mode"] for visit in run["trace"] if visit["kind"] == "task" and visit["status"] == "done"} <= {
        "live"
    }
    return way


@pytest.mark.parametrize("vertical", FIRST)
async def test_a_live_answer_leads_the_way_that_the_same_dry_run_leads(
    ann: Person, tools: Scripted, vertical: str
) -> None:
    entry = ENTRIES[vertical]
    every = rehearsals(entry)
    cases = {(one.id, repr(case.output)) for one in entry.template.nodes for case in one.dry_run if one.id not in LATE}
    assert cases <= set().union(*(one.cases for one in every)), "no rehearsal sees some dry run"
    await go_live(ann, entry, tools.url)
    for one in every:
        tools.answers = one.answers
        assert await lived(ann, vertical, one) == one.way, one.inputs


@pytest.mark.parametrize(
    ("vertical", "step_id", "finding", "stop"),
    [
        ("access-request", "look-up-person", {"active": False}, "owner-approval"),
        ("access-request", "check-duties", {"conflict": "pays and approves"}, "owner-approval"),
        ("access-request", "check-duties", {"severity": "high"}, "owner-approval"),
        ("access-request", "check-duties", ["pays and approves"], "privilege"),
        ("refund", "look-up-order", {"paid": False, "refunded": 0}, "supervisor"),
        ("refund", "look-up-order", {"paid": True, "refunded": 39.9}, "supervisor"),
        ("refund", "look-up-order", {"paid": True, "amount_paid": 39.89, "refunded": 0}, "supervisor"),
        ("refund", "check-abuse", {"risk": "high"}, "supervisor"),
        ("refund", "check-abuse", {}, "supervisor"),
        ("invoice-approval", "check-duplicate", {"look_alike": "INV-1"}, "post"),
        ("invoice-approval", "check-duplicate", {"look_alikes": ["INV-1"]}, "post"),
        ("invoice-approval", "check-duplicate", ["INV-1"], "post"),
        (
            "insurance-claim",
            "verify-coverage",
            {"in_force": False, "deductible": 500, "limit": 9000},
            "adjuster-review",
        ),
        ("insurance-claim", "verify-coverage", {"in_force": True, "deductible": 500, "limit": 900}, "adjuster-review"),
        (
            "insurance-claim",
            "verify-coverage",
            {"in_force": True, "deductible": 5000, "limit": 9000},
            "adjuster-review",
        ),
        ("insurance-claim", "score-fraud", {"score": 50}, "adjuster-review"),
        ("loan-underwriting", "verify-income", {"verified": False, "dti_within_policy": True}, "underwriter-review"),
        ("loan-underwriting", "pull-credit", {"prime": False}, "underwriter-review"),
        ("collections", "bankruptcy-scrub", {"bankrupt": True, "deceased": False}, "scrub-review"),
        ("collections", "bankruptcy-scrub", {"bankrupt": False, "deceased": True}, "scrub-review"),
        ("collections", "bankruptcy-scrub", {"bankrupt": False}, "scrub-review"),
        ("collections", "military-scrub", {"active_duty": True}, "scrub-review"),
        ("collections", "limitation-check", {"time_barred": True}, "scrub-review"),
        ("vendor-onboarding", "screen-sanctions", {"hits": 1}, "hit-review"),
        ("vendor-onboarding", "match-tin", {"matched": False}, "risk-review"),
        ("data-subject-erasure", "find-in-crm", {"must_keep": True}, "dpo-review"),
        ("data-subject-erasure", "find-in-logs", {"must_keep": True}, "dpo-review"),
        ("sanctions-screening", "screen", {"match": True}, "officer-review"),
        ("production-change", "collect-tests", {"passed": False}, "peer-review"),
    ],
)
async def test_a_finding_stops_a_live_run_without_a_word_of_the_operator(
    ann: Person, tools: Scripted, vertical: str, step_id: str, finding: Any, stop: str
) -> None:
    entry = ENTRIES[vertical]
    await go_live(ann, entry, tools.url)
    tools.answers = {**rehearsed(entry, CLEAN[vertical], 1).answers}
    tools.answers |= {(node.id, 1): {} for node in entry.template.nodes if (node.id, 1) not in tools.answers}
    tools.answers[step_id, 1] = finding
    run = await ann.start(vertical, CLEAN[vertical])
    assert run["parked_at"] == stop, run["parked_gates"]


async def test_what_is_found_where_a_human_is_asked_anyway_is_shown_at_the_gate(ann: Person, tools: Scripted) -> None:
    for vertical, step_id, finding, gate in (
        ("prior-auth", "recommend", {"recommendation": "deny"}, "signoff"),
        ("prior-auth", "recommend", {}, "signoff"),
    ):
        entry = ENTRIES[vertical]
        await go_live(ann, entry, tools.url)
        tools.answers = {**rehearsed(entry, CLEAN[vertical], 1).answers, (step_id, 1): finding}
        run = await ann.start(vertical, CLEAN[vertical])
        assert (run["parked_at"], run["gate"]["signals"]) == (gate, [step_id])


@pytest.mark.parametrize(
    ("vertical", "step_id", "finding", "visited", "passed"),
    [
        ("aml", "screen-watchlists", {"hits": 2}, "collect-evidence", None),
        ("aml", "verify-identity", {"verified": False}, "collect-evidence", None),
        ("prior-auth", "check-eligibility", {"active": False}, "recommend", "request-records"),
        ("prior-auth", "pull-chart", {"documents": 0}, "request-records", None),
    ],
)
async def test_a_finding_takes_another_way_to_the_human_who_decides(
    ann: Person, tools: Scripted, vertical: str, step_id: str, finding: Any, visited: str, passed: str | None
) -> None:
    entry = ENTRIES[vertical]
    await go_live(ann, entry, tools.url)
    tools.answers = {(node.id, 1): node.dry_run[0].output for node in entry.template.nodes if node.dry_run}
    tools.answers[step_id, 1] = finding
    run = await ann.start(vertical, CLEAN[vertical])
    steps = {visit["step_id"] for visit in run["trace"]}
    assert (visited in steps, passed in steps) == (True, False)
    assert run["parked_at"] == entry.template.gates[0]


@pytest.mark.parametrize(
    ("vertical", "verdicts", "drafted", "letter", "back"),
    [
        ("loan-underwriting", ["fund-loan denied"], "draft-adverse-action", "sign-notice", "sign-notice"),
        ("insurance-claim", ["pay-claim denied", "adjuster-review deny"], "draft-denial", "send-denial", "last-review"),
        ("prior-auth", ["signoff denied"], "draft-denial", "send-denial", "signoff"),
    ],
)
async def test_a_denial_without_reasons_is_not_sent_by_the_autopilot(
    ann: Person, tools: Scripted, vertical: str, verdicts: list[str], drafted: str, letter: str, back: str
) -> None:
    entry = ENTRIES[vertical]
    await go_live(ann, entry, tools.url)
    tools.answers = {(node.id, 1): node.dry_run[0].output for node in entry.template.nodes if node.dry_run}
    tools.answers |= {(drafted, visit): {"reasons": [], "reason": ""} for visit in (1, 2)}
    run = await ann.start(vertical, CLEAN[vertical])
    for verdict in verdicts:
        gate, _, decision = verdict.partition(" ")
        run = (await ann.resume(run, gate, decision)).json
    assert (run["parked_at"], run["gate"]["signals"]) == (letter, [drafted])
    assert (await ann.resume(run, letter, "denied")).json["parked_at"] == back


async def test_a_run_goes_on_by_the_version_that_it_began_with_and_a_new_one_by_today_s(
    house: House, ann: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = json.loads(ENTRIES["invoice-approval"].document)
    document["version"] = 1
    for one in document["steps"]:
        one.pop("signal_when", None)
        if one["id"] == "check-duplicate":
            one["dry_run"][-1]["signal"] = True
    before = load_json(json.dumps(document))
    inputs = {**CLEAN["invoice-approval"], "seen_before": True}
    with monkeypatch.context() as earlier:
        earlier.setattr("daemon.templates.catalog.library", lambda: [LazyTemplate.from_entry(before)])
        await house.restart()
        old = await ann.start("invoice-approval", inputs)
    await house.restart()
    new = await ann.start("invoice-approval", inputs)
    assert (old["template"]["version"], new["template"]["version"]) == (1, ENTRIES["invoice-approval"].template.version)
    assert new["template"]["digest"] in {entry.template.digest for entry in shipped()}
    for run in (old, new):
        assert run["gate"]["reason"] == "the signal of check-duplicate is not decided yet"
        await ann.resume(run, "post")
        assert (await ann.resume(run, "release")).json["outcome"] == "paid"
