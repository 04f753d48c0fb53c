"""A daemon whose clock and that of the database are apart says so, and ends where it is too far."""

from __future__ import annotations

import asyncio
import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import asyncpg
import pytest
from structlog.testing import capture_logs

from daemon.engine.change_poller import ClockWatch
from daemon.runtime import exit_codes
from daemon.runtime.clock import skew_s
from tests.programs import announced

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
PATIENCE_S = 30.0


async def set_ahead(url: str, seconds: float) -> None:
    """Put the clock of a database ahead."""
    db = await asyncpg.connect(url)
    await db.execute("CREATE SCHEMA skewed")
    for clock in ("clock_timestamp", "now"):
        await db.execute(
            f"CREATE FUNCTION skewed.{clock}() RETURNS timestamptz LANGUAGE sql VOLATILE "
            f"AS $$SELECT pg_catalog.{clock}() + interval '{seconds} s'$$"
        )
    await db.execute(f"ALTER DATABASE {url.rpartition('/')[2]} SET search_path = public, skewed, pg_catalog")
    await db.close()


@pytest.mark.parametrize(("other", "skew"), [(-3, -3.0), (0, 0.0), (2, 0.0), (4, 0.0), (9, 5.0)])
def test_a_slow_answer_is_no_skew(other: int, skew: float) -> None:
    before, after = NOON, NOON + timedelta(seconds=4)
    assert skew_s(before, NOON + timedelta(seconds=other), after) == skew


def test_a_skew_is_told_when_it_begins_and_ends_and_refused_when_it_lasts() -> None:
    shown: list[float] = []
    ended: list[int] = []
    watch = ClockWatch(5.0, lambda: ended.append(len(shown)), shown.append)
    skews = (0.5, 1.5, -2, 0.5, 6, 2, -6, -6, -6)
    with capture_logs() as logs:
        for seconds in skews:
            watch.compare(NOON, NOON + timedelta(seconds=seconds), NOON)
    assert [line["event"] for line in logs] == ["clock_skewed", "clock_in_step", "clock_skewed", "clock_refused"]
    assert [line.get("database_ahead_s") for line in logs] == [1.5, None, 6, -6]
    assert (tuple(shown), ended) == (skews, [8])


async def test_a_daemon_whose_clock_is_off_by_its_lease_ends_with_a_code_of_its_own(url: str, tmp_path: Path) -> None:
    await set_ahead(url, 3)
    env = {**os.environ, "PENSTOCK_DATABASE_URL": url, "PENSTOCK_LEASE_S": "2", "PENSTOCK_DATA_DIR": str(tmp_path)}
    async with announced("daemon", "serve", "--port", "0", env=env, log=tmp_path / "log") as (process, _):
        async with asyncio.timeout(PATIENCE_S):
            assert await process.wait() == exit_codes.CLOCK_SKEWED
    lines = [json.loads(line) for line in (tmp_path / "log").read_text("utf-8").splitlines() if line[:1] == "{"]
    told = [line["event"] for line in lines if line["event"].startswith("clock_")]
    assert told == ["clock_skewed", "clock_refused"]
