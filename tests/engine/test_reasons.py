"""Why a run will wake again, as its state says."""

from __future__ import annotations

import pytest

from actors.core.folding.evolve import evolve
from actors.core.messages import RunStarted, StepEntered
from actors.core.template import Template
from daemon.engine.sweeper import reason
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


def started_of(template: Template) -> RunStarted:
    return RunStarted(
        at=MORNING,
        run_id="run",
        company_id="acme",
        by="ann",
        vertical=template.vertical,
        template_version=template.version,
        template_digest=template.digest,
        inputs={},
        auto_resolve=True,
    )


def test_a_step_that_is_ready_has_a_wake_up() -> None:
    started = started_of(PAY)
    run = evolve(evolve(None, started), StepEntered(at=MORNING, step_id="pay", visit=1, kind="task", tier="low"))
    assert reason(run, PAY) == "timer pay-1 is due"


def test_a_join_that_nothing_comes_to_any_more_has_no_reason() -> None:
    template = process(parallel("join"), end(), ways="join -> end")
    started = started_of(template)
    run = evolve(
        evolve(None, started),
        StepEntered(at=MORNING, step_id="join", visit=1, kind="gateway", tier="low", waiting=True),
    )
    assert reason(run, template) is None
    assert reason(evolve(None, started), template) is None
