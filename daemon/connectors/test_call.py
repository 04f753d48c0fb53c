"""Test calls of connectors, without a run."""

from __future__ import annotations

from functools import partial
from typing import Any

from msgspec.structs import replace

from actors.core.calls import Connector, Request, prepare
from actors.core.template import Node
from daemon.connectors.http import HttpConnector, HttpResponse, SendFailed
from daemon.connectors.responses import ResponseReader
from daemon.connectors.results import succeeded, why_not
from daemon.connectors.retry import Retrier
from daemon.connectors.send_check import SendCheck


class ConnectorTester:
    """Tests connectors with one call each, within the limits of all calls."""

    def __init__(self, http: HttpConnector, send_check: SendCheck, retrier: Retrier, responses: ResponseReader) -> None:
        self._http = http
        self._send_check = send_check
        self._retrier = retrier
        self._responses = responses

    async def test(self, company_id: str, connector: Connector, secret: str | None) -> dict[str, Any]:
        """Test a connector with one call; never fails because of the server.

        The stored secret is used only without a given one and for the same origin; an open circuit
        is ignored.
        """
        try:
            if secret is None:
                secret = await self._send_check.secret_for(company_id, connector)
            answer = await self._retrier.once(company_id, partial(self._attempt, company_id, connector, secret))
        except SendFailed as none:
            return _tested(ok=False, status_code=none.status_code, error=none.detail)
        ok = succeeded(answer.status)
        error = None if ok else why_not(answer)
        return _tested(ok=ok, status_code=answer.status, latency_ms=answer.latency_ms, body=answer.body, error=error)

    async def _attempt(self, company_id: str, connector: Connector, secret: str | None) -> HttpResponse:
        request, timeout_s = _request(connector), connector.timeout_s
        answer = await self._http.send(request, secret=secret, connector=connector, headers={}, timeout_s=timeout_s)
        return await self._responses.masked(company_id, connector, secret, answer)


def _tested(
    *, ok: bool, status_code: int | None, error: str | None, latency_ms: int | None = None, body: Any = None
) -> dict[str, Any]:
    return {"ok": ok, "status_code": status_code, "latency_ms": latency_ms, "body": body, "error": error}


def _request(connector: Connector) -> Request:
    """The request of a run without inputs and facts; maps are left out."""
    bare = replace(connector, query_map=None, body_map=None, reversible=True)
    request = prepare(Node(connector.tool_id, "task", connector.tool_id), {connector.tool_id: bare}, {}, {})
    if not isinstance(request, Request):
        raise TypeError("without maps nothing can be missing")
    return request
