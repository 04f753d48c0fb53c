"""One life of the service after the other, on one folder and one port: how each is started, and how
it ends.
"""

from __future__ import annotations

import asyncio
import math
import random
import shutil
import signal
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.crash.provoke import PROVOKED
from tests.crash.service import READY, environment

READY_S = 120.0  # a traced start on a busy machine is slow
SERVE = ("-m", "daemon", "serve")
NTH_MAX_LOG = 6.5
FRESH = 0.8
TRACED = ("fdatasync", "pwrite64")


@dataclass(frozen=True, slots=True)
class Ending:
    """How a life is to end: by a kill from outside, at a failpoint, or at the nth of a system
    call.
    """

    kind: str
    name: str = ""
    nth: int = 1

    @property
    def command(self) -> tuple[str, ...]:
        """What starts the service so that it ends like this."""
        if self.kind == "failpoint":
            return (sys.executable, "-m", "tests.crash.build", "serve")
        serve = (sys.executable, *SERVE)
        if self.kind == "call":
            inject = f"inject={self.name}:signal=KILL:when={self.nth}"
            # -D makes the service, not strace, the process that was started.
            return ("strace", "-D", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={self.name}", "-e", inject, *serve)
        return serve

    @property
    def label(self) -> str:
        """Where a life ends that ends like this, as figures name it."""
        return {"failpoint": "at failpoints", "call": f"at {self.name}"}.get(self.kind, "at random")

    @property
    def settings(self) -> dict[str, str]:
        """What the service's environment says beside its settings."""
        return {"FAILPOINT": f"{self.name}:{self.nth}"} if self.kind == "failpoint" else {}


# These are reached while a new folder is made ready, and never again.
NEW_FOLDER = ("before-migration", "migration-unrecorded", "after-migration", "key-file-written")
KILL = Ending("kill")


class Lifecycle:
    """A service process, from its start to its end."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.pid = process.pid

    @classmethod
    async def start(cls, folder: Path, port: int, ending: Ending = KILL, **settings: object) -> Lifecycle:
        """Start the service; it may not be ready yet."""
        own = {"log_level": "error", "run_idle_s": "0.3", **{name: str(value) for name, value in settings.items()}}
        env = {**environment(folder, **own), **ending.settings}
        with (folder / "service.log").open("ab") as errors:
            process = await asyncio.create_subprocess_exec(
                *(*ending.command, "--port", str(port)), stdout=asyncio.subprocess.PIPE, stderr=errors, env=env
            )
        return cls(process)

    async def ready(self) -> bool:
        """Whether it came to be ready; False when it ended before."""
        assert self._process.stdout is not None
        line = await asyncio.wait_for(self._process.stdout.readline(), READY_S)
        return line.decode().startswith(READY)

    async def ends_by_itself(self, within_s: float) -> bool:
        """Whether it was killed by what was planted in it; any other end of its own is a fault."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._process.wait(), within_s)
        code = self._process.returncode
        if code not in (None, -signal.SIGKILL):
            raise AssertionError(f"the service ended by itself with code {code}")
        return code is not None

    async def kill(self) -> None:
        """End it at once."""
        with suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()


class Endings:
    """Which end the next life takes: plain kills, failpoints in turn until all were reached, and
    system calls.
    """

    def __init__(self, names: Sequence[str], seed: str, reached: set[str], *, traced: bool) -> None:
        self._random = random.Random(seed)
        self._left = [name for name in names if name not in reached]
        self.names = tuple(names)
        self._traced = TRACED if traced else ()
        self.reached = reached

    def first(self) -> list[Ending]:
        """The ends that only a life on a new folder can take."""
        fresh = [name for name in self.names if name in NEW_FOLDER]
        self._left = [name for name in self._left if name not in fresh]
        return [Ending("failpoint", name) for name in fresh]

    def next(self) -> Ending:
        """The next one."""
        kind = self._random.choices(("kill", "failpoint", "call"), (5, 4, 1))[0]
        if kind == "failpoint" and self.names:
            again = sorted(self.reached.difference(NEW_FOLDER))
            fresh = bool(self._left) and (not again or self._random.random() < FRESH)
            name = self._left.pop(0) if fresh else self._random.choice(again)
            once = name not in self.reached or name in PROVOKED
            return Ending("failpoint", name, 1 if once else int(math.exp(self._random.uniform(0.0, NTH_MAX_LOG))))
        if kind == "call" and self._traced:
            return Ending("call", self._random.choice(self._traced), self._random.randint(1, 400))
        return KILL

    def came(self, ending: Ending, *, by_itself: bool) -> None:
        """Note whether a life ended as it was to."""
        if ending.kind == "failpoint" and by_itself:
            self.reached.add(ending.name)
        elif ending.kind == "failpoint" and ending.name not in self.reached and ending.name not in NEW_FOLDER:
            self._left.append(ending.name)


async def failpoints() -> list[str]:
    """The names that the test build knows."""
    build = Path(__file__).with_name("build.py")
    if not build.exists():
        return []
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.crash.build", "--list"), stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    return out.decode().split()


async def traceable() -> bool:
    """Whether strace is there and may do its work."""
    if shutil.which("strace") is None:
        return False
    process = await asyncio.create_subprocess_exec(
        *("strace", "-D", "-f", "-qq", "-o", "/dev/null", "-e", "trace=fdatasync", sys.executable, "-c", ""),
        stderr=asyncio.subprocess.DEVNULL,
    )
    return await process.wait() == 0


def free_port() -> int:
    """A port of the loopback address that nobody listens on."""
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])
