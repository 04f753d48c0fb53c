"""Passwords: hashing leaves the processor to the event loop, and has a bound."""

from __future__ import annotations

import asyncio
import os
import threading

import pytest
from argon2 import extract_parameters

from daemon.identity.passwords import NICE, WAITING_MAX, Busy, Passwords

NICE_MAX = 19


def _niceness() -> int:
    return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())


async def test_the_threads_that_hash_stand_behind_the_event_loop() -> None:
    passwords = Passwords(1)
    theirs = await passwords._run(_niceness)
    passwords.close()
    assert theirs == min(_niceness() + NICE, NICE_MAX)


async def test_when_too_many_wait_the_next_is_turned_away() -> None:
    passwords, free = Passwords(1), threading.Event()
    waiting = [asyncio.get_running_loop().create_task(passwords._run(free.wait)) for _ in range(WAITING_MAX)]
    await asyncio.sleep(0)
    with pytest.raises(Busy):
        await passwords.hash("correct horse")
    free.set()
    await asyncio.gather(*waiting)
    passwords.close()


async def test_an_unknown_account_costs_the_hash_that_a_known_one_costs() -> None:
    passwords = Passwords(1)
    known = extract_parameters(await passwords.hash("correct horse"))
    assert extract_parameters(passwords._decoy) == known
    assert not await passwords.verify(None, "correct horse")
    passwords.close()


async def test_a_hash_takes_one_processor() -> None:
    passwords = Passwords(1)
    hashed = await passwords.hash("correct horse")
    passwords.close()
    assert "$m=65536,t=2,p=1$" in hashed
