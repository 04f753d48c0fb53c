"""What of a response may enter a run: masked, with its signal, and in short if it is a failure."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol

from actors.core.calls import Connector
from daemon.connectors.auth import Masker, excerpt, secrets_of
from daemon.connectors.http import HttpResponse
from daemon.connectors.results import output_of, succeeded
from daemon.runtime.offload import Offload


class SignalReader(Protocol):
    async def value(self, company_id: str, rule: str, status: int, body: Any, size: int) -> Any:
        """The signal in a response of so many bytes; a rule without an answer counts as a hit."""


class ResponseReader:
    """Takes in responses; long ones beside the event loop."""

    def __init__(self, signals: SignalReader, offload: Offload) -> None:
        self._signals = signals
        self._offload = offload

    async def take_in(
        self, company_id: str, connector: Connector, secret: str | None, answer: HttpResponse
    ) -> HttpResponse:
        """A success with its signal, or a failure with an excerpt; no secret is left in it."""
        secrets = secrets_of(connector, secret)
        if not succeeded(answer.status):
            cut = await self._offload.sized(company_id, answer.size, lambda: excerpt(answer.body, secrets))
            return replace(answer, body=cut)
        signal, output = None, output_of(answer)
        if connector.signal_rule is not None:
            signal = await self._signals.value(company_id, connector.signal_rule, answer.status, output, answer.size)
        masker = Masker(secrets)
        body, signal = await self._offload.sized(
            company_id, answer.size, lambda: (masker.value(output), masker.value(signal))
        )
        return replace(answer, body=body, signal=signal)

    async def masked(
        self, company_id: str, connector: Connector, secret: str | None, answer: HttpResponse
    ) -> HttpResponse:
        """The whole response without its secrets."""
        masker = Masker(secrets_of(connector, secret))
        return replace(
            answer, body=await self._offload.sized(company_id, answer.size, lambda: masker.value(answer.body))
        )
