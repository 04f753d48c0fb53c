"""Checks that a daemon has the keys of those that share its database.

Two key files belong together when one knows the current key of the other, so that a rotation may
reach the daemons in any order. The keys that wrap the companies' keys are always needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Protocol

from daemon.keys.keyring import KeyFileRefused, KeyRing, read_ring
from daemon.model import CompanyKeys
from daemon.model.audit_events import SERVICE, KeyPurpose, KeysChanged, KeysForm, LogEvent

PAGE = 256
SEALED = "sealed secrets in this database"


class SharedKeys(CompanyKeys, Protocol):
    """The store that daemons share, as far as it tells which keys they have."""

    async def has_peers(self) -> bool: ...

    async def last_logged(self, company_id: str, holding: str, /) -> LogEvent | None: ...


async def check(files: Mapping[KeyPurpose, Path], others: SharedKeys) -> None:
    """Raise KeyFileRefused when a file is not that of the other daemons, or lacks a needed key."""
    rings = {purpose: read_ring(path) if path.exists() else KeyRing("", {}) for purpose, path in files.items()}
    if await others.has_peers():
        for purpose, ring in rings.items():
            compare(ring, await others.last_logged(SERVICE, announcement(purpose)), files[purpose])
    needed, after = set[str](), ""
    while page := await others.company_keys(rings["secrets"].current, after, PAGE):
        needed |= {key.key_id for key in page}
        after = page[-1].company_id
    for key_id in missing(rings["secrets"], needed):
        raise KeyFileRefused(why_lacking(files["secrets"], key_id, SEALED))


def announcement(purpose: KeyPurpose) -> str:
    """Text that only log entries about this purpose contain."""
    return f'"purpose":"{purpose}"'


def compare(ring: KeyRing, last: LogEvent | None, path: Path) -> None:
    """Raise KeyFileRefused when the ring shares no key with the latest entry of the log."""
    if isinstance(last, KeysChanged) and not belong_together(ring, last.after):
        raise KeyFileRefused(why_stranger(path, last.purpose))


def belong_together(ring: KeyRing, others: KeysForm) -> bool:
    """Whether one of the two knows the key that the other uses."""
    return others.current in ring.keys or ring.current in others.known


def missing(ring: KeyRing, needed: Iterable[str]) -> list[str]:
    return sorted(set(needed) - set(ring.keys))


def why_stranger(path: Path, purpose: KeyPurpose) -> str:
    return (
        f"{path} has no key ({purpose}) in common with the daemons that run on this database; "
        "give all of them the same key files"
    )


def why_lacking(path: Path | str, key_id: str, what: str) -> str:
    return f"{path} does not hold the key {key_id} of {what}; put that file back"
