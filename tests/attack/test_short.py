"""The short form of each attack: the same code with lower counts and shorter times.

How quick the service is beside all other tests says little, so it is `make attack` that holds those
bars.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.attack import logins, malformed, overload, places, slow, tokens
from tests.attack.report import Report
from tests.attack.service import Target, attacked, mailing
from tests.seeds import drawn

REQUESTS = 1_500
SLOW_CONNECTIONS = 90
HURRIED = {"keepalive_timeout_s": "1", "write_timeout_s": "1", "body_timeout_s": "2"}
NARROW = {"requests_max": "8", "request_queue_max": "128"}


@pytest.fixture
async def target(tmp_path: Path) -> AsyncIterator[Target]:
    async with attacked(tmp_path) as one:
        yield one


@pytest.fixture
def report() -> Report:
    return Report()


async def test_slow_connections_are_ended_in_time_and_hold_up_nobody(tmp_path: Path, report: Report) -> None:
    bounds = slow.Bounds(closed_s=3.0, body_timeout_s=2.0, byte_s=0.3, pipelined=100, arrive_s=1.0, health_ms=2_000.0)
    async with attacked(tmp_path, **HURRIED) as target:
        await slow.slow(target, report, SLOW_CONNECTIONS, bounds)
    assert report.missed == []


async def test_malformed_requests_break_nothing_and_are_refused_in_the_contracts_form(
    target: Target, report: Report
) -> None:
    await malformed.malformed(target, report, REQUESTS, seed=drawn())
    assert report.missed == []


async def test_forged_tokens_are_refused_alike(target: Target, report: Report) -> None:
    await tokens.tokens(target, report)
    assert report.missed == []


async def test_what_is_too_much_is_refused_and_a_company_that_asks_for_little_gets_it(
    tmp_path: Path, report: Report
) -> None:
    load = overload.Load(
        seconds=2.0,
        warm_s=0.2,
        peak_s=0.5,
        goodput_least=0.0,
        normal_s=10.0,
        light_ms=5_000.0,
        light_done_least=0.2,  # without turns for companies it would get what the flood gets: a tenth
    )
    async with attacked(tmp_path, **NARROW) as target:
        await overload.overload(target, report, load)
    assert report.missed == []


async def test_a_forgotten_password_does_not_tell_whether_there_is_an_account(tmp_path: Path, report: Report) -> None:
    async with mailing(tmp_path) as target:
        await logins.forgotten(target, report, pairs=8)  # chance alone misses the bar once in 3,000 times
    assert report.missed == []


async def test_an_invitation_does_not_tell_whether_there_is_an_account(target: Target, report: Report) -> None:
    await logins.invitations(target, report, pairs=8)
    assert report.missed == []


async def test_a_login_does_not_tell_whether_there_is_an_account(target: Target, report: Report) -> None:
    await logins.enumeration(target, report, pairs=10)
    assert report.missed == []


async def test_the_worst_of_each_place_that_evaluates_breaks_nothing(tmp_path: Path, report: Report) -> None:
    await places.places(tmp_path, report, seconds=0.1)
    assert [one for one in report.missed if "watchdog" not in one] == []
