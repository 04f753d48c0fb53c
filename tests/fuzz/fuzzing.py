"""One thing that is fuzzed, and the search for an example that breaks it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import SearchStrategy

CPU_S = 1.0
SHOWN_CHARS = 2_000


class Broken(Exception):
    """An answer that is none of the contract, or an exception that no caller expects."""


@dataclass(frozen=True, slots=True)
class Target:
    """`run` takes an example and raises whatever is wrong with it."""

    name: str
    examples: SearchStrategy[Any]
    run: Callable[[Any], None]


@dataclass(frozen=True, slots=True)
class Found:
    """The smallest example that breaks a target."""

    target: str
    example: str
    error: str


def tried(target: Target, count: int, number: int) -> Found | None:
    """Try so many examples, always the same ones for a number."""
    smallest: list[tuple[str, str]] = []

    @seed(number)
    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
        print_blob=False,
    )
    @given(target.examples)
    def attempt(example: Any) -> None:
        try:
            target.run(example)
        except Exception as error:
            smallest[:] = [(repr(example)[:SHOWN_CHARS], f"{type(error).__name__}: {error}"[:SHOWN_CHARS])]
            raise

    try:
        attempt()
    except Exception as error:  # noqa: BLE001 - what it is stands in the finding
        example, said = smallest[0] if smallest else ("", f"{type(error).__name__}: {error}")
        return Found(target.name, example, said)
    return None


def within_time(work: Callable[[], Any]) -> Any:
    """What `work` gives; Broken where it takes the processor for too long."""
    began = time.thread_time()
    given_back = work()
    took_s = time.thread_time() - began
    if took_s > CPU_S:
        raise Broken(f"it took {took_s:.1f} s of processor time")
    return given_back
