"""Why a run will wake again, as its state says."""

from __future__ import annotations

import pytest

from actors.messages import RunStarted, StepEntered
from actors.run import evolve
from daemon.sweeper import reason
from tests.conversations import MORNING, Conversation
from tests.processes import connector, end, gate, parallel, process, task

PAY = process(gate("signoff"), task("pay"), end(), ways="signoff -> pay -> end")
LIVE = {"pay": connector("pay")}


def talk() -> Conversation:
    return Conversation(PAY, LIVE).start()


def test_an_open_gate_is_a_reason() -> None:
    assert reason(talk().run, PAY) == "gate signoff is open"


def test_a_call_is_a_reason() -> None:
    said = talk()
    said.resume("signoff")
    assert reason(said.run, PAY) == "call pay-1 is outstanding"


def test_a_failure_waits_for_somebody_to_try_again() -> None:
    said = talk()
    said.resume("signoff")
    said.failed("pay")
    assert reason(said.run, PAY) == "pay has failed and can be tried again"


@pytest.mark.parametrize("how", ["completed", "cancelled"])
def test_a_run_that_has_ended_needs_no_reason(how: str) -> None:
    said = talk()
    if how == "completed":
        said.resume("signoff")
        said.returned("pay")
    else:
        said.cancel()
    assert (said.run.status, reason(said.run, PAY)) == (how, "ended")


def test_a_step_that_is_ready_has_a_wake_up() -> None:
    started = RunStarted(MORNING, "run", "acme", "ann", "process", 1, PAY.digest, {}, True)
    run = evolve(evolve(None, started), StepEntered(MORNING, "pay", 1, "task", "low"))
    assert reason(run, PAY) == "timer pay-1 is due"


def test_a_join_that_nothing_comes_to_any_more_has_no_reason() -> None:
    template = process(parallel("join"), end(), ways="join -> end")
    started = RunStarted(MORNING, "run", "acme", "ann", "process", 1, template.digest, {}, True)
    run = evolve(evolve(None, started), StepEntered(MORNING, "join", 1, "gateway", "low", waiting=True))
    assert reason(run, template) is None
    assert reason(evolve(None, started), template) is None
