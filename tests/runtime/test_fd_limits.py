"""Descriptors: the soft limit is raised, and what it allows is kept to."""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest

PROGRAM = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[1]), int(sys.argv[2])))
from daemon.web.server.listen import room_for
print(room_for(1_000), resource.getrlimit(resource.RLIMIT_NOFILE)[0])
"""


@pytest.mark.parametrize(
    ("soft", "hard", "room", "raised"),
    [(400, 1_500, 1_000, 1_384), (1_400, 1_500, 1_000, 1_400), (300, 464, 80, 464), (100, 200, 64, 200)],
)
def test_so_many_connections_as_the_system_allows_beside_the_files(
    soft: int, hard: int, room: int, raised: int
) -> None:
    if hard > resource.getrlimit(resource.RLIMIT_NOFILE)[1]:
        hard = soft  # pragma: no cover - a machine that allows next to nothing
    command = [sys.executable, "-c", PROGRAM, str(soft), str(hard)]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[-1]
    assert told == f"{room} {raised}"
