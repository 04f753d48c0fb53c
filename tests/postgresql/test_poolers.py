"""Behind a real PgBouncer: a daemon works in session mode, and refuses transaction mode with the
cause.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import SplitResult, urlsplit

import pytest
from typer.testing import CliRunner

from actors.ports import StoreFailed
from daemon.cli import app
from daemon.model import SchemaMismatch
from daemon.stores.postgres.connection import SESSION, Db, PostgresConnection, check_sessions
from daemon.stores.postgres.store import PostgresStore
from tests.bench.servers import free_port
from tests.histories import append, decide, start
from tests.postgres import KEYS, launched, unprivileged
from tests.proxies.behind import program

PATIENCE_S = 20.0
POOLER = program("pgbouncer")
pytestmark = pytest.mark.skipif(POOLER is None, reason="There is no pgbouncer here: apt-get install pgbouncer")
CONFIGURATION = """
[databases]
* = host=127.0.0.1 port={server}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = {mode}
default_pool_size = 20
"""


@asynccontextmanager
async def pooled(url: str, mode: str) -> AsyncIterator[str]:
    """The database behind a pooler, configured as a stranger would."""
    parts, port = urlsplit(url), free_port()
    with TemporaryDirectory() as folder:
        async with _started(Path(folder), parts, port, mode):
            yield f"postgresql://{parts.username}@127.0.0.1:{port}{parts.path}"


@asynccontextmanager
async def _started(folder: Path, parts: SplitResult, port: int, mode: str) -> AsyncIterator[None]:
    file = folder / "pgbouncer.ini"
    text = CONFIGURATION.format(server=parts.port, port=port, mode=mode)
    file.write_text(text.replace("* = host", f"{parts.path[1:]} = user={parts.username} host"))
    if not os.getuid():
        os.chown(folder, *unprivileged())
    command, quiet = launched(str(POOLER), file), subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(*command, stdout=quiet, stderr=quiet, cwd="/")
    try:
        async with asyncio.timeout(PATIENCE_S):
            while True:
                try:
                    (await asyncio.open_connection("127.0.0.1", port))[1].close()
                    break
                except OSError:
                    await asyncio.sleep(0.02)
        yield
    finally:
        process.kill()
        await process.wait()


async def test_a_daemon_works_behind_a_pooler_in_session_mode(url: str) -> None:
    async with pooled(url, "session") as behind, PostgresStore.open(behind, KEYS) as store:
        begun = start()
        await store.append(begun)
        await append(store, decide(begun.run))
        assert (await store.load(begun.run.company_id, begun.run.id)) is not None


async def test_what_a_session_needs_is_set_behind_a_pooler_too(url: str) -> None:
    async def settings(db: Db) -> dict[str, str]:
        rows = await db.fetch("SELECT name, current_setting(name) FROM unnest($1::text[]) name", list(SESSION))
        return dict(rows)

    direct, through = PostgresConnection(url), None
    async with pooled(url, "session") as behind:
        through = PostgresConnection(behind)
        found = await through.use(settings)
        assert found == await direct.use(settings)
        assert (found["statement_timeout"], found["lock_timeout"], found["jit"]) == ("6s", "5s", "off")
        await through.close()
    await direct.close()


@pytest.mark.parametrize("mode", ["transaction", "statement"])
async def test_a_pooler_that_shares_sessions_is_refused_with_the_cause(url: str, tmp_path: Path, mode: str) -> None:
    async with pooled(url, mode) as behind:
        with pytest.raises(SchemaMismatch, match="pool_mode = session"):
            async with PostgresStore.open(behind, KEYS):
                pass
        variables = {"PENSTOCK_DATABASE_URL": behind, "PENSTOCK_DATA_DIR": str(tmp_path / "data")}
        doctor = await asyncio.to_thread(CliRunner().invoke, app, ["doctor"], env=variables)
        assert "pooler" in doctor.output
        served = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "daemon", "serve", "--port", "0"),
            env={**os.environ, **variables},
            stderr=subprocess.PIPE,
        )
        _, said = await served.communicate()
        assert (served.returncode, b"pool_mode = session" in said) == (78, True), said


async def test_a_database_without_a_pooler_is_taken(url: str) -> None:
    await check_sessions(url)
    with pytest.raises(StoreFailed):
        await check_sessions("postgresql://penstock@127.0.0.1:1/none")
