"""What people decide where panels were for clearing is counted as a recount of the events does."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random

from msgspec import UNSET
from msgspec.structs import replace

from actors.core.autonomy import ClearanceDecision, Why
from actors.core.messages import CallSettled, Event, GateOpened, StepCleared, VerdictGiven
from actors.core.template import APPROVED
from actors.ports import Commit
from daemon.model.reports.projection import OpenVisit, PanelOutcome
from daemon.model.reports.questions import JudgedCase, JudgedStep, record_of, reliability
from daemon.stores.tables.reports.following import VISITS
from tests.reports.comparing import append, follow, merged, store_in
from tests.reports.histories import history

Cases = dict[JudgedStep, list[JudgedCase]]
HISTORIES = 40


def heard(event: Event, random: Random) -> Event:
    """The event as it is where a panel was for clearing, now and then."""
    cleared = isinstance(event, StepCleared) or (isinstance(event, CallSettled) and event.reason is not None)
    if not (cleared or isinstance(event, GateOpened)) or random.random() < 0.3:
        return event
    why: Why = "calibrated" if cleared else random.choice(("few_cases", "below_floor", "sampled"))
    raw, version = random.choice((0.25, 0.5, random.random())), random.choice((1, 2))
    return replace(event, weighed=ClearanceDecision(clears=cleared, why=why, raw=raw, floor=0.7, version=version))


def heard_histories(seeds: range, company_id: str = "acme") -> list[Commit]:
    random = Random(seeds.start)
    found = [[replace_events(one, random) for one in history(seed, company_id)] for seed in seeds]
    return merged(found)


def replace_events(commit: Commit, random: Random) -> Commit:
    return Commit(commit.run, tuple(heard(one, random) for one in commit.events), commit.resting, commit.receipt)


def recounted(commits: Iterable[Commit]) -> tuple[Cases, dict[JudgedStep, int]]:
    """A case: a gate that opened last with the word of a panel, and that a person closed."""
    cases: Cases = defaultdict(list)
    cleared: dict[JudgedStep, int] = defaultdict(int)
    seq: dict[str, int] = defaultdict(int)
    gates: dict[tuple[str, str, int], GateOpened] = {}
    for commit in commits:
        run, vertical = commit.run.id, commit.run.vertical
        for event in commit.events:
            seq[run] += 1
            if isinstance(event, GateOpened):
                gates[run, event.step_id, event.visit] = event
            elif isinstance(event, (StepCleared, CallSettled)) and event.weighed is not UNSET:
                cleared[JudgedStep(vertical, event.step_id, event.weighed.version)] += 1
            elif isinstance(event, VerdictGiven) and event.open is not True:
                weighed = gates[run, event.step_id, event.visit].weighed
                if weighed is not UNSET:
                    of = (event.visit, weighed.raw, weighed.why, event.decision == APPROVED)
                    step = JudgedStep(vertical, event.step_id, weighed.version)
                    cases[step].append(JudgedCase(event.at, run, seq[run], *of))
    for found in cases.values():
        found.sort(key=lambda one: one[:3])
    return cases, cleared


async def test_cases_and_records_equal_a_recount_from_the_events(tmp_path: Path) -> None:
    commits, random = heard_histories(range(HISTORIES)), Random(1)
    async with store_in(tmp_path) as store:
        for place in range(0, len(commits), 40):
            await append(store, commits[place : place + 40])
            await follow(store, random, whole=False)
        await follow(store, random, whole=True)
        cases, cleared = recounted(commits)
        assert len(cases) > 20
        assert dict(await store.judged_steps("acme", 1_000)) == {
            step: cleared.get(step, 0) for step in sorted({*cases, *cleared}, key=lambda one: (*one[:2], -one[2]))
        }
        for step, counted in cases.items():
            told = await store.judged_cases("acme", step, 1_000)
            assert told == counted
            assert record_of(told) == record_of(counted)
            assert await store.judged_cases("acme", step, 2) == counted[-2:]


def cases_of(*decided: tuple[float, bool]) -> Sequence[JudgedCase]:
    at = heard_histories(range(1))[0].events[0].at
    return [JudgedCase(at, "run", seq, 1, raw, "few_cases", approved) for seq, (raw, approved) in enumerate(decided)]


def test_reliability_compares_confidence_with_what_people_decided() -> None:
    assert reliability(()) is None
    found = reliability(cases_of((1.0, True), (0.95, False), (0.5, True), (0.5, False)))
    assert found is not None
    assert [(one.low, one.cases, one.mean_raw, one.approved) for one in found.bins] == [
        (0.5, 2, 0.5, 0.5),
        (0.9, 2, 0.975, 0.5),
    ]
    assert round(found.calibration_error, 4) == 0.2375
    assert round(found.brier, 6) == round((0.95**2 + 0.25 + 0.25) / 4, 6)


def test_what_was_heard_of_a_step_alone_is_stored_as_daemons_of_0_1_0_read_it() -> None:
    for heard, members in ((PanelOutcome(2, 0.5, "sampled"), 3), (PanelOutcome(2, 0.5, "sampled", "model"), 4)):
        row = VISITS.to_row(OpenVisit(1, "medium", "line", heard=heard))
        assert len(json.loads(row[-1])) == members
        assert VISITS.from_row(row).heard == heard
