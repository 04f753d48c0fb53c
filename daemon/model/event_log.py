"""Places in a company's events, and which of a history are asked for."""

from __future__ import annotations

import base64
import binascii
import json
import re
import struct
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV
from msgspec import UNSET
from msgspec.structs import asdict

from actors.core.calls import shown, shown_plan
from actors.core.messages import Event, attribution

EVENT_ID_KEY_BYTES = 32
_PLACE = re.compile(r"([0-9]{1,18})-([0-9]{1,9})")
_PACKED = struct.Struct(">QI")


MARK_BYTES = 4


def mark_of(head: bytes | None) -> bytes:
    """What an id says of the history that its position is in: a part of the head there."""
    return (head or b"")[:MARK_BYTES]


class Position(NamedTuple):
    """A position in a company's log: behind the nth event, from 1, of a commit.

    Commits become visible in order: nothing ever appears before a position that was read.
    """

    commit: int
    nth: int

    @classmethod
    def parse(cls, text: str) -> Position | None:
        """A position as earlier versions wrote it."""
        found = _PLACE.fullmatch(text) if text.isascii() else None
        return None if found is None else cls(int(found[1]), int(found[2]))


BEGINNING = Position(0, 0)


class EventIds:
    """Ids of events: encrypted positions, since those tell how much other companies commit.

    An id is AES-SIV over the position and a mark of its history, bound to the company: the same
    event always has the same, and one company's mean nothing to another.
    """

    def __init__(self, key: bytes, plain_until: int = 0) -> None:
        """Up to the commit `plain_until` earlier versions gave out positions as ids."""
        self._cipher = AESSIV(key)
        self._plain_until = plain_until

    def encode(self, company_id: str, position: Position, mark: bytes = b"") -> str:
        sealed = self._cipher.encrypt(_PACKED.pack(*position) + mark, [company_id.encode()])
        return base64.urlsafe_b64encode(sealed).rstrip(b"=").decode()

    def parse(self, company_id: str, text: str) -> tuple[Position, bytes] | None:
        """The position and mark of an id; None for one that this company was not given.

        Earlier versions gave no mark.
        """
        plain = Position.parse(text)
        if plain is not None:  # any later one would tell where among all commits an event stands
            return (plain, b"") if plain.commit <= self._plain_until else None
        try:
            sealed = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
            packed = self._cipher.decrypt(sealed, [company_id.encode()])
            return Position(*_PACKED.unpack(packed[: _PACKED.size])), packed[_PACKED.size :]
        except (binascii.Error, ValueError, InvalidTag, struct.error):
            return None


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """An event with its position in the company's log, and its seq in the history of its run."""

    position: Position
    run_id: str
    seq: int
    event: Event
    mark: bytes = b""
    """Tells it from an event at the same position in another history."""


class LogPlace(NamedTuple):
    """Where an entry of a company's log is, a stream of commits that has the company's id."""

    position: Position
    run_id: str
    seq: int
    mark: bytes


def shown_event(seq: int, event: Event) -> dict[str, Any]:
    found = {name: value for name, value in asdict(event).items() if value is not UNSET}
    if "request" in found:
        found["request"] = shown(found["request"])
    if found.get("effects") is not None:
        found["effects"] = [shown_plan(one) for one in found["effects"]]
    return {"seq": seq, "type": event.type, **found, **asdict(attribution(event))}


def event_json(one: LoggedEvent, event_id: str) -> dict[str, Any]:
    event = shown_event(one.seq, one.event)
    return {"id": event_id, "run_id": one.run_id, "seq": one.seq, "event": event}


_LOWER = str.maketrans({chr(code): chr(code).lower() for code in range(ord("A"), ord("Z") + 1)})


@dataclass(frozen=True, slots=True)
class HistoryFilter:
    """Events since one time and before another; each member that is None asks for nothing."""

    types: tuple[str, ...] | None = None
    by: str | None = None
    text: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    @property
    def asks(self) -> bool:
        return self != HistoryFilter()

    @property
    def marks(self) -> tuple[tuple[bytes, ...], ...]:
        """Of each of these, the JSON of an event that matches has one."""
        types = () if self.types is None else (tuple(b'"type":"%s"' % one.encode() for one in self.types),)
        return types if self.by is None else (*types, (b'"by":' + _written(self.by).encode(),))

    @property
    def part(self) -> str | None:
        """What the JSON of an event has to hold, A to Z as small letters."""
        return None if self.text is None else lower(_written(self.text)[1:-1])

    def takes(self, event_type: str, by: str | None, at: datetime, line: bytes) -> bool:
        """Whether it matches; `line` is the JSON of the event."""
        return (
            (self.types is None or event_type in self.types)
            and self.by in (None, by)
            and (self.since is None or at >= self.since)
            and (self.until is None or at < self.until)
            and (self.part is None or self.part in lower(line.decode()))
        )


def lower(text: str) -> str:
    """What both databases make of it, too."""
    return text.translate(_LOWER)


def _written(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
