"""The commands `verify` and `audit rotate`, as an operator runs them."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from daemon.cli import app
from tests.audit.past import Past, plain_copy
from tests.histories import ACME


def penstock(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(one) for one in arguments])


@pytest.fixture
def folder(made: Past, tmp_path: Path) -> Path:
    """A data folder with a store, its keys, an export and a kept checkpoint."""
    for name in ("audit.keys", "audit.pub"):
        shutil.copy(made.database.parent / name, tmp_path / name)
    plain_copy(made, tmp_path / "penstock.db").close()
    (tmp_path / "export.jsonl").write_bytes(b"".join(made.exports[ACME]))
    (tmp_path / "run.json").write_bytes(made.runs["run-ann-1"])
    (tmp_path / "kept.json").write_text(json.dumps([made.kept[ACME].document()]))
    return tmp_path


def test_a_sound_export_and_a_sound_store_are_counted(folder: Path) -> None:
    kept = ("--against", folder / "kept.json")
    export = penstock("verify", folder / "export.jsonl", "--key", folder / "audit.pub", *kept)
    assert export.exit_code == 0, export.output
    assert export.output.startswith("sound: ")
    store = penstock("verify", "--data-dir", folder, *kept)
    assert store.exit_code == 0, store.output
    assert "checkpoints" in store.output


def test_the_evidence_of_one_run_is_verified_and_said_what_it_shows(folder: Path) -> None:
    said = penstock("verify", folder / "run.json", "--key", folder / "audit.pub")
    assert said.exit_code == 0, said.output
    assert said.output.startswith(f"sound: run run-ann-1 of company {ACME}, from its start to event ")
    for_machines = json.loads(penstock("verify", folder / "run.json", "--key", folder / "audit.pub", "--json").output)
    assert for_machines["sound"]
    assert for_machines["counts"]["checkpoints"] == 1


def test_a_run_that_was_tampered_with_is_named(folder: Path) -> None:
    whole = (folder / "run.json").read_bytes()
    (folder / "run.json").write_bytes(whole.replace(b'"decision":"approved"', b'"decision":"denied"'))
    changed = penstock("verify", folder / "run.json", "--key", folder / "audit.pub")
    assert changed.exit_code == 1
    assert "chain: run run-ann-1, event 4: " in changed.output


def test_a_run_that_was_written_anew_by_another_program_is_refused_in_its_own_words(folder: Path) -> None:
    written = json.dumps(json.loads((folder / "run.json").read_text()), indent=2)
    (folder / "run.json").write_text(written)
    found = penstock("verify", folder / "run.json", "--key", folder / "audit.pub")
    assert found.exit_code == 1
    assert found.output.startswith("form: run run-ann-1: ")


def test_a_run_is_held_against_a_kept_checkpoint_of_its_own_size_alone(folder: Path, made: Past) -> None:
    arguments = ("verify", folder / "run.json", "--key", folder / "audit.pub", "--against", folder / "kept.json")
    assert penstock(*arguments).exit_code == 0
    kept = made.kept[ACME].document()
    (folder / "kept.json").write_text(json.dumps({**kept, "size": kept["size"] - 1}))
    refused = penstock(*arguments)
    assert (refused.exit_code, refused.stdout) == (78, "")
    assert "verify an export against them" in refused.stderr
    (folder / "kept.json").write_text(json.dumps({**kept, "root": "sha256:" + "0" * 64}))
    other = penstock(*arguments)
    assert other.exit_code == 1
    assert "rewritten: " in other.output


def test_each_finding_is_a_line_that_names_the_place(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "penstock.db", isolation_level=None)) as db:
        db.execute("DELETE FROM commits WHERE run_id = 'busy-ann-5' AND first_seq = 3")
    found = penstock("verify", "--data-dir", folder)
    assert found.exit_code == 1
    assert "chain: busy-ann-5, event 3: " in found.output
    whole = (folder / "export.jsonl").read_bytes()
    (folder / "export.jsonl").write_bytes(whole.replace(b'"decision":"approved"', b'"decision":"denied"'))
    changed = penstock("verify", folder / "export.jsonl", "--key", folder / "audit.pub")
    assert changed.exit_code == 1
    assert "chain: run-ann-1, event 4: " in changed.output


def test_a_database_is_not_taken_for_an_export_full_of_findings(folder: Path) -> None:
    refused = penstock("verify", folder / "penstock.db", "--key", folder / "audit.pub")
    assert (refused.exit_code, refused.stdout) == (78, "")
    assert "is a database and no export" in refused.stderr


@pytest.mark.parametrize("arguments", [[], ["export.jsonl"], ["export.jsonl", "--data-dir", "."]])
def test_a_verification_of_nothing_in_particular_is_refused(arguments: list[str]) -> None:
    assert penstock("verify", *arguments).exit_code == 78


def test_keys_that_are_none_are_refused(folder: Path) -> None:
    assert penstock("verify", folder / "export.jsonl", "--key", folder / "kept.json").exit_code == 78


def test_a_rotation_keeps_the_earlier_keys_and_publishes_all(folder: Path) -> None:
    before = json.loads((folder / "audit.pub").read_text())
    assert penstock("audit", "rotate", "--data-dir", folder).exit_code == 0
    after = json.loads((folder / "audit.pub").read_text())
    assert before.items() < after.items()
    assert (folder / "audit.keys").stat().st_mode & 0o777 == 0o600
    assert penstock("verify", "--data-dir", folder).exit_code == 0
    assert penstock("audit", "rotate", "--data-dir", folder / "none").exit_code == 78
