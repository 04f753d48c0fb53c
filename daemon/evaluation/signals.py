"""What a connector's rules read in a response, evaluated where they can hold up nothing."""

from __future__ import annotations

import re
from typing import Any

from actors.actor import Overloaded
from actors.ports import LIGHT_BYTES_MAX, Asker
from daemon.connectors.responses.response_map import is_plain, mapped
from daemon.evaluation.evaluator import Evaluator
from daemon.templates.answers import COSTLY, Failed, Question
from daemon.templates.cel import signal_of

CHEAP_CHARS_MAX = 256
CHEAP_CALLS = frozenset({"endsWith", "has", "size", "startsWith"})
_CALL = re.compile(r"\b(\w++)\s*+\(")


class Signals:
    """Evaluates rules and maps: the provably cheap at once, all others in a process of its own."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator

    async def value(self, asker: Asker, rule: str, status: int, body: Any, size: int) -> Any:
        """The signal in a response of so many bytes; a rule without an answer counts as a hit."""
        if size <= LIGHT_BYTES_MAX and is_cheap(rule):
            return signal_of(rule, status, body)
        found = await self._asked(asker, Question("signal", rule, [status, body]), size)
        return True if isinstance(found, Failed) else found

    async def mapped(self, asker: Asker, names: dict[str, str], body: Any, size: int) -> dict[str, Any] | None:
        """What these expressions find in a response; None if that takes too long or is too much."""
        if size * len(names) <= LIGHT_BYTES_MAX and all(map(is_plain, names.values())):
            return mapped(names, body)
        found: dict[str, Any] | Failed = await self._asked(asker, Question("mapped", names, body), size)
        return None if isinstance(found, Failed) else found

    async def _asked(self, asker: Asker, question: Question, size: int) -> Any:
        try:
            return await self._evaluator.ask_once(asker, question, size)
        except Overloaded:  # too much of the company waits
            return Failed(COSTLY)


def is_cheap(rule: str) -> bool:
    """Whether a rule takes time in proportion to the response: few words, no loops, no patterns."""
    short = len(rule) <= CHEAP_CHARS_MAX and "//" not in rule  # a comment could part a name from its bracket
    return short and CHEAP_CALLS.issuperset(_CALL.findall(rule))
