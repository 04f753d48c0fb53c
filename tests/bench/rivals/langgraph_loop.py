"""LangGraph with its SQLite saver, in FOLDER, with that DURABILITY: CALLERS that start, park,
resume, for SECONDS.
"""

from __future__ import annotations

import operator
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, TypedDict

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from tests.bench.rivals.driving import BEFORE, BEHIND, INPUTS, drive

FULL = 2


class State(TypedDict):
    """A run."""

    inputs: dict[str, Any]
    facts: Annotated[dict[str, Any], operator.or_]
    decision: str


def task(step_id: str, output: dict[str, Any]) -> Callable[[State], dict[str, Any]]:
    """A step that answers at once."""
    return lambda _state: {"facts": {step_id: output}}


def signoff(_state: State) -> dict[str, Any]:
    """The gate."""
    return {"decision": interrupt({"gate": "signoff", "decisions": ["approved", "denied"]})}


def graph(saver: SqliteSaver) -> Any:
    """The process `prior-auth`, its branches being edges."""
    builder = StateGraph(State)
    for step_id, output in (BEFORE | BEHIND).items():
        builder.add_node(step_id, task(step_id, output))
    builder.add_node("signoff", signoff)
    way = [START, *BEFORE, "signoff", *BEHIND, END]
    branches = {
        "match-criteria": lambda state: "recommend" if state["facts"]["match-criteria"]["met"] else "request-records",
        "signoff": lambda state: "issue-authorization" if state["decision"] == "approved" else END,
    }
    for source, target in pairwise(way):
        if source in branches:
            builder.add_conditional_edges(source, branches[source])
        else:
            builder.add_edge(source, target)
    return builder.compile(checkpointer=saver)


def main(folder: Path, durability: str, callers: int, seconds: float) -> None:
    """Drive it."""
    with closing(sqlite3.connect(folder / "langgraph.db", check_same_thread=False)) as connection:
        saver = SqliteSaver(connection)
        saver.setup()
        connection.execute(f"PRAGMA synchronous = {FULL}")
        assert connection.execute("PRAGMA synchronous").fetchone() == (FULL,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        process = graph(saver)

        def loop(run_id: str) -> None:
            config = {"configurable": {"thread_id": run_id}}
            parked = process.invoke({"inputs": INPUTS, "facts": {}}, config, durability=durability)
            assert parked["__interrupt__"], parked
            ended = process.invoke(Command(resume="approved"), config, durability=durability)
            assert set(ended["facts"]) == {*BEFORE, *BEHIND}, ended

        drive(loop, callers, seconds)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
