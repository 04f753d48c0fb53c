"""The doctor: each thing that can be wrong is found, by name, with what to do; nothing is
changed.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from actors.core.canonical import digest
from daemon.app import Lifecycle, opened
from daemon.cli import app
from daemon.doctor import database, environment
from daemon.doctor.environment import few
from daemon.model import StoredTemplate
from daemon.observability.logs import without_secrets
from daemon.settings import Settings, unknown_variables
from daemon.stores.sqlite.connection import locked
from daemon.stores.sqlite.store import SqliteStore
from daemon.templates.loading import load_text
from tests.histories import start


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("PENSTOCK_")]:
        monkeypatch.delenv(name)


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data folder of a service that was stopped; each shipped template was in use."""
    folder = tmp_path_factory.mktemp("used") / "data"

    async def live() -> None:
        async with opened(Settings(data_dir=folder), Lifecycle()) as services:
            for one in await services.catalog.entries("company"):
                await services.catalog.keep(one.header.digest)

    asyncio.run(live())
    return folder


@pytest.fixture
def folder(used: Path, tmp_path: Path) -> Path:
    copy = tmp_path / "data"
    copy.mkdir(mode=0o700)
    for one in used.iterdir():
        (copy / one.name).write_bytes(one.read_bytes())
        (copy / one.name).chmod(0o600)
    return copy


@dataclass
class Told:
    """What the doctor said."""

    code: int
    checks: list[dict[str, str]]
    settings: dict[str, Any]

    def of(self, state: str) -> list[tuple[str, str]]:
        return [(one["name"], one["text"]) for one in self.checks if one["state"] == state]

    @property
    def problems(self) -> list[tuple[str, str]]:
        """What is wrong but for the chain of evidence, which notices whatever a test does to the
        database.
        """
        return [one for one in self.of("problem") if one[0] != "chain"]


def see(folder: Path, **variables: str) -> Told:
    done = CliRunner().invoke(app, ["doctor", "--json", "--data-dir", str(folder)], env=variables)
    told = json.loads(done.stdout)
    assert told["ok"] == (done.exit_code == 0)
    assert all(one["hint"] for one in told["checks"] if one["state"] != "ok")
    return Told(done.exit_code, told["checks"], told["settings"])


def change(folder: Path, *statements: str) -> None:
    with closing(sqlite3.connect(folder / "penstock.db", isolation_level=None)) as db:
        for statement in statements:
            db.execute(statement)


async def filled(folder: Path, **how: Any) -> None:
    async with SqliteStore.open(folder / "penstock.db") as store:
        await store.append(start(**how))


def test_a_well_kept_folder_has_no_problem(folder: Path) -> None:
    told = see(folder)
    assert (told.code, told.problems) == (0, [])
    assert {name for name, _ in told.of("ok")} >= {"settings", "python", "folder", "space", "lock", "keys", "integrity"}
    assert {name for name, _ in told.of("ok")} >= {"schema", "templates", "runs"}
    assert ("lock", "no service is running") in told.of("ok")


def test_nothing_is_changed_by_looking(folder: Path) -> None:
    before = {one.name: hashlib.sha256(one.read_bytes()).hexdigest() for one in folder.iterdir()}
    see(folder)
    after = {one.name: hashlib.sha256(one.read_bytes()).hexdigest() for one in folder.iterdir() if one.stat().st_size}
    after.pop("penstock.db-shm", None)
    assert after == {name: text for name, text in before.items() if name != "penstock.lock"}


def test_people_get_a_line_for_each_check_with_what_is_wrong_first(folder: Path) -> None:
    (folder / "jwt.keys").chmod(0o644)
    done = CliRunner().invoke(app, ["doctor", "--data-dir", str(folder)], env={"PENSTOCK_SOMETHING": "1"})
    head, *lines = done.stdout.splitlines()
    assert head.startswith("1 problem and ")
    words = [line.split()[0] for line in lines]
    assert [*dict.fromkeys(words)] == ["problem", "warning", "ok", "setting"]
    assert "jwt.keys" in lines[0]
    assert "→" in lines[0]
    assert f"setting  data_dir = {folder}" in lines


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    told = see(tmp_path / "nowhere")
    assert ("folder", f"{tmp_path / 'nowhere'} is not there") in told.of("warning")
    assert not (tmp_path / "nowhere").exists()


def test_a_variable_with_a_typo_is_a_problem_and_says_what_was_meant(folder: Path) -> None:
    told = see(folder, PENSTOCK_EGRESS_HOST="api.example.com", PENSTOCK_SOMETHING="1")
    assert told.problems == [("settings", "PENSTOCK_EGRESS_HOST is not a setting and has no effect")]
    assert [one["hint"] for one in told.checks if one["state"] == "problem"] == ["write PENSTOCK_EGRESS_HOSTS"]
    assert ("settings", "PENSTOCK_SOMETHING is not a setting") in told.of("warning")


def test_an_earlier_name_of_a_setting_is_a_problem_and_names_the_present_one(folder: Path) -> None:
    told = see(folder, PENSTOCK_SWEEP_S="60")
    assert told.problems == [("settings", "PENSTOCK_SWEEP_S is now PENSTOCK_SWEEP_INTERVAL_S")]


def test_a_setting_with_a_wrong_value_is_named_without_its_value(folder: Path) -> None:
    told = see(folder, PENSTOCK_PORT="canary")
    assert [name for name, _ in told.problems] == ["settings"]
    assert "PENSTOCK_PORT" in told.problems[0][1]
    assert "canary" not in json.dumps(told.checks)


@pytest.mark.parametrize("name", ["EGRESS_ALLOW", "EGRESS_HOSTS", "EGRESS_PORTS", "DRAFT_MODEL_URL"])
def test_a_setting_that_keeps_the_service_from_its_work_is_named_without_its_value(folder: Path, name: str) -> None:
    told = see(folder, **{f"PENSTOCK_{name}": "canary/x"})
    assert (told.code, [name in text for _, text in told.problems]) == (1, [True])
    assert "canary" not in json.dumps(told.checks)


@pytest.mark.parametrize("text", [None, "vertical: broken"])
def test_a_folder_of_templates_that_cannot_be_served_is_a_problem(
    folder: Path, tmp_path: Path, text: str | None
) -> None:
    templates = tmp_path / "templates"
    if text is not None:
        templates.mkdir()
        (templates / "broken.yaml").write_text(text)
    told = see(folder, PENSTOCK_TEMPLATES_DIR=str(templates))
    assert [(name, str(templates) in said) for name, said in told.problems] == [("templates", True)]


def test_settings_that_need_each_other_are_named_by_their_names_alone(folder: Path) -> None:
    told = see(folder, PENSTOCK_SMTP_URL="smtp://127.0.0.1:9")
    needed = "PENSTOCK_SMTP_URL needs PENSTOCK_MAIL_FROM and PENSTOCK_PUBLIC_URL, too"
    assert told.problems == [("settings", needed)]


def test_what_could_open_something_is_masked() -> None:
    settings = Settings(egress_hosts="https://ann:canary@api.test/x", jwt_keys_file=Path("/keys/jwt"))
    values = without_secrets({**settings.model_dump(mode="json"), "store_password": "canary"})
    assert values["egress_hosts"] == "https://***@api.test/x"
    assert values["jwt_keys_file"] == "/keys/jwt"
    assert values["store_password"] == "***"


def test_variables_are_known_whatever_their_case(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("penstock_port", "1")
    assert unknown_variables() == {}


@pytest.mark.parametrize("name", ["penstock.db", "jwt.keys", "vault.key", "."])
def test_files_that_others_may_read_are_a_problem(folder: Path, name: str) -> None:
    (folder / name).chmod(0o755)
    assert any(str(folder) in text for _, text in see(folder).problems)


def test_a_missing_key_file_is_a_problem(folder: Path) -> None:
    (folder / "vault.key").unlink()
    assert see(folder).problems == [("keys", f"{folder / 'vault.key'} is not there (secrets)")]


def test_a_key_that_stored_secrets_need_is_a_problem_when_it_is_not_there(folder: Path) -> None:
    change(folder, "INSERT INTO company_keys VALUES ('acme', 'key-of-then', x'00', 'now')")
    assert see(folder).problems == [
        ("keys", "stored secrets need the key key-of-then, which the key file does not hold")
    ]


def test_a_running_service_is_seen(folder: Path) -> None:
    with locked(folder):
        assert ("lock", "a service is running") in see(folder).of("ok")


def test_a_damaged_index_is_a_problem(folder: Path) -> None:
    asyncio.run(filled(folder))
    change(
        folder,
        "PRAGMA writable_schema = 1",
        "UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'receipts_by_age') "
        "WHERE name = 'runs_by_status'",
    )
    assert next(name for name, _ in see(folder).problems) == "integrity"


def test_a_row_that_refers_to_nothing_is_a_problem(folder: Path) -> None:
    change(
        folder,
        "INSERT INTO users (company_id, id, email, email_key, name, password_hash, created_at) "
        "VALUES ('nowhere', 'u', 'e', 'e', NULL, 'p', 'now')",
    )
    told = see(folder)
    assert told.problems == [("integrity", "row 1 of users refers to a row of companies that is not there")]


def test_a_file_that_is_no_database_is_a_problem(folder: Path) -> None:
    (folder / "penstock.db").write_bytes(b"a letter to a friend" * 1_000)
    assert [name for name, _ in see(folder).problems] == ["database"]


def test_a_schema_of_tomorrow_is_a_problem(folder: Path) -> None:
    change(folder, "INSERT INTO migrations VALUES (99, 'tomorrow', 'x', 'x')")
    assert [name for name, _ in see(folder).problems] == ["schema"]


@pytest.mark.parametrize(
    ("said", "changed", "why"),
    [('"kind":"gate"', '"kind":"goat"', "does not load"), ('"title":"', '"title":"X', "is not what its digest says")],
)
def test_a_template_that_was_changed_is_a_problem(folder: Path, said: str, changed: str, why: str) -> None:
    with closing(sqlite3.connect(folder / "penstock.db", isolation_level=None)) as db:
        db.execute("UPDATE templates SET document = replace(document, ?, ?)", (said, changed))
    told = see(folder)
    assert {name for name, _ in told.problems} == {"templates"}
    assert why in told.problems[0][1]
    assert told.problems[-1][1].endswith("more")


def test_a_template_of_one_company_alone_is_looked_at_too(folder: Path) -> None:
    whole = see(folder)
    change(
        folder,
        "INSERT INTO own_templates "
        "(company_id, vertical, version, digest, title, document, published_at, published_by) "
        "SELECT 'company', vertical, version, digest, vertical, "
        "replace(document, '\"kind\":\"gate\"', '\"kind\":\"goat\"'), 'then', 'ada' FROM templates "
        "WHERE vertical = 'refund'",
    )
    assert not any(name == "templates" for name, _ in whole.problems)
    assert [name for name, _ in see(folder).problems if name == "templates"] == ["templates"]


BROKEN = """
vertical: broken
version: 1
title: Broken
description: It was stored by a version that took its condition.
inputs_schema: {type: object}
example: {}
steps:
  - {id: signoff, kind: gate, label: Sign, next: {approved: size, denied: done}}
  - id: size
    kind: gateway
    label: Size
    flow: exclusive
    branches: [{branch: large, when: inputs.n > 1, to: done}, {branch: other, to: done}]
  - {id: done, kind: end, label: Done, outcome: done}
"""


def test_a_condition_of_a_run_that_compiles_no_more_is_a_warning(folder: Path) -> None:
    stored = load_text(BROKEN, "broken.yaml").document.replace("inputs.n > 1", "inputs.n >")

    async def fill() -> None:
        async with SqliteStore.open(folder / "penstock.db") as store:
            broken = StoredTemplate(digest(json.loads(stored)), "broken", 1, stored)
            await store.keep_template(broken)
            await store.append(start(vertical="broken", digest=broken.digest))

    asyncio.run(fill())
    found = [text for name, text in see(folder).of("warning") if name == "templates"]
    assert len(found) == 1
    assert found[0].startswith("broken version 1: condition_refused at size")


def test_a_run_whose_template_is_not_there_is_a_problem(folder: Path) -> None:
    asyncio.run(filled(folder))
    assert see(folder).problems == [("runs", f"run-1: its template sha256:{'a' * 64} cannot be used")]


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("UPDATE runs SET status = 'executing'", "it executes and is at rest"),
        ("UPDATE runs SET parked = ''", "it is parked at no gate"),
    ],
)
def test_a_run_of_which_the_table_says_what_cannot_be_is_a_problem(folder: Path, statement: str, why: str) -> None:
    asyncio.run(filled(folder))
    change(folder, statement)
    assert ("runs", f"run-1: {why}") in see(folder).problems


def test_a_run_whose_history_cannot_be_read_is_a_problem(folder: Path) -> None:
    asyncio.run(filled(folder))
    change(folder, "DELETE FROM snapshots", "UPDATE commits SET events = x'00'")
    assert see(folder).problems == [("runs", "run-1: its history cannot be read")]


def test_what_the_chain_of_evidence_shows_is_a_problem(folder: Path) -> None:
    asyncio.run(filled(folder))
    assert ("chain", "every history is the one that was written") in see(folder).of("ok")
    change(folder, "UPDATE commits SET events = CAST(replace(CAST(events AS TEXT), 'ann', 'bob') AS BLOB)")
    found = [text for name, text in see(folder).of("problem") if name == "chain"]
    assert any("run-1" in text for text in found)


def test_too_little_room_is_a_problem(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "FREE_BYTES_MIN", 2**80)
    assert [name for name, _ in see(folder).problems] == ["space"]


def test_what_a_version_of_sqlite_asks_for_is_said_without_a_standing_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    def said(version: tuple[int, int, int]) -> bool:
        monkeypatch.setattr(sqlite3, "sqlite_version_info", version)
        (check,) = [check for check in environment.versions() if check.name == "sqlite"]
        assert check.state == "ok"
        return "two writers can damage it" in check.text

    assert [said(one) for one in ((3, 7, 0), (3, 40, 1), (3, 51, 2), (3, 51, 3))] == [True, True, True, False]


def test_the_settings_of_a_unit_are_read_from_its_file(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "penstock.env"
    file.write_text(f"PENSTOCK_METRICS_PORT=9464\nPENSTOCK_DATA_DIR={folder}\n")
    done = CliRunner().invoke(app, ["doctor", "--json", "--env-file", str(file)])
    settings = json.loads(done.stdout)["settings"]
    assert (settings["metrics_port"], settings["data_dir"]) == (9464, str(folder))


def test_who_looks_at_another_installation_than_the_units_is_told(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("daemon.commands.doctor.UNIT", tmp_path / "penstock.env")
    assert not [text for name, text in see(folder).of("warning") if name == "settings"]
    (tmp_path / "penstock.env").touch()
    assert [text for name, text in see(folder).of("warning") if name == "settings"]


def test_a_key_file_that_an_older_store_lacks_is_no_problem_before_the_first_start(folder: Path) -> None:
    (folder / "commit.keys").unlink()
    assert ("keys", f"{folder / 'commit.keys'} is not there (commits)") in see(folder).problems
    change(folder, "DELETE FROM migrations WHERE number > 5")
    assert any("is made at the next start" in text for _, text in see(folder).of("ok"))
    assert not [text for name, text in see(folder).problems if name == "keys"]


def test_of_many_findings_a_few_are_named() -> None:
    assert few([str(number) for number in range(1_007)]) == ["0", "1", "2", "3", "4", "1,002 more"]
    assert database.STILL_S > 0
