"""Test calls of connectors, without a run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from msgspec.structs import replace

from actors.core.calls import Connector, Missing, Request, prepare, shown
from actors.core.template import Node
from actors.ports import Asker
from daemon.connectors.credentials import secrets_of
from daemon.connectors.http import HttpConnector, HttpResponse, SendFailed
from daemon.connectors.responses import ResponseReader, succeeded, why_not
from daemon.connectors.retry import Retrier
from daemon.connectors.sending import SendCheck
from daemon.connectors.tokens import AccessTokens

HARMLESS = frozenset({"GET"})


@dataclass(frozen=True, slots=True)
class Samples:
    """What stands for a run; without both, nothing is mapped. `send` where it is asked for."""

    inputs: dict[str, Any] | None = None
    facts: dict[str, Any] | None = None
    send: bool | None = None


NO_SAMPLES = Samples()


class ConnectorTester:
    """Tests connectors with one call each, within the limits of all calls."""

    def __init__(
        self,
        http: HttpConnector,
        send_check: SendCheck,
        retrier: Retrier,
        responses: ResponseReader,
        tokens: AccessTokens,
    ) -> None:
        self._http = http
        self._send_check = send_check
        self._retrier = retrier
        self._responses = responses
        self._tokens = tokens

    async def test(
        self, company_id: str, connector: Connector, secret: str | None, samples: Samples = NO_SAMPLES
    ) -> dict[str, Any]:
        """Test a connector with one call; never fails because of the server.

        The stored secret is used only without a given one and for the same origin; an open circuit
        is ignored. What may change something is sent only when asked to.
        """
        prepared = _prepared(connector, samples)
        if isinstance(prepared, Missing):
            lacking = f"The samples lack {', '.join(prepared.keys)}; nothing was sent."
            return {**_tested(prepared.partial, error=lacking), "missing": prepared.keys}
        asked = connector.method in HARMLESS if samples.send is None else samples.send
        if not asked:
            return _tested(
                prepared, error=f"A {connector.method} is sent only with `send`; this is what would be sent."
            )
        try:
            if secret is None:
                secret = await self._send_check.secret_for(company_id, connector)
            attempt = partial(self._attempt, company_id, connector, secret, prepared)
            answer, output = await self._retrier.once(company_id, attempt)
        except SendFailed as none:
            return _tested(prepared, sent=none.maybe_sent, status_code=none.status_code, error=none.detail)
        error = None if succeeded(answer.status) else why_not(answer)
        return _tested(prepared, sent=True, answer=answer, output=output, status_code=answer.status, error=error)

    async def _attempt(
        self, company_id: str, connector: Connector, secret: str | None, request: Request
    ) -> tuple[HttpResponse, Any]:
        """The whole response, and what a run would take of it."""
        send = partial(self._send, connector, request)
        answer, tokens = await self._tokens.through(company_id, connector, secret, send)
        secrets = (*secrets_of(connector, secret), *tokens)
        taken = await self._responses.take_in(Asker(company_id), connector, secrets, answer)
        return await self._responses.masked(company_id, secrets, answer), taken.body

    async def _send(self, connector: Connector, request: Request, secret: str | None) -> HttpResponse:
        timeout_s = connector.timeout_s
        return await self._http.send(request, secret=secret, connector=connector, headers={}, timeout_s=timeout_s)


def _tested(
    request: Request | None,
    *,
    error: str | None,
    sent: bool = False,
    status_code: int | None = None,
    answer: HttpResponse | None = None,
    output: Any = None,
) -> dict[str, Any]:
    return {
        "ok": error is None,
        "status_code": status_code,
        "latency_ms": None if answer is None else answer.latency_ms,
        "body": None if answer is None else answer.body,
        "error": error,
        "sent": sent,
        "request": shown(request),
        "missing": (),
        "output": None if error is not None else output,
    }


def _prepared(connector: Connector, samples: Samples) -> Request | Missing:
    """The request of a run with these inputs and facts; without any, maps are left out."""
    live = replace(connector, reversible=True)
    if samples.inputs is None and samples.facts is None:
        live = replace(live, query_map=None, body_map=None)
    node = Node(connector.tool_id, "task", connector.tool_id)
    return prepare(node, {connector.tool_id: live}, samples.inputs or {}, samples.facts or {})
