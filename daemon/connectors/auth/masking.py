"""Masking of secrets in responses."""

from __future__ import annotations

import json
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import quote, quote_plus

from actors.core.calls import MASK
from actors.core.canonical import canonical

EXCERPT_CHARS_MAX = 500
SECRET_CHARS_MIN = 4
FRAGMENT_CHARS_MIN = 8


class Masker:
    """Masks secrets in clear, base64, URL-encoded, hex or JSON-escaped form, in linear time.

    Secrets of fewer than four characters are not masked: they would mask half of every response.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        kept = [secret for secret in secrets if len(secret) >= SECRET_CHARS_MIN]
        self._exact = {form for secret in kept for form in _exact_forms(secret)}
        self._loose = {form.lower() for secret in kept for form in _loose_forms(secret)}
        self._chars_min = min(map(len, self._exact | self._loose), default=0)

    def text(self, text: str) -> str:
        if not self._exact or len(text) < self._chars_min:
            return text
        # Each character becomes one in lower case, so that places are the same in both; of all
        # characters this one alone would become two.
        lower = text.replace("\u0130", "i").lower()
        spans = [span for form in self._exact for span in _spans(form, text)]
        spans += [span for form in self._loose for span in _spans(form, lower)]
        return _masked(text, sorted(spans)) if spans else text

    def value(self, value: Any) -> Any:
        if not self._exact:
            return value
        match value:
            case str():
                return self.text(value)
            case list():
                return [self.value(item) for item in value]
            case dict():
                return {self.text(name): self.value(item) for name, item in value.items()}
            case _:
                return value


def _spans(form: str, text: str) -> Iterator[tuple[int, int]]:
    at = text.find(form)
    while at >= 0:
        yield at, at + len(form)
        at = text.find(form, at + len(form))


def _masked(text: str, spans: list[tuple[int, int]]) -> str:
    """The text with one mask for each group of places that overlap."""
    parts: list[str] = []
    end = 0
    for start, stop in spans:
        if start >= end:
            parts += (text[end:start], MASK)
        end = max(end, stop)
    return "".join((*parts, text[end:]))


def excerpt(body: Any, secrets: Iterable[str]) -> str | None:
    """The beginning of a response with secrets masked; None when it is empty."""
    if body is None or body == "":
        return None
    masker = Masker(secrets)
    text = masker.text(body) if isinstance(body, str) else canonical(masker.value(body))
    return text if len(text) <= EXCERPT_CHARS_MAX else text[: EXCERPT_CHARS_MAX - 1] + "…"


def _exact_forms(secret: str) -> Iterator[str]:
    raw = secret.encode()
    yield secret
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
    for encode in (b64encode, urlsafe_b64encode):
        yield encode(raw).decode()
        yield encode(raw).decode().rstrip("=")
        for before in range(3):
            inner = _inside_base64(encode(b"\0" * before + raw).decode(), before)
            if len(inner) >= FRAGMENT_CHARS_MIN:
                yield inner


def _inside_base64(encoded: str, before: int) -> str:
    """The part of the base64 text that stays the same after `before` unknown bytes."""
    digits = encoded.rstrip("=")
    return digits[before + 1 if before else 0 : len(digits) - (1 if len(digits) % 4 else 0)]


def _loose_forms(secret: str) -> Iterator[str]:
    yield secret.encode().hex()
    yield quote(secret, safe="")
    yield quote(secret)
    yield quote_plus(secret)
