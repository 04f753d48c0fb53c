"""Commands for the keys of tokens and of stored secrets."""

from __future__ import annotations

import asyncio
from pathlib import Path

import typer

from actors.ports import StoreFailed
from daemon.commands.base import AsJson, DataDir, error_exit, print_result, ring_document, settings_of
from daemon.keys.keyring import KeyFileRefused, KeyRing, change_ring
from daemon.keys.rotation import prune as pruned
from daemon.model import SchemaMismatch
from daemon.model.audit_events import KeyPurpose
from daemon.settings import Settings, key_files
from daemon.stores.sqlite.connection import DATABASE
from daemon.stores.sqlite.store import SqliteStore

tokens = typer.Typer(help="The keys that sign tokens.", no_args_is_help=True)
secrets = typer.Typer(help="The keys that encrypt stored secrets.", no_args_is_help=True)


@tokens.command("rotate")
def rotate_tokens(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Sign new tokens with a new key; earlier tokens stay valid. Needs no restart."""
    path, ring = _rotated("tokens", data_dir)
    said = f"{path}: {ring.current} signs from now on; {len(ring.keys)} keys are valid"
    print_result(ring_document(path, ring), said, as_json=as_json)


@secrets.command("rotate")
def rotate_secrets(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Encrypt with a new key; the service rewraps the companies' keys at once or at its start."""
    path, ring = _rotated("secrets", data_dir)
    said = f"{path}: {ring.current} wraps the companies' keys from now on; {len(ring.keys)} keys are kept"
    print_result(ring_document(path, ring), said, as_json=as_json)


@secrets.command("prune")
def prune(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Delete earlier keys, unless one still wraps a company's key. The service must be stopped."""
    try:
        ring, dropped = asyncio.run(_prune(settings_of(data_dir=data_dir)))
    except (StoreFailed, SchemaMismatch, KeyFileRefused, OSError) as error:
        raise error_exit(error) from None
    said = f"{dropped} keys dropped; {ring.current} is kept"
    print_result({"dropped": dropped, "current": ring.current}, said, as_json=as_json)


def _rotated(purpose: KeyPurpose, data_dir: Path | None) -> tuple[Path, KeyRing]:
    path = key_files(settings_of(data_dir=data_dir))[purpose]
    try:
        return path, change_ring(path, KeyRing.rotated)
    except (KeyFileRefused, OSError) as error:
        raise error_exit(error) from None


async def _prune(settings: Settings) -> tuple[KeyRing, int]:
    """Delete earlier keys from the file; KeyFileRefused if one is needed, or if that is unknown."""
    path, database = key_files(settings)["secrets"], settings.data_dir / DATABASE
    if settings.database_url is not None:
        from daemon.stores.postgres.store import PostgresStore  # noqa: PLC0415 - most do without, and it takes time to import

        async with PostgresStore.open(settings.database_url.get_secret_value()) as shared:
            return await pruned(path, shared)
    if not database.exists():
        raise KeyFileRefused(f"{database} does not exist, so the needed keys are unknown")
    async with SqliteStore.open(database) as store:
        return await pruned(path, store)
