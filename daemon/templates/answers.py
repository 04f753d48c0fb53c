"""Questions that what tenants wrote asks of data, and work that asks them.

Work that may ask is pure. It is begun again for each answer that a process has to find, and then
gets the answers that it had before in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Literal, NamedTuple, TypeVar

from actors.core.template import ConditionFailed
from daemon.templates.expression_cost import weighs_more

T = TypeVar("T")
Kind = Literal[
    "action",
    "action_rules",
    "all_errors",
    "bpmn",
    "call",
    "check",
    "condition",
    "draft",
    "drawing",
    "expressions",
    "form",
    "inputs",
    "mapped",
    "moment",
    "output",
    "signal",
    "span",
]
"""Every place that evaluates what a tenant wrote; `EVALUATORS` of the worker has each of them."""

SLICE_S = 0.02
"""So long a piece of work evaluates before it lets others go on."""
INLINE_S = 0.2
"""What work evaluates here at most, in all its pieces; the rest is asked of a process."""
ANSWER, NO_ANSWER = b"+", b"-"
"""How what a process says begins: with an answer as JSON, or with why there is none."""
NEVER = -1
"""The limit of what is never answered here."""
COSTLY = "it takes too long, or too much memory, to evaluate"


class Question(NamedTuple):
    """What a tenant wrote, and the data that it is asked of; all of it is JSON."""

    kind: Kind
    said: Any
    data: Any


@dataclass(frozen=True, slots=True)
class Failed:
    """There is no clear answer, and why."""

    why: str


class Unanswered(Exception):
    """A question that has to be asked of a process."""

    def __init__(self, question: Question) -> None:
        super().__init__(question.kind)
        self.question = question


class Paused(Exception):
    """Work has evaluated for long enough without a break."""


@dataclass(slots=True)
class Asking:
    """Work that asks, with the answers that it has so far."""

    answers: list[Any] = field(default_factory=list)
    _at: int = 0
    _slice_s: float = 0.0
    _inline_s: float = 0.0

    def run(self, work: Callable[[], T]) -> T:
        """Do the work; Unanswered or Paused where it has to be begun again."""
        self._at, self._slice_s = 0, 0.0
        token = _ASKING.set(self)
        try:
            return work()
        finally:
            _ASKING.reset(token)

    def answer(self, question: Question, evaluate: Callable[[], T], limit: int) -> T:
        """The next answer."""
        if self._at == len(self.answers):
            if self._inline_s > INLINE_S or weighs_more(question.data, limit):
                raise Unanswered(question)
            self._evaluate(evaluate)
        found = self.answers[self._at]
        self._at += 1
        if isinstance(found, Failed):
            raise ConditionFailed(found.why)
        answer: T = found
        return answer

    def _evaluate(self, evaluate: Callable[[], Any]) -> None:
        if self._slice_s > SLICE_S:
            raise Paused
        began = perf_counter()
        try:
            found = evaluate()
        except ConditionFailed as failed:
            found = Failed(str(failed))
        took_s = perf_counter() - began
        self._slice_s += took_s
        self._inline_s += took_s
        self.answers.append(found)


class _Unbounded(Asking):
    """Evaluates all at once: in a bounded process, or what the operator wrote."""

    def answer(self, _question: Question, evaluate: Callable[[], T], _limit: int) -> T:
        return evaluate()


_ASKING: ContextVar[Asking | None] = ContextVar("asking", default=None)


@contextmanager
def unbounded() -> Iterator[None]:
    """Evaluate everything here: within a bounded process, or for who may hold up himself alone."""
    token = _ASKING.set(_Unbounded())
    try:
        yield
    finally:
        _ASKING.reset(token)


def answered(kind: Kind, said: Any, data: Any, evaluate: Callable[[], T], limit: int) -> T:
    """The answer that `evaluate` would find, found here only where the data weighs no more.

    ConditionFailed without one.
    """
    question, asking = Question(kind, said, data), _ASKING.get()
    if asking is not None:
        return asking.answer(question, evaluate, limit)
    if weighs_more(data, limit):
        raise Unanswered(question)
    return evaluate()
