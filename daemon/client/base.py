"""The base of the client: requests whose responses are models, and lists over all pages."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from http import HTTPStatus
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlsplit

from pydantic import BaseModel, TypeAdapter

from daemon.client.errors import Problem
from daemon.client.transport import ApiRequest, ApiResponse, Patience, Transport, keyed, path

T = TypeVar("T")
R = TypeVar("R", bound=BaseModel)
_NEXT = re.compile(r"<([^<>]*)>\s*;[^,<]*\brel=\"?next\"?")
TIMEOUT_S = 75.0


class BaseClient:
    """Speaks to the service at an address; `timeout_s` bounds each attempt."""

    def __init__(
        self, base_url: str, token: str = "", *, patience: Patience | None = None, timeout_s: float = TIMEOUT_S
    ) -> None:
        self._transport = Transport(base_url, token, patience or Patience(), timeout_s)

    async def _get(self, model: type[R], *segments: str, query: Mapping[str, str] | None = None) -> R:
        return (await self._transport.send(ApiRequest("GET", path(*segments), query or {}))).read(model)

    async def _put(self, model: type[R], *segments: str, body: Mapping[str, Any]) -> R:
        return (await self._transport.send(ApiRequest("PUT", path(*segments), body=body))).read(model)

    async def _post(
        self,
        model: type[R],
        address: str,
        body: Mapping[str, Any],
        *,
        key: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> R:
        """Send a command that counts once: under this key, or under a fresh one."""
        request = ApiRequest("POST", address, body=body, headers={**keyed(key), **(headers or {})})
        return (await self._transport.send(request)).read(model)

    async def _post_once(self, model: type[R], *segments: str, body: Mapping[str, Any]) -> R:
        """Send what must not be repeated when its response is lost."""
        request = ApiRequest("POST", path(*segments), body=body, repeatable=False)
        return (await self._transport.send(request)).read(model)

    async def _delete(self, *segments: str) -> None:
        try:
            await self._transport.send(ApiRequest("DELETE", path(*segments)))
        except Problem as problem:
            if problem.status != HTTPStatus.NOT_FOUND:
                raise  # else it is gone, perhaps by an attempt whose response was lost

    async def _all(
        self, address: str, adapter: TypeAdapter[list[T]], query: Mapping[str, str] | None = None
    ) -> AsyncIterator[T]:
        page: Mapping[str, str] | None = query or {}
        while page is not None:
            response = await self._transport.send(ApiRequest("GET", address, page))
            for one in response.read_as(adapter):
                yield one
            page = _next_page(response)


def _next_page(response: ApiResponse) -> Mapping[str, str] | None:
    """The query of the next page; not its path, which a proxy may have changed."""
    found = _NEXT.search(response.headers.get("Link", ""))
    return None if found is None else dict(parse_qsl(urlsplit(found[1]).query))


def filters(**members: str | datetime | None) -> dict[str, str]:
    """The query of a list, without the filters that are None."""
    return {
        name: value.isoformat() if isinstance(value, datetime) else value
        for name, value in members.items()
        if value is not None
    }


def given(**members: Any) -> dict[str, Any]:
    """The members that are not None."""
    return {name: value for name, value in members.items() if value is not None}


def waiting(wait_s: int | None) -> dict[str, str]:
    if wait_s is None:
        return {}
    return {"Prefer": f"wait={wait_s}" if wait_s else "respond-async"}
