"""Where no PostgreSQL can be started for the tests, they say why."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.postgres import NoPostgres, binaries


@pytest.mark.skipif(os.getuid() != 0, reason="only root starts a server as another user")
def test_a_folder_that_is_closed_to_the_user_of_the_server_is_named(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (place := home / "pg" / "bin").mkdir(parents=True)
    for name in ("postgres", "initdb"):
        (place / name).write_text("#!/bin/sh\necho 16\n")
        (place / name).chmod(0o755)
    for one in (tmp_path, *tmp_path.parents[:3]):
        one.chmod(0o755)
    home.chmod(0o700)
    with pytest.raises(NoPostgres, match=rf"{home} is closed to nobody.*EACCES"):
        binaries([place])
    home.chmod(0o755)
    assert binaries([place]) == place


def test_a_folder_without_a_server_is_named(tmp_path: Path) -> None:
    with pytest.raises(NoPostgres, match=f"{tmp_path}: there is no postgres"):
        binaries([tmp_path])
