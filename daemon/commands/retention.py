"""`penstock runs hold`, `release`, `redact` and `archive`: how a run is kept."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from daemon.client import Hold, MadeRedaction
from daemon.commands import display
from daemon.commands.base import error_exit
from daemon.commands.naming import RUN, resolved
from daemon.commands.remote import Shell, Yes, calling, confirm
from daemon.commands.runs import RunId, runs
from daemon.model.chain import digest
from daemon.runtime import exit_codes

commands = runs
"""`penstock runs`, with these among its commands."""


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


def _redacted(one: MadeRedaction) -> Text:
    left = f"; still named in {', '.join(one.left)}" if one.left else ""
    return display.text(f"redaction {one.number}: {len(one.places)} values in events{left}")


def _shown(one: Hold) -> Text:
    return display.text(f"under legal hold by {one.held_by}: {one.reason}")
