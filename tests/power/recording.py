"""The record of a folder: what was written, synced, made, renamed, removed there, and what callers
were told.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any

MAGIC = 0x50574C47
HEAD = struct.Struct("<IIQqII")
COMPILE_S = 60
CUT_WITHIN = "the record ends within a record"


class Kind(IntEnum):
    """What happened; recorder.c has the same numbers, all but the last."""

    CREATE = 1
    OPEN = 2
    WRITE = 3
    TRUNCATE = 4
    SYNC = 5
    RENAME = 6
    UNLINK = 7
    MKDIR = 8
    RMDIR = 9
    TOLD = 100


@dataclass(frozen=True, slots=True)
class Record:
    """One operation on a file, or what a caller was told (`data` is JSON then).

    `number` is the offset of a WRITE, the size of a TRUNCATE, whether an OPEN or CREATE is of a
    folder; the new path of a RENAME is its `data`.
    """

    kind: Kind
    inode: int = 0
    number: int = 0
    path: str = ""
    data: bytes = b""

    def packed(self) -> bytes:
        """The record as it stands in the log."""
        path = os.fsencode(self.path)
        return HEAD.pack(MAGIC, self.kind, self.inode, self.number, len(path), len(self.data)) + path + self.data


class Log:
    """The file that every recorded process, and whoever talks to it, adds records to."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def close(self) -> None:
        os.close(self.descriptor)

    def add(self, record: Record) -> None:
        """Add a record with one write, so that no two can mix."""
        packed = record.packed()
        assert os.write(self.descriptor, packed) == len(packed)

    def told(self, what: str, **facts: Any) -> None:
        """Note what a caller was told just now."""
        self.add(Record(Kind.TOLD, data=json.dumps({"what": what, **facts}).encode()))

    @contextmanager
    def still(self) -> Iterator[None]:
        """Hold all recorded processes between two operations."""
        fcntl.flock(self.descriptor, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self.descriptor, fcntl.LOCK_UN)


def read(path: Path) -> list[Record]:
    """All records of a log."""
    content, at, found = path.read_bytes() if path.exists() else b"", 0, []
    while at < len(content):
        if at + HEAD.size > len(content):
            raise ValueError(CUT_WITHIN)
        magic, kind, inode, number, path_bytes, data_bytes = HEAD.unpack_from(content, at)
        start, middle = at + HEAD.size, at + HEAD.size + path_bytes
        at = middle + data_bytes
        if magic != MAGIC or at > len(content):
            raise ValueError(CUT_WITHIN)
        name = os.fsdecode(content[start:middle])
        found.append(Record(Kind(kind), inode, number, name, content[middle:at]))
    return found


def build(folder: Path) -> Path | None:
    """Compile the recorder into a folder; None where nothing can compile it."""
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None:
        return None
    source, built = Path(__file__).with_name("recorder.c"), folder / "recorder.so"
    command = [compiler, "-shared", "-fPIC", "-O2", "-o", str(built), str(source), "-ldl", "-lpthread"]
    done = subprocess.run(command, check=False, capture_output=True, timeout=COMPILE_S)
    return built if done.returncode == 0 else None


def syncs(records: list[Record], name: str) -> int:
    """How often a file of that name was synced."""
    names = {record.inode: record.path for record in records if record.kind in {Kind.CREATE, Kind.OPEN}}
    wanted = {inode for inode, path in names.items() if Path(path).name == name}
    return sum(record.kind is Kind.SYNC and record.inode in wanted for record in records)
