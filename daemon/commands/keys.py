"""Commands for the keys of tokens and of stored secrets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from actors.ports import StoreFailed
from daemon.commands.base import AsJson, DataDir, commit_keys_of, error_exit, print_result, ring_document, settings_of
from daemon.keys.commit_keys import CommitKeys
from daemon.keys.keyring import KeyFileRefused, KeyRing, change_ring, open_ring
from daemon.keys.vault import prune as pruned
from daemon.model import SchemaMismatch
from daemon.model.audit_events import KeyPurpose
from daemon.runtime.durable_files import as_owner, make_folder
from daemon.settings import KEY_FILES, Settings, database_address, key_file_name, key_files
from daemon.stores.sqlite.connection import DATABASE
from daemon.stores.sqlite.store import SqliteStore
from daemon.stores.tables.commit_macs import Adopt

if TYPE_CHECKING:
    from daemon.stores.postgres.store import PostgresStore

tokens = typer.Typer(help="The key files, and the keys that sign tokens.", no_args_is_help=True)
secrets = typer.Typer(help="The keys that encrypt stored secrets.", no_args_is_help=True)
commits = typer.Typer(help="The keys of the MAC of each commit.", no_args_is_help=True)


@tokens.command("create")
def create(
    folder: Annotated[Path, typer.Argument(help="Folder of the files; it is created, too.")], as_json: AsJson = False
) -> None:
    """Create the four key files, for daemons that share them. Files that exist stay as they are."""
    try:
        make_folder(folder)
        with as_owner(folder):
            rings = {name: open_ring(folder / name, create=True) for name in map(key_file_name, KEY_FILES.values())}
    except (KeyFileRefused, OSError) as error:
        raise error_exit(error) from None
    made = [name for name, (_, is_new) in rings.items() if is_new]
    said = f"{folder}: {', '.join(made) or 'nothing'} created; keep a copy apart from the backups of the data"
    print_result({"folder": str(folder), "created": made}, said, as_json=as_json)


@tokens.command("rotate")
def rotate_tokens(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Sign new tokens with a new key; earlier tokens stay valid. Needs no restart."""
    path, ring = _rotated("tokens", data_dir)
    said = f"{path}: {ring.current} signs from now on; {len(ring.keys)} keys are valid"
    print_result(ring_document(path, ring), said, as_json=as_json)


@tokens.command("prune")
def prune_tokens(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Delete earlier keys: the tokens that they signed count no more. Needs no restart."""
    path = key_files(settings_of(data_dir=data_dir))["tokens"]
    dropped: list[str] = []

    def change(ring: KeyRing) -> KeyRing:
        dropped.extend(key_id for key_id in ring.keys if key_id != ring.current)
        return ring.pruned()

    try:
        ring = change_ring(path, change)
    except (KeyFileRefused, OSError) as error:
        raise error_exit(error) from None
    said = f"{path}: {len(dropped)} keys dropped; only tokens by {ring.current} are valid"
    print_result({**ring_document(path, ring), "dropped": len(dropped)}, said, as_json=as_json)


@secrets.command("rotate")
def rotate_secrets(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Encrypt with a new key; the service rewraps the companies' keys at once or at its start."""
    path, ring = _rotated("secrets", data_dir)
    said = f"{path}: {ring.current} wraps the companies' keys from now on; {len(ring.keys)} keys are kept"
    print_result(ring_document(path, ring), said, as_json=as_json)


@commits.command("rotate")
def rotate_commits(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Write MACs with a new key; commits need the earlier ones for good. Needs no restart."""
    path, ring = _rotated("commits", data_dir)
    said = f"{path}: {ring.current} is used from now on; {len(ring.keys)} keys are kept for good"
    print_result(ring_document(path, ring), said, as_json=as_json)


@commits.command("adopt")
def adopt(
    data_dir: DataDir = None,
    lost: Annotated[bool, typer.Option("--lost-keys", help="Give all commits new MACs: their keys are lost.")] = False,
    as_json: AsJson = False,
) -> None:
    """Give MACs to commits without one, such as an old backup's. The service must be stopped."""
    try:
        settings = settings_of(data_dir=data_dir)
        keys = commit_keys_of(settings)
        with as_owner(settings.data_dir):
            number = asyncio.run(_adopt(settings, keys, "all" if lost else "missing"))
    except (StoreFailed, SchemaMismatch, KeyFileRefused, OSError) as error:
        raise error_exit(error) from None
    print_result({"adopted": number}, f"{number:,} commits were given MACs", as_json=as_json)


@secrets.command("prune")
def prune(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Delete earlier keys, unless one still wraps a company's key. The service must be stopped."""
    try:
        settings = settings_of(data_dir=data_dir)
        keys = commit_keys_of(settings)
        with as_owner(settings.data_dir):
            ring, dropped = asyncio.run(_prune(settings, keys))
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


async def _prune(settings: Settings, keys: CommitKeys) -> tuple[KeyRing, int]:
    """Delete earlier keys from the file; KeyFileRefused if one is needed, or if that is unknown."""
    async with _store(settings, keys) as store:
        return await pruned(key_files(settings)["secrets"], store)


async def _adopt(settings: Settings, keys: CommitKeys, which: Adopt) -> int:
    async with _store(settings, keys, which) as store:
        return store.adopted


@asynccontextmanager
async def _store(
    settings: Settings, keys: CommitKeys, adopt: Adopt = "none"
) -> AsyncIterator[SqliteStore | PostgresStore]:
    """The store of a stopped service; KeyFileRefused without one."""
    url = database_address(settings)
    if url is not None:
        from daemon.stores.postgres.store import PostgresStore  # noqa: PLC0415 - most do without, and it takes time to import

        async with PostgresStore.open(url, keys, adopt=adopt) as shared:
            yield shared
        return
    async with SqliteStore.open(settings.data_dir / DATABASE, keys=keys, adopt=adopt) as store:
        yield store
