"""The outcome of a call for its run: what of a response may enter it, a failure, or unknown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Protocol

from actors.core.calls import Connector
from actors.core.messages import OUTCOME_UNKNOWN_CODE, CallAccepted, CallEffect, CallFailed, CallReturned, Failure
from actors.ports import Asker
from daemon.connectors.credentials import Masker, excerpt
from daemon.connectors.http import PASSING, HttpResponse, SendFailed
from daemon.connectors.retry import CallResult
from daemon.runtime.offload import Offload

# From a gateway, these leave the outcome unknown; 520 to 527 are Cloudflare's.
UNCLEAR_STATUSES = frozenset({502, 503, 504, *range(520, 528)})
CALL_FAILED = "call_failed"


def succeeded(status: int) -> bool:
    return 200 <= status < 300  # noqa: PLR2004 - 2xx


def returned(call: CallEffect, answer: HttpResponse, *, attempts: int, at: datetime) -> CallReturned:
    """The response, as it was taken in, as the step's output."""
    return CallReturned(
        step_id=call.step_id,
        visit=call.visit,
        output=answer.body,
        signal=answer.signal,
        attempts=attempts,
        asked=call.asked,
        at=at,
    )


def accepted(call: CallEffect, timeout_s: float, *, at: datetime) -> CallAccepted:
    """The response to a call whose answer comes later."""
    until = at + timedelta(seconds=timeout_s)
    return CallAccepted(step_id=call.step_id, visit=call.visit, until=until, asked=call.asked, at=at)


def output_of(answer: HttpResponse) -> Any:
    """The body; an empty one is an empty object."""
    return {} if answer.body is None else answer.body


def failed(call: CallEffect, settled: CallResult, *, at: datetime, maybe_sent: bool) -> CallFailed:
    """The failure of a call; `maybe_sent` if an attempt may have reached the server."""
    result = settled.result
    status = result.status if isinstance(result, HttpResponse) else result.status_code
    unknown = not call.repeatable and (
        status in UNCLEAR_STATUSES if isinstance(result, HttpResponse) else result.maybe_sent
    )
    error = Failure(
        code=OUTCOME_UNKNOWN_CODE if unknown else _code(result),
        detail=_detail(call, settled, unknown=unknown),
        step_id=call.step_id,
        attempts=settled.attempts,
        status_code=status,
        excerpt=result.body if isinstance(result, HttpResponse) else None,
        maybe_sent=maybe_sent,
    )
    return CallFailed(step_id=call.step_id, visit=call.visit, error=error, unknown=unknown, asked=call.asked, at=at)


def refused(call: CallEffect, code: str, detail: str, *, at: datetime, unknown: bool = False) -> CallFailed:
    """The failure of a call that was not attempted."""
    error = Failure(code=code, detail=detail, step_id=call.step_id, maybe_sent=unknown)
    return CallFailed(step_id=call.step_id, visit=call.visit, error=error, unknown=unknown, asked=call.asked, at=at)


def why_not(answer: HttpResponse) -> str:
    """Why a response is not a success, in one sentence."""
    if 300 <= answer.status < 400:  # noqa: PLR2004 - 3xx
        return f"The far side answered {answer.status}; redirects are not followed."
    return f"The far side answered {answer.status}."


def _code(result: HttpResponse | SendFailed) -> str:
    return CALL_FAILED if isinstance(result, HttpResponse) or result.code in PASSING else result.code


def _detail(call: CallEffect, settled: CallResult, *, unknown: bool) -> str:
    result = settled.result
    reason = why_not(result) if isinstance(result, HttpResponse) else result.detail
    if unknown:
        return f"{reason} Whether {call.request.tool} did it is not known, and it may not be called twice."
    if settled.attempts > 1:
        return f"{reason} There were {settled.attempts} attempts."
    return reason


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
            cut = await self._offload.run_by_size(asker.company_id, answer.size, lambda: excerpt(answer.body, secrets))
            return replace(answer, body=cut)
        # Masked before it is read, for a map or a rule can say a secret in another form.
        signal, output = None, output_of(await self.masked(asker.company_id, secrets, answer))
        if connector.signal_rule is not None:
            signal = await self._rules.value(asker, connector.signal_rule, answer.status, output, answer.size)
        if connector.response_map is not None:
            found = await self._rules.mapped(asker, connector.response_map, output, answer.size)
            # What nobody could read clears nothing.
            output, signal = (dict.fromkeys(connector.response_map), True) if found is None else (found, signal)
        return replace(answer, body=output, signal=signal)

    async def masked(self, company_id: str, secrets: Sequence[str], answer: HttpResponse) -> HttpResponse:
        """The whole response without its secrets."""
        masker = Masker(secrets)
        body = await self._offload.run_by_size(company_id, answer.size, lambda: masker.value(answer.body))
        return replace(answer, body=body)
