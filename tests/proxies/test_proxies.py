"""Behind nginx and HAProxy, configured as docs/guides/install.md says: streams, limits, slow
clients and overload.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from daemon.settings import Settings
from daemon.web.middleware.in_flight import IN_FLIGHT
from tests.attack.wire import Answer
from tests.bench.servers import free_port
from tests.load.pump import wire
from tests.proxies.behind import PROXIES, Proxy, behind, program
from tests.web.test_connections import HEALTH, LOGIN, PATIENCE_S, Entrance, code_of, entrance, register

PACKAGES = "apt-get install nginx haproxy"
ASKED = 800


@pytest.fixture(params=PROXIES)
def name(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    if program(found) is None:
        pytest.skip(f"There is no {found} here: {PACKAGES}")
    return found


@asynccontextmanager
async def served(name: str, folder: Path, settings: Settings, **how: Any) -> AsyncIterator[tuple[Entrance, Proxy]]:
    """A service that believes its proxy, and the proxy."""
    (own := folder / "proxy").mkdir()
    async with (
        entrance(settings, trusted_proxies="127.0.0.1", **how) as here,
        behind(name, own, here.port) as proxy,
    ):
        yield here, proxy


def bearer(token: str, **more: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}", **more}


async def test_a_request_passes_and_keeps_its_id(name: str, tmp_path: Path, settings: Settings) -> None:
    async with served(name, tmp_path, settings) as (here, proxy):
        token = await register(here, "ann")
        line = await proxy.line()
        body = json.dumps({"vertical": "quick"}).encode()
        mine, other = await line.ask(
            wire("POST", "/process-runs/", body, bearer(token, **{"X-Request-ID": "mine"})),
            wire("GET", "/auth/me", headers=bearer(token, **{"X-Request-ID": 'not "mine"'})),
        )
        assert (mine.status, mine.headers["x-request-id"]) == (201, "mine")
        assert other.status == 200
        assert other.headers["x-request-id"] != 'not "mine"'


async def test_events_come_through_as_they_happen(name: str, tmp_path: Path, settings: Settings) -> None:
    async with served(name, tmp_path, settings) as (here, proxy):
        token = await register(here, "ann")
        line = await proxy.line()
        body = json.dumps({"vertical": "line", "inputs": {"amount": 1}}).encode()
        (run,) = await line.ask(wire("POST", "/process-runs/", body, bearer(token)))
        path = f"/process-runs/{run.json['id']}"
        stream = await proxy.line(wire("GET", f"{path}/events", headers=bearer(token, Accept="text/event-stream")))
        async with asyncio.timeout(10):
            await stream.reader.readuntil(b"event: gate_opened")
            verdict = json.dumps({"gate": "signoff", "decision": "approved"}).encode()
            (done,) = await line.ask(wire("POST", f"{path}/resume", verdict, bearer(token)))
            assert done.status == 200
            await stream.reader.readuntil(b"event: verdict_given")


async def test_each_client_has_its_own_limit_whatever_it_says_of_its_address(
    name: str, tmp_path: Path, settings: Settings
) -> None:
    async with served(name, tmp_path, settings, rate_limits=True) as (_, proxy):

        async def log_in(address: str, email: str, claimed: str) -> int:
            body = json.dumps({"email": email, "password": "wrong horse"}).encode()
            line = await proxy.line(address=address)
            claims = {"X-Forwarded-For": claimed, "Forwarded": f"for={claimed}"}
            (answer,) = await line.ask(wire("POST", "/auth/login", body, claims))
            return answer.status

        tries = [await log_in("127.0.0.2", "a@a.test", f"203.0.113.{n}") for n in range(6)]
        assert tries == [401] * 5 + [429]
        assert await log_in("127.0.0.3", "a@a.test", "203.0.113.9") == 401


async def test_too_much_of_one_address_is_429_in_the_form_of_the_contract(
    name: str, tmp_path: Path, settings: Settings
) -> None:
    async with served(name, tmp_path, settings) as (_, proxy):

        async def ask(times: int) -> list[Answer]:
            line = await proxy.line(address="127.0.0.2")
            return [(await line.ask(HEALTH))[0] for _ in range(times)]  # which looks at the form

        answers = [one for some in await asyncio.gather(*(ask(ASKED // 8) for _ in range(8))) for one in some]
        refused = [one for one in answers if one.status == 429]
        assert refused
        assert {code_of(one) for one in refused} == {(429, "rate_limited")}
        assert {one.status for one in answers} == {200, 429}
        assert [one.status for one in await (await proxy.line(address="127.0.0.3")).ask(HEALTH)] == [200]


async def test_an_overloaded_service_says_so_through_the_proxy(name: str, tmp_path: Path, settings: Settings) -> None:
    async with served(name, tmp_path, settings, requests_max=1, request_queue_max=0) as (here, proxy):
        await here.admission.acquire("somebody")
        line = await proxy.line()
        refused, health = await line.ask(LOGIN, HEALTH)
        assert code_of(refused) == (503, "overloaded")
        assert (refused.json["outcome"], health.status) == ("not_applied", 200)
        here.admission.release()


async def test_a_slow_client_is_the_proxys_business(name: str, tmp_path: Path, settings: Settings) -> None:
    async with served(name, tmp_path, settings) as (here, proxy):
        slow = [await proxy.line(LOGIN[:-10]) for _ in range(20)]
        slow += [await proxy.line(LOGIN[:40]) for _ in range(20)]
        assert [answer.status for answer in await (await proxy.line()).ask(HEALTH)] == [200]
        assert here.server.runner.app[IN_FLIGHT].count == 0
        async with asyncio.timeout(30):
            for line in slow[:20]:
                with suppress(ConnectionResetError):
                    await line.reader.read()
        assert here.server.runner.app[IN_FLIGHT].count == 0


async def test_a_body_that_is_too_large_is_413_in_the_form_of_the_contract(
    name: str, tmp_path: Path, settings: Settings
) -> None:
    async with served(name, tmp_path, settings) as (_, proxy):
        (answer,) = await (await proxy.line()).ask(wire("POST", "/auth/login", b" " * 1_048_577))
        assert code_of(answer) == (413, "too_large")


@pytest.mark.parametrize("daemons", [1, 3])
async def test_where_no_daemon_answers_the_proxy_says_in_the_form_of_the_contract_that_the_outcome_is_unknown(
    name: str, daemons: int, tmp_path: Path
) -> None:
    async with behind(name, tmp_path, *(free_port() for _ in range(daemons))) as proxy:
        (answer,) = await (await proxy.line()).ask(wire("POST", "/process-runs/", b"{}", {"X-Request-ID": "mine"}))
    assert code_of(answer) == (503, "store_unavailable")
    assert (answer.json["status"], answer.json["retryable"], answer.json["outcome"]) == (503, True, "unknown")
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.headers["retry-after"], answer.headers["x-request-id"], answer.json["request_id"]) == (
        "1",
        "mine",
        "mine",
    )


async def test_a_request_whose_daemon_breaks_off_is_not_sent_to_the_next_and_told_as_unknown(
    name: str, tmp_path: Path
) -> None:
    """Each daemon takes what is sent and ends the connection without an answer."""
    taken = []

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            if not head.startswith(b"GET /health"):
                taken.append(head)
        writer.transport.abort()

    servers = [await asyncio.start_server(take, "127.0.0.1", 0) for _ in range(3)]
    ports = [one.sockets[0].getsockname()[1] for one in servers]
    async with behind(name, tmp_path, *ports) as proxy:
        (answer,) = await (await proxy.line()).ask(wire("POST", "/process-runs/", b"{}"))
        assert (code_of(answer), answer.json["outcome"]) == ((503, "store_unavailable"), "unknown")
        assert len(taken) == 1
    for one in servers:
        one.close()


async def test_a_daemon_that_lives_answers_for_those_that_are_dead(
    name: str, tmp_path: Path, settings: Settings
) -> None:
    (own := tmp_path / "proxy").mkdir()
    async with (
        entrance(settings, trusted_proxies="127.0.0.1") as here,
        behind(name, own, free_port(), here.port, free_port()) as proxy,
    ):
        token = await register(here, "ann")
        body = json.dumps({"vertical": "quick"}).encode()
        for _ in range(6):
            (answer,) = await (await proxy.line()).ask(wire("POST", "/process-runs/", body, bearer(token)))
            assert answer.status == 201


async def test_daemons_that_are_all_unwell_are_asked_all_the_same(tmp_path: Path) -> None:
    """As with a full database, where they still answer reads."""
    if program("haproxy") is None:
        pytest.skip(f"There is no haproxy here: {PACKAGES}")
    checks, out = Counter[int](), asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        checked = (await reader.readuntil(b"\r\n\r\n")).startswith(b"GET /health")
        checks[writer.get_extra_info("sockname")[1]] += checked
        if len(checks) == 3 and min(checks.values()) > 2:  # the second has failed where there is a third
            out.set()
        writer.write(b"HTTP/1.1 503 Unwell\r\nContent-Length: 0\r\n\r\n" if checked else b"HTTP/1.1 204 Read\r\n\r\n")
        writer.close()

    servers = [await asyncio.start_server(answer, "127.0.0.1", 0) for _ in range(3)]
    async with behind("haproxy", tmp_path, *(one.sockets[0].getsockname()[1] for one in servers)) as proxy:
        async with asyncio.timeout(PATIENCE_S):
            await out.wait()
        line = await proxy.line(wire("GET", "/process-runs/"))
        assert (await line.reader.readline()).startswith(b"HTTP/1.1 204")
    for one in servers:
        one.close()


def test_haproxy_finds_nothing_wrong_with_its_configuration(tmp_path: Path) -> None:
    where = program("haproxy")
    if where is None:
        pytest.skip(f"There is no haproxy here: {PACKAGES}")
    for daemons in ((8080,), (8080, 8081, 8082)):
        command = [where, "-c", *PROXIES["haproxy"](tmp_path, 443, *daemons)[2:]]
        checked = subprocess.run(command, capture_output=True, text=True, check=False)
        assert checked.returncode == 0, checked.stdout + checked.stderr
        assert "WARNING" not in checked.stdout + checked.stderr
