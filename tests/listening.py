"""A server of a test on the loopback address."""

from __future__ import annotations

from typing import Self

from aiohttp import web
from aiohttp.test_utils import TestServer


class Listener:
    """Listens while it is entered; each request goes to `handle`, which its kind defines."""

    def __init__(self, path: str = "/{tail:.*}") -> None:
        app = web.Application()
        app.router.add_route("*", path, self.handle)
        self.server = TestServer(app, host="127.0.0.1")

    @property
    def url(self) -> str:
        return str(self.server.make_url("")).rstrip("/")

    async def handle(self, request: web.Request) -> web.StreamResponse:
        raise NotImplementedError

    async def __aenter__(self) -> Self:
        await self.server.start_server()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.server.close()
