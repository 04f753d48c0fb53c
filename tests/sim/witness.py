"""The witness: it sees everything that is durable, sent, shown and answered, and says what must
never have been.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from msgspec import UNSET, structs

from actors.actor import RunActor
from actors.core.calls import CallRequest, shown, shown_plan
from actors.core.canonical import digest
from actors.core.decider import TurnResult, outstanding
from actors.core.eligibility import Setting, blocked
from actors.core.folding.evolve import evolve
from actors.core.gate_policy import GatePolicy, inherited
from actors.core.messages import (
    AUTOPILOT,
    CallEffect,
    CallSettled,
    Effect,
    Event,
    GateExpired,
    GateOpened,
    MessageReceived,
    Rejected,
    RunEnded,
    RunStarted,
    StepCleared,
    StepEntered,
    VerdictGiven,
    VerdictWithdrawn,
    WaitEnded,
    Wake,
)
from actors.core.people import Company
from actors.core.run import RETRY, Run
from actors.core.template import APPROVED, DENIED, Template
from actors.ports import Commit
from tests.conversations import Conversation
from tests.property.invariants import check_effects, check_history, check_open
from tests.sim.shadow import Key, Shadow, Sight, Visited

if TYPE_CHECKING:
    from tests.sim.process import Process


SOON = timedelta(seconds=5)


class Witness:
    """Keeps the shadows of all runs; the first thing that is wrong ends the seed."""

    def __init__(self, *, alone: bool) -> None:
        self.alone = alone
        self.wrong: list[str] = []
        self.shadows: dict[Key, Shadow] = {}
        self.templates: dict[str, Template] = {}
        self.sights: dict[str, Sight] = {}
        self.told_no: set[str] = set()
        self.regulars: set[str] = set()
        self.in_doubt: dict[str, str] = {}
        self.turns = self.acks = self.sends = self.looks = self.shown = 0

    def deciders(self, key: Key) -> set[str]:
        """Who has decided in a run; from now on they may speak more than once."""
        shadow = self.shadows.get(key)
        found = {by for counted in shadow.counting.values() for by in counted} if shadow else set()
        self.regulars |= found
        for name in found:
            self.sights.pop(name, None)
        return found

    def broke(self, what: str) -> None:
        """Note what must never be."""
        self.wrong.append(what)

    def must(self, holds: object, what: str) -> None:
        if not holds:
            self.broke(what)

    # ------------------------------------------------------------------------------------- durable

    def durable(self, commit: Commit) -> None:
        """A commit reached the disk: the history goes on without a gap, and folds to the run that
        was kept.
        """
        run, self.turns = commit.run, self.turns + 1
        shadow = self._shadow(run)
        shadow.before = None if self.alone else shadow.copy()
        self.must(commit.expected_version == len(shadow.history), f"{run.id} has a gap or a fork at {run.version}")
        if self.wrong:
            return
        # What people see of a gate stays as it was when others propose, decide or are reminded.
        back = 0 if shadow.talk.state is None else shadow.talk.state.proposed
        shadow.standing = {str(commit.expected_version - number) for number in range(back + 1)}
        for event in commit.events:
            try:
                self._event(shadow, event)
            except (ValueError, KeyError) as error:
                self.broke(f"{run.id} cannot have a {event.type}: {error}")
                return
        self.must(shadow.run == commit.run, f"the history of {run.id} does not fold to what was kept")
        self.must(commit.resting == commit.run.resting, f"{run.id} was kept as resting, and is not, or the reverse")
        shadow.states[run.version] = shadow.run
        self._said(shadow, commit.events)
        for effect in outstanding(shadow.run, shadow.template):
            if isinstance(effect, CallEffect):
                shadow.calls[effect.key] = effect
            else:
                shadow.wakes.add(effect.key)
        self._checked(shadow, partial(check_open, shadow.talk))
        self._checked(shadow, partial(check_effects, shadow.talk))

    def may_lose(self, key: Key) -> bool:
        """Whether a run's last commit is a verdict, and no call is wanted before or behind it."""
        shadow = self.shadows.get(key)
        if shadow is None or shadow.before is None or shadow.before.talk.state is None:
            return False
        last, sides = shadow.history[shadow.before.run.version :], (shadow, shadow.before)
        calls = any(isinstance(one, CallEffect) for side in sides for one in outstanding(side.run, side.template))
        return not calls and any(isinstance(one, VerdictGiven) for one in last)

    def fail_over(self, key: Key, rival: str) -> Commit:
        """Lose the last commit of a run; returns that of somebody else in its place."""
        lost = self.shadows[key]
        before = lost.before
        assert before is not None
        events = tuple(
            structs.replace(one, by=rival) if isinstance(one, VerdictGiven) else one
            for one in lost.history[before.run.version :]
        )
        run = before.run
        for event in events:
            run = evolve(run, event)
        before.lost = [*lost.lost, lost.run]
        self.shadows[key] = before
        commit = Commit(run, events, run.resting)
        self.durable(commit)
        return commit

    def _shadow(self, run: Run) -> Shadow:
        key = (run.company_id, run.id)
        if key not in self.shadows:
            template = self.templates[run.template_digest]
            self.shadows[key] = Shadow(template, Conversation(template))
        return self.shadows[key]

    def _checked(self, shadow: Shadow, check: Callable[[], None]) -> None:
        try:
            check()
        except AssertionError as error:
            where = error.__traceback__
            while where is not None and where.tb_next is not None:
                where = where.tb_next
            line = "" if where is None else f" at {where.tb_frame.f_code.co_name}:{where.tb_lineno}"
            self.broke(f"an invariant of {shadow.run.id} does not hold{line}: {error}")

    def _event(self, shadow: Shadow, event: Event) -> None:
        match event:
            case GateOpened():
                self._opened(shadow, event)
            case VerdictGiven():
                self._judged(shadow, event)
            case VerdictWithdrawn():
                counted = shadow.counting.get((event.step_id, event.visit), {})
                self.must(counted.pop(event.giver, None), f"{event.giver} withdrew nothing from {shadow.run.id}")
            case GateExpired():
                self._expired(shadow, event)
            case WaitEnded():
                self._waited(shadow, event)
            case CallSettled():
                self._settled(shadow, event)
            case StepCleared() if event.by != AUTOPILOT:
                shadow.human.add((event.step_id, event.visit))
            case _:
                pass
        shadow.talk.state = evolve(shadow.talk.state, event)
        shadow.history.append(event)

    def _opened(self, shadow: Shadow, event: GateOpened) -> None:
        run, visit = shadow.run, (event.step_id, event.visit)
        self.must(visit not in shadow.verdicts, f"the gate {visit} of {run.id} opened after its verdict")
        seen = {
            "run": run.id,
            "template": shadow.template.digest,
            "step": event.step_id,
            "visit": event.visit,
            "inputs": run.inputs,
            "facts": run.facts,
            "missing": event.missing,
            "effect": shown(event.request),
            "effects": [
                shown_plan(one, event.request if one.step_id == event.step_id else None) for one in event.effects or ()
            ],
        }
        self.must(digest(seen) == event.digest, f"the digest of {visit} of {run.id} is not of what it shows")
        shadow.gates[visit] = event
        shadow.counting[visit] = {}

    def _expired(self, shadow: Shadow, event: GateExpired) -> None:
        """A deadline closes a gate that is open, and not before its time."""
        run, visit = shadow.run, (event.step_id, event.visit)
        self.must(visit in shadow.gates, f"{visit} of {run.id} expired and never opened")
        self.must(visit not in shadow.verdicts, f"{visit} of {run.id} expired after its verdict")
        self.must(visit not in shadow.expired, f"{visit} of {run.id} expired twice")
        here = run.at(event.step_id)
        due = here is not None and here.gate is not None and here.gate.due_at is not None
        self.must(due and here.gate.due_at <= event.at, f"{visit} of {run.id} expired before its time")  # type: ignore[union-attr, operator]
        shadow.expired.add(visit)

    def _waited(self, shadow: Shadow, event: WaitEnded) -> None:
        run, visit = shadow.run, (event.step_id, event.visit)
        self.must(visit not in shadow.waited, f"the wait {visit} of {run.id} ended twice")
        here = run.at(event.step_id)
        until = None if here is None or here.wait is None else here.wait.until
        early = event.how != "message" and (until is None or until > event.at)
        self.must(not early, f"the wait {visit} of {run.id} ended before its time")
        shadow.waited.add(visit)

    def _judged(self, shadow: Shadow, event: VerdictGiven) -> None:
        run, visit = shadow.run, (event.step_id, event.visit)
        self.must(visit in shadow.gates, f"a verdict on {visit} of {run.id}, which never opened")
        self.must(visit not in shadow.verdicts, f"two verdicts on {visit} of {run.id}")
        self.must(visit not in shadow.expired, f"a verdict on {visit} of {run.id} after its deadline closed it")
        self._counted(shadow, event)
        if event.open is not True:
            shadow.verdicts[visit] = event
        sight = self.sights.get(event.by)
        if sight is not None and not self.wrong:
            gate = shadow.gates[visit]
            self.must(sight.digest in (None, gate.digest), f"{event.by} had seen something else at {visit} of {run.id}")
            fits = sight.versions is None or bool(shadow.standing & sight.versions)
            self.must(fits, f"{event.by} had seen another version of {run.id}")
            same = sight == Sight() or event.open is True or event.request == gate.request
            self.must(same, f"{event.by} allowed something else at {visit} of {run.id}")

    def _counted(self, shadow: Shadow, event: VerdictGiven) -> None:
        """Enough people agree before a gate closes, none twice, none against four eyes."""
        run, visit = shadow.run, (event.step_id, event.visit)
        policy, counting = self._policy(shadow, visit), shadow.counting.setdefault(visit, {})
        self.must(event.by not in counting, f"{event.by} decided twice at {visit} of {run.id}")
        counting[event.by] = event.decision
        needed = policy.denials if event.decision == DENIED else policy.quorum
        agreed = sum(decision == event.decision for decision in counting.values())
        closes = event.open is not True
        self.must(closes == (agreed >= needed), f"{visit} of {run.id} closes with {agreed} of {needed}, or stays open")
        for word in policy.four_eyes:
            barred = {run.created_by} if word == "starter" else self._deciders(shadow, word.removeprefix("gate:"))
            self.must(event.by not in barred, f"{event.by} decided at {visit} of {run.id} against four eyes")

    def _policy(self, shadow: Shadow, visit: Visited) -> GatePolicy:
        """What a gate asks: what its step says, and what the gate asked that allowed its call."""
        nodes, own = shadow.template.nodes, shadow.template.node(visit[0])
        asked = shadow.gates[visit].policy
        said = own.policy if asked is UNSET else asked
        lent = [inherited(own.policy, one.policy) for one in nodes] if own.effect == "irreversible" else []
        self.must(said in (own.policy, *lent), f"{visit} of {shadow.run.id} asks what no gate in front of it asks")
        return said

    @staticmethod
    def _deciders(shadow: Shadow, step_id: str) -> set[str]:
        return {by for (step, _), counted in shadow.counting.items() if step == step_id for by in counted}

    def _settled(self, shadow: Shadow, event: CallSettled) -> None:
        run, visit = shadow.run, (event.step_id, event.visit)
        self.must(visit not in shadow.settled, f"{visit} of {run.id} was settled twice")
        shadow.settled.add(visit)
        key = event.output.get("key") if isinstance(event.output, dict) else None
        own = f"{run.id}:{event.step_id}:{event.visit}"
        self.must(key in (None, own), f"{own} has the output of {key}")

    def _said(self, shadow: Shadow, events: Sequence[Event]) -> None:
        """Each command carries a name of its own, under which nothing can happen twice."""
        names = {
            event.by
            for event in events
            if isinstance(event, RunStarted | VerdictGiven | RunEnded | StepEntered | MessageReceived)
            and event.by not in (None, AUTOPILOT)
        }
        for name in names - self.regulars:
            self.must(name not in shadow.spoke, f"the command {name} counted twice in {shadow.run.id}")
            self.must(name not in self.told_no, f"the command {name} counted after its sender was told that it did not")
        shadow.spoke |= names

    # ------------------------------------------------------------------------------------- visible

    def loaded(self, key: Key, run: Run | None) -> None:
        """A run was read: it is one of its durable states."""
        shadow = self.shadows.get(key)
        if run is not None and not (shadow is not None and run in shadow.lost):
            self.must(
                shadow is not None and shadow.states.get(run.version) == run, f"{key[1]} was read as it never was"
            )

    def seen(self, where: str, run: Run, events: Sequence[Event] = ()) -> None:
        """Somebody was shown a run, and what had just happened to it: all of it is durable."""
        shadow = self.shadows.get((run.company_id, run.id))
        if shadow is not None and run in shadow.lost:
            return
        if shadow is None or shadow.states.get(run.version) != run:
            self.broke(f"{where}: {run.id} was seen at version {run.version}, which is not durable")
            return
        told = shadow.history[run.version - len(events) : run.version]
        self.must(told == list(events), f"{where}: {run.id} was seen with events that are not its history")

    def asked(self, where: str, effects: Sequence[Effect]) -> None:
        """Effects were asked for: a durable state wants each of them, exactly so."""
        for effect in effects:
            shadow = self.shadows.get((effect.company_id, effect.run_id))
            if isinstance(effect, Wake):
                wanted = shadow is not None and effect.key in shadow.wakes
            else:
                wanted = shadow is not None and shadow.calls.get(effect.key) == effect
            self.must(wanted, f"{where}: {effect.key} was asked for before it was durable")

    def answered(self, process: Process, key: Key, answer: TurnResult | Rejected) -> None:
        """Somebody was told that something happened: it is durable, and a visit is closed for one
        of them only.
        """
        if isinstance(answer, Rejected):
            return
        self.acks += 1
        self.must((answer.run.company_id, answer.run.id) == key, f"{key} was answered with the run {answer.run.id}")
        self.seen(f"{process.name} reply", answer.run, answer.events)
        if self.wrong or answer.run in self.shadows[key].lost:
            return
        for event in answer.events:
            if isinstance(event, VerdictGiven) and event.open is not True:
                visit, others = (event.step_id, event.visit), self.shadows[key].acknowledged
                self.must(visit not in others, f"two were told that they closed {visit} of {key[1]}")
                others[visit] = event.by

    def tries(self, name: str) -> None:
        """Somebody says it, or says it again."""
        self.told_no.discard(name)

    def doubted(self, process: Process, name: str) -> None:
        """Somebody was told that nobody knows: what this process then says to a repeat is of the
        repeat alone.
        """
        self.in_doubt[name] = process.name

    def refused(self, process: Process, key: Key, name: str) -> None:
        """Somebody was told that nothing of it happened: nothing has, and nothing will."""
        if self.alone and self.in_doubt.get(name) != process.name:
            shadow = self.shadows.get(key)
            counted = shadow is not None and name in shadow.spoke
            self.must(not counted, f"{name} was told that nothing happened to {key[1]}, and it did")
            self.told_no.add(name)

    # ------------------------------------------------------------------------------------ the wire

    def sent(self, process: Process, key: str, request: CallRequest) -> None:
        """A call left: it is durable, allowed, as it was shown, and not a second one that must not
        be.
        """
        self.sends += 1
        run_id, step_id, number = key.rsplit(":", 2)
        shadow = next((one for (_, name), one in self.shadows.items() if name == run_id), None)
        if shadow is None or key not in shadow.calls:
            self.broke(f"{process.name}: {key} was sent before it was durable")
            return
        visit, node, run = (step_id, int(number)), shadow.template.node(step_id), shadow.run
        shadow.wire[key] += 1
        self.must(request == shadow.calls[key].request, f"{key} was sent otherwise than it was fixed")
        self.must(f"https://{run.company_id}." in (request.url or ""), f"{key} went to the far side of somebody else")
        if visit in shadow.verdicts:
            self.must(request == shadow.verdicts[visit].request, f"{key} was sent otherwise than it was allowed")
            seen = node.effect != "irreversible" or request == shadow.gates[visit].request
            self.must(seen, f"{key} is irreversible and was sent otherwise than it was shown")
        if node.effect == "irreversible":
            self.must(request.idempotent or shadow.wire[key] == 1, f"{key} is irreversible and was sent twice")
        self._governed(shadow, visit, key)
        if self.alone:
            self.must(visit not in shadow.settled, f"{key} is settled and was sent again")
            self.must((run.company_id, run_id) not in process.over, f"{key} was sent after the run had ended")

    def _governed(self, shadow: Shadow, visit: Visited, key: str) -> None:
        node, verdict = shadow.template.node(visit[0]), shadow.verdicts.get(visit)
        approved = (verdict is not None and verdict.decision == APPROVED) or visit in shadow.human
        if node.gate or not shadow.run.auto_resolve:
            self.must(approved, f"{key} was sent without a verdict")
        elif node.effect == "irreversible":
            allowed = any(one.decision not in ("denied", RETRY) for one in shadow.verdicts.values())
            self.must(allowed or approved, f"{key} is irreversible and was sent before anybody allowed anything")

    # ---------------------------------------------------------------------------------------- rest

    def left(self, process: Process, actor: RunActor) -> None:
        """An actor has nothing in its mailbox: it knows what is durable, and what it waits for is
        under way.
        """
        shadow, run = self.shadows.get(actor.key), actor.run
        if shadow is None:
            return
        fresh = run is None or run == shadow.run or not self.alone
        self.must(fresh, f"{actor.key[1]} is live as of another state than the durable one")
        if process.stopping:
            return
        soon = process.repeats.get(actor.key, -1.0) >= process.world.loop.time()
        if run is None:
            excused = soon or not process.recovered.is_set() or not self.alone
            self.must(shadow.run.resting or excused, f"{actor.key[1]} was forgotten and is not at rest")
            return
        for effect in outstanding(run, shadow.template):
            self.must(soon or process.sees_to(effect), f"{effect.key} is wanted and nobody sees to it")

    def passivated(self, process: Process, actors: Sequence[RunActor]) -> None:
        """Actors were let go: each was at rest, with nothing to do and nothing under way."""
        for actor in actors:
            shadow = self.shadows.get(actor.key)
            self.must(actor.task is None, f"{actor.key[1]} was let go at work")
            if shadow is None or actor.run is None:
                continue
            self.must(actor.run.resting, f"{actor.key[1]} was let go while it waits for something")
            flying = actor.run.ended is None and process.dispatcher._in_flight.get(actor.key)
            self.must(not flying or not self.alone, f"{actor.key[1]} was let go with a call under way")

    def finished(self, now: datetime, companies: Mapping[str, Company]) -> None:
        """All faults are over and time has passed: every run stands still, nothing is overdue, a
        gate that nobody can pass says so, and the whole history holds.
        """
        for (company_id, run_id), shadow in self.shadows.items():
            due = shadow.run.wake_at
            self.must(due is None or due > now - SOON, f"{run_id} was not told what is due since {due}")
            setting = Setting(shadow.template, {}, companies[company_id])
            for gate in shadow.run.parked:
                asked = gate.gate
                says = asked is not None and asked.blocked is not None
                asks = asked is not None and asked.policy.asks_people
                is_so = asks and blocked(gate, shadow.run, setting) is not None
                self.must(says == is_so, f"{gate.step_id} of {run_id} is blocked and does not say so, or the reverse")
            self.must(shadow.run.resting, f"{run_id} is stuck: {[(v.step_id, v.status) for v in shadow.run.open]}")
            self._checked(shadow, partial(check_history, shadow.history))
            for visit, by in shadow.acknowledged.items():
                verdict = shadow.verdicts.get(visit)
                self.must(verdict is not None and verdict.by == by, f"a verdict of {by} on {run_id} was lost")
