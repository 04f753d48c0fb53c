"""Faults to be planted into the service, each as one patch, so that the simulation can be seen to
find them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from msgspec import structs

from actors.actor import Envelope, RunActor
from actors.core import decider, eligibility
from actors.core.decider import TurnResult
from actors.core.kinds import CallOutcome
from actors.core.messages import CallEffect, Effect, Outcome
from actors.core.reading.scope import Reading, may_read, reading_rows
from actors.core.run import Run
from actors.core.template import Template
from actors.directory import Directory
from daemon.engine.dispatcher import Dispatcher, InFlightCall
from daemon.engine.due_runs import DueRuns, Reviewer
from daemon.model import DueRun
from daemon.templates import reading
from daemon.templates.reading import NeedToKnow
from tests.sim.disk import Disk, Key

Plant = tuple[Any, str, Any]
Planting = Callable[[], Sequence[Plant]]


def double_accept() -> Sequence[Plant]:
    """The directory looks, waits, and then takes what it had seen: two make an actor for the same
    run.
    """
    ask = Directory.ask

    async def check_then_await(self: Directory, key: Key, *args: Any, **how: Any) -> Any:
        if key not in self._actors:
            actor = RunActor(key, self._context, self)
            await asyncio.sleep(0)
            self._actors[key] = actor
        return await ask(self, key, *args, **how)

    return [(Directory, "ask", check_then_await)]


def reply_before_commit() -> Sequence[Plant]:
    """Who asks is told before it is durable."""
    append = RunActor._append

    async def hasty(self: RunActor, done: TurnResult, envelope: Envelope) -> None:
        envelope.answer(done)
        await append(self, done, envelope)

    return [(RunActor, "_append", hasty)]


def effect_before_commit() -> Sequence[Plant]:
    """Effects are asked for before what wants them is durable."""
    append = RunActor._append

    async def hasty(self: RunActor, done: TurnResult, envelope: Envelope) -> None:
        self._context.effects.perform(done.effects, recovered=False)
        await append(self, done, envelope)

    return [(RunActor, "_append", hasty)]


def publish_before_commit() -> Sequence[Plant]:
    """Followers see what is not durable yet."""
    append = RunActor._append

    async def hasty(self: RunActor, done: TurnResult, envelope: Envelope) -> None:
        self._context.feed.publish(done.run, done.events)
        await append(self, done, envelope)

    return [(RunActor, "_append", hasty)]


def passivation_during_a_call() -> Sequence[Plant]:
    """An actor counts as idle as soon as its mailbox is empty."""
    return [(RunActor, "idle", property(lambda self: self._task is None))]


def lost_timer() -> Sequence[Plant]:
    """A wake-up that a restart has to set anew is not set."""
    perform = Dispatcher.perform

    def forgetful(self: Dispatcher, effects: Sequence[Effect], *, recovered: bool) -> None:
        perform(self, [one for one in effects if isinstance(one, CallEffect) or not recovered], recovered=recovered)

    return [(Dispatcher, "perform", forgetful)]


def sent_again_after_a_restart() -> Sequence[Plant]:
    """Whether a call may have been made before the restart is not asked."""
    refused = Dispatcher._refused

    def careless(self: Dispatcher, flight: InFlightCall) -> Outcome | None:
        flight.recovered = False
        return refused(self, flight)

    return [(Dispatcher, "_refused", careless)]


def no_doubt() -> Sequence[Plant]:
    """After a failure an actor goes on with the state that it has."""
    return [(RunActor, "_doubt", lambda _self, _error: None)]


def stale_outcome() -> Sequence[Plant]:
    """What came of an earlier visit is taken for what came of this one."""
    outcome = decider._outcome

    def credulous(turn: Any, message: CallOutcome) -> None:
        here = turn.run.at(message.step_id)
        outcome(turn, message if here is None else structs.replace(message, visit=here.visit))

    return [(decider, "_outcome", credulous)]


def forgotten_caller() -> Sequence[Plant]:
    """A drain ends the actors and says nothing to those who wait in their mailboxes."""

    def silent(self: RunActor) -> None:
        if self._task is not None:
            self._task.cancel()

    return [(RunActor, "stop", silent)]


def receipt_left_out() -> Sequence[Plant]:
    """The answer under an Idempotency-Key is not kept with what it answers."""
    append = RunActor._append

    async def without(self: RunActor, done: TurnResult, envelope: Envelope) -> None:
        envelope.receipt = None
        await append(self, done, envelope)

    return [(RunActor, "_append", without)]


def no_version_check() -> Sequence[Plant]:
    """Whoever writes last wins."""
    return [(Disk, "checks_versions", False), (Disk, "checks_heads", False)]


def no_head_check() -> Sequence[Plant]:
    """What fits by its length is appended, whatever history it goes on from."""
    return [(Disk, "checks_heads", False)]


def unbounded_mailbox() -> Sequence[Plant]:
    """A mailbox takes whatever comes."""
    deliver = RunActor.deliver

    def greedy(self: RunActor, envelope: Envelope) -> None:
        mailbox_max, self._context = self._context.mailbox_max, replace(self._context, mailbox_max=10**6)
        deliver(self, envelope)
        self._context = replace(self._context, mailbox_max=mailbox_max)

    return [(RunActor, "deliver", greedy)]


def one_house_for_all() -> Sequence[Plant]:
    """An actor is found by its run alone, whoever asks."""
    actor = Directory._actor

    def blind(self: Directory, key: Key) -> RunActor:
        return next((one for other, one in self._actors.items() if other[1] == key[1]), None) or actor(self, key)

    return [(Directory, "_actor", blind)]


def calls_after_the_end() -> Sequence[Plant]:
    """A run that was cancelled keeps calling."""
    return [(Dispatcher, "forget", lambda _self, _company_id, _run_id: None)]


def outcome_lost() -> Sequence[Plant]:
    """An outcome that the store could not take does not come again."""

    def resigned(self: Directory, key: Key, _envelope: Envelope, error: Exception) -> None:
        self._report(key, error)

    return [(Directory, "on_undelivered", resigned)]


def settled_call_sent_again() -> Sequence[Plant]:
    """What is outstanding leaves nothing out that was once asked for."""
    outstanding = decider.outstanding

    def everything(run: Run, template: Template) -> tuple[Effect, ...]:
        done = [v for v in run.trace if v.status == "done" and v.request is not None and v.request.mode == "live"]
        old = [
            CallEffect(run.company_id, run.id, v.step_id, v.visit, request=v.request, repeatable=True)
            for v in done[-1:]
            if v.request is not None
        ]
        return (*outstanding(run, template), *old)

    return [(decider, "outstanding", everything)]


def deaf_deadline() -> Sequence[Plant]:
    """Runs are not told what is due."""

    async def silent(_self: DueRuns, _due: DueRun) -> bool:
        return True

    return [(DueRuns, "_tell", silent)]


def deaf_review() -> Sequence[Plant]:
    """Nobody looks again at who may decide when people change."""
    return [(Reviewer, "changed", lambda _self, _company_id: None)]


def quorum_of_one() -> Sequence[Plant]:
    """One verdict closes every gate."""
    return [(eligibility, "needed", lambda _gate, _decision, _company: 1)]


def one_pair_of_eyes() -> Sequence[Plant]:
    """Nobody is kept from deciding on what they decided before."""
    return [(eligibility, "excluded", lambda _visit, _run, _setting: frozenset())]


def stale_sight() -> Sequence[Plant]:
    """What somebody was once found to may read counts for good."""
    sight = NeedToKnow.sight
    kept: dict[tuple[int, str, str], Any] = {}

    async def remembered(self: NeedToKnow, caller: Any) -> Any:
        key = (id(self), caller.company_id, caller.email)
        if key not in kept:
            kept[key] = await sight(self, caller)
        return kept[key]

    return [(NeedToKnow, "sight", remembered)]


def open_to_its_subject() -> Sequence[Plant]:
    """Whom a run is about reads it like others."""

    def blind(who: Any, run: Run, template: Template, at: Any) -> bool:
        return may_read(who, run, replace(template, subjects=()), at)

    return [(reading, "may_read", blind)]


def rows_of_before() -> Sequence[Plant]:
    """Lists go on by what they knew of a run before its glass was broken or mended."""

    def at_the_start(_self: RunActor, run: Run, onto: Template | None) -> Reading | None:
        return None if onto is None else Reading(reading_rows(run, onto))

    return [(RunActor, "_reading", at_the_start)]


PLANTS: dict[str, Planting] = {
    planting.__name__.replace("_", "-"): planting
    for planting in (
        double_accept,
        reply_before_commit,
        effect_before_commit,
        publish_before_commit,
        passivation_during_a_call,
        lost_timer,
        sent_again_after_a_restart,
        no_doubt,
        stale_outcome,
        forgotten_caller,
        receipt_left_out,
        no_version_check,
        no_head_check,
        unbounded_mailbox,
        one_house_for_all,
        calls_after_the_end,
        outcome_lost,
        settled_call_sent_again,
        deaf_deadline,
        deaf_review,
        quorum_of_one,
        one_pair_of_eyes,
        stale_sight,
        open_to_its_subject,
        rows_of_before,
    )
}


@contextmanager
def planted(name: str | None) -> Iterator[None]:
    """The service with that fault in it; as it is when none is named."""
    plants = () if name is None else PLANTS[name]()
    before = [(owner, attribute, owner.__dict__[attribute]) for owner, attribute, _ in plants]
    for owner, attribute, value in plants:
        setattr(owner, attribute, value)
    try:
        yield
    finally:
        for owner, attribute, value in before:
            setattr(owner, attribute, value)
