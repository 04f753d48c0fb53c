"""Checks that a daemon has the keys of those that share its database.

Two key files belong together when one knows the current key of the other, so that a rotation may
reach the daemons in any order. The keys that wrap the companies' keys are always needed.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from daemon.keys.keyring import KeyFileRefused, KeyRing
from daemon.model.audit_events import KeyPurpose, KeysChanged, KeysForm, LogEvent

SEALED = "sealed secrets in this database"


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
