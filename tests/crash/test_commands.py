"""The commands as an operator gives them."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import sqlite3
import sys
from asyncio.subprocess import PIPE
from contextlib import closing
from pathlib import Path

import jwt
import pytest

from tests.crash.service import PERSON, command, environment, serving

EXIT_CONFIG = 78


async def test_a_second_service_on_the_same_data_is_refused(folder: Path) -> None:
    async with serving(folder) as service:
        code, out, err = await command("serve", "--port", "0", env=environment(folder))
        assert (code, out) == (EXIT_CONFIG, "")
        assert err.startswith("penstock: Another process uses the data folder")
        assert "Traceback" not in err
        assert len(err.strip().splitlines()) == 1
        status, health = await service.send("GET", "/health")
        assert (status, health["status"]) == (200, "ok")


async def test_a_service_starts_again_at_once_after_a_kill(folder: Path) -> None:
    async with serving(folder) as service:
        await service.register()
        await service.kill()
    async with serving(folder, service.token) as again:
        assert (await again.send("GET", "/auth/me"))[0] == 200


async def test_a_version_refuses_a_database_that_a_newer_one_has_changed(folder: Path) -> None:
    async with serving(folder) as service:
        service.process.terminate()
        assert await service.process.wait() == 0
    with closing(sqlite3.connect(folder / "data" / "penstock.db")) as newer, newer:
        (known,) = newer.execute("SELECT max(number) FROM migrations").fetchone()
        newer.execute("INSERT INTO migrations VALUES (?, 'from_the_future', 'x', 'tomorrow')", (known + 1,))
    code, out, err = await command("serve", "--port", "0", env=environment(folder))
    assert (code, out) == (EXIT_CONFIG, "")
    (refusal,) = [line for line in err.splitlines() if not line.startswith("{")]
    assert refusal == (
        f"penstock: The database has schema {known + 1} (from_the_future), and this version of the service knows "
        f"{known}: it was written by a newer one. Use that one, or restore a backup from before it."
    )


async def test_the_demonstration_ends_well() -> None:
    code, out, err = await command("demo", env=dict(os.environ))
    assert (code, err) == (0, "")
    assert "completed with the outcome authorized" in out
    assert "None" not in out


@pytest.mark.parametrize("variable", ["port", "metrics_port"])
async def test_an_address_that_is_taken_is_named_and_the_variable_that_changes_it(folder: Path, variable: str) -> None:
    async with serving(folder) as service:
        port = service.address.rpartition(":")[2]
        settings = {"data_dir": str(folder / "other"), variable: port}
        ports = () if variable == "port" else ("--port", "0")
        code, out, err = await command("serve", *ports, env=environment(folder, **settings))
    assert (code, out) == (EXIT_CONFIG, "")
    (refusal,) = [line for line in err.splitlines() if not line.startswith("{")]
    assert refusal.startswith(f"penstock: 127.0.0.1:{port} cannot be listened on: Address already in use.")
    assert f"PENSTOCK_{variable.upper()}" in refusal


async def test_a_folder_that_is_not_there_is_named_before_the_reason(folder: Path) -> None:
    nowhere = str(folder / "nowhere")
    code, _, err = await command("serve", "--port", "0", env=environment(folder, templates_dir=nowhere))
    assert code == EXIT_CONFIG
    assert err.splitlines()[-1] == f"penstock: {nowhere}: No such file or directory"


async def test_a_variable_that_is_no_setting_is_warned_of_at_the_start(folder: Path) -> None:
    async with serving(folder, egress_host="api.example.com") as service:
        said = [json.loads(line) for line in service.log.read_text(encoding="utf-8").splitlines()]
    (warned,) = [line for line in said if line["event"] == "unknown_setting"]
    assert (warned["level"], warned["variable"]) == ("warning", "PENSTOCK_EGRESS_HOST")
    assert warned["meant"] == "PENSTOCK_EGRESS_HOSTS"


async def test_templates_are_checked_before_they_are_used(folder: Path) -> None:
    sound = folder / "templates" / "held.yaml"
    code, out, err = await command("templates", "check", str(sound), env=dict(os.environ))
    assert (code, out, err) == (0, f"{sound}: held version 1 is sound\n", "")

    broken = folder / "broken.yaml"
    text = sound.read_text(encoding="utf-8").replace("next: signoff}", "next: nowhere}")
    broken.write_text(text, encoding="utf-8")
    code, out, err = await command("templates", "check", str(sound), str(broken), env=dict(os.environ))
    assert code == 1
    assert "held version 1 is sound" in out
    assert err == ""
    finding = next(line for line in out.splitlines() if line.startswith(f"{broken}:"))
    assert "unknown_node: " in finding
    assert "look -> nowhere" in finding


async def test_a_service_does_not_start_with_a_template_that_breaks_a_rule(folder: Path) -> None:
    risky = folder / "templates" / "risky.yaml"
    text = risky.read_text(encoding="utf-8").replace("kind: gate, label: Sign", "kind: task, label: Sign, tool: sign")
    risky.write_text(text, encoding="utf-8")
    code, out, err = await command("serve", "--port", "0", env=environment(folder))
    assert (code, out) == (EXIT_CONFIG, "")
    assert "ungated_irreversible at pay" in err


async def test_keys_are_rotated_under_a_running_service(folder: Path) -> None:
    async with serving(folder) as service:
        await service.register()
        before = service.token
        code, out, err = await command("keys", "rotate", env=environment(folder))
        assert (code, err) == (0, "")
        assert "2 keys are valid" in out
        assert (await service.send("GET", "/auth/me"))[0] == 200
        credentials = {name: PERSON[name] for name in ("email", "password")}
        status, session = await service.send("POST", "/auth/login", credentials)
        assert status == 200
        after = session["token"]
        ids = [jwt.get_unverified_header(token)["kid"] for token in (before, after)]
        assert len(set(ids)) == 2
        assert ids[1] in out
    for token in (before, after):
        async with serving(folder, token) as again:
            assert (await again.send("GET", "/auth/me"))[0] == 200


async def pasted(folder: Path, begins: str) -> tuple[str, str]:
    """What a tour of the README says when it is pasted into a shell."""
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    (tour,) = re.findall(rf"```sh\n({begins}.*?)```", readme, re.DOTALL)
    async with serving(folder) as service:
        tour = tour.replace(".venv/bin/python", sys.executable)
        tour = tour.replace("$PWD/.venv/bin", str(Path(sys.executable).parent))
        port = service.address.rpartition(":")[2]
        home = {**os.environ, "XDG_CONFIG_HOME": str(folder), "PENSTOCK_PORT": port}
        process = await asyncio.create_subprocess_exec("bash", "-eu", stdin=PIPE, stdout=PIPE, stderr=PIPE, env=home)
        out, err = (part.decode() for part in await process.communicate(tour.encode()))
    assert process.returncode == 0, err
    return out, err


async def test_the_tour_of_the_command_line_works_when_pasted(folder: Path) -> None:
    out, _ = await pasted(folder, "PATH=")
    assert "tier high needs a human verdict" in out
    assert "outcome authorized" in out


@pytest.mark.skipif(shutil.which("curl") is None, reason="the tour is in curl")
async def test_the_tour_in_curl_works_when_pasted(folder: Path) -> None:
    out, err = await pasted(folder, "API=")
    assert err == ""
    assert "('parked', 'signoff', 'tier high needs a human verdict')" in out
    assert '"code":"gate_mismatch"' in out
    assert out.count("('completed', 'authorized')") == 2


async def test_a_folder_that_every_user_can_write_to_is_not_served_from(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    folder.chmod(0o777)
    code, _, said = await command("serve", "--port", "0", env=environment(tmp_path))
    assert (code, list(folder.iterdir())) == (78, [])
    assert f"chmod 700 {folder}" in said


async def test_a_password_of_the_database_is_refused_on_the_command_line(tmp_path: Path) -> None:
    url = "postgresql://penstock:canary@127.0.0.1:9/none"
    for arguments in (("serve", "--database-url", url), ("migrate", "--from", f"sqlite:{tmp_path}", "--to", url)):
        code, _, said = await command(*arguments, env=environment(tmp_path))
        assert code == 78
        assert "set PENSTOCK_DATABASE_URL instead" in said
        assert "canary" not in said
