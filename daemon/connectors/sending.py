"""What a call is sent with: its headers, its callback URL, and the check right before it."""

from __future__ import annotations

import hashlib
import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import NamedTuple, Protocol

from actors.core.calls import CallRequest, Connector
from actors.core.messages import CONNECTOR_CHANGED_CODE, CallEffect
from daemon.connectors.egress import same_origin, same_recipient
from daemon.connectors.http import SendFailed
from daemon.keys.vault import AUTH_TOKEN, SealBroken, Vault
from daemon.model import StoredConnector
from daemon.runtime.json_codec import NotJson, dumps, loads


def headers_of(call: CallEffect) -> dict[str, str]:
    """The headers of every call besides its credential."""
    return {
        "Idempotency-Key": call.key,
        "X-Penstock-Run": call.run_id,
        "X-Penstock-Step": call.step_id,
        "traceparent": traceparent(call),
    }


def traceparent(call: CallEffect) -> str:
    """The W3C trace context of a call: the caller's trace, else one per run; a span per visit."""
    span = hashlib.sha256(call.key.encode()).hexdigest()[:16]
    if call.traceparent is not None:
        version, trace, _, flags = call.traceparent.split("-")
        return f"{version}-{trace}-{span}-{flags}"
    trace = hashlib.sha256(call.run_id.encode()).hexdigest()[:32]
    return f"00-{trace}-{span}-01"


HEADER = "X-Penstock-Callback"
TOKEN_CHARS_MAX = 1_000
MAC_BYTES = 32


class CallbackVisit(NamedTuple):
    """The visit whose call is answered."""

    company_id: str
    run_id: str
    step_id: str
    visit: int


class Callbacks:
    """Makes and reads the URLs; `keys` are the current one and those before it."""

    def __init__(self, keys: Callable[[], Sequence[bytes]], public_url: str) -> None:
        self._keys = keys
        self._public_url = public_url

    def url(self, call: CallEffect) -> str:
        place = dumps([call.company_id, call.run_id, call.step_id, call.visit])
        return f"{self._public_url}/callbacks/{_encoded(_mac(self._keys()[0], place) + place)}"

    def parse(self, token: str) -> CallbackVisit | None:
        """The visit of a token; None for what this service did not sign."""
        if len(token) > TOKEN_CHARS_MAX or not token.isascii():
            return None
        try:
            data = urlsafe_b64decode(token + "=" * (-len(token) % 4))
            mac, place = data[:MAC_BYTES], data[MAC_BYTES:]
            signed = any(hmac.compare_digest(mac, _mac(key, place)) for key in self._keys())
            return CallbackVisit(*loads(place)) if signed else None
        except (ValueError, NotJson):
            return None

    def bound(self, text: str, *to: str) -> str:
        """A text that only they can hand back whom it is given to."""
        return _encoded(_mac(self._keys()[0], dumps([text, *to])) + text.encode())

    def unbound(self, token: str, *to: str) -> str | None:
        """The text of such a token; None for what was not given to these."""
        if len(token) > TOKEN_CHARS_MAX or not token.isascii():
            return None
        try:
            data = urlsafe_b64decode(token + "=" * (-len(token) % 4))
            text = data[MAC_BYTES:].decode()
        except ValueError:
            return None
        signed = any(hmac.compare_digest(data[:MAC_BYTES], _mac(key, dumps([text, *to]))) for key in self._keys())
        return text if signed else None


def _mac(key: bytes, place: bytes) -> bytes:
    return hmac.new(key, place, sha256).digest()


def _encoded(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


class ConnectorLookup(Protocol):
    async def stored(self, company_id: str, tool_id: str) -> StoredConnector | None:
        """The company's connector of that tool-id."""

    async def find_deleted(self, company_id: str, tool_id: str) -> Connector | None:
        """The connector that the last change of the tool-id deleted."""


class CallHeld(Exception):
    """The call of an action must not be made now: its agent is stopped."""


class SendCheck:
    def __init__(self, vault: Vault, lookup: ConnectorLookup) -> None:
        self._vault = vault
        self._lookup = lookup

    async def check(self, company_id: str, request: CallRequest) -> tuple[Connector, str | None]:
        """The connector and its secret; SendFailed if the call must not be sent as it was shown."""
        stored = await self._lookup.stored(company_id, request.tool)
        if stored is None or not (stored.connector.reversible or stored.connector.protocol is not None):
            raise SendFailed(CONNECTOR_CHANGED_CODE, f"{request.tool} has no live connector any more.")
        connector = stored.connector
        fits = connector.version == request.connector_version and connector.method == request.method
        if not fits or not same_origin(connector.base_url, request.url or ""):
            raise SendFailed(CONNECTOR_CHANGED_CODE, f"The connector of {request.tool} has changed since.")
        secret = await self._opened(stored)
        if secret is None and connector.auth_type != "none":
            raise SendFailed("secret_missing", f"The connector of {request.tool} has no secret any more.")
        return connector, secret

    async def find(self, company_id: str, tool: str) -> tuple[Connector | None, str | None]:
        """The tool's connector as it is now, or was before its deletion, and its secret."""
        stored = await self._lookup.stored(company_id, tool)
        if stored is None:
            return await self._lookup.find_deleted(company_id, tool), None
        return stored.connector, await self._opened(stored)

    async def secret_for(self, company_id: str, connector: Connector) -> str | None:
        """The stored secret, if the tested connector has the same origin and sends it alike."""
        if connector.auth_type == "none":
            return None
        stored = await self._lookup.stored(company_id, connector.tool_id)
        if stored is None or not same_recipient(stored.connector, connector):
            return None
        return await self._opened(stored) if _header(stored.connector) == _header(connector) else None

    async def _opened(self, stored: StoredConnector) -> str | None:
        if stored.sealed_secret is None or stored.connector.auth_type == "none":
            return None
        try:
            place = _sealed_at(stored.connector)
            return await self._vault.open(stored.company_id, place, AUTH_TOKEN, stored.sealed_secret)
        except SealBroken as broken:
            raise SendFailed("secret_unreadable", str(broken)) from None


def _sealed_at(connector: Connector) -> str:
    """Where the secret is sealed: of a tool of a server that is the server's."""
    return connector.tool_id if connector.protocol is None else "".join(connector.tool_id.partition("/")[:2])


def _header(connector: Connector) -> tuple[str, str]:
    """The header that carries the secret, and how."""
    name = connector.auth_header if connector.auth_type == "header" else None
    return connector.auth_type, (name or "Authorization").lower()
