"""The keys of stored secrets are rotated under a running service and a stopped one; no call fails
meanwhile.
"""

from __future__ import annotations

import asyncio
import signal
import sqlite3
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from daemon.keys.keyring import read_ring
from daemon.keys.vault import unwrapped
from daemon.model import CompanyKey
from tests.crash.service import PATIENCE_S, PERSON, Service, command, environment, serving

EXIT_CONFIG = 78
SECRET = "s3cret-canary"
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
async def guarded() -> AsyncIterator[str]:
    """A far side that lets in whoever knows the secret."""

    async def handle(request: web.Request) -> web.Response:
        return web.json_response({}, status=200 if request.headers.get("Authorization") == f"Bearer {SECRET}" else 401)

    app = web.Application()
    app.router.add_route("*", "/", handle)
    server = TestServer(app, host="127.0.0.1")
    await server.start_server()
    yield str(server.make_url("/")).rstrip("/")
    await server.close()


async def connect(service: Service, url: str) -> None:
    how = {"base_url": url, "auth_type": "bearer", "auth_token": SECRET, "reversible": True}
    status, answer = await service.send("PUT", "/connectors/lab", how)
    assert status == 201, answer


async def gets_in(service: Service, url: str) -> bool:
    """Whether the stored secret opens, and is the right one."""
    body = {"base_url": url, "auth_type": "bearer"}
    status, answer = await service.send("POST", "/connectors/lab/test", body)
    assert status == 200, answer
    return bool(answer["ok"])


def wrapped_by(folder: Path) -> set[str]:
    """The keys that wrap a company's key."""
    with closing(sqlite3.connect(f"file:{folder / 'data' / 'penstock.db'}?mode=ro", uri=True)) as db:
        return {key_id for (key_id,) in db.execute("SELECT key_id FROM company_keys")}


def unwrapped_keys(folder: Path) -> list[bytes]:
    """The data keys of all companies, unwrapped with the ring as it is."""
    ring = read_ring(folder / "data" / "vault.key")
    with closing(sqlite3.connect(f"file:{folder / 'data' / 'penstock.db'}?mode=ro", uri=True)) as db:
        rows = db.execute("SELECT company_id, key_id, wrapped FROM company_keys").fetchall()
    return [unwrapped(ring, CompanyKey(company, key_id, wrapped, NOON)) for company, key_id, wrapped in rows]


def on_disk(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in (folder / "data").iterdir() if path.is_file())


async def stop(service: Service) -> None:
    service.process.send_signal(signal.SIGTERM)
    assert await service.process.wait() == 0


async def follows(service: Service, url: str, folder: Path) -> None:
    """Call until the key in use wraps all; every call gets in."""
    current = read_ring(folder / "data" / "vault.key").current
    async with asyncio.timeout(PATIENCE_S):
        while wrapped_by(folder) != {current}:
            assert await gets_in(service, url)


async def test_keys_are_rotated_online_and_the_old_one_can_go(folder: Path, guarded: str) -> None:
    env = environment(folder)
    async with serving(folder, company_tests_per_minute_max="10000") as service:
        await service.register()
        await connect(service, guarded)
        before = wrapped_by(folder)
        code, out, err = await command("secrets", "rotate", env=env)
        assert (code, err) == (0, "")
        assert "2 keys are kept" in out
        await follows(service, guarded, folder)
        assert wrapped_by(folder).isdisjoint(before)
        (data_key,) = unwrapped_keys(folder)
        for form in (data_key, data_key.hex().encode(), b64encode(data_key)):
            assert form not in on_disk(folder)
            assert form not in service.log.read_bytes()
        code, _, err = await command("secrets", "prune", env=env)
        assert code == EXIT_CONFIG
        assert "Another process uses the data folder" in err
        await stop(service)
        assert service.log.read_text(encoding="utf-8").count('"rewrapped": 1') == 1
    code, out, err = await command("secrets", "prune", env=env)
    assert (code, err) == (0, "")
    assert out.startswith("1 keys dropped")
    assert set(read_ring(folder / "data" / "vault.key").keys) == wrapped_by(folder)
    async with serving(folder, service.token, company_tests_per_minute_max="10000") as again:
        assert await gets_in(again, guarded)


async def test_keys_rotated_while_the_service_is_stopped_take_over_when_it_starts(folder: Path, guarded: str) -> None:
    env = environment(folder)
    async with serving(folder, company_tests_per_minute_max="10000") as service:
        await service.register()
        await connect(service, guarded)
        await service.kill()
    before = wrapped_by(folder)
    assert (await command("secrets", "rotate", env=env))[0] == 0
    code, _, err = await command("secrets", "prune", env=env)
    assert code == EXIT_CONFIG
    assert "start the service" in err
    assert wrapped_by(folder) == before
    async with serving(folder, service.token, company_tests_per_minute_max="10000") as again:
        assert await gets_in(again, guarded)
        await follows(again, guarded, folder)


async def test_the_key_can_come_from_a_file_of_its_own(folder: Path, guarded: str) -> None:
    given = folder / "credential"
    env = environment(folder, vault_key_file=str(given))
    assert (await command("secrets", "rotate", env=env))[0] == EXIT_CONFIG
    async with serving(folder, company_tests_per_minute_max="10000") as service:
        await service.register()
        await connect(service, guarded)
        assert '"event": "key_created"' in service.log.read_text(encoding="utf-8")
        await stop(service)
    (folder / "data" / "vault.key").rename(given)
    async with serving(folder, service.token, company_tests_per_minute_max="10000", vault_key_file=str(given)) as again:
        assert await gets_in(again, guarded)
        assert (await command("secrets", "rotate", env=env))[0] == 0
        await stop(again)
    assert not (folder / "data" / "vault.key").exists()
    given.chmod(0o644)
    code, _, err = await command("serve", "--port", "0", env=env)
    assert code == EXIT_CONFIG
    assert "make it 0600" in err


async def test_prune_without_a_database_drops_nothing(folder: Path) -> None:
    code, _, err = await command("secrets", "prune", env=environment(folder))
    assert code == EXIT_CONFIG
    assert "keys are unknown" in err
    assert PERSON["email"] not in err
