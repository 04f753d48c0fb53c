"""Commands for evidence: verify exports and stores, rotate checkpoint keys."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from daemon.audit.signer import PUBLIC, read_public, write_public
from daemon.commands.base import AsJson, DataDir, error_exit, print_result, ring_document, settings_of
from daemon.keys.keyring import KeyFileRefused, KeyRing, change_ring
from daemon.model.evidence import Checkpoint, checkpoint
from daemon.runtime import exit_codes
from daemon.settings import key_files
from daemon.verification.exports import verify_export
from daemon.verification.findings import Counts, Finding
from daemon.verification.runs import BEGINNING_BYTES, comparable, is_run, sentence, verify_run
from daemon.verification.stores import verify_store

SQLITE = b"SQLite format 3\0"

audit = typer.Typer(help="The keys that sign checkpoints.", no_args_is_help=True)


def verify(
    file: Annotated[
        Path | None, typer.Argument(help="An export, or the evidence of one run; without a file, a store is verified.")
    ] = None,
    key: Annotated[Path | None, typer.Option(help="File of the public keys; a store has its own.")] = None,
    data_dir: Annotated[Path | None, typer.Option(help="Data folder of the store to verify.")] = None,
    against: Annotated[Path | None, typer.Option(help="File of checkpoints that were stored elsewhere.")] = None,
    as_json: AsJson = False,
) -> None:
    """Verify an export, the evidence of a run or a store; exit 1 if there are findings."""
    counts = Counts()
    if (file is None) == (data_dir is None) or (file is not None and key is None):
        raise error_exit(
            "give an export or a run's evidence with --key, the file of public keys, or else --data-dir",
            exit_codes.CONFIG,
        )
    try:
        kept = [] if against is None else _read_checkpoints(against)
        if file is not None and key is not None:
            found, shown = _of_file(file, read_public(key), kept, counts, quiet=as_json)
        else:
            folder, shown = data_dir or Path(), ""
            findings = verify_store(folder, read_public(key or folder / PUBLIC), kept, counts)
            found = _print_findings(findings, quiet=as_json)
    except (KeyFileRefused, OSError, ValueError) as error:
        raise error_exit(error, exit_codes.CONFIG) from None
    checked = ", ".join(f"{count} {name}" for name, count in counts.items())
    sound = f"sound: {shown or checked or 'nothing there yet'}"
    said = f"{len(found)} findings in {checked or 'nothing'}" if found else sound
    print_result({"sound": not found, "findings": found, "counts": dict(counts)}, said, as_json=as_json)
    raise typer.Exit(exit_codes.REFUSED if found else 0)


def _of_file(
    file: Path, keys: Mapping[str, bytes], kept: Sequence[Checkpoint], counts: Counts, *, quiet: bool
) -> tuple[list[str], str]:
    """The findings in an export or in the evidence of a run, and the summary of a valid run."""
    with file.open("rb") as lines:
        beginning = lines.peek(BEGINNING_BYTES)[:BEGINNING_BYTES]
        if beginning.startswith(SQLITE):  # it would have thousands of findings
            raise ValueError(
                f"{file} is a database and no export: restore it into a folder, and name that by --data-dir"
            )
        if not is_run(beginning):
            return _print_findings(verify_export(lines, keys, kept, counts), quiet=quiet), ""
        raw = lines.read()
    found = _print_findings(verify_run(raw, keys, comparable(raw, kept), counts), quiet=quiet)
    return found, "" if found else sentence(raw)


@audit.command("rotate")
def rotate(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Sign checkpoints with a new key; earlier signatures still verify. Needs no restart."""
    settings = settings_of(data_dir=data_dir)
    try:
        path = key_files(settings)["audit"]
        ring = change_ring(path, KeyRing.rotated)
        write_public(settings.data_dir / PUBLIC, ring)
    except (KeyFileRefused, OSError) as error:
        raise error_exit(error) from None
    print_result(
        ring_document(path, ring),
        f"{path}: {ring.current} signs from now on; {len(ring.keys)} keys are valid",
        as_json=as_json,
    )


def _read_checkpoints(path: Path) -> Sequence[Checkpoint]:
    """Read checkpoints from a file: one, a list, or one per line; ValueError when there is none."""
    text = path.read_text(encoding="utf-8")
    try:
        found = json.loads(text)
    except ValueError:
        found = [json.loads(line) for line in text.splitlines()]
    some = found if isinstance(found, list) else [found]
    if not some:
        raise ValueError(f"{path} holds no checkpoint")
    return [checkpoint(one.get("checkpoint", one) if isinstance(one, dict) else one) for one in some]


def _print_findings(findings: Iterator[Finding], *, quiet: bool) -> list[str]:
    """Print findings one by one, unless `quiet`; returns them."""
    found = []
    for finding in findings:
        found.append(str(finding))
        if not quiet:
            typer.echo(found[-1])
    return found
