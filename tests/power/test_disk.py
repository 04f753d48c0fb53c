"""The disk that loses its power keeps what was synced, and of the rest whatever a real one
could.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.power.disk import SECTOR_BYTES, Disk
from tests.power.recording import HEAD, Kind, Log, Record, read

ROOT, FOLDER, FILE = 1, 2, 3
CUTS = 1_500


def disk(*records: Record) -> Disk:
    """A disk with a file whose name is safe, after these records."""
    found = Disk("/root")
    for record in (Record(Kind.OPEN, ROOT, 1, "/root"), *records):
        found.apply(record)
    return found


def made(name: str = "file", inode: int = FILE) -> tuple[Record, ...]:
    return Record(Kind.CREATE, inode, 0, f"/root/{name}"), Record(Kind.SYNC, ROOT)


def write(at: int, data: bytes) -> Record:
    return Record(Kind.WRITE, FILE, at, data=data)


def outcomes(one: Disk) -> set[bytes | None]:
    """All that can be left of the file."""
    return {one.cut(random.Random(seed)).get("file") for seed in range(CUTS)}


def test_what_was_synced_is_there_after_every_cut() -> None:
    assert outcomes(disk(*made(), write(0, b"safe"), Record(Kind.SYNC, FILE))) == {b"safe"}


def test_what_was_not_synced_is_there_or_not() -> None:
    assert {b"safe", b"SAFE"} <= outcomes(disk(*made(), write(0, b"safe"), Record(Kind.SYNC, FILE), write(0, b"SAFE")))


def test_a_sector_is_written_whole_and_each_decides_for_itself() -> None:
    old, new = b"a" * SECTOR_BYTES * 3, b"b" * SECTOR_BYTES * 3
    left = outcomes(disk(*made(), write(0, old), Record(Kind.SYNC, FILE), write(0, new)))
    sectors = {
        tuple(content[at : at + SECTOR_BYTES] for at in range(0, len(content), SECTOR_BYTES))
        for content in left
        if content is not None
    }
    assert {len(set(sector)) for some in sectors for sector in some} == {1}
    assert len(sectors) == 2**3


def test_a_later_write_to_a_sector_brings_the_earlier_ones_with_it() -> None:
    left = outcomes(disk(*made(), write(0, b"...."), Record(Kind.SYNC, FILE), write(0, b"a"), write(1, b"b")))
    assert left == {b"....", b"a...", b"ab.."}


def test_a_later_sector_can_be_there_without_an_earlier_one() -> None:
    first, second = b"1" * SECTOR_BYTES, b"2" * SECTOR_BYTES
    left = outcomes(
        disk(*made(), write(0, bytes(2 * SECTOR_BYTES)), Record(Kind.SYNC, FILE), write(0, first), write(512, second))
    )
    assert bytes(SECTOR_BYTES) + second in left


def test_a_file_has_one_of_the_sizes_that_it_had() -> None:
    longer = disk(
        *made(), write(0, b"a"), Record(Kind.SYNC, FILE), write(1, b"b" * 2_000), Record(Kind.TRUNCATE, FILE, 5)
    )
    assert {len(content or b"") for content in outcomes(longer)} == {1, 2_001, 5}


def test_a_name_is_safe_only_once_its_folder_was_synced() -> None:
    synced = (write(0, b"x"), Record(Kind.SYNC, FILE))
    create, sync_folder = made()
    assert outcomes(disk(create, *synced)) == {None, b"x"}
    assert outcomes(disk(create, *synced, sync_folder)) == {b"x"}


def test_a_folder_whose_own_name_was_lost_takes_all_with_it() -> None:
    records = (
        Record(Kind.MKDIR, FOLDER, 0, "/root/data"),
        Record(Kind.CREATE, FILE, 0, "/root/data/file"),
        Record(Kind.SYNC, FOLDER),
        Record(Kind.SYNC, FILE),
    )
    left = [set(disk(*records).cut(random.Random(seed))) for seed in range(CUTS)]
    assert set() in left
    assert {"data/file"} in left
    whole = disk(*records, Record(Kind.SYNC, ROOT))
    assert all(set(whole.cut(random.Random(seed))) == {"data/file"} for seed in range(CUTS))


def test_a_rename_happened_or_did_not() -> None:
    one = disk(
        *made("file"),
        write(0, b"old"),
        Record(Kind.SYNC, FILE),
        Record(Kind.CREATE, 4, 0, "/root/file.new"),
        Record(Kind.WRITE, 4, 0, data=b"new"),
        Record(Kind.SYNC, 4),
        Record(Kind.RENAME, 0, 0, "/root/file.new", b"/root/file"),
    )
    assert outcomes(one) == {b"old", b"new"}


def test_a_file_that_takes_the_number_of_a_removed_one_is_another_file() -> None:
    one = disk(
        *made(), write(0, b"first"), Record(Kind.SYNC, FILE), Record(Kind.UNLINK, path="/root/file"), *made("other")
    )
    assert one.whole() == {"other": b""}
    assert one.cut(random.Random(1)) == {"other": b""}


def test_what_sqlite_maps_into_memory_is_never_kept() -> None:
    assert disk(*made("file-shm"), write(0, b"x"), Record(Kind.SYNC, FILE)).cut(random.Random(1)) == {}


def test_a_log_that_ends_within_a_record_is_refused(tmp_path: Path) -> None:
    log = Log(tmp_path / "record")
    log.told("run", id="r")
    log.add(Record(Kind.RENAME, path="/a", data=b"/b"))
    log.close()
    assert [record.kind for record in read(log.path)] == [Kind.TOLD, Kind.RENAME]
    log.path.write_bytes(log.path.read_bytes()[: -HEAD.size // 2])
    with pytest.raises(ValueError, match="ends within a record"):
        read(log.path)
