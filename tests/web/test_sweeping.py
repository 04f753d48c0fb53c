"""A call whose outcome gets lost: the run is reported and goes on, without a restart."""

from __future__ import annotations

from typing import Any

import pytest
from structlog.testing import capture_logs

from daemon.engine.dispatcher import Dispatcher
from daemon.settings import Settings
from tests.web.support import FarSide, House, Person


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"sweep_interval_s": 0.05})


def lose_one_outcome(house: House, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The next outcome does not reach its run."""
    lost: list[str] = []
    dispatcher = house.services.dispatcher
    assert isinstance(dispatcher, Dispatcher)
    post = dispatcher._post

    def lose(*outcome: Any) -> None:
        lost.append(outcome[1])
        monkeypatch.setattr(dispatcher, "_post", post)

    monkeypatch.setattr(dispatcher, "_post", lose)
    return lost


@pytest.mark.one_daemon
async def test_a_run_whose_outcome_was_lost_is_reported_and_goes_on(
    house: House, ann: Person, far: FarSide, monkeypatch: pytest.MonkeyPatch
) -> None:
    await ann.connect("answers", far.url)
    lost = lose_one_outcome(house, monkeypatch)
    with capture_logs() as logs:
        answer = await ann.post(
            "/process-runs/", {"vertical": "quick", "inputs": {"name": "x"}}, Prefer="respond-async"
        )
        await ann.until(answer.json, "completed")
    assert lost == [answer.json["id"]]
    stuck = [(log["run_id"], log["status"], log["why"]) for log in logs if log["event"].startswith("run_st")]
    assert stuck == [(answer.json["id"], "executing", "call ask-1 is outstanding, but nobody sees to it")]
    assert len(far.seen) == 2


@pytest.mark.one_daemon
async def test_of_a_call_that_may_not_be_repeated_a_human_is_asked(
    house: House, ann: Person, far: FarSide, monkeypatch: pytest.MonkeyPatch
) -> None:
    await ann.connect("payment", far.url)
    run = await ann.start("line", {"amount": 1})
    lost = lose_one_outcome(house, monkeypatch)
    await ann.resume(run, "signoff", Prefer="respond-async")
    now = await ann.until(run, "parked")
    assert (now["parked_at"], now["gate"]["reason"]) == ("pay", "outcome unknown")
    assert (lost, len(far.seen)) == ([run["id"]], 1)
