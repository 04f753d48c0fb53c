"""What the commands say where everything is in PostgreSQL."""

from __future__ import annotations

import json
import socket
from typing import TYPE_CHECKING

import asyncpg
import pytest

from daemon.stores.postgres.store import PostgresStore
from daemon.stores.postgres.timelines import FILE
from daemon.stores.sqlite.store import SqliteStore
from tests.crash.service import command, environment
from tests.histories import start
from tests.postgres import KEYS
from tests.postgresql.test_clocks import set_ahead

if TYPE_CHECKING:
    from pathlib import Path

    from tests.postgres import Server


async def test_backup_and_restore_name_the_tools_of_postgresql(url: str, tmp_path: Path) -> None:
    env = environment(tmp_path, database_url=url)
    for name in ("backup", "restore"):
        code, _, said = await command(name, str(tmp_path / "copy"), env=env)
        assert code == 1
        assert "pg_dump" in said


async def test_the_doctor_looks_at_it_and_shows_no_password(url: str, tmp_path: Path) -> None:
    async with PostgresStore.open(url, KEYS) as store:
        await store.append(start())
        await store.append(start("run-2", gates=()))
    secret = url.replace("penstock@", "penstock:canary@")
    code, out, _ = await command("doctor", "--json", env=environment(tmp_path, database_url=secret))
    found = {(check["name"], check["state"]): check["text"] for check in json.loads(out)["checks"]}
    assert "PostgreSQL" in found["database", "ok"]
    assert found["runs", "ok"] == "1 executing, 1 parked"
    assert found["runs", "warning"].startswith("1 are not at rest")
    assert "canary" not in out
    assert code in (0, 1)


@pytest.mark.parametrize(("ahead_s", "state"), [(0, None), (3, "warning"), (9, "problem")])
async def test_the_doctor_says_how_far_the_clock_of_the_database_is_off(
    url: str, tmp_path: Path, ahead_s: int, state: str | None
) -> None:
    await set_ahead(url, ahead_s)
    _, out, _ = await command("doctor", "--json", env=environment(tmp_path, database_url=url))
    found = [(check["state"], check["text"]) for check in json.loads(out)["checks"] if check["name"] == "clock"]
    assert [one for one, _ in found] == ([] if state is None else [state])
    assert all("s ahead" in text for _, text in found)


async def test_doctor_names_a_server_that_another_one_has_replaced(url: str, tmp_path: Path) -> None:
    db = await asyncpg.connect(url)
    system = await db.fetchval("SELECT system_identifier::text FROM pg_control_system()")
    await db.close()
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / FILE).write_text(json.dumps({"system": system, "number": 9}), encoding="utf-8")
    code, out, _ = await command("doctor", env=environment(tmp_path, database_url=url))
    assert (code, "another server has taken its place" in out) == (1, True), out


async def test_the_password_of_the_database_is_read_from_a_file(
    postgres: Server, template: str, tmp_path: Path
) -> None:
    url, password, file = await postgres.made(template), "a:b/c@d %41", tmp_path / "secret"
    rules = postgres.folder / "data" / "pg_hba.conf"
    rules.write_text(f"host all locked 127.0.0.1/32 scram-sha-256\n{rules.read_text()}", encoding="utf-8")
    await postgres.told(f"CREATE ROLE locked SUPERUSER LOGIN PASSWORD '{password}'")
    await postgres.told("SELECT pg_reload_conf()")
    locked = {"database_url": url.replace("penstock@", "locked@"), "database_password_file": str(file)}
    env = environment(tmp_path, **locked)

    _, out, _ = await command("doctor", env=env)
    assert f"problem  database: {file} cannot be read: FileNotFoundError" in out
    code, _, said = await command("serve", "--port", "0", env=env)
    assert (code, str(file) in said) == (78, True)
    for secret, opened in (("wrong", False), (password, True)):
        file.write_text(f"{secret}\n", encoding="utf-8")
        _, out, _ = await command("doctor", env=env)
        assert ("PostgreSQL" in out and "fsync" in out) is opened
    env = environment(tmp_path, **{**locked, "database_url": url.replace("penstock@", "locked:other@")})
    code, _, said = await command("serve", "--port", "0", env=env)
    assert (code, "and PENSTOCK_DATABASE_PASSWORD_FILE, too" in said) == (78, True)


async def test_a_daemon_whose_port_is_taken_ends_before_it_takes_an_epoch(url: str, tmp_path: Path) -> None:
    async def last_epoch() -> int:
        db = await asyncpg.connect(url)
        try:
            return int(await db.fetchval("SELECT last FROM epochs"))
        finally:
            await db.close()

    before = await last_epoch()
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        code, _, said = await command("serve", "--port", port, env=environment(tmp_path, database_url=url))
    assert (code, f"127.0.0.1:{port} cannot be listened on: Address already in use." in said) == (78, True)
    assert await last_epoch() == before


async def test_a_database_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    nowhere = "postgresql://penstock@127.0.0.1:9/none"
    _, out, _ = await command("doctor", env=environment(tmp_path, database_url=nowhere))
    assert "problem  database: The database could not do it" in out
    code, _, said = await command("serve", "--port", "0", env=environment(tmp_path, database_url=nowhere))
    assert code == 74
    assert "The database could not do it" in said


async def test_what_is_no_postgresql_is_refused_as_a_setting(tmp_path: Path) -> None:
    code, _, said = await command("serve", env=environment(tmp_path, database_url="mysql://host/name"))
    assert code == 78
    assert "PENSTOCK_DATABASE_URL: it has to begin with postgresql://" in said


async def test_an_installation_is_moved_by_the_command(postgres: Server, tmp_path: Path) -> None:
    url, env = await postgres.made(), environment(tmp_path)
    missing = await command("migrate", "--from", f"sqlite:{tmp_path}", "--to", url, env=env)
    assert missing[0] == 78
    async with SqliteStore.open(tmp_path / "penstock.db") as store:
        await store.append(start())
    code, out, said = await command("migrate", "--from", f"sqlite:{tmp_path}", "--to", url, env=env)
    assert (code, said) == (0, "")
    assert "compared: 1 commits and 0 checkpoints are the same" in out
    again = await command("migrate", "--from", f"sqlite:{tmp_path}", "--to", url, env=env)
    assert (again[0], "moved there already" in again[2]) == (1, True)
