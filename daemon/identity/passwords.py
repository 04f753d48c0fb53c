"""Password hashing with argon2id in threads."""

from __future__ import annotations

import asyncio
import os
import secrets
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerifyMismatchError

WAITING_MAX = 64
NICE = 5
T = TypeVar("T")


class Busy(Exception):
    """Too many passwords wait to be hashed; nothing was done."""


class InvalidCredentials(Exception):
    """What was given does not prove who asks."""


class Passwords:
    """Hashes and checks passwords, `hashes_max` at once."""

    def __init__(self, hashes_max: int) -> None:
        # One thread each; two passes over 64 MiB take about 0.12 s.
        self._hasher = PasswordHasher(time_cost=2, parallelism=1)
        self._pool = ThreadPoolExecutor(hashes_max, "argon2", _yield_to_others)
        self._waiting = 0
        self._decoy = self._hasher.hash(secrets.token_hex())

    async def hash(self, password: str) -> str:
        """Hash a password; Busy when too many requests wait."""
        return await self._run(lambda: self._hasher.hash(password))

    async def verify(self, kept: str | None, password: str) -> bool:
        """Whether a password fits its hash; without a hash it is False after the same time."""
        return await self._run(lambda: self._verify(kept or self._decoy, password)) and kept is not None

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)

    def _verify(self, kept: str, password: str) -> bool:
        try:
            return self._hasher.verify(kept, password)
        except (VerifyMismatchError, InvalidHashError):
            return False

    async def _run(self, work: Callable[[], T]) -> T:
        if self._waiting >= WAITING_MAX:
            raise Busy
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, work)
        finally:
            self._waiting -= 1


def _yield_to_others() -> None:
    """Lower the priority of this thread and of argon2's threads."""
    with suppress(OSError):  # systemd's filter of system calls may refuse it
        thread = threading.get_native_id()
        os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, thread) + NICE)
