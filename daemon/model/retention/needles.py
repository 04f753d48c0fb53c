"""Finds copies of values that are to be redacted."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qsl, quote, quote_plus, urlsplit

from actors.core.canonical import canonical

SPOKEN_MIN = 8
"""Characters of a text that is looked for in what people said of a case, as a word of its own."""
LONG = 3
"""Texts and numbers of so many characters are looked for everywhere; others only in calls and
questions, which are made of values."""


class RedactionMatcher:
    """The values that are to be redacted, and what of them may stand elsewhere."""

    def __init__(self, values: list[Any], kept: frozenset[str]) -> None:
        """Texts that are `kept` stand for values that were redacted before."""
        self._values = {canonical(one) for one in values}
        leaves = {_text(one): one for value in values for one in _leaves(value) if one not in kept}
        self._numbers = {text for text, one in leaves.items() if not isinstance(one, str)}
        self._short = {text for text in leaves if len(text) < LONG}
        self._long = sorted((text for text in leaves if len(text) >= LONG), key=len, reverse=True)
        words = [text for text in self._long if len(text) >= SPOKEN_MIN]
        self._spoken = (
            re.compile(rf"(?<!\w)(?:{'|'.join(map(self._part, words))})(?!\w)", re.IGNORECASE) if words else None
        )
        self._pattern = None if not self._long else re.compile("|".join(map(self._part, self._long)), re.IGNORECASE)

    def _part(self, text: str) -> str:
        """A pattern of a text and of its form in a URL; a number is none within a larger one."""
        if text in self._numbers:
            return rf"(?<![\d.]){re.escape(text)}(?!\.?\d)"
        return "|".join(re.escape(one) for one in {text, quote(text, safe=""), quote_plus(text)})

    def in_text(self, text: str) -> bool:
        return self._pattern is not None and self._pattern.search(text) is not None

    def in_speech(self, text: str) -> bool:
        """Whether what a person said holds one whole.

        Who starts a run must not choose a word that takes what a decider says of it along.
        """
        return self._spoken is not None and self._spoken.search(text) is not None

    @staticmethod
    def in_value(value: Any, holds: Callable[[str], bool]) -> bool:
        """Whether a text or a number holds one of them."""
        if isinstance(value, bool) or value is None or isinstance(value, dict | list):
            return False
        return holds(_text(value))

    def equals(self, value: Any) -> bool:
        """Whether a member of a call is one of the values, however short that is."""
        return value is not None and canonical(value) in self._values

    def in_json(self, text: str) -> bool:
        """Whether the JSON of a value is that of one of them, or holds one."""
        return text in self._values or self.in_text(text)

    def in_url(self, url: str) -> bool:
        parts = urlsplit(url)
        pieces = {*parts.path.split("/"), *(value for _, value in parse_qsl(parts.query))}
        return self.in_text(url) or not self._short.isdisjoint(pieces)

    def in_question(self, text: str) -> bool:
        return self.in_text(text) or not self._short.isdisjoint(re.split(r"[^\w.-]+", text))


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for one in value.values():
            yield from _leaves(one)
    elif isinstance(value, list):
        for one in value:
            yield from _leaves(one)
    elif value is not None and value != "":
        yield value


def _text(value: Any) -> str:
    return value if isinstance(value, str) else canonical(value)
