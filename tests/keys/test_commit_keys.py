"""The keys of commits: where they come from, what they bind, and how they are rotated."""

from __future__ import annotations

from pathlib import Path

import pytest

from daemon.keys.commit_keys import FILE, CommitKeys
from daemon.keys.keyring import KeyFileRefused, KeyRing, change_ring, read_ring
from daemon.model.chain import CommitForged

RUN = ("company", "run")
HEAD = b"h" * 32


def made(folder: Path) -> CommitKeys:
    keys = CommitKeys.open(folder / FILE, create=True)
    keys.settle()
    return keys


def test_new_keys_have_their_name_once_every_commit_has_its_mac(tmp_path: Path) -> None:
    begun = CommitKeys.open(tmp_path / FILE, create=True)
    assert begun.new
    assert not (tmp_path / FILE).exists()
    again = CommitKeys.open(tmp_path / FILE, create=True)
    assert again.ring == begun.ring
    again.settle()
    assert not again.new
    assert read_ring(tmp_path / FILE) == begun.ring
    assert [one.name for one in tmp_path.iterdir()] == [FILE]


def test_keys_that_are_named_are_not_created(tmp_path: Path) -> None:
    with pytest.raises(KeyFileRefused):
        CommitKeys.open(tmp_path / FILE, create=False)


@pytest.mark.parametrize(
    "place",
    [
        (("other", "run"), 5, 4, HEAD),
        (("company", "other"), 5, 4, HEAD),
        (("companyr", "un"), 5, 4, HEAD),
        (RUN, 6, 4, HEAD),
        (RUN, 5, 3, HEAD),
        (RUN, 5, 4, b"i" * 32),
        (RUN, 5, 4, None),
    ],
)
def test_a_mac_binds_company_stream_place_and_head(
    tmp_path: Path, place: tuple[tuple[str, str], int, int, bytes]
) -> None:
    keys = made(tmp_path)
    mac = keys.mac(RUN, 5, 4, HEAD)
    keys.check(RUN, 5, 4, HEAD, mac)
    with pytest.raises(CommitForged):
        keys.check(*place, mac)


@pytest.mark.parametrize("mac", [None, b"", b"0" * 32])
def test_a_commit_with_no_mac_or_any_other_is_forged(tmp_path: Path, mac: bytes | None) -> None:
    with pytest.raises(CommitForged):
        made(tmp_path).check(RUN, 5, 4, HEAD, mac)


def test_a_snapshot_binds_run_version_schema_and_body(tmp_path: Path) -> None:
    keys = made(tmp_path)
    mac = keys.snapshot_mac(RUN, 5, 1, b"body")
    assert keys.made_snapshot(RUN, 5, 1, b"body", mac)
    assert not keys.made_snapshot(("company", "x"), 5, 1, b"body", mac)
    assert not keys.made_snapshot(RUN, 6, 1, b"body", mac)
    assert not keys.made_snapshot(RUN, 5, 2, b"body", mac)
    assert not keys.made_snapshot(RUN, 5, 1, b"bodY", mac)


def test_earlier_keys_still_check_after_a_rotation_and_a_new_one_is_found_when_it_is_needed(tmp_path: Path) -> None:
    one, other = made(tmp_path), CommitKeys.open(tmp_path / FILE, create=False)
    before = one.mac(RUN, 5, 4, HEAD)
    change_ring(tmp_path / FILE, KeyRing.rotated)
    assert one.follow()
    after = one.mac(RUN, 5, 4, HEAD)
    assert before != after
    for keys in (one, other):
        keys.check(RUN, 5, 4, HEAD, before)
        keys.check(RUN, 5, 4, HEAD, after)
    snapshot = one.snapshot_mac(RUN, 5, 1, b"body")
    assert other.made_snapshot(RUN, 5, 1, b"body", snapshot)


def test_a_file_that_cannot_be_read_leaves_the_keys_as_they_were(tmp_path: Path) -> None:
    keys = made(tmp_path)
    mac = keys.mac(RUN, 5, 4, HEAD)
    (tmp_path / FILE).write_text("no keys")
    assert not keys.follow()
    keys.check(RUN, 5, 4, HEAD, mac)
