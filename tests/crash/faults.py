"""Faults of the disk, ordered while the service runs: a library that stands between it and the C
library.
"""

from __future__ import annotations

import mmap
import os
import shutil
import struct
import subprocess
from pathlib import Path

SOURCE = Path(__file__).parent / "shim" / "faults.c"
COMPILERS = ("cc", "gcc", "clang")
_ORDERS = struct.Struct("=8q")


def compiler() -> str | None:
    """A C compiler, if there is one."""
    return next(filter(None, map(shutil.which, COMPILERS)), None)


def built(folder: Path) -> Path:
    """The library, made in that folder."""
    library = folder / "faults.so"
    using = compiler()
    assert using is not None, "to build it needs a C compiler"
    flags = ("-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC")
    command: tuple[str | Path, ...] = (using, *flags, "-o", library, SOURCE, "-ldl")
    subprocess.run(command, check=True, capture_output=True)
    return library


class Faults:
    """What is to fail from now on; what is not named is well."""

    def __init__(self, folder: Path) -> None:
        self.orders = folder / "faults"
        self.orders.write_bytes(bytes(_ORDERS.size))
        with self.orders.open("r+b") as file:
            self._shared = mmap.mmap(file.fileno(), _ORDERS.size)

    def write(self, nth: int, code: int, *, short_bytes: int = 0, stay: bool = True) -> None:
        """The nth write fails, and all later ones unless they need not `stay` so; some bytes of it
        may be written.
        """
        self._order(nth, code, 0, 0, int(stay), short_bytes, 0, 0)

    def sync(self, nth: int, code: int, *, stay: bool = True) -> None:
        """The nth sync fails, and all later ones unless they need not `stay` so."""
        self._order(0, 0, nth, code, int(stay), 0, 0, 0)

    def room(self, room_bytes: int) -> None:
        """That is what is free."""
        self._order(0, 0, 0, 0, 0, 0, 1, room_bytes)

    def clear(self) -> None:
        """All is well."""
        self._order(*[0] * 8)

    @property
    def met(self) -> bool:
        """Whether an order that does not stay has been carried out."""
        writes, _, syncs, *_ = _ORDERS.unpack(self._shared[:])
        return bool(writes == syncs == 0)

    def environment(self, library: Path) -> dict[str, str]:
        """What a process needs to obey."""
        return {"LD_PRELOAD": os.fspath(library), "FAULTS": os.fspath(self.orders)}

    def close(self) -> None:
        self._shared.close()

    def _order(self, *words: int) -> None:
        self._shared[:] = bytes(_ORDERS.size)
        self._shared[:] = _ORDERS.pack(*words)
