"""What the image and the manifests ask of the service, without an engine: it is process 1, has no
rights, and can write to its volume and to /tmp alone.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import aiohttp
import pytest

from tests.crash.service import PERSON, READY
from tests.deploy.dockerfile import stages
from tests.house.packages import ROOT

(USER,) = (one.text.split(":")[0] for one in stages()[-1] if one.name == "USER")
APART = ("unshare", "--pid", "--fork", "--kill-child", "--mount", "--mount-proc", "sh", "-euc")
# A bind mount keeps what was mounted before writable, as the volume and /tmp of a container are.
CONFINED = """
mount --make-rprivate /
mount --bind "$1" "$1"
mount --bind "$2" "$2"
mount -o remount,bind,ro /
user=$3; shift 3
exec setpriv --reuid "$user" --regid "$user" --clear-groups --no-new-privs --inh-caps=-all --bounding-set=-all "$@"
"""
PROBE = """
import os, sys
status = open("/proc/self/status").read()
assert os.getpid() == 1 and os.getuid() == int(sys.argv[1])
assert "CapEff:\\t0000000000000000" in status and "CapBnd:\\t0000000000000000" in status
try:
    open(sys.argv[2], "w")
except OSError as error:
    print(error.strerror)
"""


def confined(folder: Path, *command: str) -> list[str]:
    """A command as process 1, within the limits, with two folders that it can write to."""
    for name in ("data", "tmp"):
        (folder / name).mkdir(exist_ok=True)
        os.chown(folder / name, int(USER), int(USER))
        (folder / name).chmod(0o700)
    return [*APART, CONFINED, "sh", str(folder / "data"), str(folder / "tmp"), USER, *command]


@pytest.fixture
def folder(capfd: pytest.CaptureFixture[str]) -> Iterator[Path | None]:
    """A folder on the file system of the root, that other users can enter; None, with a word, where
    the limits cannot be had.
    """
    with TemporaryDirectory(prefix="confined-", dir="/var/tmp") as name:
        (folder := Path(name)).chmod(0o711)
        yield folder if confines(folder, capfd) else None


def confines(folder: Path, capfd: pytest.CaptureFixture[str]) -> bool:
    if os.getuid() == 0 and shutil.which("unshare") and shutil.which("setpriv"):
        probe = confined(folder, sys.executable, "-c", PROBE, USER, str(folder / "elsewhere"))
        tried = subprocess.run(probe, capture_output=True, text=True, check=False, cwd=ROOT, timeout=60)
        if tried.stdout == "Read-only file system\n":
            return True
    with capfd.disabled():
        print(
            "\nThis machine does not let the tests confine a process: it is not tried as in a container",
            file=sys.stderr,
        )
    return False


@asynccontextmanager
async def serving(folder: Path) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    """The service within the limits: its process, and its address."""
    serve = (sys.executable, "-m", "daemon", "serve", "--port", "0", "--log-level", "error")
    env = {"PENSTOCK_DATA_DIR": str(folder / "data"), "TMPDIR": str(folder / "tmp"), "PATH": os.environ["PATH"]}
    process = await asyncio.create_subprocess_exec(
        *confined(folder, *serve), stdout=PIPE, stderr=PIPE, env=env, cwd=ROOT
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(60):
            line = (await process.stdout.readline()).decode()
        assert line.startswith(READY), line
        yield process, line.removeprefix(READY).strip()
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


def inside(process: asyncio.subprocess.Process) -> int:
    """The number that process 1 of the namespace has outside of it."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="utf-8").split()
    return int(children[0])


async def test_the_service_works_as_process_one_without_rights_on_a_read_only_system(folder: Path | None) -> None:
    if folder is None:
        return
    async with serving(folder) as (process, address), aiohttp.ClientSession(address) as session:
        async with session.post("/auth/register", json=PERSON) as answer:
            assert answer.status == 201
            session.headers["Authorization"] = f"Bearer {(await answer.json())['token']}"
        body = {"vertical": "prior-auth", "inputs": {"member_id": "M-1"}}
        async with session.post("/process-runs/", json=body) as answer:
            run = await answer.json()
            assert (answer.status, run["status"]) == (201, "parked")
        verdict = {"gate": run["parked_at"], "decision": "approved", "digest": run["gate"]["digest"]}
        async with session.post(f"/process-runs/{run['id']}/resume", json=verdict) as answer:
            assert (await answer.json())["status"] == "completed"
        os.kill(inside(process), signal.SIGTERM)
        async with asyncio.timeout(20):
            await process.communicate()
        assert process.returncode == 0
    assert (folder / "data" / "jwt.keys").stat().st_uid == int(USER)
