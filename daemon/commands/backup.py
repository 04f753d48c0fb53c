"""`penstock backup`, `restore` and `migrate`: a store copied, and moved to PostgreSQL."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from actors.ports import StoreFailed
from daemon.commands.base import AsJson, DataDir, echo, error_exit, print_result, settings_of, without_password
from daemon.keys.commit_keys import open_commit_keys
from daemon.keys.keyring import KeyFileRefused
from daemon.model import SchemaMismatch
from daemon.runtime import exit_codes
from daemon.runtime.clock import utc_now
from daemon.runtime.durable_files import as_owner
from daemon.settings import database_address, key_files
from daemon.stores.sqlite import backups
from daemon.stores.sqlite.backups import CopyRefused, Holding
from daemon.stores.sqlite.connection import DATABASE

MEANING = """\
What was acknowledged after that is not in it:
- A run that was parked then is parked again, and its verdict has to be given again.
- The call behind that verdict, if it was sent since, is sent again under the same Idempotency-Key, run:step:visit.
  Where it is irreversible and the far side does not keep such keys, look there before you decide.
- A session that was ended since counts again until its token expires, and a changed password is the earlier one.
The key files are not in it either: see with penstock doctor that those in place fit."""

ELSEWHERE = (
    "PENSTOCK_DATABASE_URL is set, so everything is in PostgreSQL: back it up and restore it by its own means, "
    "pg_dump and pg_restore, or a base backup with its WAL (docs/guides/scaling.md); keep the key files apart from it"
)


def backup(
    file: Annotated[Path, typer.Argument(help="The file to write, outside the data folder.")],
    data_dir: DataDir = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace an existing file.")] = False,
    as_json: AsJson = False,
) -> None:
    """Copy the database as of now; the service may run."""
    settings = settings_of(data_dir=data_dir)
    if settings.database_url is not None:
        raise error_exit(CopyRefused(ELSEWHERE), exit_codes.REFUSED)
    try:
        holding = backups.back_up(settings.data_dir / DATABASE, file, replace=replace)
    except CopyRefused as error:
        raise error_exit(error, exit_codes.REFUSED) from None
    apart = [str(path) for path in key_files(settings).values() if path.exists()]
    keys = ", ".join(apart) or "the key files, which were not found where the settings say"
    said = f"{file} holds {described(holding)}\nStore separately: {keys}"
    print_result({"file": str(file), **asdict(holding), "keep_apart": apart}, said, as_json=as_json)


def restore(
    file: Annotated[Path, typer.Argument(help="A file that penstock backup made.")],
    data_dir: DataDir = None,
    replace: Annotated[bool, typer.Option("--replace", help="Move an existing database aside.")] = False,
    as_json: AsJson = False,
) -> None:
    """Restore a backup. The service must be stopped."""
    settings = settings_of(data_dir=data_dir)
    if settings.database_url is not None:
        raise error_exit(CopyRefused(ELSEWHERE), exit_codes.REFUSED)
    folder = settings.data_dir
    try:
        holding, aside = backups.restore(file, folder / DATABASE, utc_now, replace=replace)
    except (CopyRefused, StoreFailed) as error:
        raise error_exit(error, exit_codes.REFUSED) from None
    file = folder / DATABASE
    earlier = [] if aside is None else [f"The earlier database was moved to {aside}."]
    said = "\n".join((f"{file} holds {described(holding)}", *earlier, MEANING))
    document = {"file": str(file), **asdict(holding), "aside": None if aside is None else str(aside)}
    print_result(document, said, as_json=as_json)


def described(holding: Holding) -> str:
    runs = ", ".join(f"{number:,} {status}" for status, number in holding.runs.items()) or "no runs"
    until = "nothing yet" if holding.last_at is None else f"all until {holding.last_at}"
    return f"{until}: {runs}; schema {holding.schema}, {holding.size_bytes:,} bytes"


SQLITE = "sqlite:"
DONE = """\
Start the daemons with PENSTOCK_DATABASE_URL set to that database, each with the same key files
(PENSTOCK_JWT_KEYS_FILE, PENSTOCK_VAULT_KEY_FILE, PENSTOCK_AUDIT_KEYS_FILE, PENSTOCK_COMMIT_KEYS_FILE);
those of this installation are in {folder}.
The SQLite database stays as it was; do not start a service on it again."""


def migrate(
    source: Annotated[str, typer.Option("--from", help="sqlite:FOLDER, the data folder of a stopped service.")],
    target: Annotated[
        str,
        typer.Option(
            "--to",
            callback=without_password,
            envvar="PENSTOCK_DATABASE_URL",
            show_envvar=False,
            help="postgresql://… URL of the database, without its password; default: PENSTOCK_DATABASE_URL.",
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Move a stopped installation to PostgreSQL, and compare every row. Can be repeated."""
    place = Path(source.removeprefix(SQLITE).removeprefix("//"))
    path = place / DATABASE if place.is_dir() else place
    if not source.startswith(SQLITE) or not path.exists():
        raise error_exit(f"--from: {source} is not sqlite: and a data folder with a database", exit_codes.CONFIG)
    if not target.startswith(("postgresql://", "postgres://")):
        raise error_exit("--to: it has to begin with postgresql://", exit_codes.CONFIG)
    from daemon.stores import migrate  # noqa: PLC0415 - most commands do without PostgreSQL

    steps: list[str] = []
    try:
        settings = settings_of(data_dir=path.parent, database_url=target)
        keys, url = open_commit_keys(settings), database_address(settings) or target
        with as_owner(path.parent):
            asyncio.run(migrate.move(path, url, keys, utc_now, steps.append if as_json else echo))
    except (migrate.MigrationRefused, KeyFileRefused, StoreFailed, SchemaMismatch, OSError) as error:
        raise error_exit(error, exit_codes.REFUSED) from None
    print_result({"folder": str(path.parent), "steps": steps}, DONE.format(folder=path.parent), as_json=as_json)
