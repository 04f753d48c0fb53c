"""`python -m tests.crash.confined COMMAND…`: run a command within what the unit lets the service
ask of the kernel.

The filters are those that systemd makes of SystemCallFilter, MemoryDenyWriteExecute and
RestrictAddressFamilies.
"""

from __future__ import annotations

import ctypes
import errno
import os
import socket
import subprocess
import sys

import pytest

from tests.house.units import said, tool

NO_NEW_PRIVILEGES = 38
ALLOW, REFUSE = 0x7FFF0000, 0x00050000
EQUAL, MASKED_EQUAL = 4, 7
WRITE, EXECUTE = 2, 4
FAMILIES = 46


def confinable(capfd: pytest.CaptureFixture[str]) -> bool:
    """Whether this machine has what it takes; where it has not, that is said."""
    if tool("systemd-analyze", capfd) is None:
        return False
    try:
        ctypes.CDLL("libseccomp.so.2")
    except OSError:
        with capfd.disabled():
            print("\nlibseccomp.so.2 is not on this machine: the system calls are not tried", file=sys.stderr)
        return False
    return True


class Comparison(ctypes.Structure):
    """An argument of a system call, how it is compared, and with what."""

    _fields_ = (("arg", ctypes.c_uint), ("op", ctypes.c_int), ("a", ctypes.c_uint64), ("b", ctypes.c_uint64))


def allowed_calls() -> set[str]:
    """The names of the system calls that the unit allows."""
    listed = subprocess.run(["systemd-analyze", "syscall-filter"], capture_output=True, text=True, check=True).stdout
    sets: dict[str, list[str]] = {}
    current: list[str] = []
    for line in listed.splitlines():
        if line.startswith("@"):
            current = sets.setdefault(line.strip(), [])
        elif line.startswith("    ") and not line.strip().startswith("#"):
            current.append(line.strip())

    def expanded(name: str) -> set[str]:
        return set().union(*map(expanded, sets[name])) if name.startswith("@") else {name}

    allowed: set[str] = set()
    for value in said("penstock.service")["SystemCallFilter"]:
        names = set().union(*map(expanded, value.removeprefix("~").split()))
        allowed = allowed - names if value.startswith("~") else allowed | names
    return allowed | expanded("@default")


class Filter:
    """What the kernel does with calls by default, and what with some."""

    def __init__(self, default: int) -> None:
        self._library = ctypes.CDLL("libseccomp.so.2")
        self._library.seccomp_init.restype = ctypes.c_void_p
        self._context = ctypes.c_void_p(self._library.seccomp_init(ctypes.c_uint32(default)))

    def add(self, action: int, call: str, *comparisons: Comparison) -> None:
        number = self._library.seccomp_syscall_resolve_name(call.encode())
        if number >= 0:
            among = (Comparison * len(comparisons))(*comparisons)
            add = self._library.seccomp_rule_add_array
            done = add(self._context, ctypes.c_uint32(action), number, len(comparisons), among)
            assert done == 0, (call, done)

    def load(self) -> None:
        assert self._library.seccomp_load(self._context) == 0


def confine() -> None:
    """Put this process, and whatever it becomes, under the filters of the unit."""
    calls = allowed_calls()
    assert ctypes.CDLL(None).prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0) == 0
    arguments = Filter(ALLOW)
    both = WRITE | EXECUTE
    arguments.add(REFUSE | errno.EPERM, "mmap", Comparison(2, MASKED_EQUAL, both, both))
    for call in ("mprotect", "pkey_mprotect"):
        arguments.add(REFUSE | errno.EPERM, call, Comparison(2, MASKED_EQUAL, EXECUTE, EXECUTE))
    families = {int(getattr(socket, name)) for name in said("penstock.service")["RestrictAddressFamilies"][0].split()}
    for family in set(range(FAMILIES)) - families:
        arguments.add(REFUSE | errno.EAFNOSUPPORT, "socket", Comparison(0, EQUAL, family, 0))
    arguments.load()
    names = Filter(REFUSE | errno.EPERM)
    for call in sorted(calls):
        names.add(ALLOW, call)
    names.load()


def check() -> None:
    """See that the filters hold: a process may not even be nicer, nor ask the kernel about
    routes.
    """
    for refused in (lambda: os.nice(1), lambda: socket.socket(socket.AF_NETLINK)):
        try:
            refused()
        except OSError:
            continue
        raise SystemExit("the filters do not hold")


if __name__ == "__main__":
    confine()
    check()
    os.execv(sys.argv[1], sys.argv[1:])  # noqa: S606 - the command is the tester's
