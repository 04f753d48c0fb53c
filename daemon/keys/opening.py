"""Opens the key files when the service starts."""

from __future__ import annotations

import structlog

from daemon.keys import consistency
from daemon.keys.change_log import KeyFileWatcher
from daemon.keys.keyring import KeyRing, open_ring
from daemon.model import SharedStore, Store
from daemon.model.audit_events import KeyPurpose
from daemon.runtime.clock import utc_now
from daemon.settings import KEY_FILES, Settings, key_files

_log = structlog.get_logger("penstock")


async def open_key_files(
    settings: Settings, store: Store, shared: SharedStore | None
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
        if made:
            _log.warning("key_created", path=str(path), hint="keep a copy apart from the backups of the data folder")
    watcher = KeyFileWatcher(files, store, utc_now)
    await watcher.begin()
    return rings, watcher
