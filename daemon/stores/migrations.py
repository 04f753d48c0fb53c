"""The numbered changes of a database's schema, and whether a database fits them."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from daemon.model import SchemaMismatch

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

SQLITE = Path(__file__).parent / "sqlite" / "schema"
POSTGRES = Path(__file__).parent / "postgres" / "schema"
FILE_NAME = re.compile(r"(\d{4})_([a-z0-9_]+)\.sql")
ROLLS_FROM = re.compile(r"-- rolls from (\d{1,4}):")


@dataclass(frozen=True, slots=True)
class Applied:
    number: int
    name: str
    checksum: str


@dataclass(frozen=True, slots=True)
class Migration:
    number: int
    name: str
    sql: str

    @property
    def checksum(self) -> str:
        """Shows whether the file was changed after it had been applied."""
        return hashlib.sha256(self.sql.encode()).hexdigest()

    @property
    def rolls_from(self) -> int:
        """The earliest schema whose daemons can go on beside it, as its first line says."""
        said = ROLLS_FROM.match(self.sql)
        return self.number if said is None else int(said[1])


def read_migrations(folder: Path = SQLITE) -> tuple[Migration, ...]:
    """The migrations of a folder, in order."""
    found = []
    for path in sorted(folder.glob("*.sql")):
        match = FILE_NAME.fullmatch(path.name)
        if match is None:
            raise ValueError(f"{path.name} is not named like a migration: 0001_what_it_does.sql")
        found.append(Migration(int(match[1]), match[2], path.read_text(encoding="utf-8")))
    if [migration.number for migration in found] != list(range(1, len(found) + 1)):
        raise ValueError(f"the migrations in {folder} are not numbered 1, 2, 3, …")
    return tuple(found)


def pending(known: Sequence[Migration], applied: Sequence[Applied]) -> Sequence[Migration]:
    """The migrations that a database still needs; SchemaMismatch when it does not fit them."""
    if len(applied) > len(known):
        raise SchemaMismatch(
            f"The database has schema {applied[-1].number} ({applied[-1].name}), and this version of the service "
            f"knows {len(known)}: it was written by a newer one. Use that one, or restore a backup from before it."
        )
    for migration, done in zip(known, applied, strict=False):
        if (migration.number, migration.checksum) != (done.number, done.checksum):
            raise SchemaMismatch(
                f"Migration {done.number} ({done.name}) of the database is not the one that comes with this version "
                f"of the service: checksum {done.checksum[:12]} against {migration.checksum[:12]}. "
                "Use the version that wrote the database, or restore a backup."
            )
    return known[len(applied) :]


def misnamed(known: Sequence[Migration], applied: Sequence[Applied]) -> Iterator[tuple[str, str]]:
    for migration, done in zip(known, applied, strict=False):
        if migration.name != done.name:
            yield f"migration {done.number}", f"it is called {done.name}, and not {migration.name}"


def differences(made: Mapping[str, str], found: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The objects of a schema that are not as the migrations make them.

    Tables of others may be there.
    """
    for name, definition in made.items():
        if name not in found:
            yield name, "it is missing"
        elif found[name] != definition:
            yield name, "it is not what the migrations made: it was changed"
    for name in found.keys() - made.keys():
        if not name.startswith("table "):
            yield name, "no migration made it: it was added"
