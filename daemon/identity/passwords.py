"""Passwords: hashed with argon2id in threads, and refused where they are guessed at once."""

from __future__ import annotations

import asyncio
import os
import secrets
import threading
from base64 import b64encode
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from importlib import resources
from itertools import pairwise
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
        self._decoy = _unknown_hash(self._hasher)

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


def _unknown_hash(hasher: PasswordHasher) -> str:
    """A hash of no known password, made without hashing; checking it costs what a real one does."""
    cost = f"m={hasher.memory_cost},t={hasher.time_cost},p={hasher.parallelism}"
    parts = (b64encode(secrets.token_bytes(size)).decode().rstrip("=") for size in (hasher.salt_len, hasher.hash_len))
    return "$".join(("", "argon2id", "v=19", cost, *parts))


def _yield_to_others() -> None:
    """Lower the priority of this thread and of argon2's threads."""
    with suppress(OSError):  # systemd's filter of system calls may refuse it
        thread = threading.get_native_id()
        os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, thread) + NICE)


COMMON = "common_passwords.txt"
# A longer repetition is none of the first guesses.
REPEATED_MAX = 32


def weakness(password: str, *own_names: str) -> str | None:
    """Why a password is refused; None for all others. `own_names` are those of its owner."""
    plain = password.strip().casefold()
    if not plain:
        return "is blank"
    if len(set(plain)) == 1 and len(plain) <= REPEATED_MAX:
        return "repeats a single character"
    if plain in {name.strip().casefold() for name in own_names}:
        return "is the e-mail address or the name of the company"
    if _is_sequence(plain):
        return "is a sequence of neighbouring characters"
    if plain in _common():
        return "is one of the most common passwords"
    return None


def _is_sequence(plain: str) -> bool:
    """Whether letters or digits go up or down by one throughout; after 9 comes 0."""
    steps = {ord(after) - ord(before) for before, after in pairwise(plain)}
    if plain.isascii() and plain.isdigit():
        steps = {(step + 1) % 10 - 1 for step in steps}
    return plain.isascii() and plain.isalnum() and steps in ({1}, {-1})


@cache
def _common() -> frozenset[str]:
    text = (resources.files("daemon.identity") / COMMON).read_text(encoding="utf-8")
    return frozenset(text.split())
