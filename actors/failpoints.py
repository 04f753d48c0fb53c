"""Failpoints: named places at which a test build can end the process."""

from collections.abc import Callable
from typing import Literal, get_args

Failpoint = Literal[
    # The migrations of the database, and what the first start makes.
    "before-migration",
    "migration-unrecorded",
    "after-migration",
    "key-file-written",
    "templates-kept",
    # A turn of an actor.
    "before-intent",
    "after-intent",
    "before-perform",
    "before-publish",
    "before-reply",
    "outcome-committed",
    # The life of actors.
    "before-activation",
    "recovery-half-way",
    "before-passivation",
    "timer-due",
    "drain-begun",
    "drained",
    # A transaction.
    "before-begin",
    "after-begin",
    "between-statements",
    "before-commit",
    "after-commit",
    "before-settling",
    "before-checkpoint",
    "after-checkpoint",
    # A call.
    "before-send",
    "request-leaving",
    "after-send",
    "outcome-received",
    "before-outcome-posted",
    # What is kept beside the runs.
    "before-receipt",
    "receipt-kept",
    "connector-kept",
    "company-key-kept",
    "before-rewrap",
    "after-rewrap",
]
NAMES: frozenset[str] = frozenset(get_args(Failpoint))

_hooks: list[Callable[[str], None]] = []


def reach(name: Failpoint) -> None:
    """Reach this failpoint; it does nothing unless a test build has armed it."""
    if _hooks:
        _hooks[0](name)


def arm(hook: Callable[[str], None]) -> None:
    """Have this called with the name of every place that is reached; only a test build does."""
    _hooks[:] = [hook]


def disarm() -> None:
    """Let nothing happen again."""
    _hooks.clear()
