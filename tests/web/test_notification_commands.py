"""The commands of notifications and the tests that they send."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from structlog.testing import capture_logs

from daemon.settings import Settings
from tests.web.operators import Operator
from tests.web.support import PATIENCE_S, FarSide, Person

REFUSED = 1


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"public_url": "https://penstock.test"})


@pytest.fixture(autouse=True)
def _silent() -> Iterator[None]:
    with capture_logs():
        yield


async def test_an_operator_is_told_of_gates_looks_what_was_sent_and_ends_it(
    operator: Operator, ann: Person, far: FarSide
) -> None:
    add = ("notifications", "add", "webhook", "--to-file", "-", "--event", "gate_opened", "--vertical", "line")
    slip = await operator.says(*add[:-1], "lin", types=far.url)
    assert (slip.exit_code, "the nearest is line." in slip.stderr) == (REFUSED, True)
    quiet = ("--quiet", "22:00-22:01", "--timezone", "Europe/Vienna", "--description", "the desk")
    made = await operator.reads(*add, *quiet, types=far.url)
    assert (made["quiet_hours"]["from"], made["verticals"], made["url"]) == ("22:00", ["line"], f"{far.url}/…")
    assert made["secret"].startswith("whsec_")
    begins = made["id"][:30]
    listed = (await operator.says("notifications", "ls")).stdout
    for text in (made["id"], ann.email, "at once, not 22:00-22:01 Europe/Vienna", "the desk"):
        assert text in listed
    assert (await operator.reads("notifications", "test", begins))["ok"]
    run = await ann.start("line", {"amount": 1})
    async with asyncio.timeout(PATIENCE_S):
        while not (sent := await operator.reads("notifications", "deliveries", begins)) or not sent[0]["attempts"]:
            pass
    assert sent[0]["run_id"] == run["id"]
    again = await operator.reads("notifications", "redeliver", begins, sent[0]["id"][:38])
    assert again["status"] == "pending"
    assert (await operator.says("notifications", "rm", begins, types="n\n")).exit_code == REFUSED
    assert (await operator.reads("notifications", "rm", begins, "--yes")) == {"deleted": made["id"]}
    assert await operator.reads("notifications", "ls") == []
    assert (await operator.says("notifications", "add", "webhook", "--quiet", "9-10")).exit_code == 2


async def test_a_test_that_is_not_taken_says_why(operator: Operator, far: FarSide) -> None:
    await operator.says("webhooks", "add", far.url)
    taken = await operator.says("webhooks", "test", far.url)
    assert (taken.exit_code, taken.stdout.startswith("taken, status 200 in ")) == (0, True)
    far.status = 500
    assert (await operator.says("webhooks", "test", far.url)).exit_code == REFUSED
    assert (await operator.says("webhooks", "test", far.url, "--json")).exit_code == REFUSED
