"""Where connectors may not go: every way to write a target inside, and nothing inside is ever
connected to.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from actors.core.calls import CallRequest, Connector
from daemon.connectors.egress import EgressGuard
from daemon.connectors.http import HttpConnector, SendFailed
from daemon.settings import Settings
from tests.effects.forms import FIRST, FORMS, LOCATIONS, NAMES, STATUSES
from tests.web.support import Answer, Clients, House, Person, assert_invalid

TEMPLATES = Path(__file__).parents[1] / "web" / "templates"
Opened = Callable[..., Awaitable[Person]]


class Outside:
    """The network: a canary that counts who comes, names in place of the system's, and a note of
    each connect.
    """

    def __init__(self) -> None:
        self.port = 0
        self.came = 0
        self.connects: list[Any] = []
        self.asked: set[str] = set()
        self.first = dict(FIRST)

    async def listen(self) -> list[asyncio.Server]:
        """The canary, on both loopback addresses where there are two."""
        servers = [await asyncio.start_server(self._greet, "127.0.0.1", 0)]
        self.port = servers[0].sockets[0].getsockname()[1]
        with suppress(OSError):
            servers.append(await asyncio.start_server(self._greet, "::1", self.port))
        return servers

    async def _greet(self, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.came += 1
        writer.close()

    def resolve(self, host: str, port: int, family: int = 0, *_: Any, **__: Any) -> list[Any]:
        """What getaddrinfo gives; addresses are read as the C library reads them, 127.1 and
        0x7f000001 too.
        """
        name = str(host).lower().removesuffix(".")
        name.encode("idna")
        if name not in NAMES:
            return _real_getaddrinfo(host, port, family, socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
        self.asked.add(name)
        found = self.first.pop(name, NAMES[name])
        if not found:
            raise socket.gaierror(socket.EAI_NODATA, "no address")
        return [_info(address, port) for address in found]


_real_getaddrinfo = socket.getaddrinfo
_real_connect = socket.socket.connect


def _info(address: str, port: int) -> tuple[int, int, int, str, tuple[Any, ...]]:
    if ":" in address:
        return socket.AF_INET6, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (address, port, 0, 0)
    return socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (address, port)


@pytest.fixture
async def outside(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Outside]:
    one = Outside()

    def connect(sock: socket.socket, address: Any) -> None:
        one.connects.append(address)
        _real_connect(sock, address)

    monkeypatch.setattr(socket, "getaddrinfo", one.resolve)
    monkeypatch.setattr(socket.socket, "connect", connect)
    servers = await one.listen()
    yield one
    for server in servers:
        server.close()
        await server.wait_closed()


@pytest.fixture
async def opened(tmp_path: Path, aiohttp_client: Clients, outside: Outside) -> AsyncIterator[Opened]:
    """Opens a service with an allow list, and registers somebody; connects to the service itself
    are not noted.
    """
    houses: list[House] = []

    async def open_one(egress_allow: str = "") -> Person:
        settings = Settings(
            data_dir=tmp_path / "data",
            templates_dir=TEMPLATES,
            egress_allow=egress_allow,
            rate_limits=False,
            drain_timeout_s=1,
        )
        house = House(settings, aiohttp_client)
        houses.append(house)
        await house.open()
        ann = await house.register("ann")
        outside.connects.clear()
        return ann

    yield open_one
    for house in houses:
        await house.close()


def inner(person: Person, outside: Outside) -> list[Any]:
    """The connects that were not ours to the service."""
    ours = person.house.client.port
    return [address for address in outside.connects if address[1] != ours]


async def told(person: Person, url: str) -> None:
    """Keeping, trying and calling that target each end with a sentence that says why not."""
    body = {"base_url": url, "method": "POST", "path": "/do", "reversible": True, "retries": 0, "timeout_s": 5}
    kept = await person.put("/connectors/answers", body)
    tried = await person.post("/connectors/answers/test", {**body, "reversible": False, "send": True})
    if kept.status == 422:
        assert_invalid(kept, "/base_url")
        assert_invalid(tried, "/base_url")
        return
    assert kept.status in {200, 201}, kept.raw
    refused(tried)
    run = await person.start("quick")
    error = run["error"]
    assert (run["status"], error["step_id"], error["code"]) == ("failed", "ask", "egress_refused"), run
    assert error["detail"].endswith(".")


def refused(tried: Answer) -> None:
    """422, or for a name the one sentence that says nothing of its addresses."""
    if tried.status == 422:
        assert_invalid(tried, "/base_url")
        return
    assert (tried.status, tried.json["ok"], tried.json["status_code"]) == (200, False, None), tried.raw
    assert "may not be called from here" in tried.json["error"] or "resolve" in tried.json["error"]
    assert tried.json["error"].endswith(".")


def test_there_are_eighty_forms_and_more() -> None:
    assert len({form for forms in FORMS.values() for form in forms}) >= 190


@pytest.mark.parametrize("group", FORMS)
async def test_with_nothing_allowed_no_form_of_an_inner_target_is_connected_to(
    opened: Opened, outside: Outside, group: str
) -> None:
    ann = await opened()
    for form in FORMS[group]:
        url = form.replace("{port}", str(outside.port))
        try:
            await told(ann, url)
        except AssertionError as error:
            raise AssertionError(f"{url!a}: {error}") from error
        assert (outside.came, inner(ann, outside)) == (0, []), url
    assert outside.asked or not group.startswith("names"), "names are looked up here, and not in the world"


@pytest.mark.parametrize("group", [group for group in FORMS if group != "names that change their minds"])
async def test_the_last_gate_by_itself_refuses_every_form_before_anything_is_sent(outside: Outside, group: str) -> None:
    connector = Connector("tool", 1, "http://host.invalid", "POST", "")
    async with HttpConnector(EgressGuard()) as http:
        for form in FORMS[group]:
            request = CallRequest(
                tool="tool", mode="live", method="POST", url=form.replace("{port}", str(outside.port))
            )
            with pytest.raises(SendFailed) as failed:
                await http.send(request, secret=None, connector=connector, headers={}, timeout_s=5)
            assert failed.value.code in {"bad_url", "egress_refused"}, form
            assert (failed.value.maybe_sent, failed.value.detail[-1]) == (False, "."), form
    assert (outside.came, outside.connects) == (0, [])


async def test_a_redirect_from_an_allowed_far_side_leads_nowhere(opened: Opened, outside: Outside) -> None:
    answers: list[tuple[int, str]] = []

    async def redirect(_: web.Request) -> web.Response:
        status, location = answers[-1]
        return web.Response(status=status, headers={"Location": location})

    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", redirect)
    async with TestServer(app, host="127.0.0.2") as far:
        ann = await opened("127.0.0.2/32")
        target = {"base_url": str(far.make_url("/")), "method": "POST"}
        await ann.connect("answers", target["base_url"])
        for status in STATUSES:
            for location in LOCATIONS:
                answers.append((status, location.replace("{port}", str(outside.port))))
                tried = await ann.post("/connectors/answers/test", {**target, "send": True})
                assert (tried.json["ok"], tried.json["status_code"]) == (False, status), tried.raw
                run = await ann.start("quick")
                assert (run["status"], run["error"]["status_code"]) == ("failed", status)
                assert "redirects are not followed" in run["error"]["detail"]
        assert {address[0] for address in inner(ann, outside)} == {"127.0.0.2"}
    assert outside.came == 0


async def test_an_allowed_address_opens_none_of_its_neighbours(opened: Opened, outside: Outside) -> None:
    ann = await opened("127.0.0.2/32")
    for host in ("127.0.0.1", "[::1]", "127.0.0.3", "[::ffff:127.0.0.2]", "[::127.0.0.2]", "[64:ff9b::7f00:2]"):
        await told(ann, f"http://{host}:{outside.port}")
    assert (outside.came, inner(ann, outside)) == (0, [])


async def test_the_metadata_addresses_stay_closed_when_everything_else_is_open(
    opened: Opened, outside: Outside
) -> None:
    ann = await opened("0.0.0.0/0, ::/0")
    for url in FORMS["metadata addresses"]:
        await told(ann, url)
    assert inner(ann, outside) == []


async def test_the_canary_notices_whoever_is_allowed_to_come(opened: Opened, outside: Outside) -> None:
    ann = await opened("127.0.0.1/32")
    tried = await ann.post("/connectors/answers/test", {"base_url": f"http://127.0.0.1:{outside.port}"})
    assert (tried.status, tried.json["ok"]) == (200, False)
    assert (outside.came, inner(ann, outside)) == (1, [("127.0.0.1", outside.port)])
