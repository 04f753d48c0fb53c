"""`penstock runs hold`, `release`, `redact` and `archive`: how a run is kept."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from daemon.client import Hold, MadeRedaction
from daemon.commands import display
from daemon.commands.base import AsJson, error_exit, print_result
from daemon.commands.naming import RUN, resolved
from daemon.commands.remote import Token, Url, perform
from daemon.commands.runs import RunId, runs
from daemon.model.chain import digest
from daemon.runtime import exit_codes

commands = runs
"""`penstock runs`, with these among its commands."""


@runs.command("hold")
def hold(
    run_id: RunId,
    reason: Annotated[str, typer.Argument(help="Why, such as the name of the case.")],
    as_json: AsJson = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Put a run under legal hold: it is not archived until it is released."""
    run_id = resolved(url, token, RUN, run_id)
    display.show_result(perform(url, token, lambda api: api.hold_run(run_id, reason)), _shown, as_json=as_json)


@runs.command("release")
def release(
    run_id: RunId,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    as_json: AsJson = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Release a run from legal hold."""
    run_id = resolved(url, token, RUN, run_id)
    if not yes and not typer.confirm(f"Release {run_id}?", err=True):
        raise error_exit("It is still held.", exit_codes.REFUSED)
    perform(url, token, lambda api: api.release_run(run_id))
    print_result({"run_id": run_id, "hold": None}, f"{run_id} is released", as_json=as_json)


@runs.command("redact")
def redact(
    run_id: RunId,
    pointers: Annotated[list[str], typer.Argument(help="Values, such as /inputs/member_id; /inputs and /facts: all.")],
    reason: Annotated[str, typer.Option("--reason", help="Why, such as the number of a request.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    as_json: AsJson = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Redact values of a run that has ended, and copies of them, for good."""
    run_id = resolved(url, token, RUN, run_id)
    if not yes:
        places = perform(url, token, lambda api: api.redact_run(run_id, pointers, reason, preview=True)).places
        typer.echo("\n".join(places), err=True)
        if not typer.confirm(f"Redact these {len(places)} values of {run_id} for good?", err=True):
            raise error_exit("Nothing was redacted.", exit_codes.REFUSED)
    made = perform(url, token, lambda api: api.redact_run(run_id, pointers, reason))
    display.show_result(made, _redacted, as_json=as_json)


@runs.command("archive")
def archive(
    run_id: RunId,
    file: Annotated[Path, typer.Argument(help="File to write.")],
    as_json: AsJson = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Store the archive of a run in a file, for `penstock verify`."""
    run_id = resolved(url, token, RUN, run_id)
    content = perform(url, token, lambda api: api.archive(run_id))
    try:
        file.write_bytes(content)
    except OSError as error:
        raise error_exit(error, exit_codes.REFUSED) from None
    found = {"run_id": run_id, "file": str(file), "bytes": len(content), "sha256": digest(content)}
    print_result(found, f"{file}: {len(content):,} bytes, {found['sha256']}", as_json=as_json)


def _redacted(one: MadeRedaction) -> Text:
    left = f"; still named in {', '.join(one.left)}" if one.left else ""
    return display.text(f"redaction {one.number}: {len(one.places)} values in events{left}")


def _shown(one: Hold) -> Text:
    return display.text(f"under legal hold by {one.held_by}: {one.reason}")
