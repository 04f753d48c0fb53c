"""A disk that loses its power: what was synced it has kept, of everything else it may have kept any
part.

A sector is written whole or not at all. Of the writes to a sector since the last sync, the disk has
kept all up to any one of them, and each sector decides for itself. Names in a folder are kept once
the folder was synced.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Literal

from tests.power.recording import Kind, Record

SECTOR_BYTES = 512
PAGE_BYTES = 4096
MEMORY_MAPPED = "-shm"

Manner = Literal["nothing", "everything", "prefix", "some", "torn"]
MANNERS: tuple[Manner, ...] = ("nothing", "everything", "prefix", "some", "torn")
Keeps = Callable[[int], bool]


@dataclass(slots=True)
class Change:
    """A write at an offset, or, without data, a change of the size."""

    at: int
    data: bytes | None

    def apply(self, content: bytearray) -> None:
        """Do to a content what was done to the file."""
        if self.data is None:
            resize(content, self.at)
        else:
            resize(content, max(len(content), self.at))
            content[self.at : self.at + len(self.data)] = self.data


def resize(content: bytearray, size: int) -> None:
    """Cut a content, or fill it with zeros."""
    if len(content) > size:
        del content[size:]
    else:
        content.extend(bytes(size - len(content)))


@dataclass(slots=True, eq=False)
class File:
    """A file: what is safe of it, and what was done to it since."""

    safe: bytearray = field(default_factory=bytearray)
    now: bytearray = field(default_factory=bytearray)
    since: list[Change] = field(default_factory=list)

    def change(self, change: Change) -> None:
        """Do something that is not safe yet."""
        change.apply(self.now)
        self.since.append(change)

    def sync(self) -> None:
        """Make everything safe."""
        for change in self.since:
            change.apply(self.safe)
        self.since.clear()

    def kept(self, chance: random.Random, manner: Manner) -> bytes:
        """What the disk has of it after a cut."""
        if manner == "everything":
            return bytes(self.now)
        if manner == "nothing" or not self.since:
            return bytes(self.safe)
        if manner == "prefix":
            content = bytearray(self.safe)
            for change in self.since[: chance.randrange(len(self.since) + 1)]:
                change.apply(content)
            return bytes(content)
        return self._in_pieces(chance, whole=manner == "some")

    def _in_pieces(self, chance: random.Random, *, whole: bool) -> bytes:
        """Some of the changes, or of their sectors, or of their pages as a cache writes them; a
        size that it had.
        """
        likely = chance.choice((0.1, 0.5, 0.9))
        unit = SECTOR_BYTES if whole else chance.choice((SECTOR_BYTES, PAGE_BYTES))
        state, content, sizes = bytearray(self.safe), self._with_room(chance), [len(self.safe)]
        for change in self.since:
            change.apply(state)
            sizes.append(len(state))
            size = len(change.data or b"")
            first = change.at // unit * unit
            end = -(-(change.at + size) // SECTOR_BYTES) * SECTOR_BYTES if size else first
            step = max(end - first, 1) if whole else unit
            for at in range(first, end, step):
                if chance.random() < likely:
                    copied = state[at : at + step]
                    content[at : at + len(copied)] = copied
        return bytes(content[: sizes[-1] if chance.random() < 0.5 else chance.choice(sizes)])

    def _with_room(self, chance: random.Random) -> bytearray:
        """What is safe, and behind it zeros or anything, as space is that was given but never
        written.
        """
        ends = [change.at + len(change.data or b"") for change in self.since]
        room = max(len(self.safe), *ends) - len(self.safe) + PAGE_BYTES
        return self.safe + (chance.randbytes(room) if chance.random() < 0.5 else bytes(room))


class Folder:
    """A folder; its names stand in the disk."""


Thing = File | Folder
Names = dict[str, Thing]


@dataclass(slots=True)
class Naming:
    """A thing gets a name or, without one, its name goes; `old` is the name that it had before."""

    name: str
    thing: Thing | None
    old: str = ""

    def apply(self, names: Names) -> None:
        """Do to the names what was done to the folder."""
        names.pop(self.old, None)
        if self.thing is None:
            names.pop(self.name, None)
        else:
            names[self.name] = self.thing

    def within(self, folder: str) -> bool:
        """Whether a sync of that folder makes it safe."""
        return folder in {parent(self.name), parent(self.old or self.name)}


def parent(name: str) -> str:
    """The folder that a name stands in."""
    return str(PurePosixPath(name).parent)


class Disk:
    """What is below a folder, as the records tell it, from an empty folder on."""

    def __init__(self, root: str) -> None:
        self._root = root
        self.now: Names = {root: Folder()}
        self._safe: Names = dict(self.now)
        self._since: list[Naming] = []
        self._by_inode: dict[int, Thing] = {}

    def apply(self, record: Record) -> None:
        """Go on by a record."""
        match record.kind:
            case Kind.CREATE | Kind.MKDIR:
                thing = Folder() if record.kind is Kind.MKDIR else File()
                self._by_inode[record.inode] = thing
                self._name(Naming(record.path, thing))
            case Kind.OPEN:
                self._by_inode[record.inode] = self.now[record.path]
            case Kind.WRITE:
                self._file(record).change(Change(record.number, record.data))
            case Kind.TRUNCATE:
                self._file(record).change(Change(record.number, None))
            case Kind.SYNC:
                self._sync(self._by_inode[record.inode])
            case Kind.RENAME:
                new = record.data.decode()
                self._name(Naming(new, self.now[record.path], record.path))
            case Kind.UNLINK | Kind.RMDIR:
                self._name(Naming(record.path, None))
            case Kind.TOLD:
                pass

    def _file(self, record: Record) -> File:
        thing = self._by_inode[record.inode]
        assert isinstance(thing, File)
        return thing

    def _name(self, naming: Naming) -> None:
        naming.apply(self.now)
        self._since.append(naming)

    def _sync(self, thing: Thing) -> None:
        if isinstance(thing, File):
            thing.sync()
            return
        (folder,) = (name for name, one in self.now.items() if one is thing)
        for naming in self._since:
            if naming.within(folder):
                naming.apply(self._safe)
        self._since = [naming for naming in self._since if not naming.within(folder)]

    def whole(self) -> dict[str, bytes]:
        """Every file as the service sees it, by its path below the root."""
        return self._relative((name, bytes(thing.now)) for name, thing in self.now.items() if isinstance(thing, File))

    def cut(self, chance: random.Random) -> dict[str, bytes]:
        """Every file that the disk has after the power went, as it has it."""
        names = dict(self._safe)
        manner = chance.choice(MANNERS)
        kept = chance.randrange(len(self._since) + 1) if manner == "prefix" else len(self._since)
        for naming in self._since[:kept]:
            if manner in {"everything", "prefix"} or (manner != "nothing" and chance.random() < 0.5):
                naming.apply(names)
        alike = chance.random() < 0.5
        common = chance.choice(MANNERS)
        return self._relative(
            (name, thing.kept(chance, common if alike else chance.choice(MANNERS)))
            for name, thing in names.items()
            if isinstance(thing, File) and all(str(above) in names for above in self._above(name))
        )

    def _above(self, name: str) -> list[PurePosixPath]:
        return [path for path in PurePosixPath(name).parents if path.is_relative_to(self._root)]

    def _relative(self, files: Iterable[tuple[str, bytes]]) -> dict[str, bytes]:
        return {
            name.removeprefix(self._root).lstrip("/"): content
            for name, content in files
            if not name.endswith(MEMORY_MAPPED)
        }


def lay_out(files: dict[str, bytes], folder: Path) -> None:
    """Write an image into a folder."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.write_bytes(content)
        path.chmod(0o600)


def found(folder: Path) -> dict[str, bytes]:
    """What really is in a folder, but for what SQLite maps into memory."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.name.endswith(MEMORY_MAPPED))
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}
