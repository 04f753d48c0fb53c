"""Access tokens of OAuth 2 client credentials (RFC 6749, section 4.4)."""

from __future__ import annotations

import asyncio
import time
from base64 import b64encode
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import quote_plus
from weakref import WeakValueDictionary

from actors.core.calls import Connector
from daemon.connectors.http import HttpConnector, HttpResponse, SendFailed

HELD_MAX = 10_000
LIFE_S = 300.0
LIFE_MAX_S = 86_400.0
MARGIN_S = 30.0
TIMEOUT = "timeout"
UNAUTHORIZED = 401
SERVER_ERROR = 500
OK = 200


class Token(NamedTuple):
    """An access token, and when it is of no use any more on the clock."""

    text: str
    until_s: float


@dataclass(eq=False)
class TokenQueue:
    """Who waits for a token of a connector; a time-out of the server is one for all of them."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    timed_out: SendFailed | None = None


class AccessTokens:
    """Gets tokens with a connector's client secret, and keeps them until they expire.

    They are in memory alone. A version of a connector has one at a time; what is only tested is
    version 0, whose token is not kept.
    """

    def __init__(self, http: HttpConnector, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._http = http
        self._monotonic = monotonic
        self._held: OrderedDict[tuple[str, str, int], Token] = OrderedDict()
        self._queues: WeakValueDictionary[tuple[str, str, int], TokenQueue] = WeakValueDictionary()

    async def through(
        self,
        company_id: str,
        connector: Connector,
        secret: str | None,
        send: Callable[[str | None], Awaitable[HttpResponse]],
    ) -> tuple[HttpResponse, tuple[str, ...]]:
        """Send with what stands for the secret; returns the response and the tokens it was sent.

        At 401 nothing was done: the call is sent once more, with a new token.
        """
        if connector.auth_type != "oauth2" or secret is None:
            return await send(secret), ()
        token = await self._token(company_id, connector, secret, not_this=None)
        answer = await send(token)
        if answer.status != UNAUTHORIZED:
            return answer, (token,)
        fresh = await self._token(company_id, connector, secret, not_this=token)
        return await send(fresh), (token, fresh)

    async def _token(self, company_id: str, connector: Connector, secret: str, not_this: str | None) -> str:
        """A token that is neither over nor the one that was refused; one is asked for at a time."""
        key = (company_id, connector.tool_id, connector.version)
        queue = self._queues.setdefault(key, TokenQueue())
        earlier = queue.timed_out
        async with queue.lock:
            held = self._held.get(key)
            if held is not None and held.text != not_this and self._monotonic() < held.until_s:
                return held.text
            if connector.version and queue.timed_out is not None and queue.timed_out is not earlier:
                raise queue.timed_out.with_traceback(None)
            try:
                token = await self._asked(connector, secret)
            except SendFailed as failed:
                queue.timed_out = failed if failed.code == TIMEOUT else None
                raise
            if connector.version:
                self._held[key] = token
                self._held.move_to_end(key)
                if len(self._held) > HELD_MAX:
                    self._held.popitem(last=False)
            return token.text

    async def _asked(self, connector: Connector, secret: str) -> Token:
        """A new token; SendFailed if the server gives none, and nothing of the call was sent."""
        form = {"grant_type": "client_credentials", "scope": connector.scope, "audience": connector.audience}
        client = f"{quote_plus(connector.client_id or '')}:{quote_plus(secret)}"
        headers = {"Authorization": f"Basic {b64encode(client.encode()).decode()}"}
        begun = self._monotonic()
        try:
            url, given = connector.token_url or "", {name: value for name, value in form.items() if value}
            answer = await self._http.post_form(url, given, headers, connector.timeout_s)
        except SendFailed as none:
            raise SendFailed(none.code, f"There is no access token: {none.detail}") from None
        if answer.status != OK:
            code = "token_unavailable" if answer.status >= SERVER_ERROR else "token_refused"
            raise SendFailed(code, f"The token server answered {answer.status}.")
        body = answer.body if isinstance(answer.body, dict) else {}
        text, kind = body.get("access_token"), body.get("token_type", "Bearer")
        if not isinstance(text, str) or not text or str(kind).lower() != "bearer":
            raise SendFailed("token_refused", "The token server answered without a bearer token.")
        return Token(text, begun + _life_s(body.get("expires_in")) - MARGIN_S)


def _life_s(given: object) -> float:
    """How long a token is good for; some servers say it as text, some not at all."""
    try:
        return min(float(given), LIFE_MAX_S) if isinstance(given, str | int | float) else LIFE_S
    except ValueError:
        return LIFE_S
