"""The result of a check."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "warning", "problem"]
NAMED_MAX = 5


@dataclass(frozen=True, slots=True)
class Check:
    name: str
    state: State
    text: str
    hint: str = ""


def ok(name: str, text: str) -> Check:
    return Check(name, "ok", text)


def warning(name: str, text: str, hint: str) -> Check:
    return Check(name, "warning", text, hint)


def problem(name: str, text: str, hint: str) -> Check:
    return Check(name, "problem", text, hint)


def few(found: Iterable[str]) -> list[str]:
    every = list(found)
    more = [f"{len(every) - NAMED_MAX:,} more"] if len(every) > NAMED_MAX else []
    return every[:NAMED_MAX] + more
