"""A network of the run's own: every daemon in a namespace, with one way to its callers and another
to the database.

All of it is within one namespace that the run begins in, where nothing of the machine's own network
is to be seen. It ends with the run's processes, however they end, and those end with the run, whose
namespace of processes it is.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv4Interface
from typing import NoReturn

APART = ("unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
NEEDED = ("unshare", "ip", "mount")
FRONT = IPv4Interface("10.213.1.1/24")
BACK = IPv4Interface("10.213.2.1/24")
# The address of the bridge would follow from what is connected to it, and change with every cut.
BACK_LINK = "02:00:00:00:02:01"
PORT = 8080
PROBED_S = 60.0


class Network:
    """Two bridges: callers and far sides are on the front, the database is on the back."""

    here = str(FRONT.ip)
    allowed = str(FRONT.network)
    database = BACK

    def __init__(self, homes: int) -> None:
        """Make it, in the namespace that this process is in."""
        subprocess.run(("mount", "-t", "tmpfs", "tmpfs", "/run"), check=True)
        _ip(
            "link set lo up",
            "link add front type bridge",
            f"link add back address {BACK_LINK} type bridge",
            f"address add {FRONT} dev front",
            f"address add {BACK} dev back",
            "link set front up",
            "link set back up",
        )
        self.homes = [Home(number) for number in range(homes)]
        for home in self.homes:
            home.build()


@dataclass
class Home:
    """The namespace of one daemon."""

    number: int
    port: int = PORT

    @property
    def host(self) -> str:
        """Its address on the front."""
        return str(FRONT.ip + 1 + self.number)

    def build(self) -> None:
        """Make the namespace, and lead a line into it from either bridge."""
        own, number = f"daemon{self.number}", self.number
        _ip(
            f"netns add {own}",
            f"link add front{number} type veth peer name front netns {own}",
            f"link add back{number} type veth peer name back netns {own}",
            f"link set front{number} master front up",
            f"link set back{number} master back up",
        )
        _ip(
            "link set lo up",
            f"address add {self.host}/{FRONT.network.prefixlen} dev front",
            f"address add {BACK.ip + 1 + number}/{BACK.network.prefixlen} dev back",
            "link set front up",
            "link set back up",
            # Known for good: where nobody answers who has the address, a cut would be an error and
            # no silence.
            f"neighbour add {BACK.ip} lladdr {BACK_LINK} dev back nud permanent",
            within=own,
        )

    def command(self, *words: str) -> Sequence[str]:
        """What runs a command in it, as the process that is started."""
        return ("ip", "netns", "exec", f"daemon{self.number}", *words)

    def url(self, url: str) -> str:
        """The address of a database as it is from here."""
        return url.replace("@127.0.0.1:", f"@{BACK.ip}:")

    async def open(self) -> None:
        """There is nothing to begin."""

    async def close(self) -> None:
        """It goes with the run."""

    def cut(self) -> None:
        """Drop all that goes between it and the database; callers still come through."""
        _ip(f"link set back{self.number} nomaster")

    def mend(self) -> None:
        """Let through what is sent from now on."""
        _ip(f"link set back{self.number} master back")


def _ip(*lines: str, within: str | None = None) -> None:
    command = ("ip", *(() if within is None else ("-netns", within)), "-batch", "-")
    subprocess.run(command, input="\n".join(lines), check=True, text=True, timeout=PROBED_S)


def why_not() -> str | None:
    """Why there can be no such network here; None when there can."""
    if os.geteuid() != 0:
        return "only root may make namespaces"
    missing = [name for name in NEEDED if shutil.which(name) is None]
    if missing:
        return f"there is no {missing[0]} here"
    probe = (*APART, sys.executable, "-m", "tests.cluster.namespaces")
    tried = subprocess.run(probe, check=False, capture_output=True, text=True, timeout=PROBED_S)
    if tried.returncode == 0:
        return None
    return (tried.stderr.strip().splitlines() or [f"the attempt ended with {tried.returncode}"])[0]


def enter(*arguments: str) -> NoReturn:
    """Go on as the same program with these arguments, in a namespace of its own."""
    sys.stdout.flush()
    os.execvp(APART[0], (*APART, sys.executable, *arguments))  # noqa: S606 - no shell is wanted


# In a daemon's place: it says each time that it is told to whether what it sends comes back.
CALLER = """
import socket, sys
line = socket.create_connection((sys.argv[1], int(sys.argv[2])), 10)
for patience_s in map(float, sys.stdin):
    line.settimeout(10)
    line.sendall(b"x")
    line.settimeout(patience_s)
    try:
        print(line.recv(1).decode(), flush=True)
    except TimeoutError:
        print("silence", flush=True)
"""


def main() -> int:
    """Try it: what a daemon sends comes through, is dropped in silence while it is cut off, and
    comes through then.
    """
    home = Network(1).homes[0]
    with socket.create_server((str(BACK.ip), 0)) as door:
        command = home.command(sys.executable, "-c", CALLER, str(BACK.ip), str(door.getsockname()[1]))
        caller = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        line, _ = door.accept()
        assert caller.stdin is not None
        assert caller.stdout is not None
        found = []
        for happen, patience_s in ((None, 10.0), (home.cut, 0.5), (home.mend, 10.0)):
            if happen is not None:
                happen()
            print(patience_s, file=caller.stdin, flush=True)
            line.settimeout(0.3 if happen == home.cut else 10.0)
            with suppress(TimeoutError):
                line.sendall(line.recv(1))
            found.append(caller.stdout.readline().strip())
        caller.kill()
        caller.wait()
    print(*found, sep=", ")
    return 0 if found == ["x", "silence", "x"] else 1


if __name__ == "__main__":
    sys.exit(main())
