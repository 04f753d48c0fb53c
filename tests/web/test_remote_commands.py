"""The commands over HTTP against the real service, as an operator gives them."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import sys
import threading
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from rich.console import RenderableType
from structlog.testing import capture_logs

from daemon.commands import display
from daemon.commands.base import settings_of
from daemon.settings import RENAMED, Remote, Settings, unknown_variables
from tests.web.between import Between, Fault, said
from tests.web.operators import Operator
from tests.web.support import PASSWORD, FarSide, House, Person

REFUSED, UNREACHABLE, NOT_AUTHENTICATED, CONFIG = 1, 69, 77, 78
RIGHT_TO_LEFT, CLEAR_SCREEN = "\u202e", "\u001b[2J"


@pytest.fixture(autouse=True)
def _silent() -> Iterator[None]:
    """The service runs beside the commands, whose output is theirs alone."""
    with capture_logs():
        yield


async def test_a_log_in_is_kept_for_its_owner_alone_and_a_log_out_ends_it(stranger: Operator, ann: Person) -> None:
    result = await stranger.says("login", ann.email, types=f"{PASSWORD}\n")
    assert result.exit_code == 0, result.output
    assert "logged in" in result.stdout
    assert PASSWORD not in result.output
    token = json.loads(stranger.kept.read_text())[stranger.url]
    assert token not in result.output
    assert stranger.kept.stat().st_mode & 0o777 == 0o600
    assert stranger.kept.parent.stat().st_mode & 0o777 == 0o700
    assert await stranger.reads("runs", "ls") == []
    assert (await stranger.says("logout")).exit_code == 0
    assert json.loads(stranger.kept.read_text()) == {}
    assert (await stranger.says("runs", "ls", "--token-file", "-", types=token)).exit_code == NOT_AUTHENTICATED


async def test_a_company_is_made_and_its_token_kept(stranger: Operator) -> None:
    said = await stranger.reads("register", "bob@bob.test", "Bob inc", "--password-stdin", types=f"{PASSWORD}\n")
    assert (said["user"]["email"], said["company"]["name"]) == ("bob@bob.test", "Bob inc")
    assert "token" not in said
    assert await stranger.reads("runs", "ls") == []


async def test_a_token_is_not_sent_to_another_service(stranger: Operator, ann: Person, far: FarSide) -> None:
    await stranger.says("login", ann.email, "--password-stdin", types=PASSWORD)
    await stranger.says("runs", "ls", "--url", far.url)
    assert [one.target for one in far.seen] == ["/process-runs/?limit=50"]
    assert "Authorization" not in far.seen[0].headers


async def test_each_way_to_fail_has_a_sentence_and_a_code(
    operator: Operator, stranger: Operator, ann: Person, unused_tcp_port: int
) -> None:
    nowhere = f"http://127.0.0.1:{unused_tcp_port}"
    results = {
        REFUSED: await operator.says("runs", "show", "none"),
        UNREACHABLE: await operator.says("runs", "ls", "--url", nowhere),
        NOT_AUTHENTICATED: await stranger.says("runs", "ls"),
        CONFIG: await operator.says("runs", "ls", "--url", "nowhere"),
    }
    for code, result in results.items():
        assert result.exit_code == code, result.output
        assert result.stdout == ""
        assert result.stderr.startswith("penstock: ")
        assert len(result.stderr.splitlines()) == 1
    wrong = await stranger.says("login", ann.email, "--password-stdin", types="wrong password")
    assert wrong.exit_code == NOT_AUTHENTICATED


async def test_a_file_of_tokens_that_others_may_read_is_refused(stranger: Operator, ann: Person) -> None:
    await stranger.says("login", ann.email, "--password-stdin", types=PASSWORD)
    stranger.kept.chmod(0o644)
    result = await stranger.says("runs", "ls")
    assert (result.exit_code, "chmod 600" in result.stderr) == (CONFIG, True)
    stranger.kept.chmod(0o600)
    stranger.kept.write_text("no json")
    assert (await stranger.says("runs", "ls")).exit_code == CONFIG


async def test_templates_are_listed_and_shown(operator: Operator) -> None:
    assert "line" in [one["vertical"] for one in await operator.reads("templates", "ls")]
    listed, output = await operator.says("templates", "ls"), await operator.says("templates", "show", "line")
    assert "A line" in listed.stdout
    assert "approved: pay, denied: refused" in output.stdout
    assert {"nodes", "edges", "inputs_schema"} <= set(await operator.reads("templates", "show", "line"))


async def test_templates_are_checked_without_a_service(operator: Operator) -> None:
    sound = Path(__file__).parent / "templates" / "line.yaml"
    result = await operator.says("templates", "check", sound, "--json", PENSTOCK_URL="http://nowhere.invalid")
    assert json.loads(result.stdout) == [
        {"file": str(sound), "sound": True, "text": f"{sound}: line version 1 is sound", "findings": [], "warnings": []}
    ]
    broken = operator.home.parent / "broken.yaml"
    broken.write_text("vertical: [")
    result = await operator.says("templates", "check", sound, broken, "--json")
    assert result.exit_code == REFUSED
    assert [one["sound"] for one in json.loads(result.stdout)] == [True, False]
    missing = operator.home.parent / "missing.yaml"
    assert (await operator.says("templates", "check", missing)).stderr == f"{missing}: No such file or directory\n"


async def test_a_run_is_started_listed_shown_and_cancelled(operator: Operator) -> None:
    run = await operator.reads("runs", "start", "line", "--inputs", '{"amount": 5}')
    assert run["parked_at"] == "signoff"
    listed = await operator.says("runs", "ls", "--status", "parked", "--vertical", "line", "--parked-at", "signoff")
    assert run["id"] in listed.stdout
    assert await operator.reads("runs", "ls", "--status", "failed") == []
    output = await operator.says("runs", "show", run["id"])
    assert "The sign-off" in output.stdout
    assert "shadow" in output.stdout
    assert (await operator.reads("runs", "cancel", run["id"], "--yes", "--reason", "no"))["status"] == "cancelled"
    assert (await operator.says("runs", "cancel", run["id"], "-y")).exit_code == REFUSED
    assert (await operator.says("runs", "retry", run["id"])).exit_code == REFUSED


async def test_inputs_come_from_a_flag_a_file_a_pipe_or_the_example(operator: Operator, tmp_path: Path) -> None:
    file = tmp_path / "inputs.json"
    file.write_text('{"amount": 7}')
    start = ("runs", "start", "line")
    assert (await operator.reads(*start, "--inputs", f"@{file}"))["inputs"] == {"amount": 7}
    assert (await operator.reads(*start, "--inputs", "-", types='{"amount": 8}'))["inputs"] == {"amount": 8}
    assert (await operator.reads(*start, "--example", "--no-auto"))["inputs"] == {"amount": 10}
    for wrong in ("{", "[]", f"@{tmp_path}/none"):
        assert (await operator.says(*start, "--inputs", wrong)).exit_code == REFUSED
    missing = await operator.says(*start, "--inputs", f"@{tmp_path}/none")
    assert missing.stderr == f"penstock: {tmp_path}/none: No such file or directory\n"


async def test_only_so_many_runs_are_listed_as_were_asked_for(operator: Operator, ann: Person) -> None:
    made = [(await ann.start("quick"))["id"] for _ in range(3)]
    assert [one["id"] for one in await operator.reads("runs", "ls", "--limit", "2")] == made[:0:-1]


async def test_what_is_asked_is_shown_before_it_is_decided(operator: Operator, ann: Person) -> None:
    await ann.connect("transfer", "https://bank.example.com", reversible=False)
    run = await ann.start("direct")
    output = await operator.says("runs", "resume", run["id"], "approved", types="n\n")
    assert output.exit_code == REFUSED
    for text in ("Transfer the money", run["gate"]["reason"], "recorded, not sent: POST https://bank.example.com/do"):
        assert text in output.stderr
    assert output.stdout.strip() == "n"  # what was typed
    assert (await ann.run(run))["status"] == "parked"
    decided = await operator.says("runs", "resume", run["id"], types="approved\ny\n")
    assert decided.exit_code == 0, decided.output
    assert (await ann.run(run))["parked_at"] == "close"
    wrong = await operator.says("runs", "resume", run["id"], "perhaps", "--yes")
    assert (wrong.exit_code, "approved, denied" in wrong.stderr) == (REFUSED, True)
    assert (await operator.reads("runs", "resume", run["id"], "approved", "--yes"))["outcome"] == "closed"
    assert "has no open gate" in (await operator.says("runs", "resume", run["id"], "approved")).stderr


async def test_what_a_decision_leads_to_is_shown_with_its_grounds_and_told_when_it_changes(
    operator: Operator, ann: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    await ann.connect("payment", "https://bank.example.com", reversible=False)
    run = await ann.start("line", {"amount": 5})
    asked, changed = asyncio.Event(), threading.Event()
    loop, ask = asyncio.get_running_loop(), display.ask

    def confirm(*_: object, **__: object) -> bool:
        loop.call_soon_threadsafe(asked.set)
        return not changed.wait(30)

    def say(what: RenderableType) -> None:
        ask(what)
        if "has changed; it is shown again" in str(what):
            changed.set()

    monkeypatch.setattr("typer.confirm", confirm)
    monkeypatch.setattr("daemon.commands.display.ask", say)
    deciding = asyncio.create_task(operator.says("runs", "resume", run["id"], "approved"))
    await asked.wait()
    await ann.connect("payment", "https://bank.example.com")
    result = await deciding
    for text in (
        "approved leads to",
        "(pay), irreversible: payment",
        "recorded, not sent: POST https://bank.example.com",
    ):
        assert text in result.stderr
    assert "signoff has changed; it is shown again before anything is decided." in result.stderr
    again = await operator.says("runs", "resume", run["id"], "approved")
    assert "WILL BE SENT: POST https://bank.example.com" in again.stderr
    assert (await ann.run(run))["parked_at"] == "signoff"


async def test_a_decision_on_what_was_shown_decides_nothing_that_came_after(
    operator: Operator, ann: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = await ann.start("loop")
    asked, go_on = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    confirmed = iter((True, False))

    def confirm(*_: object, **__: object) -> bool:
        loop.call_soon_threadsafe(asked.set)
        return go_on.wait(30) and next(confirmed)

    monkeypatch.setattr("typer.confirm", confirm)
    deciding = asyncio.create_task(operator.says("runs", "resume", run["id"], "enough"))
    await asked.wait()
    await ann.resume(run, "again", "once more")
    go_on.set()
    result = await deciding
    assert (result.exit_code, "the gate has changed" in result.stderr) == (REFUSED, True)
    assert result.stderr.count("visit 2") == 1
    now = await ann.run(run)
    assert (now["parked_at"], now["gate"]["visit"]) == ("again", 2)


async def test_what_came_of_a_call_of_unknown_outcome_is_given_with_the_verdict(
    operator: Operator, ann: Person, far: FarSide, tmp_path: Path
) -> None:
    file = tmp_path / "answer.json"
    file.write_text('{"paid": 7}')
    await ann.connect("payment", far.url)
    far.status = 502
    for given, types in (('{"paid": 7}', ""), (f"@{file}", ""), ("-", '{"paid": 7}')):
        run = await ann.start("line", {"amount": 5})
        assert (await ann.resume(run, "signoff")).json["gate"]["reason"] == "outcome unknown"
        decided = await operator.reads("runs", "resume", run["id"], "done", "--yes", "--output", given, types=types)
        assert (decided["status"], decided["facts"]["pay"]) == ("completed", {"paid": 7})
    run = await ann.start("line", {"amount": 5})
    for output, why in (("{", "--output is not JSON"), ("1", "only taken with the decision done")):
        said = await operator.says("runs", "resume", run["id"], "approved", "--yes", "--output", output)
        assert (said.exit_code, why in said.stderr) == (REFUSED, True), said.output
    assert (await ann.run(run))["parked_at"] == "signoff"


async def test_what_is_wrong_with_an_option_is_said_of_that_option(operator: Operator) -> None:
    for flag in ("--inputs", "--form"):
        rounded = ('{"amount": 12345678901234567.89}', f"{flag}: A number has more digits than can be kept")
        for given, why in (("{", f"{flag} is not JSON"), ("[1]", f"{flag} is no JSON object"), rounded):
            said = await operator.says("runs", "resume", "any", "approved", "--yes", flag, given)
            assert (said.exit_code, why in said.stderr) == (REFUSED, True), said.output


async def test_one_of_several_gates_has_to_be_named(operator: Operator, ann: Person) -> None:
    run = await ann.start("fork")
    gates = run["parked_gates"]
    assert len(gates) > 1
    unnamed = await operator.says("runs", "resume", run["id"], "approved", "--yes")
    assert (unnamed.exit_code, all(gate in unnamed.stderr for gate in gates)) == (REFUSED, True)
    after = await operator.reads("runs", "resume", run["id"], "approved", "--yes", "--gate", gates[1])
    assert gates[1] not in after["parked_gates"]


async def test_what_others_wrote_does_not_command_the_terminal(operator: Operator, ann: Person) -> None:
    run = await ann.start("line", {"amount": 5})
    await ann.post(f"/process-runs/{run['id']}/cancel", {"reason": f"{CLEAR_SCREEN}[red]x[/]{RIGHT_TO_LEFT}"})
    output = (await operator.says("runs", "show", run["id"])).stdout
    assert "\\u001b[2J[red]x[/]\\u202e" in output
    assert "\x1b" not in output
    assert RIGHT_TO_LEFT not in output


async def test_a_watch_tells_each_event_and_ends_with_the_run(operator: Operator, ann: Person) -> None:
    run = await ann.start("line", {"amount": 5})
    watching = asyncio.create_task(operator.says("runs", "watch", run["id"], "--json"))
    await ann.resume(run, "signoff")
    result = await watching
    assert result.exit_code == 0, result.output
    told = [json.loads(line) for line in result.stdout.splitlines()]
    assert [one["seq"] for one in told] == list(range(1, (await ann.run(run))["version"] + 1))
    lines = (await operator.says("runs", "watch", run["id"])).stdout.splitlines()
    assert len(lines) == len(told)
    assert "verdict_given" in "".join(lines)


async def test_a_watch_says_that_the_database_has_lost_what_it_told(
    operator: Operator, ann: Person, house: House
) -> None:
    run = await ann.start("quick")
    async with Between(house) as line:
        watch = ("runs", "watch", run["id"], "--url", line.url)
        whole = (await operator.says(*watch)).stdout.splitlines()
        before = len(line.seen) - 1
        told = []
        for more in ((), ("--json",)):
            line.faults = [Fault("none")] * before + [said(410, "history_changed", first="1")]
            changed, *events = (await operator.says(*watch, *more)).stdout.splitlines()
            assert len(events) == len(whole) - 1
            told.append(changed)
    assert "history_changed   Later." in told[0]
    assert json.loads(told[1]) == {"type": "history_changed", "first": "1", "detail": "Later."}


async def test_a_watch_of_a_run_that_fails_says_so_by_its_code(operator: Operator, ann: Person, far: FarSide) -> None:
    far.status = 400
    await ann.connect("transfer", far.url)
    run = await ann.start("direct")
    watching = asyncio.create_task(operator.says("runs", "watch", run["id"]))
    await ann.resume(run, "transfer")
    assert (await watching).exit_code == REFUSED
    assert (await operator.says("runs", "watch", run["id"])).exit_code == REFUSED


async def test_a_terminal_shows_a_picture_that_changes(operator: Operator, ann: Person) -> None:
    run = await ann.start("line", {"amount": 5})
    ours, theirs = pty.openpty()
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(ours, "rb", 0))
    env = {**os.environ, **operator.env, "TERM": "xterm", "COLUMNS": "150"}
    command = (sys.executable, "-m", "daemon", "runs", "watch", run["id"])
    process = await asyncio.create_subprocess_exec(*command, stdin=DEVNULL, stdout=theirs, stderr=PIPE, env=env)
    os.close(theirs)
    async with asyncio.timeout(30):
        assert b"parked" in await reader.readuntil(b"digest")
        await ann.resume(run, "signoff")
        assert b"paid" in await reader.readuntil(b"completed") + await reader.readuntil(b"paid")
        assert await process.wait() == 0


def test_an_earlier_name_of_a_setting_is_refused_with_the_present_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert {new.removeprefix("PENSTOCK_").lower() for new in RENAMED.values()} <= set(Settings.model_fields)
    assert not {old.removeprefix("PENSTOCK_").lower() for old in RENAMED} & set(Settings.model_fields)
    monkeypatch.setenv("PENSTOCK_IDLE_S", "1")
    with pytest.raises(typer.Exit) as refused:
        settings_of()
    assert refused.value.exit_code == CONFIG
    assert capsys.readouterr().err == "penstock: PENSTOCK_IDLE_S is now PENSTOCK_RUN_IDLE_S\n"


def test_the_variables_of_the_commands_are_known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PENSTOCK_URL", "http://a.test")
    monkeypatch.setenv("PENSTOCK_TOKEN", "t")
    assert unknown_variables() == {}
    monkeypatch.setenv("PENSTOCK_TOKENS", "t")
    monkeypatch.setenv("PENSTOCK_BOGUS", "1")
    assert unknown_variables() == {"PENSTOCK_TOKENS": "PENSTOCK_TOKEN", "PENSTOCK_BOGUS": None}
    monkeypatch.setenv("XDG_CONFIG_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert Remote().tokens_file == tmp_path / ".config" / "penstock" / "tokens"


async def test_a_dry_run_whose_finding_no_rule_makes_live_is_named_by_the_check(operator: Operator) -> None:
    line = (Path(__file__).parent / "templates" / "line.yaml").read_text()
    file = operator.home.parent / "line.yaml"
    file.write_text(line.replace("{output: {found: 3}}", "{output: {found: 3}, signal: true}"))
    result = await operator.says("templates", "check", file)
    because = "signal_without_rule: look: a dry run has signal: true, and no signal_when finds it live"
    assert (result.exit_code, result.stdout) == (REFUSED, f"{file}:12:75: {because}\n")
    file.write_text(file.read_text().replace("tool: lookup,", "tool: lookup, signal_when: output.found == 3,"))
    assert (await operator.says("templates", "check", file)).exit_code == 0


async def test_a_token_is_taken_from_a_file_and_never_from_the_command_line(
    stranger: Operator, ann: Person, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_text(f"{ann.token}\n")
    assert (await stranger.says("runs", "ls", "--token-file", file)).exit_code == 0
    assert (await stranger.says("runs", "ls", "--token-file", "-", types=ann.token)).exit_code == 0
    assert (await stranger.says("runs", "ls", "--token-file", tmp_path / "none")).exit_code == 2
    assert (await stranger.says("runs", "ls", "--token", ann.token)).exit_code == 2
