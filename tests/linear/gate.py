"""Whether what callers of one gate's visit were told is linearizable, decided exactly and in one
pass.

A visit is a register that is written once: it is open until one verdict takes effect, and closed
with that verdict's stamp (its decision and time) for ever. A record is linearizable when each
operation can be given one moment between its invocation and its return at which it happens at once,
so that in the order of these moments

- a verdict answered 200 finds the visit open and closes it with its own decision,
- a verdict answered 409, a verdict answered 412 and a read of a closed visit find it closed, with
  the stamp they tell,
- a read of an open visit finds it open,
- a verdict without an answer either does as the first, at any moment after its invocation, or
  never happens.

Only one operation can be the effective write, w. Suppose it happens at the moment t. Every
operation that found the visit closed needs a moment after t, every one that found it open a moment
before t, and no other requirement is left: the state never changes but at t, so operations on the
same side of t can be put in any order that respects real time, and real time never asks for more,
since each moment lies within its operation. The record is therefore linearizable exactly when there
is a t with

    max(invoked(w), latest invocation of those that found it open) < t
    t < min(returned(w), earliest return of those that found it closed)

and all stamps agree with each other and with w. Who is w? If a verdict was answered 200, it is that
one, and there may be no other. If none was, w is one without an answer whose decision is the one
that was seen; its return is never, so of several the one that was invoked first is the least
demanding, and no other needs to be tried. If nobody found the visit closed and none was answered
200, nothing need have happened, and every record is linearizable.

Moments are numbers that no two invocations or returns share. Each step is a minimum or a maximum
over the record.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Result = Literal["won", "closed", "open", "unknown"]
NEVER = math.inf


@dataclass(frozen=True, slots=True)
class Stamp:
    """The verdict that a closed visit shows; `at` None where the answer does not say when."""

    decision: str
    at: str | None = None


@dataclass(frozen=True, slots=True)
class Op:
    """An operation on a visit: a verdict when it has a decision, a read when it has none.

    `stamp` is what a verdict that won was told of itself, or what the visit was found closed with;
    it is None where the answer only says that the visit is not open any more.
    """

    invoked: float
    returned: float
    decision: str | None
    result: Result
    stamp: Stamp | None = None


def fault(ops: Sequence[Op]) -> str | None:
    """Why the record of a visit is not linearizable; None when it is."""
    won = [op for op in ops if op.result == "won"]
    closed = [op for op in ops if op.result == "closed"]
    if len(won) > 1:
        return f"{len(won)} verdicts were answered 200"
    if not won and not closed:
        return None
    stamps = {op.stamp for op in (*won, *closed) if op.stamp is not None}
    if len(stamps) > 1:
        return f"the verdict was told in {len(stamps)} ways"
    write = won[0] if won else _unanswered(ops, {stamp.decision for stamp in stamps})
    if write is None:
        return "the gate is closed by a verdict that nobody can have given"
    if any(stamp.decision != write.decision for stamp in stamps):
        return "a verdict was answered 200 and another one counts"
    after = max([write.invoked, *(op.invoked for op in ops if op.result == "open")])
    before = min([write.returned, *(op.returned for op in closed)])
    return None if after < before else "an answer does not fit the order in time"


def _unanswered(ops: Sequence[Op], decisions: set[str]) -> Op | None:
    """The first verdict without an answer that can have closed the visit."""
    able = [op for op in ops if op.result == "unknown" and (not decisions or op.decision in decisions)]
    return min(able, key=lambda op: op.invoked, default=None)
