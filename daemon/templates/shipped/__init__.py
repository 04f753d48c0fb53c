"""The library: processes that every company can start, in packs by trade.

`index.json` has the header of each, so that the service starts without reading all of them. A file
that is another than the one the index was made from is loaded at once. `make reference` writes it.
"""

from __future__ import annotations

import hashlib
from functools import partial
from importlib import resources
from importlib.resources.abc import Traversable

import msgspec

from daemon.templates.loading import Header, LazyTemplate, load_checked, load_file, packed_files

INDEX = "index.json"


class LibraryIndex(msgspec.Struct, frozen=True):
    """The header of a process, and the SHA-256 of the file that it was read from."""

    file: str
    content: str
    header: Header


def library() -> list[LazyTemplate]:
    """All processes, of which only those are read that the index does not know."""
    text = (resources.files(__name__) / INDEX).read_bytes()
    known = {one.file: one for one in msgspec.json.decode(text, type=list[LibraryIndex])}
    return [_shelved(file, pack, known.get(f"{pack}/{file.name}")) for file, pack in packed_files()]


def indexed() -> str:
    """The index of the files as they are."""
    files = sorted(packed_files(), key=lambda one: (one[1], one[0].name))
    found = [
        LibraryIndex(f"{pack}/{file.name}", _content(file), load_file(file, file.name, pack).header)
        for file, pack in files
    ]
    return "[\n" + ",\n".join(msgspec.json.encode(one).decode() for one in found) + "\n]\n"


def _shelved(file: Traversable, pack: str, known: LibraryIndex | None) -> LazyTemplate:
    if known is None or known.content != _content(file):
        return LazyTemplate.from_entry(load_file(file, file.name, pack))
    return LazyTemplate(known.header, partial(load_checked, file, pack))


def _content(file: Traversable) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
