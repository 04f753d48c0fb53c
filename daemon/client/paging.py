"""What every part of the client has: an exchange with the service, what is read and deleted, lists over all pages."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from http import HTTPStatus
from typing import TypeVar
from urllib.parse import parse_qsl, urlsplit

from pydantic import BaseModel, TypeAdapter

from daemon.client.errors import Problem
from daemon.client.http import Answer, Ask, Exchange, Patience, path

T = TypeVar("T")
R = TypeVar("R", bound=BaseModel)
_NEXT = re.compile(r"<([^>]*)>\s*;[^,]*\brel=\"?next\"?")
TIMEOUT_S = 75.0


class Paging:
    """An exchange with the service at an address."""

    def __init__(
        self, base_url: str, token: str = "", *, patience: Patience | None = None, timeout_s: float = TIMEOUT_S
    ) -> None:
        """Speak to the service at that address; ValueError when it is none. `timeout_s` bounds each attempt."""
        self._exchange = Exchange(base_url, token, patience or Patience(), timeout_s)

    async def _read(self, model: type[R], *segments: str) -> R:
        """What stands under a path."""
        return (await self._exchange.send(Ask("GET", path(*segments)))).read(model)

    async def _delete(self, *segments: str) -> None:
        """See to it that nothing stands under a path, which may not have been there before."""
        try:
            await self._exchange.send(Ask("DELETE", path(*segments)))
        except Problem as problem:
            if problem.status != HTTPStatus.NOT_FOUND:
                raise  # else it is gone, perhaps by an attempt whose answer was lost

    async def _all(
        self, address: str, adapter: TypeAdapter[list[T]], query: Mapping[str, str] | None = None
    ) -> AsyncIterator[T]:
        """What a list holds, page after page."""
        page: Mapping[str, str] | None = query or {}
        while page is not None:
            answer = await self._exchange.send(Ask("GET", address, page))
            for one in answer.read_as(adapter):
                yield one
            page = _next_page(answer)


def _next_page(answer: Answer) -> Mapping[str, str] | None:
    """The query of the next page; its path is ours, so that a proxy may have put another in front of it."""
    found = _NEXT.search(answer.headers.get("Link", ""))
    return None if found is None else dict(parse_qsl(urlsplit(found[1]).query))
