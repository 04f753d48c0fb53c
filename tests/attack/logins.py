"""Log-ins: many at once do not hold up the loop, and none tells whether an account exists."""

from __future__ import annotations

import asyncio
import json
import statistics
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace

from tests.attack.report import Report
from tests.attack.service import Target
from tests.attack.wire import Answer

PASSWORD = "correct horse"
ACCOUNTS = 5
AT_ONCE = 50
LAG_MS = 20.0
Z_MOST = 3.3  # by chance once in a thousand times
WARM = 2


async def crowd(target: Target, report: Report, seconds: float) -> tuple[float, float]:
    """Fifty people who log in again and again; returns when that was, for the lag meter."""
    for number in range(ACCOUNTS):
        await target.register(f"crowd{number}", PASSWORD)
    began = time.monotonic()
    answers: list[int] = []

    async def log_in(number: int) -> None:
        body = {"email": f"crowd{number % ACCOUNTS}@attack.test", "password": PASSWORD}
        while time.monotonic() < began + seconds:
            answers.append((await target.ask("POST", "/auth/login", body)).status)

    await asyncio.gather(*(log_in(number) for number in range(AT_ONCE)))
    report.told("log-ins a second, 50 at once", f"{len(answers) / (time.monotonic() - began):.1f}")
    report.most("log-ins that failed", sum(status != 200 for status in answers), 0)
    return began, began + seconds


async def enumeration(target: Target, report: Report, pairs: int) -> None:
    """Wrong passwords for an account that is there and for ones that are not, in turn: nobody can
    tell them apart.
    """

    async def guess(email: str, number: int) -> Answer:
        return await target.ask("POST", "/auth/login", {"email": email, "password": f"wrong horse {number}"})

    await _told_apart(target, report, pairs, guess)


async def forgotten(target: Target, report: Report, pairs: int) -> None:
    """Forgotten passwords of an account that is there and of ones that are not, in turn, each with
    a request behind it: neither answer tells them apart, nor does what is done after it.
    """

    async def forget(email: str, number: int) -> Answer:
        """The service refuses what is too much, whoever it is for: try again then."""
        answer = await target.ask("POST", "/auth/password/forgotten", {"email": email})
        if answer.status != 503:
            return answer
        await asyncio.sleep(float(answer.headers["retry-after"]))
        return await forget(email, number)

    async def forget_and_look(email: str, number: int) -> Answer:
        answer = await forget(email, number)
        await target.ask("GET", "/auth/options")
        return answer

    await _told_apart(target, report, pairs, forget)
    await _told_apart(target, report, pairs, forget_and_look, "known-2")


async def invitations(target: Target, report: Report, pairs: int) -> None:
    """Addresses with an account and without, in turn: invited by somebody's company, and given with
    the invitation of another address. Neither tells them apart.
    """
    owner = await target.register("owner", PASSWORD)
    company = (await target.ask("GET", "/auth/me", token=owner)).json["company"]["id"]
    members = f"/companies/{company}/members"
    guest = await target.ask("POST", members, {"email": "guest@attack.test", "role": "viewer"}, owner)
    token = guest.json["invitation"]["token"]

    async def invite(email: str, _: int) -> Answer:
        """Both were invited before: what is measured is the account."""
        answer = await target.ask("POST", members, {"email": _always(email), "role": "viewer"}, owner)
        return replace(answer, body=json.dumps({"members": sorted(answer.json)}).encode())

    async def join(email: str, number: int) -> Answer:
        body = {"email": _always(email), "password": f"wrong horse {number}", "invitation": token}
        return await target.ask("POST", "/auth/register", body)

    await _told_apart(target, report, pairs, invite, "person")
    await _told_apart(target, report, pairs, join, "friend")


def _always(email: str) -> str:
    """The same address each time, where there is no account."""
    return "nobody@attack.test" if email.startswith("nobody") else email


async def _told_apart(
    target: Target,
    report: Report,
    pairs: int,
    ask: Callable[[str, int], Awaitable[Answer]],
    name: str = "known",
) -> None:
    await target.register(name, PASSWORD)
    times: dict[bool, list[float]] = {True: [], False: []}
    seen: dict[bool, set[tuple[object, ...]]] = {True: set(), False: set()}
    for number in range(pairs + WARM):
        for known in (number % 2 == 0, number % 2 == 1):
            email = f"{name}@attack.test" if known else f"nobody{number:04}@attack.test"
            began = time.perf_counter()
            answer = await ask(email, number)
            if number >= WARM:
                times[known].append(time.perf_counter() - began)
            seen[known].add(_looks(answer))
    report.most("ways in which the two are answered", len(seen[True] | seen[False]), 1)
    known_ms, unknown_ms = (statistics.median(times[known]) * 1000 for known in (True, False))
    report.told("median with an account and without", f"{known_ms:.2f} and {unknown_ms:.2f} ms")
    report.most("told apart by time: |z| of the rank sums", abs(rank_z(times[True], times[False])), Z_MOST)


def _looks(answer: Answer) -> tuple[object, ...]:
    """All of an answer that could tell something: not its id, nor its date."""
    body = {name: text for name, text in (answer.json if answer.body else {}).items() if name != "request_id"}
    headers = {name: text for name, text in answer.headers.items() if name not in {"x-request-id", "date"}}
    return answer.status, str(sorted(body.items())), str(sorted(headers.items()))


def rank_z(some: list[float], others: list[float]) -> float:
    """How far the ranks of some values among all are from chance, in standard deviations
    (Mann-Whitney).
    """
    ranked = sorted((value, mine) for values, mine in ((some, True), (others, False)) for value in values)
    first, second = len(some), len(others)
    ranks = sum(place for place, (_, mine) in enumerate(ranked, 1) if mine)
    expected = first * (first + second + 1) / 2
    deviation = (first * second * (first + second + 1) / 12) ** 0.5
    return (ranks - expected) / deviation if deviation else 0.0
