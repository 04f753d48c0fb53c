"""Opens the key files when the service starts."""

from __future__ import annotations

import structlog

from daemon.keys import consistency
from daemon.keys.change_log import KeyFileWatcher, KeyLog
from daemon.keys.commit_keys import CommitKeys
from daemon.keys.keyring import KeyRing, check_owner, open_ring
from daemon.model.audit_events import KeyPurpose
from daemon.runtime.clock import utc_now
from daemon.runtime.durable_files import as_owner, make_folder
from daemon.settings import KEY_FILES, Settings, key_files

_log = structlog.get_logger("penstock")


def open_commit_keys(settings: Settings) -> CommitKeys:
    """The keys of commits, which the store needs from its first read on."""
    path, named = key_files(settings)["commits"], getattr(settings, KEY_FILES["commits"]) is not None
    if path.exists() or named:
        return CommitKeys.open(path, create=False)
    make_folder(settings.data_dir)
    with as_owner(settings.data_dir):
        return CommitKeys.open(path, create=True)


async def open_key_files(
    settings: Settings, store: KeyLog, shared: consistency.SharedKeys | None
) -> tuple[dict[KeyPurpose, KeyRing], KeyFileWatcher]:
    """The keys, compared with those of other daemons and logged before they are used.

    A file without a setting is created in the data folder.
    """
    files = key_files(settings)
    if shared is not None:
        await consistency.check(files, shared)
    rings = {}
    for purpose, path in files.items():
        rings[purpose], made = open_ring(path, create=getattr(settings, KEY_FILES[purpose]) is None)
        check_owner(path)
        if made:
            _log.warning("key_created", path=str(path), hint="keep a copy apart from the backups of the data folder")
    watcher = KeyFileWatcher(files, store, utc_now)
    await watcher.begin()
    return rings, watcher
