"""Commands for evidence: verify exports and stores, rotate checkpoint keys."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from actors.ports import StoreFailed
from daemon.actions.traces import NothingEnded, trace_of
from daemon.audit.sealer import PUBLIC, read_public, write_public
from daemon.commands import display
from daemon.commands.base import AsJson, DataDir, echo, error_exit, print_result, ring_document, settings_of
from daemon.commands.remote import Shell, calling, taken
from daemon.keys.commit_keys import FILE as COMMIT_KEYS
from daemon.keys.commit_keys import CommitKeys
from daemon.keys.keyring import KeyFileRefused, KeyRing, change_ring
from daemon.model.audit_events import SERVICE
from daemon.model.evidence import StoredCheckpoint, checkpoint
from daemon.runtime import exit_codes
from daemon.runtime.durable_files import as_owner
from daemon.settings import Settings, database_address, key_files
from daemon.stores.database import Reader
from daemon.stores.sqlite.inspection import reading
from daemon.verification.exports import verify_export
from daemon.verification.findings import AuditFinding, Counts
from daemon.verification.runs import BEGINNING_BYTES, ReceiptCheck, comparable, is_run, sentence, verify_run
from daemon.verification.stores import checkpoints, exported, verify_database, verify_store

SQLITE = b"SQLite format 3\0"

audit = typer.Typer(help="Evidence from the store, and the keys that sign it.", no_args_is_help=True)
Service = Annotated[bool, typer.Option("--service", help="The service's own log.")]
Company = Annotated[str | None, typer.Option(help="Id of a company.")]


def verify(
    file: Annotated[
        Path | None, typer.Argument(help="An export, or the evidence of one run; without a file, a store is verified.")
    ] = None,
    key: Annotated[Path | None, typer.Option(help="File of the public keys; a store has its own.")] = None,
    data_dir: Annotated[Path | None, typer.Option(help="Data folder of the store to verify.")] = None,
    database: Annotated[bool, typer.Option(help="Verify the database of PENSTOCK_DATABASE_URL.")] = False,
    commit_keys: Annotated[
        Path | None, typer.Option(help="File of the keys of commits; the data folder may have its own.")
    ] = None,
    against: Annotated[Path | None, typer.Option(help="File of checkpoints that were stored elsewhere.")] = None,
    receipt: Annotated[
        Path | None, typer.Option(help="File of a verdict's receipt, to compare with an export or a run's evidence.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Verify an export, the evidence of a run or a store; exit 1 if there are findings."""
    counts = Counts()
    if (file is None) == (data_dir is None and not database) or (file is not None and key is None):
        raise error_exit(
            "give an export or a run's evidence with --key, the file of public keys, or else --data-dir or --database",
            exit_codes.CONFIG,
        )
    if receipt is not None and file is None:
        raise error_exit("give the export or the run's evidence that has the verdict", exit_codes.CONFIG)
    notes, shown = [], ""
    try:
        kept = [] if against is None else _read_checkpoints(against)
        if file is not None and key is not None:
            check = None if receipt is None else ReceiptCheck(json.loads(receipt.read_bytes()))
            reading = _Reading(read_public(key), kept, counts, check)
            found, shown = _of_file(file, reading, quiet=as_json)
        else:
            settings = settings_of(data_dir=data_dir)
            macs = _commit_keys(settings, commit_keys)
            findings = _of_store(settings, key, kept, counts, macs, database=database)
            found, notes = _print_findings(findings, quiet=as_json), _notes(settings.data_dir, key, kept, macs)
    except (KeyFileRefused, OSError, ValueError) as error:
        raise error_exit(error, exit_codes.CONFIG) from None
    checked = ", ".join(f"{count} {name}" for name, count in counts.items())
    sound = f"sound: {shown or checked or 'nothing there yet'}"
    number = f"{len(found):,} finding{'' if len(found) == 1 else 's'}"
    said = (f"{number} in {checked}" if checked else f"{number}, and nothing could be read") if found else sound
    document = {"sound": not found, "findings": found, "counts": dict(counts), "notes": notes}
    print_result(document, "\n".join((said, *notes)), as_json=as_json)
    raise typer.Exit(exit_codes.REFUSED if found else 0)


def _commit_keys(settings: Settings, file: Path | None) -> CommitKeys | None:
    """The keys of commits: as named, of the data folder or of the settings; None without a file."""
    if file is not None:
        return CommitKeys.open(file, create=False)
    for path in (settings.data_dir / COMMIT_KEYS, key_files(settings)["commits"]):
        if path.exists():
            return CommitKeys.open(path, create=False)
    return None


class _Reading(NamedTuple):
    """With what a file is verified."""

    keys: Mapping[str, bytes]
    kept: Sequence[StoredCheckpoint]
    counts: Counts
    receipt: ReceiptCheck | None


def _of_file(file: Path, reading: _Reading, *, quiet: bool) -> tuple[list[str], str]:
    """The findings in an export or in the evidence of a run, and the summary of a valid run."""
    with file.open("rb") as lines:
        beginning = lines.peek(BEGINNING_BYTES)[:BEGINNING_BYTES]
        if beginning.startswith(SQLITE):  # it would have thousands of findings
            raise ValueError(
                f"{file} is a database and no export: restore it into a folder, and name that by --data-dir"
            )
        if not is_run(beginning):
            return _print_findings(verify_export(lines, *reading), quiet=quiet), ""
        raw = lines.read()
    against = reading._replace(kept=comparable(raw, reading.kept))
    found = _print_findings(verify_run(raw, *against), quiet=quiet)
    return found, "" if found else sentence(raw)


def _of_store(
    settings: Settings,
    key: Path | None,
    kept: Sequence[StoredCheckpoint],
    counts: Counts,
    macs: CommitKeys | None,
    *,
    database: bool,
) -> Iterator[AuditFinding]:
    keys = read_public(key or settings.data_dir / PUBLIC)
    if not database:
        return verify_store(settings.data_dir, keys, kept, counts, commit_keys=macs)
    url = database_address(settings)
    if url is None:
        raise ValueError("--database verifies the database of PENSTOCK_DATABASE_URL, and that is not set")
    return verify_database(url, keys, kept, counts, commit_keys=macs)


def _notes(folder: Path, key: Path | None, kept: Sequence[StoredCheckpoint], macs: CommitKeys | None) -> list[str]:
    """What a sound result does not rule out, since it was not given."""
    notes = []
    if key is None:
        notes.append(
            f"NOT PINNED: the public keys are those in {folder / PUBLIC}; who can write there can replace them and "
            "all signatures. Give --key with a copy that is kept elsewhere."
        )
    if macs is None:
        notes.append(
            "MACS UNCHECKED: there are no keys of commits; who can write to the database can add commits that are "
            "not sealed yet. Give --commit-keys."
        )
    if not any(one.company == SERVICE for one in kept):
        notes.append(
            "NOT KEPT: --against has no checkpoint of the service; a database that was rolled back as a whole is "
            "not found without one."
        )
    return notes


@audit.command("export")
def export_command(
    service: Service = False,
    company: Company = None,
    data_dir: DataDir = None,
    output: Annotated[Path | None, typer.Option(help="File to write; standard output without one.")] = None,
) -> None:
    """Export the service's own log, or that of a company, from the store itself."""
    of = _whose(company, service=service)
    with _reader(settings_of(data_dir=data_dir)) as reader:
        if output is None:
            for line in exported(reader, of):
                typer.echo(line, nl=False)
        else:
            with output.open("wb") as file:
                file.writelines(exported(reader, of))


@audit.command("checkpoint")
def checkpoint_command(service: Service = False, company: Company = None, data_dir: DataDir = None) -> None:
    """Print the newest checkpoint of the service, which covers all companies, or of a company."""
    of = _whose(company, service=service)
    with _reader(settings_of(data_dir=data_dir)) as reader:
        found = checkpoints(reader, of)
    if not found:
        raise error_exit("there is no checkpoint yet; one is made a second after a change", exit_codes.REFUSED)
    typer.echo(json.dumps(found[-1].document()))


def _whose(company: str | None, *, service: bool) -> str:
    if service == (company is not None):
        raise error_exit("say --service, or --company and its id", exit_codes.CONFIG)
    return company or SERVICE


@contextmanager
def _reader(settings: Settings) -> Iterator[Reader]:
    """The store that the settings name, read as it stands."""
    try:
        url = database_address(settings)
        if url is None:
            with reading(settings.data_dir) as sqlite:
                yield sqlite
        else:
            from daemon.stores.postgres.reader import reading as reading_postgres  # noqa: PLC0415 - most do without

            with reading_postgres(url) as postgres:
                yield postgres
    except (sqlite3.Error, StoreFailed, OSError) as error:
        raise error_exit(f"the store cannot be read: {error}", exit_codes.STORE_FAILED) from None


@audit.command("agents")
@calling
def list_agents(
    shell: Shell,
    agent: Annotated[str | None, typer.Option(help="Only this agent, by the name of its key.")] = None,
    since: Annotated[str | None, typer.Option(help="Only from this time on, as 2026-03-02T09:00:00Z.")] = None,
    until: Annotated[str | None, typer.Option(help="Only before this time.")] = None,
) -> None:
    """List what agents did, who oversaw and overrode it, and when they were stopped."""
    found = shell.perform(lambda api: taken(api.agent_log(agent=agent, since=since, until=until)))
    shell.show(found, display.agent_log)


@audit.command("trace")
def trace_command(
    file: Annotated[Path, typer.Argument(help="An export of the company, which `penstock verify` has found sound.")],
    agent: Annotated[str, typer.Option(help="Of which agent, by the name of its key.")],
    output: Annotated[Path | None, typer.Option(help="File to write; standard output without one.")] = None,
) -> None:
    """Write what an agent did as a trace that AgentAck reads: asked, decided, made, stopped."""
    try:
        with file.open("rb") as entries:
            lines = [json.dumps(one) for one in trace_of(map(json.loads, entries), agent)]
    except (NothingEnded, OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise error_exit(f"{file} gives no trace: {error}", exit_codes.CONFIG) from None
    if output is None:
        for line in lines:
            typer.echo(line)
    else:
        output.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


@audit.command("rotate")
def rotate(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Sign checkpoints with a new key; earlier signatures still verify. Needs no restart."""
    settings = settings_of(data_dir=data_dir)
    try:
        path = key_files(settings)["audit"]
        ring = change_ring(path, KeyRing.rotated)
        with as_owner(settings.data_dir):
            write_public(settings.data_dir / PUBLIC, ring)
    except (KeyFileRefused, OSError) as error:
        raise error_exit(error) from None
    print_result(
        ring_document(path, ring),
        f"{path}: {ring.current} signs from now on; {len(ring.keys)} keys are valid",
        as_json=as_json,
    )


def _read_checkpoints(path: Path) -> Sequence[StoredCheckpoint]:
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


def _print_findings(findings: Iterator[AuditFinding], *, quiet: bool) -> list[str]:
    """Print findings one by one, unless `quiet`; returns them."""
    found = []
    for finding in findings:
        found.append(str(finding))
        if not quiet:
            echo(found[-1])
    return found
