"""The templates of the simulation: any that can be built of sound blocks, and a few in which most
can go wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any, TypeVar, cast

from hypothesis.strategies import DrawFn

from actors.core.gate_policy import AnchoredDeadline, Escalation
from actors.core.template import ClockExtension, ClockRule, Template
from tests.processes import ALWAYS, choice, end, gate, parallel, process, task, wait
from tests.property.templates import COMPOUND, Plan, finished

T = TypeVar("T")
DEPTH = 2


class Seeded(Plan):
    """A template in the making, whose choices are the seed's."""

    def __init__(self, rng: Random) -> None:
        super().__init__(cast("DrawFn", None))
        self._rng = rng

    def one(self, of: tuple[T, ...]) -> T:
        return self._rng.choice(of)


def anything(rng: Random) -> Template:
    """Any sound template."""
    plan = Seeded(rng)
    start, way = plan.one(COMPOUND)(plan, rng.randint(1, DEPTH))
    return finished(plan, start, way)


def payments(_rng: Random) -> Template:
    """Pay, again and again, each time after a verdict."""
    return process(
        gate("signoff"),
        task("pay", effect="irreversible"),
        choice("again", "high"),
        end(),
        ways="signoff -> pay -> again -[again]-> signoff\n again -[on]-> end",
    )


def orders(_rng: Random) -> Template:
    """A call that is its own gate, in a loop that humans keep up."""
    return process(
        task("look"),
        task("pay", "critical", "irreversible"),
        choice("again", "high"),
        end(),
        ways="look -> pay -> again -[again]-> look\n again -[on]-> end",
    )


def rounds(_rng: Random) -> Template:
    """A loop that nobody keeps up: it goes round until the bound on steps ends it."""
    return process(
        task("look"),
        task("score"),
        choice("again"),
        end(),
        ways="look -> score -> again -[again]-> look\n again -[on]-> end",
        when={"again": ALWAYS},
    )


def branches(_rng: Random) -> Template:
    """Calls beside gates."""
    return process(
        parallel("fork"),
        task("look"),
        task("pay", "high", "irreversible"),
        task("score", "low", "reversible"),
        parallel("join"),
        choice("again", "high"),
        end(),
        ways="fork -> look -> join\n fork -> pay -> join\n fork -> score -> join -> again -[again]-> fork\n "
        "again -[on]-> end",
    )


def signatures(rng: Random) -> Template:
    """One decides in time, or more are asked; then two others sign what is paid."""
    escalation = Escalation("manager", "PT20S", "denied")
    late: dict[str, Any] = rng.choice(({}, {"deadline": "PT60S", "on_deadline": "denied"}))
    return process(
        gate("first", deadline="PT20S", remind=("PT5S", "PT10S"), on_deadline=rng.choice((escalation, "denied"))),
        gate("second", quorum=2, four_eyes=("gate:first",), **late),
        task("pay", effect="irreversible"),
        choice("again", "high", deadline="PT90S", on_deadline="on"),
        end(),
        end("refused", "refused"),
        ways="first -> second -> pay -> again -[again]-> first\n again -[on]-> end\n first -[denied]-> refused\n "
        "second -[denied]-> refused",
    )


def letters(_rng: Random) -> Template:
    """A letter goes out; an answer that comes in time is read after a while."""
    return process(
        task("look"),
        wait("answer", message="answered", within="PT15S"),
        wait("rest", duration="PT5S"),
        gate("read", four_eyes=("starter",)),
        end(),
        ways="look -> answer -[message]-> rest -> read -> end\n answer -[timeout]-> end",
    )


def cases(rng: Random) -> Template:
    """A case has its time by law, which stands still while it waits for an answer."""
    again: dict[str, Any] = rng.choice(({}, {"deadline": AnchoredDeadline("notice", "PT5S"), "on_deadline": "denied"}))
    made = process(
        wait("answer", message="answered", within="PT40S"),
        choice("extension", "high", deadline="PT60S", on_deadline="no"),
        task("tell"),
        gate("signoff", groups=("finance",), **again),
        task("send", effect="irreversible"),
        end(),
        ways="answer -[message]-> extension -[extended]-> tell -> signoff -> send -> end\n"
        "answer -[timeout]-> extension -[no]-> signoff\n signoff -[denied]-> answer",
    )
    notice = ClockRule(
        id="notice",
        label="Notice",
        within=rng.choice(("PT20S", "PT60S", "P1BD")),
        stops=("send",),
        pauses=("answer",),
        extend=ClockExtension("extension", "extended", "PT30S", "tell"),
        warn=("PT15S", "PT5S"),
        escalate=rng.choice((None, "manager")),
    )
    return replace(made, clocks=(notice,))


MAKERS: tuple[Callable[[Random], Template], ...] = (
    *(anything, anything, anything, payments, orders, rounds, branches),
    *(signatures, signatures, letters, cases),
)


def draw(rng: Random, number: int) -> Template:
    """One template, with a name and a digest of its own."""
    made = rng.choice(MAKERS)(rng)
    return replace(made, vertical=f"process-{number}", digest=f"sha256:{number}")
