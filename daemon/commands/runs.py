"""`penstock runs`: list, watch, start, decide, cancel, retry, and how runs are kept."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.live import Live
from rich.text import Text

from daemon.client import (
    Event,
    Gate,
    GateChanged,
    GatePreview,
    GlassBroken,
    HistoryChanged,
    Hold,
    MadeRedaction,
    Penstock,
    Problem,
    Run,
)
from daemon.commands import display
from daemon.commands.base import echo, error_exit
from daemon.commands.naming import MEMBER, RUN, TEMPLATE, explained, gate_of, identified, nearest, resolved, verdict_of
from daemon.commands.remote import Shell, Yes, calling, complete_run, complete_vertical, confirm, taken
from daemon.model.chain import digest
from daemon.runtime import exit_codes, json_codec
from daemon.runtime.terminal import clean

# The thread ends at once when it is cancelled; a name that does not resolve is not waited for.
JOIN_S = 2.0


@contextmanager
def reporting_changes(
    perform: Callable[[Callable[[Penstock], Awaitable[None]]], None], run_id: str, shown_gate: Gate
) -> Iterator[None]:
    """Follow a run from another thread while this one reads input; `perform` runs a request."""
    seen = {shown_gate.digest}
    over = threading.Event()
    cancels: list[Callable[[], object]] = []

    async def work(api: Penstock) -> None:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None  # noqa: S101 - this is one
        cancels.append(lambda: None if loop.is_closed() else loop.call_soon_threadsafe(task.cancel))
        if over.is_set():
            return
        async for event in api.follow(run_id, after=(await api.run(run_id)).version):
            if not isinstance(event, GateChanged) or event.gate.step_id != shown_gate.step_id:
                continue
            if event.gate.digest not in seen:
                seen.add(event.gate.digest)
                display.ask(
                    display.text(f"{event.gate.step_id} has changed; it is shown again before anything is decided.")
                )

    def follow() -> None:
        with suppress(asyncio.CancelledError, typer.Exit):
            perform(work)

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        for cancel in cancels:
            cancel()
        thread.join(JOIN_S)


OVER = frozenset({"completed", "failed", "cancelled"})
runs = typer.Typer(help="Runs: read, watch, decide.", no_args_is_help=True)
RunId = Annotated[
    str, typer.Argument(help="Id of the run, its beginning, or the business key.", autocompletion=complete_run)
]
Status = Literal["executing", "waiting", "parked", "compensating", "completed", "failed", "cancelled"]


@runs.command("ls")
@calling
def ls(
    shell: Shell,
    status: Annotated[Status | None, typer.Option(help="Filter by status.")] = None,
    vertical: Annotated[str | None, typer.Option(help="Filter by template.", autocompletion=complete_vertical)] = None,
    parked_at: Annotated[str | None, typer.Option(help="Filter by the step of an open gate.")] = None,
    business_key: Annotated[str | None, typer.Option(help="Filter by business key.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number.")] = 50,
) -> None:
    """List the runs, newest first."""
    asked = {"status": status, "vertical": vertical, "parked_at": parked_at, "business_key": business_key}

    async def work(api: Penstock) -> list[Run]:
        found = await taken(api.runs(**asked, limit=min(limit, 200)), limit)
        if not found and vertical is not None:
            await identified(api, TEMPLATE, vertical)
        return found

    found = shell.perform(work)
    shell.show(found, display.runs)


@runs.command("show")
@calling
def show(shell: Shell, run_id: RunId) -> None:
    """Show a run; at a gate with all that a decision depends on, and what follows on each."""
    run_id = resolved(shell, RUN, run_id)

    async def work(api: Penstock) -> tuple[Run, dict[str, GatePreview]]:
        run = await api.run(run_id)
        return run, {} if shell.as_json else await _previews(api, run)

    run, previews = shell.perform(work)
    shell.show(run, partial(display.parked, previews=previews) if previews else display.run)


async def _previews(api: Penstock, run: Run) -> dict[str, GatePreview]:
    """What follows at each open gate; without those that have been closed meanwhile."""
    found: dict[str, GatePreview] = {}
    for step_id in run.parked_gates:
        try:
            found[step_id] = await api.preview(run.id, step_id)
        except Problem as problem:
            if problem.code != "not_found":
                raise
    return found


@runs.command("watch")
@calling
def watch(shell: Shell, run_id: RunId) -> None:
    """Follow a run until it ends; exit 1 if it fails. Ctrl-C stops only the watching."""
    run_id = resolved(shell, RUN, run_id)
    live = not shell.as_json and sys.stdout.isatty()
    run = shell.perform(lambda api: _live(api, run_id) if live else _lines(api, run_id, shell.as_json))
    raise typer.Exit(exit_codes.REFUSED if run.status == "failed" else 0)


@runs.command("start")
@calling
def start(
    shell: Shell,
    vertical: Annotated[str, typer.Argument(help="The template's slug.", autocompletion=complete_vertical)],
    inputs: Annotated[str, typer.Option(help="Inputs as JSON; @FILE reads a file, - standard input.")] = "{}",
    example: Annotated[bool, typer.Option("--example", help="Use the template's example inputs.")] = False,
    auto: Annotated[bool, typer.Option(help="Run safe steps automatically; else every step waits at a gate.")] = True,
    business_key: Annotated[str | None, typer.Option(help="What you know the run by, such as an order number.")] = None,
    unique: Annotated[bool, typer.Option("--unique", help="Refuse it while another run has the key.")] = False,
) -> None:
    """Start a run, and show it when it parks or ends."""
    given = _object("--inputs", inputs)

    async def work(api: Penstock) -> Run:
        found = (await explained(api, TEMPLATE, vertical, api.template(vertical))).inputs if example else given
        begun = api.start(vertical, inputs=found, auto_resolve=auto, business_key=business_key, unique=unique)
        return await explained(api, TEMPLATE, vertical, begun)

    shell.show(shell.perform(work), display.run)


@runs.command("resume")
@calling
def resume(
    shell: Shell,
    run_id: RunId,
    decision: Annotated[str | None, typer.Argument(help="The decision; default: prompt for it.")] = None,
    gate: Annotated[str | None, typer.Option(help="The gate; required if several are open.")] = None,
    comment: Annotated[str | None, typer.Option(help="Comment, stored with the verdict.")] = None,
    output: Annotated[
        str | None, typer.Option(help="With done: the tool's response as JSON; @FILE reads a file, - standard input.")
    ] = None,
    inputs: Annotated[
        str | None, typer.Option(help="Inputs missing at the gate, as JSON; @FILE reads a file, - standard input.")
    ] = None,
    form: Annotated[
        str | None, typer.Option(help="What the gate asks for, as JSON; @FILE reads a file, - standard input.")
    ] = None,
    code: Annotated[str | None, typer.Option(help="With denied: one of the gate's codes.")] = None,
    on_behalf_of: Annotated[
        str | None, typer.Option(help="E-mail address or id of who delegated the decision to you.")
    ] = None,
    arguments: Annotated[
        str | None, typer.Option(help="All arguments of an action, changed, as JSON; @FILE reads a file.")
    ] = None,
    yes: Yes = False,
) -> None:
    """Decide at a gate: shows it and asks for confirmation; refused if it has changed since."""
    answered = None if output is None else _json("--output", output)
    brought = None if inputs is None else _object("--inputs", inputs)
    filled = None if form is None else _object("--form", form)
    changed = None if arguments is None else _object("--arguments", arguments)
    run_id = resolved(shell, RUN, run_id)
    on_behalf_of = None if on_behalf_of is None else resolved(shell, MEMBER, on_behalf_of)
    said = partial(Penstock.resume, run_id=run_id, comment=comment, output=answered, inputs=brought)
    said = partial(said, form=filled, code=code, on_behalf_of=on_behalf_of, arguments=changed)

    async def decide(api: Penstock, asked: Gate, word: str) -> Run | None:
        try:
            return await said(api, gate=asked.step_id, decision=word, digest=asked.digest)
        except Problem as problem:
            if yes or problem.code != "stale":
                raise
            return None

    while True:
        asked = _show(shell, run_id, gate)
        with nullcontext() if yes else reporting_changes(shell.perform, run_id, asked):
            word = _decision(asked, decision, yes=yes)
        now = shell.perform(partial(decide, asked=asked, word=word))
        if now is not None:
            shell.show(now, display.run)
            _still_open(now, asked)
            return
        display.ask(display.text("No decision was made: the gate has changed. This is the gate now.", "bold yellow"))


def _still_open(run: Run, asked: Gate) -> None:
    """Say that a verdict counts though the gate is open."""
    now = next((one for one in run.gates if (one.step_id, one.visit) == (asked.step_id, asked.visit)), None)
    if now is not None and len(now.verdicts) > len(asked.verdicts):
        said = f"Your decision counts. {len(now.verdicts)} of {now.policy.quorum} have decided: the gate is open."
        display.ask(display.text(said, "bold"))


def _show(shell: Shell, run_id: str, named: str | None) -> Gate:
    """Show a gate with everything a decision depends on."""

    async def work(api: Penstock) -> tuple[Run, Gate, GatePreview]:
        run = await api.run(run_id)
        asked = gate_of(run, named)
        return run, asked, await api.preview(run_id, asked.step_id)

    run, asked, preview = shell.perform(work)
    display.ask(display.question(run, asked, preview))
    return asked


def _decision(asked: Gate, given: str | None, *, yes: bool) -> str:
    word: str = given or typer.prompt(clean(f"Decision ({', '.join(asked.decisions)})"), err=True)
    if word not in asked.decisions:
        near = nearest(word, asked.decisions)
        meant = "" if near is None else f"; the nearest is {near}"
        raise error_exit(f"{asked.step_id} takes {', '.join(asked.decisions)}, not {word}{meant}.", exit_codes.REFUSED)
    confirm(yes, f"{word} at {asked.step_id}?", "Nothing was decided.")
    return word


@runs.command("cancel")
@calling
def cancel(
    shell: Shell,
    run_id: RunId,
    reason: Annotated[str | None, typer.Option(help="Reason, stored with the run.")] = None,
    compensate: Annotated[bool, typer.Option("--compensate", help="Undo first what the run has done.")] = False,
    yes: Yes = False,
) -> None:
    """Cancel a run."""
    run_id = resolved(shell, RUN, run_id)
    confirm(yes, f"Cancel {run_id}?", "Nothing was cancelled.")
    run = shell.perform(lambda api: api.cancel(run_id, reason=reason, compensate=compensate))
    shell.show(run, display.run)


@runs.command("retry")
@calling
def retry(shell: Shell, run_id: RunId) -> None:
    """Retry the failed step."""
    run_id = resolved(shell, RUN, run_id)
    shell.show(shell.perform(lambda api: api.retry(run_id)), display.run)


@runs.command("promote")
@calling
def promote(shell: Shell, run_id: RunId) -> None:
    """Make a run that ended in shadow again, live; other calls than recorded wait for a human."""
    run_id = resolved(shell, RUN, run_id)
    shell.show(shell.perform(lambda api: api.promote(run_id)), display.run)


@runs.command("migrate")
@calling
def migrate(
    shell: Shell, run_id: RunId, version: Annotated[int, typer.Argument(help="Number of the version to go on by.")]
) -> None:
    """Let a run go on by another version of its template; its gates ask anew."""
    run_id = resolved(shell, RUN, run_id)
    shell.show(shell.perform(lambda api: api.migrate(run_id, version)), display.run)


@runs.command("message")
@calling
def message(
    shell: Shell,
    run_id: RunId,
    name: Annotated[str, typer.Argument(help="Name of the message, as a step waits for it.")],
    payload: Annotated[str | None, typer.Option(help="Content as JSON; @FILE reads a file, - standard input.")] = None,
) -> None:
    """Deliver a message to a run; one that comes early is kept."""
    content = None if payload is None else _json("--payload", payload)
    run_id = resolved(shell, RUN, run_id)
    run = shell.perform(lambda api: api.deliver(run_id, name, content))
    shell.show(run, display.run)


@runs.command("receipt")
@calling
def receipt(
    shell: Shell,
    run_id: RunId,
    verdict_id: Annotated[str, typer.Argument(help="Id of a verdict, as the run shows it, or its beginning.")],
) -> None:
    """Show the receipt of a verdict; with --json for `penstock verify --receipt`."""
    run_id = resolved(shell, RUN, run_id)
    verdict_id = resolved(shell, verdict_of(run_id), verdict_id)
    found = shell.perform(lambda api: api.verdict_receipt(run_id, verdict_id))
    shell.show(found, display.receipt)


def _object(flag: str, given: str) -> dict[str, Any]:
    found = _json(flag, given)
    if not isinstance(found, dict):
        raise error_exit(f"{flag} is no JSON object.", exit_codes.REFUSED)
    return found


def _json(flag: str, given: str) -> Any:
    try:
        if given == "-":
            given = sys.stdin.read()
        elif given.startswith("@"):
            given = Path(given[1:]).read_text(encoding="utf-8")
        json.loads(given)
        return json_codec.loads(given.encode())
    except OSError as error:
        raise error_exit(error, exit_codes.REFUSED) from None
    except json_codec.NotJson as error:
        raise error_exit(f"{flag}: {error}", exit_codes.REFUSED) from None
    except ValueError as error:
        raise error_exit(f"{flag} is not JSON: {error}.", exit_codes.REFUSED) from None


async def _live(api: Penstock, run_id: str) -> Run:
    run = await api.run(run_id)
    with Live(display.run(run), auto_refresh=False) as picture:
        if run.status in OVER:
            return run
        async for event in api.follow(run_id, after=run.version):
            if not isinstance(event, Event) or event.seq > run.version:
                run = await api.run(run_id)
                picture.update(display.run(run), refresh=True)
            if run.status in OVER:
                break
    return run


async def _lines(api: Penstock, run_id: str, as_json: bool) -> Run:
    run = await api.run(run_id)
    async for event in api.follow(run_id):
        if as_json:
            echo(event.model_dump_json(exclude_unset=True))
        else:
            display.show(display.event(event))
        if isinstance(event, HistoryChanged):
            run = await api.run(run_id)
        if not isinstance(event, Event):
            continue
        if event.seq > run.version:
            run = await api.run(run_id)
        if run.status in OVER and event.seq >= run.version:
            break
    return run


@runs.command("hold")
@calling
def hold(
    shell: Shell, run_id: RunId, reason: Annotated[str, typer.Argument(help="Why, such as the name of the case.")]
) -> None:
    """Put a run under legal hold: it is not archived until it is released."""
    run_id = resolved(shell, RUN, run_id)
    shell.show(shell.perform(lambda api: api.hold_run(run_id, reason)), _shown)


@runs.command("release")
@calling
def release(shell: Shell, run_id: RunId, yes: Yes = False) -> None:
    """Release a run from legal hold."""
    run_id = resolved(shell, RUN, run_id)
    confirm(yes, f"Release {run_id}?", "It is still held.")
    shell.perform(lambda api: api.release_run(run_id))
    shell.say({"run_id": run_id, "hold": None}, f"{run_id} is released")


@runs.command("break-glass")
@calling
def break_glass(
    shell: Shell, run_id: RunId, reason: Annotated[str, typer.Option("--reason", help="Why; all readers are told.")]
) -> None:
    """Read a run that is closed to you, by its whole id, for an hour."""
    shell.show(shell.perform(lambda api: api.break_glass(run_id, reason)), _broken)


@runs.command("redact")
@calling
def redact(
    shell: Shell,
    run_id: RunId,
    pointers: Annotated[list[str], typer.Argument(help="Values, such as /inputs/member_id; /inputs and /facts: all.")],
    reason: Annotated[str, typer.Option("--reason", help="Why, such as the number of a request.")],
    yes: Yes = False,
) -> None:
    """Redact values of a run that has ended, and copies of them, for good."""
    run_id = resolved(shell, RUN, run_id)
    if not yes:
        places = shell.perform(lambda api: api.redact_run(run_id, pointers, reason, preview=True)).places
        typer.echo("\n".join(places), err=True)
        if not typer.confirm(f"Redact these {len(places)} values of {run_id} for good?", err=True):
            raise error_exit("Nothing was redacted.", exit_codes.REFUSED)
    made = shell.perform(lambda api: api.redact_run(run_id, pointers, reason))
    shell.show(made, _redacted)


@runs.command("archive")
@calling
def archive(shell: Shell, run_id: RunId, file: Annotated[Path, typer.Argument(help="File to write.")]) -> None:
    """Store the archive of a run in a file, for `penstock verify`."""
    run_id = resolved(shell, RUN, run_id)
    content = shell.perform(lambda api: api.archive(run_id))
    try:
        file.write_bytes(content)
    except OSError as error:
        raise error_exit(error, exit_codes.REFUSED) from None
    found = {"run_id": run_id, "file": str(file), "bytes": len(content), "sha256": digest(content)}
    shell.say(found, f"{file}: {len(content):,} bytes, {found['sha256']}")


def _broken(one: GlassBroken) -> Text:
    return display.text(f"you read this run until {one.until:%Y-%m-%d %H:%M} UTC")


def _redacted(one: MadeRedaction) -> Text:
    left = f"; still named in {', '.join(one.left)}" if one.left else ""
    return display.text(f"redaction {one.number}: {len(one.places)} values in events{left}")


def _shown(one: Hold) -> Text:
    return display.text(f"under legal hold by {one.held_by}: {one.reason}")
