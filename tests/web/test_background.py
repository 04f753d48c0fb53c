"""Each loop of a running service meets a fault that nobody foresaw: it is said, and the loop goes
on.
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from actors import failpoints
from daemon.keys.keyring import KeyRing, change_ring
from daemon.runtime.background import Loop
from daemon.runtime.exit_codes import STORE_FAILED
from daemon.settings import Settings
from tests.web.conftest import ON_POSTGRES
from tests.web.support import PATIENCE_S, Answer, House, Person

pytestmark = pytest.mark.one_daemon
EVERYWHERE = {
    "api-keys",
    "archives",
    "commit-keys",
    "due-runs",
    "inbox",
    "key-files",
    "loop-lag",
    "notifications",
    "old-rows",
    "passivation",
    "reports",
    "reviews",
    "sealer",
    "search",
    "secrets",
    "store",
    "sweeper",
    "timers",
}
LOOPS = (
    EVERYWHERE
    | {"full-collection", "sessions", "usage", "webhooks"}
    | ({"listen", "notify", "lease", "peers"} if ON_POSTGRES else set())
)
# Their rounds end when something is due; tests/runtime/test_background.py has one fail then.
WAITING = {"notify", "reviews", "timers"}
VITAL = {"due-runs", "lease", "peers", "sealer", "timers"} & LOOPS


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"metrics_port": 0, "sweep_interval_s": 0.05, "run_idle_s": 0.0})


def loops(house: House) -> dict[str, Loop]:
    return {loop.name: loop for loop in house.services.background._loops}


async def health_until(house: House, fits: Callable[[Answer], bool]) -> Answer:
    """The first answer of /health that is like that."""
    async with asyncio.timeout(PATIENCE_S):
        while not fits(answer := await house.send("GET", "/health")):
            pass
    return answer


def faulty(work: Callable[[], Awaitable[object]], faults: int) -> Callable[[], Awaitable[object]]:
    """The same work, which fails at first so many times."""
    left = faults

    async def fail_or_work() -> object:
        nonlocal left
        if left:
            left -= 1
            raise OSError(errno.EMFILE, "too many open files")
        return await work()

    return fail_or_work


async def test_every_loop_of_the_service_is_supervised(house: House) -> None:
    found = loops(house)
    assert set(found) == LOOPS
    assert {name for name, loop in found.items() if loop.vital} == VITAL


@pytest.mark.parametrize("name", sorted(LOOPS - WAITING))
async def test_a_loop_that_fails_is_told_by_health_and_goes_on(house: House, name: str) -> None:
    own, went_on = loops(house)[name], asyncio.Event()
    work = faulty(own.work, 3)

    async def watched() -> None:
        await work()
        went_on.set()

    # Beside the service's own, which may rest for an hour before its next round.
    house.services.background.start(house.stack, Loop(name, watched, own.every_s))
    degraded = await health_until(house, lambda answer: answer.json["status"] == "degraded")
    assert (degraded.status, degraded.json["store"], degraded.json["down"]) == (200, "ok", [name])
    async with asyncio.timeout(PATIENCE_S):
        await went_on.wait()
    well = await health_until(house, lambda answer: answer.json["status"] == "ok")
    assert "down" not in well.json


@pytest.mark.parametrize("name", sorted(VITAL))
async def test_without_a_loop_that_promises_rest_on_the_process_is_stopped_to_be_started_again(
    house: House, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr("daemon.runtime.background.VOID_S", 0.2)
    own = loops(house)[name]
    house.services.background.start(house.stack, replace(own, work=faulty(own.work, 1_000)))
    async with asyncio.timeout(PATIENCE_S):
        await house.life.stopping.wait()
    assert house.life.exit_code == STORE_FAILED


async def test_an_idle_run_that_cannot_be_let_go_is_let_go_later(house: House, ann: Person) -> None:
    faults = 2

    def fail(name: str) -> None:
        nonlocal faults
        if name == "before-passivation" and faults:
            faults -= 1
            raise OSError(errno.EIO, "input/output error")

    failpoints.arm(fail)
    try:
        await ann.start("line", {"amount": 1})
        await health_until(house, lambda answer: answer.json.get("down") == ["passivation"])
        await health_until(house, lambda answer: answer.json["runs"] == {"live": 0})
    finally:
        failpoints.disarm()
    assert (faults, (await health_until(house, lambda _: True)).json["status"]) == (0, "ok")


async def test_the_sealer_seals_again_as_soon_as_its_files_are_in_order(
    house: House, ann: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("daemon.audit.sealer.FAILED_PAUSE_S", 0.0)
    folder: Path = house.settings.data_dir
    (folder / "audit.pub").unlink()
    (folder / "audit.pub").mkdir()
    change_ring(folder / "audit.keys", KeyRing.rotated)
    await ann.start("line", {"amount": 1})
    await health_until(house, lambda answer: answer.json.get("down") == ["sealer"])
    assert await house.services.store.unsealed() > 0
    (folder / "audit.pub").rmdir()
    await health_until(house, lambda answer: answer.json["status"] == "ok")
    assert await house.services.store.unsealed() == 0
    assert (folder / "audit.pub").is_file()
