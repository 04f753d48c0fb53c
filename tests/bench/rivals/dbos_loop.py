"""DBOS with SQLite, in FOLDER, in that WAY: CALLERS that start, park, resume, for SECONDS."""

from __future__ import annotations

import sqlite3
import sys
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

from dbos import DBOS, DBOSConfig, SetWorkflowID

from tests.bench.rivals.driving import BEFORE, BEHIND, INPUTS, drive

FULL = 2
PATIENCE_S = 60
POLLED_S = 0.001
WAYS = ("default", "tuned")
_parked: dict[str, threading.Event] = {}


@DBOS.step()
def tool(step_id: str) -> dict[str, Any]:
    """A step that answers at once."""
    return (BEFORE | BEHIND)[step_id]


@DBOS.workflow()
def process(run_id: str, inputs: dict[str, Any]) -> dict[str, Any]:
    """The process `prior-auth`, its branches being code."""
    facts: dict[str, Any] = {"inputs": inputs}
    for step_id in BEFORE:
        if step_id != "request-records" or not facts["match-criteria"]["met"]:
            facts[step_id] = tool(step_id)
    _parked[run_id].set()
    if DBOS.recv("signoff", timeout_seconds=PATIENCE_S) == "approved":
        for step_id in BEHIND:
            facts[step_id] = tool(step_id)
    return facts


def loop(run_id: str) -> None:
    """One run from its start to its end; that it is parked is told within the process, which costs
    nothing.
    """
    parked = _parked[run_id] = threading.Event()
    with SetWorkflowID(run_id):
        handle = DBOS.start_workflow(process, run_id, INPUTS)
    parked.wait(PATIENCE_S)
    DBOS.send(run_id, "approved", "signoff")
    assert set(handle.get_result()) == {"inputs", *BEFORE, *BEHIND}
    del _parked[run_id]


def main(folder: Path, way: str, callers: int, seconds: float) -> None:
    """Drive it as it comes, or with a write-ahead log and messages that are looked for as often as
    can be set.
    """
    path = folder / "dbos.db"
    config: DBOSConfig = {"name": "bench", "system_database_url": f"sqlite:///{path}", "log_level": "ERROR"}
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA synchronous").fetchone() == (FULL,)
        if way == "tuned":
            assert connection.execute("PRAGMA journal_mode = wal").fetchone() == ("wal",)
            config["notification_listener_polling_interval_sec"] = POLLED_S
    DBOS(config=config)
    DBOS.launch()
    try:
        drive(loop, callers, seconds)
    finally:
        DBOS.destroy()


if __name__ == "__main__":
    assert sys.argv[2] in WAYS
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
