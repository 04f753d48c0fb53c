"""Folders and files of the service, and who may use them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from daemon.keys.keyring import KeyFileRefused, check_owner, open_ring
from daemon.runtime.durable_files import FolderRefused, as_owner, check_folder

OTHER = 12_345
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as somebody else")


def test_a_folder_that_everybody_can_write_to_is_refused(tmp_path: Path) -> None:
    check_folder(tmp_path)
    tmp_path.chmod(0o777)
    with pytest.raises(FolderRefused, match=f"chmod 700 {tmp_path}"):
        check_folder(tmp_path)


@needs_root
def test_root_acts_as_the_owner_of_a_folder_and_is_root_again_after(tmp_path: Path) -> None:
    os.chown(tmp_path, OTHER, OTHER)
    with as_owner(tmp_path):
        assert (os.geteuid(), os.getegid(), os.getgroups()) == (OTHER, OTHER, [OTHER])
    assert os.geteuid() == 0


@needs_root
def test_a_key_file_of_another_user_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "jwt.keys"
    open_ring(path, create=True)
    check_owner(path)
    os.chown(path, OTHER, OTHER)
    with pytest.raises(KeyFileRefused, match="belongs to the user 12345"):
        check_owner(path)
