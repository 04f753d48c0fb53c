"""The short form of each measurement: that every figure is there and the sums are right, and
nothing about speed.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from msgspec import structs

from actors.core.decider import TurnResult, step
from actors.core.messages import Resume, Start
from actors.ports import Commit
from daemon.audit.sealer import PUBLIC, read_public
from daemon.keys.commit_keys import FILE as COMMIT_KEYS
from daemon.keys.commit_keys import CommitKeys
from daemon.keys.keyring import KeyRing
from daemon.runtime.clock import new_id, utc_now
from daemon.stores.migrations import read_migrations
from daemon.stores.sqlite import inspection
from daemon.stores.sqlite.engine import migrate
from daemon.stores.sqlite.journal import SqliteAppend, append_all
from daemon.templates.loading import shipped
from daemon.verification.findings import Counts
from daemon.verification.stores import verify_store
from tests.bench import environments, folders, growth, layers, loops, machine, pages, rounds, watching, words
from tests.bench.bars import Bar, bars, unsound
from tests.bench.chart import drawn
from tests.bench.plan import SHORT
from tests.bench.rivals import driving
from tests.bench.servers import serving
from tests.bench.shooting import Cost
from tests.load.__main__ import START

ROOT = Path(__file__).parents[2]
VERTICAL = "prior-auth"
STACKS = """
main (/opt/lib/python3.11/asyncio/runners.py:1);go (/src/daemon/web/bodies.py:40);read (/src/daemon/runtime/ids.py:9) 3
main (/opt/lib/python3.11/asyncio/runners.py:1);from_commit (/src/daemon/stores/sqlite/journal.py:9) 4
run (/opt/lib/python3.11/threading.py:1);append_all (/src/daemon/stores/sqlite/journal.py:90) 5
start (/opt/lib/python3.11/site-packages/aiohttp/web_protocol.py:500) 6
nowhere (<string>:1) 2
run (/opt/lib/python3.11/threading.py:1);_worker (/opt/lib/python3.11/concurrent/futures/thread.py:8) 9
"""


@pytest.fixture
async def figures(tmp_path: Path) -> dict[str, Any]:
    """The figures of the short form, as they come back from the file that they are kept in."""
    found: dict[str, Any] = {"machine": await asyncio.to_thread(machine.described, tmp_path, SHORT)}
    parts = {"rounds": rounds, "watching": watching, "loops": loops, "growth": growth}
    for name in parts:
        (tmp_path / name).mkdir()
    # All at once, as they would never be measured.
    every = await asyncio.gather(*(part.measured(tmp_path / name, SHORT) for name, part in parts.items()))
    found |= dict(zip(parts, every, strict=True))
    found["layers"] = layers.told(
        layers.counted(STACKS.strip().splitlines()), Cost(1, 0, 1.0, 1.0, 1.0, 100.0, 0.1, 9.0, 0.0)
    )
    return dict(json.loads(json.dumps(found)))


async def test_the_short_form_finds_every_figure_and_its_sums_are_right(figures: dict[str, Any]) -> None:
    _rounds_add_up(figures["rounds"])
    _growth_adds_up(figures["growth"])
    for kinds in figures["watching"].values():
        _sums(kinds)
    assert {cost["more"] for cost in figures["watching"]["neither"].values()} == {0.0}
    ours = figures["loops"]["loops"]["penstock"]
    assert ours["loops"] > 0
    assert ours["p50_ms"] <= ours["p99_ms"]
    assert set(figures["loops"]["skipped"]) == set(loops.RIVALS)
    _page_is_whole(figures)


def _rounds_add_up(found: dict[str, Any]) -> None:
    assert list(found["connections"]) == [str(connections) for connections in SHORT.connections]
    for kinds in found["connections"].values():
        assert set(kinds) == {"echo", *rounds.KINDS}
        _sums(kinds)
        for kind in rounds.KINDS:
            (one,), (echo,) = kinds[kind]["rounds"], kinds["echo"]["rounds"]
            assert kinds[kind]["ratio"] == pytest.approx(one["rate"] / echo["rate"])
        for kind in ("starts", "resumes"):
            one = kinds[kind]
            # A turn is a write; what else writes meanwhile seals, or asks whether the store can.
            assert one["requests"] <= one["writes"] <= one["requests"] * 1.2 + 20
            assert one["writes_a_transaction"] >= 1
    _sums({"ceiling": found["client_ceiling"]})


def _growth_adds_up(found: dict[str, Any]) -> None:
    assert set(found["kinds"]) == {*growth.KINDS, *growth.LISTS}
    for by_size in found["kinds"].values():
        assert list(by_size) == [str(runs) for runs in SHORT.sizes]
        assert (by_size[str(SHORT.sizes[0])]["cpu_times"], by_size[str(SHORT.sizes[0])]["grown"]) == (1.0, 1.0)
        _sums(by_size)
    assert set(found["page_us"]) == {"disk", "memory"}
    assert min(found["page_us"].values()) > 0
    assert found["memory"]["actors_live"] >= SHORT.live
    assert found["memory"]["actors_let_go"] == 0
    assert found["startup"]["runs"] == SHORT.startup_runs
    assert list(found["startup"]["sizes"]) == list(found["linear"]) == [str(runs) for runs in SHORT.sizes]
    for runs, one in found["linear"].items():
        assert one["runs"] > int(runs)
        assert min(one["backup_us"], one["verify_us"]) > 0


def _sums(costs: dict[str, Any]) -> None:
    for cost in costs.values():
        assert cost["failed"] == 0
        assert cost["requests"] == sum(one["requests"] for one in cost["rounds"]) > 0
        for one in cost["rounds"]:
            assert 0 < one["p50_ms"] <= one["p99_ms"]
            assert one["cpu_us"] > 0


def _page_is_whole(figures: dict[str, Any]) -> None:
    page, chart = pages.written(figures), drawn(figures)
    for bar in bars(figures):
        assert f"| {bar.what} |" in page
        assert bar.verdict in page
    for heading in ("machine", "bare server", "stored runs", "engines", "observability", "time goes", "is measured"):
        assert f"{heading}\n" in page, heading
    assert "langgraph was skipped" in page
    for written in (page, chart):
        assert "nan" not in written.replace("finance", "")
        assert "{" not in written.replace(chart[: chart.index("</style>")], "")
    assert ET.fromstring(chart).tag.endswith("svg")  # noqa: S314 - it is our own
    assert "prefers-color-scheme: dark" in chart


async def test_a_made_folder_is_one_that_the_service_could_have_left(tmp_path: Path) -> None:
    token, _ = await folders.empty(tmp_path / "none")
    # So few a day that some of the parked ones have been reminded, and some escalated.
    await folders.filled(tmp_path / "none", tmp_path / "made", token, 120, a_day=10, gates=40)
    made = rows_of(tmp_path / "made")
    assert (made["runs"], made["run_words"], made["snapshots"]) == (120, 120, 120)
    # Each begins with a commit; every second ends with another, and 40 wait, most of them reminded
    # or escalated by more, beside those that all were made of.
    models = len(folders.REMINDED) + 1
    assert (made["open_gates"], made["report_decisions"]) == (40 + models, (120 - models - 2) // 2 + 1)
    assert made["commits"] > 120 + 50 + 40
    assert 20 < made["receipts"] < 60
    keys = read_public(tmp_path / "made" / PUBLIC)
    macs = CommitKeys.open(tmp_path / "made" / COMMIT_KEYS, create=False)
    assert list(verify_store(tmp_path / "made", keys, (), Counts(), commit_keys=macs)) == []
    assert len(set((tmp_path / "made" / "ids").read_text(encoding="ascii").split())) == made["open_gates"]
    async with serving(tmp_path / "made") as service:
        for path in ("/gates/?q=m000003", "/process-runs/?q=m000003", "/reports/summary"):
            assert (await service.get(path, token)).json
    assert rows_of(tmp_path / "made") == made, "the service had to catch up"


def rows_of(folder: Path) -> dict[str, int]:
    """How many rows each table has; no damage, and a leaf for each commit."""
    with inspection.looking(folder / folders.DATABASE) as db:
        assert inspection.damage(db) == []
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        found = {name: db.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in tables}
    assert found["commits"] == found["audit_leaves"]
    return found


def test_other_engines_run_the_same_steps_on_the_same_inputs() -> None:
    began, ended = both_turns()
    assert START == {"vertical": VERTICAL, "inputs": driving.INPUTS}
    assert [visit.step_id for visit in began.run.trace if visit.kind == "task"] == list(driving.BEFORE)
    outputs = {visit.step_id: visit.output for visit in ended.run.trace if visit.kind == "task"}
    assert outputs == driving.BEFORE | driving.BEHIND
    assert ended.run.status == "completed"


def parked() -> Commit:
    """The commit of a run that began as those of the load test do, and waits at its gate."""
    (entry,) = (one for one in shipped() if one.template.vertical == VERTICAL)
    message = Start(run_id=new_id(), company_id="company", by="ann", inputs=dict(driving.INPUTS), at=utc_now())
    done = step(None, message, entry.template, {})
    assert isinstance(done, TurnResult)
    return Commit(done.run, done.events, done.run.resting)


def both_turns() -> tuple[Commit, Commit]:
    """A start that leads to the gate, and the verdict that leads to the end."""
    began = parked()
    (entry,) = (one for one in shipped() if one.template.vertical == VERTICAL)
    verdict = Resume(gate="signoff", decision="approved", by="ann", role="manager", at=utc_now())
    done = step(began.run, verdict, entry.template, {})
    assert isinstance(done, TurnResult)
    return began, Commit(done.run, done.events, done.run.resting)


def test_a_turn_writes_as_many_rows_as_the_page_says(tmp_path: Path) -> None:
    keys = CommitKeys(KeyRing("", {}).rotated())
    with closing(sqlite3.connect(tmp_path / "store.db", isolation_level=None)) as db:
        migrate(db, read_migrations(), "now")
        head = b""
        for commit, rows in zip(
            both_turns(), (rounds.ROWS_A_TURN["starts"], rounds.ROWS_A_TURN["resumes"]), strict=True
        ):
            before = db.total_changes
            append = SqliteAppend.from_commit(structs.replace(commit, follows=head), utc_now(), keys)
            append_all(db, [append])
            head = append.head
            assert db.total_changes - before == rows


def test_samples_count_for_the_innermost_layer_unless_a_thread_waits() -> None:
    cost = Cost(1, 0, 1.0, 1.0, 1.0, 200.0, 0.1, 9.0, 0.0)
    found = layers.told(layers.counted(STACKS.strip().splitlines()), cost)
    assert found["samples"] == 20
    assert {name: one["us"] for name, one in found["layers"].items()} == pytest.approx(
        {"HTTP": 60.0, "SQLite": 50.0, "encoding": 40.0, "request and answer": 30.0, "other": 20.0}
    )
    assert sum(one["share"] for one in found["layers"].values()) == pytest.approx(1)


def test_every_layer_names_files_that_there_are_and_is_told_of() -> None:
    assert set(words.LAYERS) == {*layers.LAYERS, layers.OTHER}
    for parts in layers.LAYERS.values():
        for part in parts:
            file, _, function = part.partition(":")
            if file.startswith(("daemon/", "actors/")):
                found = list(ROOT.glob(f"{file}*"))
                assert found, part
                assert not function or f"def {function}(" in found[0].read_text(encoding="utf-8"), part


def test_a_bar_is_held_or_missed() -> None:
    assert [Bar("", found, 0.35, least=True).verdict for found in (0.36, 0.35, 0.34)] == ["held", "held", "MISSED"]
    assert [Bar("", found, 1.1, least=False).verdict for found in (1.0, 1.1, 1.2)] == ["held", "held", "MISSED"]


def test_other_engines_are_compared_as_they_come_and_by_their_fastest_way() -> None:
    ways = {"penstock": {"times": 1.0}, "langgraph async": {"times": 20.0}, "langgraph exit": {"times": 9.0}}
    found = bars({"loops": {"callers": 32, "loops": ways}})
    assert [(bar.found, bar.verdict) for bar in found] == [(20.0, "held"), (9.0, "MISSED")]


def test_a_short_form_a_busy_machine_chance_and_a_slow_client_are_told_of() -> None:
    connections = {"64": {"echo": {"client_share": 0.95}, "reads": {"client_share": 0.5}}}
    plans = {"rounds": "full", "loops": "short"}
    watching = {"again": {"starts": {"more": 0.02}, "reads": {"more": -0.07}}, "usual": {"reads": {"more": 0.2}}}
    figures = {"rounds": {"connections": connections}, "plans": plans, "watching": watching}
    said = unsound({"machine": {"busy_before": 0.5}, **figures})
    assert len(said) == 4
    assert "loops was measured in a form that says little" in said[0]
    assert "not quiet" in said[1]
    assert said[2] == "two services without observability differ: reads, processor time -7.0%"
    assert "echo at 64 connections" in said[3]


async def test_what_cannot_be_installed_is_left_out_with_the_last_that_was_said(tmp_path: Path) -> None:
    failing = "import sys; print('first', file=sys.stderr); sys.exit('there is no such engine')"
    with pytest.raises(environments.NotInstalled, match="there is no such engine"):
        await environments.run(sys.executable, "-c", failing)
    with pytest.raises(environments.NotInstalled):
        await environments.environment("dbos", installs=False, place=tmp_path)
