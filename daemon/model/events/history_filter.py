"""Which events of a history: by type, person, time and text."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime

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
