"""What every part of the client has: an exchange with the service, and lists that go on over pages."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from typing import TypeVar
from urllib.parse import parse_qsl, urlsplit

from pydantic import TypeAdapter

from daemon.client.exchange import Answer, Ask, Exchange, Patience

T = TypeVar("T")
_NEXT = re.compile(r"<([^>]*)>\s*;[^,]*\brel=\"?next\"?")
TIMEOUT_S = 75.0


class Paging:
    """An exchange with the service at an address."""

    def __init__(
        self, base_url: str, token: str = "", *, patience: Patience | None = None, timeout_s: float = TIMEOUT_S
    ) -> None:
        """Speak to the service at that address; ValueError when it is none. `timeout_s` bounds each attempt."""
        self._exchange = Exchange(base_url, token, patience or Patience(), timeout_s)

    async def _all(
        self, path: str, adapter: TypeAdapter[list[T]], query: Mapping[str, str] | None = None
    ) -> AsyncIterator[T]:
        """What a list holds, page after page."""
        page: Mapping[str, str] | None = query or {}
        while page is not None:
            answer = await self._exchange.send(Ask("GET", path, page))
            for one in answer.read_as(adapter):
                yield one
            page = _next_page(answer)


def _next_page(answer: Answer) -> Mapping[str, str] | None:
    """The query of the next page; its path is ours, so that a proxy may have put another in front of it."""
    found = _NEXT.search(answer.headers.get("Link", ""))
    return None if found is None else dict(parse_qsl(urlsplit(found[1]).query))
