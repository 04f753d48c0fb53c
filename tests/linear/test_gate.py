"""The check agrees with a search over all orders, and finds each kind of fault that a gate could
have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.linear.gate import NEVER, Op, Result, Stamp, fault

APPROVED, DENIED = Stamp("approved", "1"), Stamp("denied", "2")
STAMPS = (None, APPROVED, DENIED, Stamp("approved", "3"))


def search(ops: Sequence[Op], state: Stamp | None = None) -> bool:
    """Wing and Gong: try every operation that may come first, then the rest, until an order
    fits.
    """
    if all(op.result == "unknown" for op in ops):
        return True
    first_return = min(op.returned for op in ops)
    for at, op in enumerate(ops):
        if op.invoked < first_return:
            rest = [*ops[:at], *ops[at + 1 :]]
            if any(search(rest, after) for after in happens(op, state)):
                return True
    return False


def happens(op: Op, state: Stamp | None) -> list[Stamp | None]:
    """The states that an operation may lead to; none when it cannot happen like this."""
    written = Stamp(op.decision or "", op.stamp.at if op.stamp is not None else "?")
    match op.result:
        case "won":
            return [written] if state is None and (op.stamp is None or op.stamp == written) else []
        case "open":
            return [state] if state is None else []
        case "closed" if state is None:
            return []
        case "closed":
            assert state is not None
            if op.stamp is None or op.stamp == state:
                return [state]
            # Nobody was told yet when the verdict without an answer was given: this is the first to
            # say so.
            return [op.stamp] if (state.at, state.decision) == ("?", op.stamp.decision) else []
        case "unknown":
            return [state, *([written] if state is None else [])]


RESULTS: st.SearchStrategy[Result] = st.sampled_from(["won", "closed", "open", "unknown", "closed"])


@st.composite
def records(draw: st.DrawFn) -> list[Op]:
    """A few operations that overlap at random, with answers at random."""
    size = draw(st.integers(1, 5))
    moments = draw(st.permutations(range(2 * size)))
    ops: list[Op] = []
    for invoked, returned in zip(moments[::2], moments[1::2], strict=True):
        begun, done = sorted((invoked, returned))
        result = draw(RESULTS)
        ops.append(drawn(draw, result, begun, done))
    return ops


def drawn(draw: st.DrawFn, result: Result, begun: int, done: int) -> Op:
    decision = draw(st.sampled_from(("approved", "denied")))
    match result:
        case "won":
            stamp = draw(st.sampled_from((Stamp(decision, "1"), Stamp(decision, "1"), DENIED)))
            return Op(begun, done, decision, "won", stamp)
        case "closed":
            return Op(begun, done, draw(st.sampled_from((None, decision))), "closed", draw(st.sampled_from(STAMPS)))
        case "open":
            return Op(begun, done, None, "open")
        case "unknown":
            return Op(begun, NEVER, decision, "unknown")


@settings(max_examples=400, deadline=None)
@given(records())
def test_the_check_agrees_with_a_search_over_all_orders(ops: list[Op]) -> None:
    assert (fault(ops) is None) == search(ops)


def sound() -> list[Op]:
    """Five callers and two readers of one gate: one wins, one is never answered, the others are
    told who won.
    """
    moment = count()
    reads_open = Op(next(moment), next(moment), None, "open")
    begun = [next(moment) for _ in range(5)]
    ops = [reads_open, Op(begun[0], next(moment), "approved", "won", APPROVED)]
    ops += [Op(at, next(moment), ("approved", "denied")[at % 2], "closed", APPROVED) for at in begun[1:4]]
    ops.append(Op(begun[4], NEVER, "denied", "unknown"))
    return [*ops, Op(next(moment), next(moment), None, "closed", APPROVED)]


def test_a_sound_record_is_linearizable() -> None:
    assert fault(sound()) is None
    assert search(sound())


def test_a_verdict_without_an_answer_may_have_closed_the_gate_at_any_later_time() -> None:
    unanswered = Op(0, NEVER, "denied", "unknown")
    assert fault([unanswered, Op(1, 2, None, "open"), Op(3, 4, None, "closed", DENIED)]) is None


def two_winners(ops: list[Op]) -> None:
    ops[2] = replace(ops[2], result="won", decision="approved")


def acknowledged_to_the_loser(ops: list[Op]) -> None:
    loser = next(at for at, op in enumerate(ops) if op.result == "closed" and op.decision == "denied")
    ops[loser] = replace(ops[loser], result="won", stamp=DENIED)
    ops[1] = replace(ops[1], result="closed")


def refused_to_the_winner(ops: list[Op]) -> None:
    ops[1] = replace(ops[1], result="closed")


def seen_before_it_was_sent(ops: list[Op]) -> None:
    ops[0] = replace(ops[0], result="closed", stamp=APPROVED)


def open_after_it_was_acknowledged(ops: list[Op]) -> None:
    ops[-1] = replace(ops[-1], result="open", stamp=None)


def another_decision_told(ops: list[Op]) -> None:
    ops[3] = replace(ops[3], stamp=DENIED)


def changed_after_a_restart(ops: list[Op]) -> None:
    ops[-1] = replace(ops[-1], stamp=replace(APPROVED, at="9"))


@pytest.mark.parametrize(
    "plant",
    [
        two_winners,
        acknowledged_to_the_loser,
        refused_to_the_winner,
        seen_before_it_was_sent,
        open_after_it_was_acknowledged,
        another_decision_told,
        changed_after_a_restart,
    ],
)
def test_a_planted_fault_is_found(plant: object) -> None:
    ops = sound()
    assert callable(plant)
    plant(ops)
    assert fault(ops) is not None
    assert not search(ops)
