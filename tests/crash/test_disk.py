"""The disk fails or is full under a running service: nobody waits for ever, and every key has one
stable answer.
"""

from __future__ import annotations

import asyncio
import errno
import resource
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.crash.faults import COMPILERS, Faults, built, compiler
from tests.crash.service import PERSON, FarSide, Service, command, environment, serving, together

EXIT_STORE_FAILED = 74
STOPPED_WITHIN_S = 15.0
MIB = 1024 * 1024
HELD = 12
READ_ONLY, NO_SPACE, BAD = errno.EROFS, errno.ENOSPC, errno.EIO


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if compiler() is None:
        pytest.skip(f"faults are injected by a library in C, and there is none of {', '.join(COMPILERS)} here")
    return built(tmp_path_factory.mktemp("shim"))


@pytest.fixture
def faults(library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Faults]:
    """The services of this test meet the faults that are ordered here."""
    ordered = Faults(tmp_path)
    for name, value in ordered.environment(library).items():
        monkeypatch.setenv(name, value)
    yield ordered
    ordered.close()


@dataclass(frozen=True)
class Said:
    """An answer, with what a problem must have."""

    status: int
    body: Any
    retry_after: str | None

    @property
    def outcome(self) -> Any:
        return self.body.get("outcome")


async def verdict(service: Service, run_id: str) -> Said:
    """Approve under a key that belongs to the run."""
    headers = {"Authorization": f"Bearer {service.token}", "Idempotency-Key": f"verdict-{run_id}"}
    body, url = {"gate": "signoff", "decision": "approved"}, f"{service.address}/process-runs/{run_id}/resume"
    async with service.session.post(url, json=body, headers=headers) as response:
        return Said(response.status, await response.json(content_type=None), response.headers.get("Retry-After"))


@asynccontextmanager
async def parked(folder: Path) -> AsyncIterator[tuple[Service, list[str]]]:
    """A service with runs that wait for a verdict."""
    async with serving(folder) as service:
        await service.register()
        yield service, [run["id"] for run in await service.start("held", HELD)]


async def ends(service: Service) -> int:
    async with asyncio.timeout(STOPPED_WITHIN_S):
        return await service.process.wait()


async def refuses_all(service: Service, run_ids: list[str]) -> list[Said]:
    """Verdicts on all runs at once: none is answered well, and nobody waits for ever.

    Whoever comes when the process has all but ended finds the connection closed.
    """
    said_or_lost = await asyncio.gather(*(verdict(service, run_id) for run_id in run_ids), return_exceptions=True)
    answers = [said for said in said_or_lost if isinstance(said, Said)]
    assert all(isinstance(said, Said | aiohttp.ClientError | OSError) for said in said_or_lost), said_or_lost
    assert {said.status for said in answers} == {503}
    assert {said.body["code"] for said in answers} <= {"store_unavailable", "draining"}
    assert all(said.retry_after for said in answers)
    return answers


async def one_stable_answer(folder: Path, token: str, run_ids: list[str]) -> None:
    """After a restart each key is answered, twice alike, and each gate has one verdict."""
    async with serving(folder, token) as again:
        first = await together(verdict(again, run_id) for run_id in run_ids)
        assert {said.status for said in first} == {200}
        second = await together(verdict(again, run_id) for run_id in run_ids)
        assert [said.body for said in first] == [said.body for said in second]
        for run_id in run_ids:
            events = await again.history(run_id)
            assert [event["type"] for event in events].count("verdict_given") == 1
            assert await again.read(run_id) == (await verdict(again, run_id)).body


async def breaks(service: Service, run_ids: list[str]) -> None:
    """Verdicts meet a disk that has broken: some may have happened, none is acknowledged, and the
    process ends.
    """
    answers = await refuses_all(service, run_ids)
    assert {said.outcome for said in answers} in ({"unknown"}, {"unknown", "not_applied"})
    await changes_nothing_more(service, run_ids[0])
    assert await ends(service) == EXIT_STORE_FAILED
    assert '"event": "store_writer_failed"' in service.log.read_text(encoding="utf-8")


async def changes_nothing_more(service: Service, run_id: str) -> None:
    """As long as the process answers at all, no change is acknowledged; this ends with the
    process.
    """
    try:
        while True:
            assert (await verdict(service, run_id)).status == 503
    except (aiohttp.ClientError, OSError):
        return


NO_SPACE_IN_A_COMMIT = [
    pytest.param(lambda faults: faults.write(1, NO_SPACE), id="no_room_for_the_first_write"),
    pytest.param(lambda faults: faults.write(1, NO_SPACE, short_bytes=12), id="room_for_half_a_frame_header"),
    pytest.param(lambda faults: faults.write(2, NO_SPACE), id="no_space_half_way"),
    pytest.param(lambda faults: faults.write(2, NO_SPACE, short_bytes=2_000), id="no_space_within_a_page"),
]


@pytest.mark.parametrize(
    "order",
    [
        pytest.param(lambda faults: faults.sync(1, BAD), id="the_sync_of_a_commit"),
        pytest.param(lambda faults: faults.sync(1, BAD, stay=False), id="one_sync_alone"),
        pytest.param(lambda faults: faults.write(1, READ_ONLY), id="a_file_system_turned_read_only"),
    ],
)
async def test_a_disk_that_breaks_within_a_commit_ends_the_process_and_every_key_has_one_answer(
    folder: Path, faults: Faults, order: Callable[[Faults], None]
) -> None:
    async with parked(folder) as (service, run_ids):
        order(faults)
        await breaks(service, run_ids)
    faults.clear()
    await one_stable_answer(folder, service.token, run_ids)


async def test_a_write_that_fails_half_way_ends_the_process_even_where_no_library_can_be_built(folder: Path) -> None:
    async with parked(folder) as (service, run_ids):
        log_bytes = (folder / "data" / "penstock.db-wal").stat().st_size
        limit = (log_bytes + 6_000, resource.RLIM_INFINITY)
        resource.prlimit(service.process.pid, resource.RLIMIT_FSIZE, limit)
        await breaks(service, run_ids)
    await one_stable_answer(folder, service.token, run_ids)


@pytest.mark.parametrize(
    "order", [pytest.param(lambda faults: faults.room(MIB), id="too_little_room"), *NO_SPACE_IN_A_COMMIT]
)
async def test_on_a_full_disk_reads_go_on_and_writes_as_soon_as_there_is_room(
    folder: Path, faults: Faults, far_side: FarSide, order: Callable[[Faults], None]
) -> None:
    async with parked(folder) as (service, run_ids):
        await service.connect(far_side, "slow-pay")
        (risky,) = await service.start("risky")
        await service.resume(risky["id"], Prefer="respond-async")
        await far_side.reached(1)
        order(faults)
        answers = await refuses_all(service, run_ids)
        assert {(said.body["code"], said.outcome) for said in answers} == {("store_unavailable", "not_applied")}
        far_side.released.set()
        await reads_go_on(service, run_ids)
        faults.clear()
        done = await together(verdict(service, run_id) for run_id in run_ids)
        assert {said.status for said in done} == {200}
        paid = await service.stands_still(risky["id"])
        assert (paid["status"], paid["outcome"]) == ("completed", "paid")
        health = await service.recovered()
        assert (health["status"], health["store"]) == ("ok", "ok")
        await service.kill()
        assert set(far_side.seen.values()) == {1}
        text = service.log.read_text(encoding="utf-8")
        assert (text.count('"event": "disk_full"'), text.count('"event": "disk_space_recovered"')) == (1, 1)
    async with serving(folder, service.token) as again:
        kept = await together(again.read(run_id) for run_id in run_ids)
        assert [run["version"] for run in kept] == [said.body["version"] for said in done]


@pytest.mark.parametrize("order", NO_SPACE_IN_A_COMMIT)
async def test_what_was_refused_for_want_of_room_has_not_happened_after_a_kill(
    folder: Path, faults: Faults, order: Callable[[Faults], None]
) -> None:
    async with parked(folder) as (service, run_ids):
        order(faults)
        assert {said.outcome for said in await refuses_all(service, run_ids)} == {"not_applied"}
        await service.kill()
    faults.clear()
    async with serving(folder, service.token) as again:
        assert {run["status"] for run in await together(again.read(run_id) for run_id in run_ids)} == {"parked"}
    await one_stable_answer(folder, service.token, run_ids)


async def reads_go_on(service: Service, run_ids: list[str]) -> None:
    """All that changes nothing is answered as ever; the health says what is wrong. A log-in is a
    write.
    """
    assert {run["status"] for run in await together(service.read(run_id) for run_id in run_ids)} == {"parked"}
    status, runs = await service.send("GET", "/process-runs/?limit=100")
    assert (status, len(runs)) == (200, HELD + 1)
    assert len(await service.history(run_ids[0])) > 1
    credentials = {name: PERSON[name] for name in ("email", "password")}
    status, refusal = await service.send("POST", "/auth/login", credentials)
    assert (status, refusal["code"], refusal["outcome"]) == (503, "store_unavailable", "not_applied")
    status, health = await service.send("GET", "/health")
    assert (status, health["status"], health["store"]) == (503, "full", "full")


async def starts_full_and_goes_on(folder: Path, token: str, run_ids: list[str], make_room: Callable[[], None]) -> None:
    """A service that finds no room serves reads, refuses writes as not applied, and writes as soon
    as there is.
    """
    async with serving(folder, token) as service:
        assert {run["status"] for run in await together(service.read(run_id) for run_id in run_ids)} == {"parked"}
        status, health = await service.send("GET", "/health")
        assert (status, health["status"], health["store"]) == (503, "full", "full")
        answers = await refuses_all(service, run_ids)
        assert {(said.body["code"], said.outcome) for said in answers} == {("store_unavailable", "not_applied")}
        status, refusal = await service.send("POST", "/process-runs/", {"vertical": "held"})
        assert (status, refusal["code"], refusal["outcome"]) == (503, "store_unavailable", "not_applied")
        make_room()
        await health_until(service, "ok")
        done = await together(verdict(service, run_id) for run_id in run_ids)
        assert {said.status for said in done} == {200}
        assert (await service.start("held"))[0]["status"] == "parked"
        await service.kill()
    async with serving(folder, token) as again:
        kept = await together(again.read(run_id) for run_id in run_ids)
        assert [run["version"] for run in kept] == [said.body["version"] for said in done]


async def health_until(service: Service, store: str) -> None:
    async with asyncio.timeout(STOPPED_WITHIN_S):
        while (await service.send("GET", "/health"))[1]["store"] != store:
            pass


async def left(folder: Path, *, kill: bool) -> tuple[str, list[str]]:
    """The token and the runs of a service that has stopped in order, or was killed."""
    async with parked(folder) as (service, run_ids):
        if kill:
            await service.kill()
        else:
            service.process.terminate()
            assert await ends(service) == 0
    return service.token, run_ids


@pytest.mark.parametrize("kill", [False, True], ids=["stopped", "killed"])
async def test_a_start_with_too_little_room_serves_reads_and_writes_as_soon_as_there_is_room(
    folder: Path, faults: Faults, kill: bool
) -> None:
    token, run_ids = await left(folder, kill=kill)
    faults.room(MIB)
    await starts_full_and_goes_on(folder, token, run_ids, faults.clear)


async def test_a_new_template_is_kept_before_the_first_run_that_starts_once_there_is_room(
    folder: Path, faults: Faults
) -> None:
    token, _ = await left(folder, kill=False)
    new = (folder / "templates" / "held.yaml").read_text(encoding="utf-8").replace("vertical: held", "vertical: new")
    (folder / "templates" / "new.yaml").write_text(new, encoding="utf-8")
    faults.room(MIB)
    async with serving(folder, token) as service:
        status, refusal = await service.send("POST", "/process-runs/", {"vertical": "new"})
        assert (status, refusal["outcome"]) == (503, "not_applied")
        faults.clear()
        (run,) = await service.start("new")
        await service.kill()
    (folder / "templates" / "new.yaml").unlink()
    async with serving(folder, token) as again:
        assert (await again.resume(run["id"]))["status"] == "completed"


@pytest.fixture
def small(folder: Path) -> Iterator[Path]:
    """The folder with its data on a file system of a few MiB."""
    data = folder / "data"
    data.mkdir(mode=0o700)
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=24m,mode=0700", "tmpfs", data], capture_output=True, check=False
    )
    if made.returncode:
        pytest.skip("a small file system cannot be mounted here")
    yield folder
    subprocess.run(["umount", "--lazy", data], check=True)


@pytest.mark.parametrize("kill", [False, True], ids=["stopped", "killed"])
async def test_a_start_without_a_byte_of_room_serves_reads_and_writes_as_soon_as_there_is_room(
    small: Path, kill: bool
) -> None:
    token, run_ids = await left(small, kill=kill)
    filling = small / "data" / "filling"
    with filling.open("wb", buffering=0) as file, suppress(OSError):
        while file.write(bytes(4096)):
            pass
    await starts_full_and_goes_on(small, token, run_ids, filling.unlink)


@pytest.mark.parametrize(
    ("order", "name"),
    [
        pytest.param(lambda faults: faults.write(1, NO_SPACE), "SQLITE_FULL", id="full"),
        pytest.param(lambda faults: faults.sync(6, BAD), "SQLITE_IOERR_FSYNC", id="failing"),
        pytest.param(lambda faults: faults.write(1, READ_ONLY), "SQLITE_IOERR_WRITE", id="read_only"),
    ],
)
async def test_a_disk_that_fails_at_the_start_is_no_mistake_in_the_settings(
    folder: Path, faults: Faults, order: Callable[[Faults], None], name: str
) -> None:
    order(faults)
    code, out, err = await command("serve", "--port", "0", env=environment(folder))
    assert (code, out) == (EXIT_STORE_FAILED, "")
    assert name in err
    assert "penstock.db" in err
    assert "Traceback" not in err
    faults.clear()
    async with serving(folder) as service:
        await service.register()
