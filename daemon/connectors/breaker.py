"""Circuit breakers per company and origin.

A circuit exists from the first failure until the next success.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from daemon.connectors.http import PASSING, HttpResponse, SendFailed
from daemon.connectors.origin import origin

CIRCUIT_OPEN = "circuit_open"
SERVER_ERROR = 500
Key = tuple[str, str, str, int]


@dataclass(slots=True)
class _Circuit:
    """Consecutive failures; open while `until_s` is set; `trial` is the one call that probes it."""

    failures: int = 0
    since: datetime | None = None
    until_s: float | None = None
    trial: object | None = None


class CircuitBreakers:
    """One breaker per company and origin; beyond `circuits_max` the oldest is dropped."""

    def __init__(
        self,
        *,
        failures_max: int,
        open_s: float,
        circuits_max: int,
        monotonic: Callable[[], float],
        now: Callable[[], datetime],
    ) -> None:
        """Open after `failures_max` consecutive failures for `open_s`."""
        self._failures_max, self._open_s, self._circuits_max = failures_max, open_s, circuits_max
        self._monotonic, self._now = monotonic, now
        self._circuits: OrderedDict[Key, _Circuit] = OrderedDict()

    def __len__(self) -> int:
        return len(self._circuits)

    async def through(
        self, company_id: str, url: str, send: Callable[[], Awaitable[HttpResponse]], *, counts: bool = True
    ) -> HttpResponse:
        """Call `send`; SendFailed `circuit_open` without a call while the circuit is open.

        Failures of calls that are never repeated do not count (`counts`): each deserves its own
        response.
        """
        key = (company_id, *origin(url))
        ticket = object()
        self._enter(key, ticket)
        try:
            answer = await send()
            if counts or answer.status < SERVER_ERROR:
                self._settle(key, ticket, ok=answer.status < SERVER_ERROR)
        except SendFailed as none:
            if none.code in PASSING and counts:
                self._settle(key, ticket, ok=False)
            elif none.status_code is not None and (counts or none.status_code < SERVER_ERROR):
                self._settle(key, ticket, ok=none.status_code < SERVER_ERROR)
            raise
        finally:
            self._leave(key, ticket)
        return answer

    def _enter(self, key: Key, ticket: object) -> None:
        """Let a call pass while the circuit is closed, and one trial call after `open_s`."""
        circuit = self._circuits.get(key)
        if circuit is None or circuit.until_s is None:
            return
        left_s = circuit.until_s - self._monotonic()
        if left_s > 0 or circuit.trial is not None:
            raise self._held_back(key, circuit, max(0.0, left_s))
        circuit.trial = ticket

    def _settle(self, key: Key, ticket: object, *, ok: bool) -> None:
        """Count the result of a call; while a circuit is open only its trial counts."""
        circuit = self._circuits.get(key)
        if circuit is not None and circuit.until_s is not None and circuit.trial is not ticket:
            return
        if ok:
            self._circuits.pop(key, None)
            return
        circuit = self._circuits.setdefault(key, _Circuit())
        self._circuits.move_to_end(key)
        circuit.failures += 1
        if circuit.failures >= self._failures_max:
            circuit.since = circuit.since or self._now()
            circuit.until_s = self._monotonic() + self._open_s
        if len(self._circuits) > self._circuits_max:
            self._circuits.popitem(last=False)

    def _leave(self, key: Key, ticket: object) -> None:
        """Release the trial of a call that was cancelled or refused."""
        circuit = self._circuits.get(key)
        if circuit is not None and circuit.trial is ticket:
            circuit.trial = None

    def _held_back(self, key: Key, circuit: _Circuit, left_s: float) -> SendFailed:
        _, scheme, host, port = key
        where = f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"
        until = _moment(self._now() + timedelta(seconds=left_s)) if left_s else "the trial call under way has ended"
        since = "" if circuit.since is None else f" since {_moment(circuit.since)}"
        detail = f"Calls to {where} are held back{since} until {until}, after {circuit.failures} failures in a row."
        return SendFailed(CIRCUIT_OPEN, detail, retry_after_s=left_s)


def _moment(at: datetime) -> str:
    return at.isoformat(timespec="seconds").replace("+00:00", "Z")
