"""The figures of the process itself, where little can be seen."""

from __future__ import annotations

import os
import time
from pathlib import Path

from daemon.observability.metrics import _Process


def test_the_process_is_measured_where_proc_shows_it_alone(tmp_path: Path) -> None:
    (tmp_path / "self").symlink_to(f"/proc/{os.getpid()}")
    found = {family.name: family.samples[0].value for family in _Process(proc=str(tmp_path), registry=None).collect()}
    assert 0 <= time.time() - found["process_start_time_seconds"] < 86_400
    assert {"process_cpu_seconds", "process_resident_memory_bytes", "process_open_fds"} <= set(found)
