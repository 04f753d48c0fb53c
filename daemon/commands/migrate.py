"""`penstock migrate`: from SQLite to PostgreSQL."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from actors.ports import StoreFailed
from daemon.commands.base import AsJson, echo, error_exit, print_result, settings_of, without_password
from daemon.keys.keyring import KeyFileRefused
from daemon.keys.opening import open_commit_keys
from daemon.model import SchemaMismatch
from daemon.runtime import exit_codes
from daemon.runtime.clock import utc_now
from daemon.runtime.durable_files import as_owner
from daemon.settings import database_address
from daemon.stores.sqlite.connection import DATABASE

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
