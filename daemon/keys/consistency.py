"""Whether a daemon has the keys of those that it shares a database with.

That is looked at before it makes or writes anything, and again as it writes down its own.

Two key files belong together when one of them knows the key that the other uses; so a rotation may reach the daemons in
any order. What the database itself needs are the keys that wrap the companies' keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from daemon.keys.keyring import KeyFileRefused, KeyRing, read_ring
from daemon.model import SharedStore
from daemon.model.audit_events import SERVICE, KeyPurpose, KeysChanged, KeysForm, LogEvent

PAGE = 256


async def check(files: Mapping[KeyPurpose, Path], others: SharedStore) -> None:
    """KeyFileRefused when a file is another one than the daemons have that run, or lacks a key that is needed."""
    rings = {purpose: read_ring(path) if path.exists() else KeyRing("", {}) for purpose, path in files.items()}
    if await others.has_peers():
        for purpose, ring in rings.items():
            compare(ring, await others.last_logged(SERVICE, announcement(purpose)), files[purpose])
    needed, after = set[str](), ""
    while page := await others.company_keys(rings["secrets"].current, after, PAGE):
        needed |= {key.key_id for key in page}
        after = page[-1].company_id
    for key_id in missing(rings["secrets"], needed):
        raise KeyFileRefused(why_lacking(files["secrets"], key_id))


def announcement(purpose: KeyPurpose) -> str:
    """What only the entries of the service's own log hold that say which keys are used for this."""
    return f'"purpose":"{purpose}"'


def compare(ring: KeyRing, last: LogEvent | None, path: Path) -> None:
    """KeyFileRefused when these keys have nothing to do with those that the latest entry of the log names."""
    if isinstance(last, KeysChanged) and not belong_together(ring, last.after):
        raise KeyFileRefused(why_stranger(path, last.purpose))


def belong_together(ring: KeyRing, others: KeysForm) -> bool:
    """Whether one of the two knows the key that the other uses."""
    return others.current in ring.keys or ring.current in others.known


def missing(ring: KeyRing, needed: Iterable[str]) -> list[str]:
    """The needed keys that are not in the ring."""
    return sorted(set(needed) - set(ring.keys))


def why_stranger(path: Path, purpose: KeyPurpose) -> str:
    """What is wrong with a file that is not the others'."""
    return (
        f"{path} has no key ({purpose}) in common with the daemons that run on this database; "
        "give all of them the same key files"
    )


def why_lacking(path: Path, key_id: str) -> str:
    """What is wrong with a file that cannot open what is stored."""
    return f"{path} does not hold the key {key_id}, by which secrets in this database are sealed; put that file back"
