"""The rigs at small scale, and what they would find."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import orjson
import pytest

from daemon.templates.answers import unbounded
from tests.crash.wire import Answer
from tests.library.documents import Vertical, files, here
from tests.timers.crowd import Crowd, Outcome
from tests.timers.deadlines import Race
from tests.timers.lawful import Docket, Walk

EXPIRED = {"type": "gate_expired", "decision": "denied", "by": "deadline"}
APPROVED = {"type": "verdict_given", "decision": "approved", "by": "ada@example.test"}
ENDED = {"type": "run_ended", "outcome": "good"}
GOOD = {"status": "completed", "outcome": "good"}
BAD = {"status": "completed", "outcome": "bad"}
TAKEN = ("approved", Answer(200, b"", b"{}"))


def refused(word: str, by: str, decision: str) -> tuple[str, Answer]:
    return word, Answer(409, b"", orjson.dumps({"decided": {"by": by, "decision": decision}}))


async def test_waits_that_end_within_seconds_are_all_told_in_time(tmp_path: Path) -> None:
    outcome = await Crowd(tmp_path, 300, within_s=2.0).perform()
    assert outcome.sound, str(outcome)
    assert outcome.samples > 0


def test_a_loop_that_stalled_or_was_not_measured_is_not_smooth() -> None:
    found = [Outcome(samples=samples, stalls=stalls).smooth for samples, stalls in ((0, 0), (9, 1), (9, 0))]
    assert found == [False, False, True]


async def test_gates_have_one_outcome_while_the_clock_jumps_and_the_service_is_killed(tmp_path: Path) -> None:
    outcome = await Race(tmp_path, 80, 2).perform()
    assert outcome.faults == []
    assert (outcome.gates >= 80, outcome.jumps, outcome.kills) == (True, 3, 1)


async def test_a_shipped_process_keeps_its_clocks_at_each_last_moment_though_it_is_killed(tmp_path: Path) -> None:
    with unbounded():
        erasure = [Vertical(file, here()) for file in files(here(), ["data-subject-erasure"])]
    outcome = await Docket(tmp_path, erasure, 1, kill_every=1).perform()
    assert outcome.faults == []
    assert outcome.clocks["stopped"] == 1
    assert min(outcome.jumps, outcome.kills, outcome.verdicts) > 0


def test_a_clock_that_was_breached_and_one_that_nothing_stopped_are_found(tmp_path: Path) -> None:
    about = {"id": "notice", "due_at": "2027-04-01T00:00:00Z", "stopped_at": None, "stopped_by": None}
    late = {**about, "state": "stopped", "breached_at": about["due_at"], "stopped_at": "2027-04-02T00:00:00Z"}
    docket = Docket(tmp_path, (), 1)
    docket.walks = [
        Walk("v", f"r{nth}", Random(nth), run={"clocks": [clock]})
        for nth, clock in enumerate(({**about, "state": "breached"}, late, {**about, "state": "running"}))
    ]
    docket.judge()
    assert [fault.split(", due")[0] for fault in docket.outcome.faults] == [
        "v notice is breached in r0",
        "v notice is breached in r1",
        "v notice runs on in r2",
    ]


@pytest.mark.parametrize(
    ("run", "events", "told", "exported", "answers", "fault"),
    [
        (GOOD, [APPROVED, EXPIRED], [], [], [], "its gate closed 2 times"),
        (GOOD, [], [], [], [], "its gate closed 0 times"),
        (BAD, [APPROVED], [APPROVED, {**ENDED, "outcome": "bad"}], [APPROVED], [TAKEN], "the run is completed, bad"),
        (GOOD, [APPROVED], [APPROVED, ENDED], [EXPIRED], [TAKEN], "the evidence has another outcome"),
        (GOOD, [APPROVED], [APPROVED], [APPROVED], [TAKEN], "webhooks told"),
        (GOOD, [APPROVED], [EXPIRED, ENDED], [APPROVED], [TAKEN], "webhooks told"),
        (BAD, [EXPIRED], [EXPIRED, {**ENDED, "outcome": "bad"}], [EXPIRED], [TAKEN], "were told that they decided"),
        (GOOD, [APPROVED], [APPROVED, ENDED], [APPROVED], [TAKEN, ("denied", TAKEN[1])], "were told that they decided"),
        (GOOD, [APPROVED], [APPROVED, ENDED], [APPROVED], [], "a verdict counts that nobody was told of"),
        (
            GOOD,
            [APPROVED],
            [APPROVED, ENDED],
            [APPROVED],
            [TAKEN, refused("denied", "deadline", "denied")],
            "was told that deadline decided",
        ),
    ],
)
def test_what_does_not_fit_together_is_found(
    tmp_path: Path, run: Any, events: Any, told: Any, exported: Any, answers: Any, fault: str
) -> None:
    found = list(Race(tmp_path, 0, 0)._faults(run, events, told, exported, answers))
    assert any(fault in one for one in found), found


def test_what_fits_together_is_no_fault(tmp_path: Path) -> None:
    lost = [TAKEN, refused("denied", "ada@example.test", "approved"), ("approved", None)]
    found = list(Race(tmp_path, 0, 0)._faults(GOOD, [APPROVED], [APPROVED, ENDED], [APPROVED], lost))
    assert found == []
