"""Any conversation with any template: whatever is said in whatever order, the invariants hold and
the run can end.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal

from hypothesis import assume, given
from hypothesis import strategies as st

from actors.core.calls import Connector
from actors.core.decider import outstanding
from actors.core.messages import CallEffect, Elapsed, GateOpened, Message, Resume, StepEntered
from actors.core.rules import violations
from actors.core.template import APPROVED, Template
from tests.conversations import DOWN, LOST, NOT_SENT, RECONNECTED, Conversation, fold
from tests.processes import connector
from tests.property.invariants import check, check_turn
from tests.property.templates import TOOLS, bent_templates, templates

STEPS_MAX = 250
ROUNDS_MAX = 2_000
WORDS = ("approved", "denied", "retry", "done", "on", "again", "big", "?")

Verb = Literal["resume", "returned", "hit", "failed", "lost", "retry", "cancel", "elapsed", "bind", "restart", "skew"]
VERBS: tuple[Verb, ...] = (
    *(("resume",) * 8),
    *(("returned",) * 4),
    *("hit", "failed", "failed", "lost", "lost", "retry", "retry", "cancel", "elapsed"),
    *(("bind",) * 4),
    *(("restart",) * 2),
    "skew",
)


@dataclass(frozen=True)
class Say:
    """Something to say; the numbers pick from what there is when it is said."""

    verb: Verb
    which: int
    how: int
    seen: Literal["nothing", "now", "first", "wrong", "version", "old"]
    brings: bool = False


sayings = st.builds(
    Say,
    st.sampled_from(VERBS),
    st.integers(0, 11),
    st.integers(0, 11),
    st.sampled_from(["nothing", "nothing", "now", "first", "wrong", "version", "old"]),
    st.sampled_from([False, False, True]),
)
bindings = st.dictionaries(st.sampled_from(TOOLS), st.integers(0, 3))


def bound(tool: str, version: int, how: int) -> Connector:
    """One of the ways to bind a tool: live, live with a key, live with a key that is nowhere, or
    shadowed.
    """
    kinds: tuple[dict[str, Any], ...] = (
        {},
        {"idempotent": True},
        {"body_map": {"to": "nowhere"}},
        {"reversible": False},
    )
    return connector(tool, version, **kinds[how % len(kinds)])


@dataclass
class Talk(Conversation):
    """A conversation that checks the invariants after each message, as long as it is asked to."""

    checked: bool = True

    def say(self, message: Message, onto: Template | None = None) -> Any:
        before = self.state
        done = super().say(message, onto)
        if self.checked:
            check_turn(self, before, message)
            check(self)
        return done


def do(talk: Talk, say: Say) -> None:
    """Say it, to whatever is there."""
    step_id, visit = chosen(talk, say)
    match say.verb:
        case "resume":
            talk.say(verdict(talk, say))
        case "returned" | "hit":
            talk.returned(step_id, visit, {"n": say.how}, say.verb == "hit" or None)
        case "failed" | "lost":
            error = (DOWN, NOT_SENT, RECONNECTED)[say.how % 3] if say.verb == "failed" else LOST
            talk.failed(step_id, visit, error=error, unknown=say.verb == "lost")
        case "retry":
            talk.retry()
        case "cancel":
            talk.cancel()
        case "elapsed":
            talk.elapsed(step_id, visit)
        case "bind":
            asked = [visit.request.tool for visit in talk.run.parked if visit.request is not None]
            tool = (asked or TOOLS)[say.which % len(asked or TOOLS)]
            known = talk.connectors.get(tool)
            talk.connectors[tool] = bound(tool, 1 if known is None else known.version + 1, say.how)
        case "restart":
            talk.state = fold(talk.history)
        case "skew":
            talk.passed = timedelta(minutes=7 * (say.how - 6))  # another daemon goes on, by its own clock


def chosen(talk: Talk, say: Say) -> tuple[str, int]:
    """Mostly a visit whose call was sent, settled or not, now and then any other."""
    entered = [(e.step_id, e.visit) for e in talk.history if isinstance(e, StepEntered)]
    visits = (*talk.run.open, *reversed(talk.run.trace))
    sent = [(v.step_id, v.visit) for v in visits if v.request is not None and v.request.mode == "live"]
    among = [*sent[:4] * 3, *entered[-3:]]
    return among[say.which % len(among)]


def verdict(talk: Talk, say: Say) -> Resume:
    """Mostly for a gate that is open, now and then for any step; mostly a decision that it
    offers.
    """
    gates = [*talk.parked * 4, *talk.run.visits, "ghost"]
    gate = gates[say.which % len(gates)]
    visit = talk.run.at(gate)
    offered = visit.gate.decisions if visit is not None and visit.gate is not None else ()
    decisions = (*offered * 4, *WORDS)
    told = [e.digest for e in talk.history if isinstance(e, GateOpened) and e.step_id == gate] or ["sha256:none"]
    digest = {"now": told[-1], "first": told[0], "wrong": "sha256:wrong"}.get(say.seen)
    version = {"version": talk.run.version, "old": talk.run.version - 1}.get(say.seen)
    return Resume(
        gate=gate,
        decision=decisions[say.how % len(decisions)],
        by="bob",
        role=("owner", "owner", "manager", "member")[say.how % 4],
        digest=digest,
        tags=None if version is None else frozenset({str(version)}),
        inputs={"nowhere": 1} if say.brings else None,
        at=talk.at,
    )


def finish(talk: Talk) -> None:
    """Say yes at every gate and answer every call until the run ends; loops are left by their last
    branch.
    """
    talk.checked = False
    talk.connectors = {tool: connector(tool, 1_000) for tool in TOOLS}
    for _ in range(ROUNDS_MAX):
        if talk.run.ended is not None:
            check(talk)
            return
        if talk.run.status == "failed":
            talk.retry()
        elif talk.run.parked:
            visit = talk.run.parked[0]
            assert visit.gate is not None
            chosen = talk.template.node(visit.step_id).flow == "exclusive"
            yes = "done" if APPROVED not in visit.gate.decisions else APPROVED
            inputs = {pointer[1:]: 1 for pointer in visit.gate.missing}
            talk.resume(visit.step_id, visit.gate.decisions[-1] if chosen else yes, inputs=inputs or None)
        else:
            effect = outstanding(talk.run, talk.template)[0]
            if isinstance(effect, CallEffect):
                talk.returned(effect.step_id, effect.visit)
            else:
                talk.say(Elapsed(step_id=effect.step_id, visit=effect.visit, at=talk.at))
    raise AssertionError("the run does not end")


def play(template: Template, auto: bool, bind: dict[str, int], said: list[Say]) -> Talk:
    connectors = {tool: bound(tool, 1, how) for tool, how in bind.items()}
    talk = Talk(template, connectors, STEPS_MAX)
    talk.start({"amount": 12}, auto=auto)
    for say in said:
        do(talk, say)
    return talk


@given(templates())
def test_what_is_built_of_sound_blocks_is_sound(template: Template) -> None:
    assert violations(template) == ()


@given(templates(), st.booleans(), bindings, st.lists(sayings, max_size=30))
def test_any_conversation_keeps_the_invariants_and_can_be_brought_to_an_end(
    template: Template, auto: bool, bind: dict[str, int], said: list[Say]
) -> None:
    talk = play(template, auto, bind, said)
    finish(talk)
    assert talk.run.status in ("completed", "cancelled", "failed")
    assert talk.run.error is None or talk.run.error.code == "step_limit"


@given(bent_templates(), st.booleans(), bindings, st.lists(sayings, max_size=12))
def test_whatever_template_loads_never_gets_stuck(
    template: Template, auto: bool, bind: dict[str, int], said: list[Say]
) -> None:
    assume(violations(template) == ())
    finish(play(template, auto, bind, said))
