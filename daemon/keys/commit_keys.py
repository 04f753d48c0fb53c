"""The keys of commits: a MAC for each commit and snapshot, by a key outside the database.

Whoever can only write to the database can compute hashes, but no MAC. Keys stay in the file as long
as commits carry their MACs.
"""

from __future__ import annotations

import hashlib
import hmac
from pathlib import Path
from typing import NamedTuple

import structlog
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from daemon.keys.keyring import KeyFileRefused, KeyRing, mark, read_ring, write_ring
from daemon.model.chain import CommitForged
from daemon.model.commitments.salted import holds_redacted
from daemon.model.event_log import EVENT_ID_KEY_BYTES, EventIds
from daemon.runtime.durable_files import as_owner, make_folder, sync_folder
from daemon.settings import KEY_FILES, Settings, key_files

Key = tuple[str, str]
FILE = "commit.keys"
NEW = ".new"
SNAPSHOT_MAC_BYTES = 16
MAC_BYTES = 32
_log = structlog.get_logger("penstock")


class _Derived(NamedTuple):
    """The keys of two purposes, derived from one of the ring."""

    commits: bytes
    snapshots: bytes


class CommitKeys:
    """Makes and checks MACs; follows its file without a restart. Every thread may use it."""

    def __init__(self, ring: KeyRing, path: Path | None = None, new: Path | None = None) -> None:
        """`new` is where the ring stands until every commit from before it has its MAC."""
        self._path = path
        self._new = new
        self._seen = (0, 0, 0) if path is None else mark(path)
        self._use(ring)

    @classmethod
    def open(cls, path: Path, *, create: bool) -> CommitKeys:
        """The keys of a file, or new ones beside it; KeyFileRefused when it cannot be used."""
        if path.exists() or not create:
            return cls(read_ring(path), path)
        new = path.with_name(path.name + NEW)
        if not new.exists():
            write_ring(new, KeyRing("", {}).rotated())
        return cls(read_ring(new), path, new)

    @property
    def ring(self) -> KeyRing:
        return self._ring

    @property
    def file_name(self) -> str:
        """The name of the file in messages."""
        return FILE if self._path is None else str(self._path)

    @property
    def new(self) -> bool:
        """Whether the keys were created for this start, or for one that was cut off."""
        return self._new is not None

    def settle(self) -> None:
        """Give new keys their name: from now on a commit without a MAC is a forged one."""
        if self._new is not None and self._path is not None:
            self._new.replace(self._path)
            sync_folder(self._path.parent)
            self._new, self._seen = None, mark(self._path)
            hint = "keep a copy apart from the backups of the data folder"
            _log.warning("key_created", path=str(self._path), hint=hint)

    def follow(self) -> bool:
        """Reload a changed file; keep the earlier keys while it is unreadable."""
        if self._path is None or self.new or (seen := mark(self._path)) == self._seen:
            return False
        self._seen = seen
        try:
            self._use(read_ring(self._path))
        except KeyFileRefused as refused:
            _log.error("commit_keys_invalid", reason=str(refused))
            return False
        return True

    def event_ids(self, plain_until: int) -> EventIds:
        """The ids of events, by the oldest key, so that they outlast a rotation."""
        oldest = next(iter(self._ring.keys.values()))
        return EventIds(_derived(oldest, "event ids", EVENT_ID_KEY_BYTES), plain_until)

    def mac(self, key: Key, version: int, first_seq: int, head: bytes) -> bytes:
        return hmac.digest(self._current.commits, _commit(key, version, first_seq, head), "sha256")

    def redacted_mac(self, mac: bytes, events: bytes) -> bytes:
        """The MAC of a redacted commit: its own, and one over what its events say now."""
        mac = mac[:MAC_BYTES]
        return mac + hmac.digest(self._current.commits, _redacted(mac, events), "sha256")

    def check(
        self,
        key: Key,
        version: int,
        first_seq: int,
        head: bytes | None,
        mac: bytes | None,
        *,
        events: bytes | None = None,
    ) -> None:
        """CommitForged unless the service has made this commit, and redacted it if it is redacted.

        The second is checked where `events` are given; those of an archived run are gone.
        """
        if head is None or mac is None:
            raise CommitForged(*key, first_seq, "there is no MAC: the service did not write the commit")
        message, own = _commit(key, version, first_seq, head), mac[:MAC_BYTES]
        if events and (own != mac or holds_redacted(events)):
            self._check_redacted(key, first_seq, mac, events)
        mac = own
        if not (self._made(message, mac) or (self.follow() and self._made(message, mac))):
            raise CommitForged(*key, first_seq, "the MAC does not fit: the service did not write the commit")

    def _check_redacted(self, key: Key, first_seq: int, mac: bytes, events: bytes) -> None:
        message, given = _redacted(mac[:MAC_BYTES], events), mac[MAC_BYTES:]
        sound = holds_redacted(events) and (
            self._made(message, given) or (self.follow() and self._made(message, given))
        )
        if not sound:
            raise CommitForged(*key, first_seq, "the MAC does not fit its values: the service did not redact them")

    def snapshot_mac(self, key: Key, version: int, schema: int, body: bytes) -> bytes:
        return _hashed(self._current.snapshots, _snapshot(key, version, schema), body)

    def made_snapshot(self, key: Key, version: int, schema: int, body: bytes, mac: bytes) -> bool:
        place = _snapshot(key, version, schema)
        return any(hmac.compare_digest(_hashed(one.snapshots, place, body), mac) for one in self._derived)

    def _made(self, message: bytes, mac: bytes) -> bool:
        return any(hmac.compare_digest(hmac.digest(one.commits, message, "sha256"), mac) for one in self._derived)

    def _use(self, ring: KeyRing) -> None:
        newest_first = (ring.current, *(key_id for key_id in reversed(ring.keys) if key_id != ring.current))
        derived = [
            _Derived(_derived(ring.keys[key_id], "commits"), _derived(ring.keys[key_id], "snapshots"))
            for key_id in newest_first
        ]
        self._ring, self._derived, self._current = ring, derived, derived[0]


def _derived(key: bytes, purpose: str, length: int = 32) -> bytes:
    return HKDF(SHA256(), length, salt=None, info=f"penstock {purpose}".encode()).derive(key)


def _commit(key: Key, version: int, first_seq: int, head: bytes) -> bytes:
    """What a MAC covers: the place of a commit, and by its head all events up to there."""
    company, name = key[0].encode(), key[1].encode()
    return b"commit:%d:%d:%d:%d:%b%b%b" % (len(company), len(name), version, first_seq, company, name, head)


def _redacted(mac: bytes, events: bytes) -> bytes:
    return b"redacted:" + mac + hashlib.sha256(events).digest()


def _snapshot(key: Key, version: int, schema: int) -> bytes:
    company, run = key[0].encode(), key[1].encode()
    return b"snapshot:%d:%d:%d:%d:%b%b" % (len(company), len(run), version, schema, company, run)


def _hashed(key: bytes, place: bytes, body: bytes) -> bytes:
    digest = hashlib.blake2b(place, key=key, digest_size=SNAPSHOT_MAC_BYTES)
    digest.update(body)
    return digest.digest()


def open_commit_keys(settings: Settings) -> CommitKeys:
    """The keys of commits, which the store needs from its first read on."""
    path, named = key_files(settings)["commits"], getattr(settings, KEY_FILES["commits"]) is not None
    if path.exists() or named:
        return CommitKeys.open(path, create=False)
    make_folder(settings.data_dir)
    with as_owner(settings.data_dir):
        return CommitKeys.open(path, create=True)
