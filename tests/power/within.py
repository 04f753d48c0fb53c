"""A recorder for a machine without a C compiler: it sits within the process, between SQLite and its
file system.

It sees what SQLite writes and syncs, and what Python opens, renames, makes and syncs by the module
`os`. It does not see the single writes of Python's own files: their content comes with their sync.
recorder.c sees everything.
"""

from __future__ import annotations

import _sqlite3
import ctypes
import fcntl
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.power.recording import Kind, Log, Record

OK = 0
# Names travel as addresses: SQLite keeps the one that it opened a file by.
FILE_OPEN = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p
)
FILE_DELETE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)
FILE_WRITE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int64)
FILE_TRUNCATE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int64)
FILE_SYNC = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int)
OPEN_FOLDER = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
GET_CALL = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)
SET_CALL = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)


class FileSystem(ctypes.Structure):
    """sqlite3_vfs, as sqlite.org/c3ref/vfs.html has it."""

    _fields_ = (
        *((name, ctypes.c_int) for name in ("version", "file_bytes", "path_bytes_max")),
        *((name, ctypes.c_void_p) for name in ("next", "name", "data", "open", "delete")),
        ("others", ctypes.c_void_p * 11),
        *((name, ctypes.c_void_p) for name in ("set_call", "get_call", "next_call")),
    )


class Methods(ctypes.Structure):
    """sqlite3_io_methods, as sqlite.org/c3ref/io_methods.html has it."""

    _fields_ = (
        ("version", ctypes.c_int),
        *((name, ctypes.c_void_p) for name in ("close", "read", "write", "truncate", "sync")),
        ("others", ctypes.c_void_p * 13),
    )


def text(address: int | None) -> str:
    """The name at an address; SQLite's temporary files have none."""
    return os.fsdecode(ctypes.string_at(address)) if address else ""


def absolute(path: Any) -> str:
    """A path as text, from the top."""
    return str(Path(path).absolute())


def library() -> Any:
    """The SQLite that Python's own module uses; None when its functions cannot be called from
    here.
    """
    try:
        found = ctypes.CDLL(getattr(_sqlite3, "__file__", None))
        found.sqlite3_vfs_find.restype = ctypes.POINTER(FileSystem)
    except (OSError, AttributeError):
        return None
    file_system = found.sqlite3_vfs_find(None)
    return found if file_system and file_system.contents.version >= 3 else None


class Recorder:
    """Adds what happens below a folder to a log, each operation and its record as one step."""

    def __init__(self, root: Path, log: Path) -> None:
        self._root = str(root)
        self._log = Log(log)
        self._alone = threading.RLock()
        self._depth = 0
        self._inodes: dict[int, int] = {}
        self._kept: list[Any] = []

    @contextmanager
    def step(self) -> Iterator[None]:
        """One operation and its record, alone among all recorded processes."""
        with self._alone:
            self._depth += 1
            try:
                if self._depth == 1:
                    fcntl.flock(self._log.descriptor, fcntl.LOCK_EX)
                yield
            finally:
                self._depth -= 1
                if self._depth == 0:
                    fcntl.flock(self._log.descriptor, fcntl.LOCK_UN)

    def inside(self, path: str) -> bool:
        return path == self._root or path.startswith(f"{self._root}/")

    def note(self, kind: Kind, inode: int = 0, number: int = 0, path: str = "", data: bytes = b"") -> None:
        self._log.add(Record(kind, inode, number, path, data))

    def opening(self, path: str, call: Callable[[], int], *, good: Callable[[int], bool]) -> int:
        """Open a file, and note whether that made it."""
        with self.step():
            there = os.path.lexists(path)
            answer = call()
            if good(answer):
                self.note(Kind.OPEN if there else Kind.CREATE, Path(path).stat().st_ino, path=path)
            return answer

    # -------------------------------------------------------------------------------------- SQLite

    def watch_sqlite(self) -> None:
        """Stand between SQLite and its file system, for the rest of the process."""
        system = library().sqlite3_vfs_find(None).contents
        system.open = self._keep(FILE_OPEN(self._opener(FILE_OPEN(system.open))))
        system.delete = self._keep(FILE_DELETE(self._deleter(FILE_DELETE(system.delete))))
        before = OPEN_FOLDER(GET_CALL(system.get_call)(ctypes.addressof(system), b"openDirectory"))

        def folder_opened(name: int, found: int) -> int:
            """SQLite opens a folder only to sync it."""
            folder = str(Path(text(name)).parent)
            if self.inside(folder):
                self.note(Kind.OPEN, Path(folder).stat().st_ino, 1, folder)
                self.note(Kind.SYNC, Path(folder).stat().st_ino)
            answer: int = before(name, found)
            return answer

        now = self._keep(OPEN_FOLDER(folder_opened))
        assert SET_CALL(system.set_call)(ctypes.addressof(system), b"openDirectory", now) == OK

    def _keep(self, function: Any) -> int:
        """The address of a function that is called from C, which must never be collected."""
        self._kept.append(function)
        return ctypes.cast(function, ctypes.c_void_p).value or 0

    def _opener(self, before: Callable[..., int]) -> Callable[..., int]:
        tables: dict[int, Methods] = {}

        def file_opened(system: int, name: int | None, file: int, flags: int, out: int) -> int:
            path = text(name)
            if not self.inside(path):
                return before(system, name, file, flags, out)
            answer = self.opening(path, lambda: before(system, name, file, flags, out), good=lambda code: code == OK)
            if answer == OK:
                self._inodes[file] = Path(path).stat().st_ino
                slot = ctypes.cast(file, ctypes.POINTER(ctypes.c_void_p))
                table = slot[0] or 0
                if table not in tables:
                    tables[table] = self._recording(Methods.from_address(table))
                slot[0] = ctypes.addressof(tables[table])
            return answer

        return file_opened

    def _recording(self, methods: Methods) -> Methods:
        """The methods of a file, those that write replaced."""
        table = Methods.from_buffer_copy(methods)
        assert table.version >= 1
        write, truncate, sync = FILE_WRITE(table.write), FILE_TRUNCATE(table.truncate), FILE_SYNC(table.sync)

        def written(file: int, data: int, size: int, at: int) -> int:
            with self.step():
                answer: int = write(file, data, size, at)
                if answer == OK:
                    self.note(Kind.WRITE, self._inodes[file], at, data=ctypes.string_at(data, size))
                return answer

        def truncated(file: int, size: int) -> int:
            with self.step():
                answer: int = truncate(file, size)
                if answer == OK:
                    self.note(Kind.TRUNCATE, self._inodes[file], size)
                return answer

        def synced(file: int, flags: int) -> int:
            with self.step():
                answer: int = sync(file, flags)
                if answer == OK:
                    self.note(Kind.SYNC, self._inodes[file])
                return answer

        table.write = self._keep(FILE_WRITE(written))
        table.truncate = self._keep(FILE_TRUNCATE(truncated))
        table.sync = self._keep(FILE_SYNC(synced))
        return table

    def _deleter(self, before: Callable[..., int]) -> Callable[..., int]:
        def deleted(system: int, name: int, folder_too: int) -> int:
            path = text(name)
            with self.step():
                # The folder is synced within the call, so the name has to go first in the record.
                if self.inside(path) and os.path.lexists(path):
                    self.note(Kind.UNLINK, path=path)
                return before(system, name, folder_too)

        return deleted

    # -------------------------------------------------------------------------------------- Python

    def watch_python(self) -> None:
        """Stand between Python and what the service uses of `os`, for the rest of the process."""
        open_file, replace, mkdir = os.open, os.replace, os.mkdir

        def opened(path: Any, flags: int, mode: int = 0o777, **more: Any) -> int:
            name = absolute(path)
            if not self.inside(name) or not flags & os.O_CREAT:
                return open_file(path, flags, mode, **more)
            return self.opening(name, lambda: open_file(path, flags, mode, **more), good=lambda found: found >= 0)

        def replaced(old: Any, new: Any, **more: Any) -> None:
            with self.step():
                replace(old, new, **more)
                if self.inside(absolute(new)):
                    self.note(Kind.RENAME, path=absolute(old), data=os.fsencode(absolute(new)))

        def made(path: Any, mode: int = 0o777, **more: Any) -> None:
            with self.step():
                mkdir(path, mode, **more)
                name = absolute(path)
                if self.inside(name):
                    self.note(Kind.MKDIR, Path(name).stat().st_ino, path=name)

        for name, function in (("open", opened), ("replace", replaced), ("mkdir", made)):
            setattr(os, name, function)
        setattr(os, "fsync", self._syncer(os.fsync))  # noqa: B010 - mypy has other words for what os.fsync takes

    def _syncer(self, before: Callable[[Any], None]) -> Callable[[Any], None]:
        def synced(descriptor: Any) -> None:
            path = str(Path(f"/proc/self/fd/{descriptor}").resolve())
            with self.step():
                before(descriptor)
                if not self.inside(path):
                    return
                inode, is_folder = Path(path).stat().st_ino, Path(path).is_dir()
                self.note(Kind.OPEN, inode, is_folder, path)
                if not is_folder:
                    self.note(Kind.WRITE, inode, 0, data=Path(path).read_bytes())
                self.note(Kind.SYNC, inode)

        return synced


def watch() -> None:
    """Record this process, as the environment says."""
    recorder = Recorder(Path(os.environ["POWER_ROOT"]), Path(os.environ["POWER_LOG"]))
    recorder.watch_sqlite()
    recorder.watch_python()
