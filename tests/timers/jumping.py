"""The service on a clock that the tester moves: `python -m tests.timers.jumping FILE serve …`.

The file holds by how many seconds the clock is off, as eight bytes.
"""

from __future__ import annotations

import mmap
import struct
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from daemon.runtime import clock

OFFSET = struct.Struct("<d")


def jumping(file: Path) -> Callable[[], datetime]:
    """The time as a moved clock shows it."""
    with file.open("rb") as opened:
        offset = mmap.mmap(opened.fileno(), OFFSET.size, access=mmap.ACCESS_READ)
    return lambda: datetime.now(UTC) + timedelta(seconds=OFFSET.unpack_from(offset)[0])


class MovedClock:
    """The tester's end of the file."""

    def __init__(self, file: Path, offset_s: float) -> None:
        self.file, self.offset_s = file, offset_s
        file.write_bytes(OFFSET.pack(offset_s))

    def jump(self, seconds: float) -> None:
        """Move the clock while the service runs; the bytes change in place."""
        self.offset_s += seconds
        with self.file.open("r+b") as opened:
            opened.write(OFFSET.pack(self.offset_s))

    def now(self) -> datetime:
        return datetime.now(UTC) + timedelta(seconds=self.offset_s)


def main() -> None:
    """Put the clock in place before anything takes the time, and be the service."""
    clock.utc_now = jumping(Path(sys.argv.pop(1)))
    clock.skew_s = lambda *_: 0.0  # the database's clock does not jump, and counts for leases alone
    from daemon.cli import app  # noqa: PLC0415 - what it imports takes the clock

    app()


if __name__ == "__main__":
    main()
