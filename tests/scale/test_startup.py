"""A start on many parked runs and a long log costs what one without them costs."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from structlog.testing import capture_logs

from daemon.app import Lifecycle, opened
from daemon.settings import Settings
from daemon.stores.sqlite.store import SqliteStore
from tests.histories import start
from tests.scale.startup import RSS_MIB_MAX, filled, started

RUNS, LOG_MIB = 1_000, 8


async def test_a_start_after_a_kill_reads_no_run_and_takes_no_more_than_an_empty_one(tmp_path: Path) -> None:
    token, empty = await filled(tmp_path, RUNS, LOG_MIB)
    one = await started(tmp_path, token)
    assert one.log_mib >= LOG_MIB
    assert (one.parked, one.recovered) == (RUNS - 1, 0)
    assert one.cost.rss_mib <= min(RSS_MIB_MAX, empty.rss_mib + 48)
    assert one.cost.cpu_s <= 2 * empty.cpu_s + 0.5


async def test_a_start_reads_no_run_that_is_parked(tmp_path: Path) -> None:
    """Nobody can read them: a start that tried would fail or say so. What counts commits for
    reports and lists gates begins behind it, in the background.
    """
    async with SqliteStore.open(tmp_path / "penstock.db") as store:
        for number in range(20):
            await store.append(start(f"run-{number}"))
    with closing(sqlite3.connect(tmp_path / "penstock.db", isolation_level=None)) as db:
        db.execute("UPDATE snapshots SET body = x'00'")
        db.execute("UPDATE commits SET events = x'00'")
    with capture_logs() as logs:
        async with opened(Settings(data_dir=tmp_path), Lifecycle()):
            pass
    events = [log["event"] for log in logs]
    started = logs[: events.index("recovered") + 1]
    assert started[-1]["runs"] == 0
    assert [log for log in started if log["log_level"] == "error"] == []
