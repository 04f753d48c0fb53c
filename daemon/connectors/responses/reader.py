"""What of a response may enter a run: masked, with its signal, and in short if it is a failure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

from actors.core.calls import Connector
from actors.ports import Asker
from daemon.connectors.auth.masking import Masker, excerpt
from daemon.connectors.http import HttpResponse
from daemon.connectors.results import output_of, succeeded
from daemon.runtime.offload import Offload


class RuleReader(Protocol):
    async def value(self, asker: Asker, rule: str, status: int, body: Any, size: int) -> Any:
        """The signal in a response of so many bytes; a rule without an answer counts as a hit."""

    async def mapped(self, asker: Asker, names: dict[str, str], body: Any, size: int) -> dict[str, Any] | None:
        """What these expressions find in a response; None if they find no end."""


class ResponseReader:
    """Takes in responses; long ones beside the event loop."""

    def __init__(self, rules: RuleReader, offload: Offload) -> None:
        self._rules = rules
        self._offload = offload

    async def take_in(
        self, asker: Asker, connector: Connector, secrets: Sequence[str], answer: HttpResponse
    ) -> HttpResponse:
        """A success with its signal, or a failure with an excerpt; no secret is left in it."""
        if not succeeded(answer.status):
            cut = await self._offload.sized(asker.company_id, answer.size, lambda: excerpt(answer.body, secrets))
            return replace(answer, body=cut)
        signal, body = None, output_of(answer)
        if connector.signal_rule is not None:
            signal = await self._rules.value(asker, connector.signal_rule, answer.status, body, answer.size)
        output = body
        if connector.response_map is not None:
            found = await self._rules.mapped(asker, connector.response_map, body, answer.size)
            # What nobody could read clears nothing.
            output, signal = (dict.fromkeys(connector.response_map), True) if found is None else (found, signal)
        masker, size = Masker(secrets), answer.size * len(connector.response_map or "1")
        output, signal = await self._offload.sized(
            asker.company_id, size, lambda: (masker.value(output), masker.value(signal))
        )
        return replace(answer, body=output, signal=signal)

    async def masked(self, company_id: str, secrets: Sequence[str], answer: HttpResponse) -> HttpResponse:
        """The whole response without its secrets."""
        masker = Masker(secrets)
        body = await self._offload.sized(company_id, answer.size, lambda: masker.value(answer.body))
        return replace(answer, body=body)
