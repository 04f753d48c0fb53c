"""What a connector's rules read in a response, evaluated where they can hold up nothing."""

from __future__ import annotations

import re
from typing import Any

from actors.ports import LIGHT_BYTES_MAX
from daemon.connectors.responses.response_map import MAPPED_BYTES_MAX, is_plain, mapped
from daemon.observability.logs import ThrottledLog
from daemon.runtime.json_codec import NotJson, dumps, loads
from daemon.runtime.offload import Offload
from daemon.runtime.workers import Worker, WorkerFailed
from daemon.templates.cel import signal_of

CHEAP_CHARS_MAX = 256
CHEAP_CALLS = frozenset({"endsWith", "has", "size", "startsWith"})
_CALL = re.compile(r"\b(\w++)\s*+\(")


class Signals:
    """Evaluates rules and maps: the provably cheap at once, all others in a process of its own."""

    def __init__(self, offload: Offload) -> None:
        self._offload = offload
        self._worker = Worker("daemon.connectors.responses.worker", answer_bytes_max=MAPPED_BYTES_MAX)
        self._stopped = ThrottledLog("signal_rule_stopped")

    async def close(self) -> None:
        await self._worker.close()

    async def value(self, company_id: str, rule: str, status: int, body: Any, size: int) -> Any:
        """The signal in a response of so many bytes; a rule without an answer counts as a hit."""
        if size <= LIGHT_BYTES_MAX and is_cheap(rule):
            return signal_of(rule, status, body)
        return await self._asked(company_id, [rule, status, body], size, otherwise=True)

    async def mapped(self, company_id: str, names: dict[str, str], body: Any, size: int) -> dict[str, Any] | None:
        """What these expressions find in a response; None if that takes too long or is too much."""
        if size * len(names) <= LIGHT_BYTES_MAX and all(map(is_plain, names.values())):
            return mapped(names, body)
        found: dict[str, Any] | None = await self._asked(company_id, [names, 0, body], size, otherwise=None)
        return found

    async def _asked(self, company_id: str, request: list[Any], size: int, *, otherwise: Any) -> Any:
        raw = await self._offload.sized(company_id, size, lambda: dumps(request))
        try:
            return loads(await self._worker.ask(company_id, raw))
        except (WorkerFailed, NotJson):
            self._stopped.warn(company_id=company_id)
            return otherwise


def is_cheap(rule: str) -> bool:
    """Whether a rule takes time in proportion to the response: few words, no loops, no patterns."""
    short = len(rule) <= CHEAP_CHARS_MAX and "//" not in rule  # a comment could part a name from its bracket
    return short and CHEAP_CALLS.issuperset(_CALL.findall(rule))
