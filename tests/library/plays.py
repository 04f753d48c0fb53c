"""Random runs of a process: tools answer by their schemas, people decide, and time passes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import timedelta
from functools import cached_property
from random import Random
from typing import Any, NamedTuple

from actors.core.calls import Connector, StoredBinding, dry_run
from actors.core.decider import TurnResult
from actors.core.messages import (
    CallEffect,
    CallSettled,
    Effect,
    Event,
    GateOpened,
    Rejected,
    RunEnded,
    Start,
    StepCleared,
    StepEntered,
    VerdictGiven,
    WaitBegan,
)
from actors.core.people import Company, Person
from actors.core.run import DONE, Visit
from actors.core.template import APPROVED, DENIED, Template
from tests.conversations import DOWN, LOST, NOT_SENT, Conversation
from tests.library import values
from tests.library.documents import Vertical
from tests.library.expressions import Path
from tests.library.values import Pool

TURNS_MAX = 400
RETRIES_MAX = 3
ROLES = ("owner", "owner", "admin", "admin", "admin", "manager", "manager", "manager", "manager", "manager")
PEOPLE = {f"{role}{nth}": Person(f"{role}{nth}", f"{role}{nth}", role) for nth, role in enumerate(ROLES)}
COMPANY = Company(people={**PEOPLE, "sam": Person("sam", "sam", "member")})
AUTHOR = "owner0"


class Change(NamedTuple):
    """A member of a tool's output that is given another value in every answer."""

    tool: str
    path: Path
    value: Any


class Temper(NamedTuple):
    """How often tools answer as in the example, fail, or say what no schema allows, and so on.

    Where any fails, one of them always does at first.
    """

    clean: float
    failing: float
    spoiling: float
    agreeing: float
    late: float
    live: bool
    auto: bool

    @classmethod
    def of(cls, random: Random) -> Temper:
        return cls(
            clean=random.choice((0.1, 0.5, 0.9, 1.0)),
            failing=random.choice((0.0, 0.0, 0.05, 0.2)),
            spoiling=random.choice((0.0, 0.0, 0.05, 0.2)),
            agreeing=random.choice((0.4, 0.7, 0.95)),
            late=random.choice((0.0, 0.1, 0.5)),
            live=random.random() < 0.8,
            auto=random.random() < 0.9,
        )


CALM = Temper(clean=0.9, failing=0.0, spoiling=0.0, agreeing=0.8, late=0.1, live=True, auto=True)
"""No tool fails."""
UNUSUAL = CALM._replace(clean=0.1)
"""Most tools answer anything that their schema allows."""
CLEAN = CALM._replace(clean=1.0)
"""Each tool answers as in the example."""


class DeadEnd(Exception):
    """Nobody and nothing can let a run go on."""


class Stage:
    """What all runs of a process have in common."""

    def __init__(self, vertical: Vertical) -> None:
        self.vertical = vertical
        self.example: dict[str, Any] = vertical.document["example"]
        calling = [node for node in vertical.template.nodes if node.tool is not None]
        tools = {tool for node in calling for tool in (node.tool, node.compensate) if tool is not None}
        self.connectors: dict[str, Connector] = {
            tool: StoredBinding(tool, 1, "https://api.test", "POST", f"/{tool}", reversible=True, changed_by=AUTHOR)
            for tool in sorted(tools)
        }

    @property
    def template(self) -> Template:
        return self.vertical.template

    @cached_property
    def pools(self) -> Mapping[str, Pool]:
        """The values that expressions compare members with, by the tool; `` has the inputs."""
        found: dict[str, dict[Path, list[Any]]] = {}
        for expression in self.vertical.expressions:
            for read in expression.reads:
                match read.path:
                    case ("inputs", *rest):
                        known = ""
                    case ("output", *rest):
                        known = self.vertical.tool_of(expression.step_id) or ""
                    case ("facts", step_id, *rest):
                        known = self.vertical.tool_of(step_id) or f"step {step_id}"
                    case _:
                        continue
                found.setdefault(known, {}).setdefault(tuple(rest), []).extend(read.literals)
        return dict(found)

    @cached_property
    def clean(self) -> dict[str, Any]:
        """What the tools answer to the example, by the step."""
        talk = Conversation(self.template)
        talk.start(self.example)
        for _ in range(TURNS_MAX):
            run = talk.run
            if run.ended is not None:
                break
            pending = talk.last.effects if isinstance(talk.last, TurnResult) else ()
            if pending:
                talk.elapsed(pending[0].step_id, pending[0].visit)
            elif run.parked:
                asked = run.parked[0]
                decisions = asked.gate.decisions if asked.gate is not None else (APPROVED,)
                talk.resume(asked.step_id, APPROVED if APPROVED in decisions else decisions[0], comment="Seen.")
            else:
                talk.due(timedelta(days=400))
        facts = talk.run.facts
        return {
            node.id: facts.get(node.id) or dry_run(node, self.example, facts)[0]
            for node in self.template.nodes
            if node.tool is not None
        }

    def answer(self, step_id: str, tool: str, random: Random, clean: float) -> Any:
        """What a tool answers at a step: as in the example, or anything that its schema allows."""
        if random.random() < clean and step_id in self.clean:
            return self.clean[step_id]
        schema = self.vertical.tools.get(tool, {}).get("output") or {"type": "object"}
        return values.value(schema, random, self.pools.get(tool, {}))

    def inputs(self, random: Random) -> dict[str, Any]:
        """The example with some members that are others, and some that are left out."""
        share = random.choice((0.0, 0.2, 0.6))
        found = dict(self.example)
        schemas = self.vertical.entry.inputs_schema.get("properties", {})
        for name, schema in schemas.items():
            if random.random() < share:
                found[name] = values.value(schema, random, self.pools.get("", {}), (name,))
            if random.random() < share / 4:
                found.pop(name, None)
        return found


class Play:
    """One run from its start to where nothing goes on; the same seed plays the same run again.

    Each choice hangs on the seed, the step and the visit alone, so that runs whose tools answer
    otherwise differ only where the answers matter.
    """

    def __init__(self, stage: Stage, seed: int, temper: Temper | None = None, change: Change | None = None) -> None:
        self.stage, self.seed, self.change = stage, seed, change
        self.temper = temper or Temper.of(self.random("temper"))
        connectors = stage.connectors if self.temper.live else {}
        self.talk = Conversation(stage.template, connectors, company=COMPANY)
        self.changed_at: list[str] = []
        self.retries = 0
        tasks = [node.id for node in stage.template.nodes if node.tool is not None]
        self.failing = self.random("fails").choice(tasks) if self.temper.failing and tasks else None

    def random(self, *what: Any) -> Random:
        return Random(f"{self.stage.vertical}/{self.seed}/{what}")

    @property
    def events(self) -> list[Event]:
        return self.talk.history

    def finish(self) -> Play:
        """Play until the run is over; DeadEnd where nothing can go on."""
        given = self.stage.inputs(self.random("inputs"))
        self.talk.say(
            Start(run_id="r", company_id="c", by="sam", inputs=given, auto_resolve=self.temper.auto, at=self.talk.at)
        )
        for turn in range(TURNS_MAX):
            if not self._goes_on(turn):
                return self
        message = f"it does not end within {TURNS_MAX} turns, and stands at {', '.join(self._open())}"
        raise DeadEnd(message)

    def _open(self) -> list[str]:
        return [visit.step_id for visit in self.talk.run.open]

    def _goes_on(self, turn: int) -> bool:
        run, last = self.talk.run, self.talk.last
        pending: tuple[Effect, ...] = last.effects if isinstance(last, TurnResult) else ()
        if run.ended is not None and run.status != "failed":
            return False
        if pending:
            self._settle(self.random("order", turn).choice(pending))
        elif run.status == "failed":
            self.retries += 1
            if self.retries > RETRIES_MAX or self.random("retry", self.retries).random() < 0.5:
                return False
            self.talk.retry()
        else:
            self._stir(turn)
        return True

    # --------------------------------------------------------------------------------- the tools

    def _settle(self, effect: Effect) -> None:
        step_id, visit = effect.step_id, effect.visit
        if not isinstance(effect, CallEffect):
            self.talk.elapsed(step_id, visit)
            return
        random = self.random("answer", step_id, visit)
        if random.random() < self.temper.failing or (step_id == self.failing and visit == 1):
            unknown = not effect.repeatable and random.random() < 0.3
            self.talk.failed(
                step_id, visit, unknown=unknown, error=LOST if unknown else random.choice((DOWN, NOT_SENT))
            )
            return
        self.talk.returned(step_id, visit, self._answer(step_id, effect.request.tool, random))

    def _answer(self, step_id: str, tool: str, random: Random) -> Any:
        found = self.stage.answer(step_id, tool, random, self.temper.clean)
        if random.random() < self.temper.spoiling and isinstance(found, dict) and found:
            name = random.choice(sorted(found))
            found = values.put(found, (name,), random.choice(values.spoiled(found[name])))
        if self.change is not None and self.change.tool == tool:
            found = values.put(found, self.change.path, self.change.value)
            self.changed_at.append(step_id)
        return found

    # -------------------------------------------------------------------- people, messages, time

    def _stir(self, turn: int) -> None:
        """Let somebody decide, a message come, or time pass until something is due."""
        open_ = [visit for visit in self.talk.run.open if visit.gate is not None or visit.wait is not None]
        due = min(filter(None, map(_due, open_)), default=None)
        random = self.random("stir", *(f"{visit.step_id}:{visit.visit}" for visit in open_), len(self.events))
        if due is not None and random.random() < self.temper.late:
            self.talk.due(max(due - self.talk.at, timedelta()))
            return
        asked = [visit for visit in open_ if visit.gate is not None and visit.status == "parked"]
        expected = [one.wait.message for one in open_ if one.wait is not None and one.wait.message is not None]
        if asked:
            self._decide(random.choice(asked), turn)
        elif expected and random.random() < max(self.temper.agreeing, 0.3 if due is None else 0.0):
            self._message(random.choice(open_), random)
        elif due is not None:
            self.talk.due(max(due - self.talk.at, timedelta()))
        elif not expected:
            message = f"it stands at {', '.join(self._open())}, and nothing is due there"
            raise DeadEnd(message)

    def _message(self, visit: Visit, random: Random) -> None:
        name = visit.wait.message if visit.wait is not None else None
        if name is None:
            return
        pool = self.stage.pools.get(f"step {visit.step_id}", {})
        payload: dict[str, Any] = {}
        for path, literals in pool.items():
            if path[:1] == ("payload",) and len(path) > 1 and random.random() < 0.9:
                payload = values.put(payload, path[1:], random.choice([*literals, values.UNEXPECTED]))
        self.talk.deliver(name, payload)

    def _decide(self, visit: Visit, turn: int) -> None:
        random = self.random("decide", visit.step_id, visit.visit, turn if turn > TURNS_MAX // 2 else 0)
        gate = visit.gate
        assert gate is not None
        agreed = APPROVED in gate.decisions and random.random() < self.temper.agreeing
        others = [one for one in gate.decisions if one != APPROVED] or [*gate.decisions]
        decision = APPROVED if agreed else random.choice(others)
        brought = self._brought(visit, decision, random)
        refusals: Counter[str] = Counter()
        before = len(self.events)
        given = {verdict.by for verdict in gate.verdicts}
        for name in sorted(PEOPLE, key=lambda _: random.random()):
            if name not in given:
                role = PEOPLE[name].role
                done = self.talk.resume(visit.step_id, decision, by=name, role=role, **brought)
                if "inputs" in brought and isinstance(done, Rejected) and done.code == "invalid":
                    open_ = {key: value for key, value in brought.items() if key != "inputs"}  # one of several verdicts
                    done = self.talk.resume(visit.step_id, decision, by=name, role=role, **open_)
                if len(self.events) > before:
                    return
                refused = done.rejected if isinstance(done, TurnResult) else done
                refusals[f"{refused.code}: {refused.detail}" if refused is not None else "nothing new"] += 1
        if _due(visit) is None:
            message = f"nobody can decide {decision} at {visit.step_id}: {'; '.join(refusals)}"
            raise DeadEnd(message)
        self.temper = self.temper._replace(late=1.0)

    def _brought(self, visit: Visit, decision: str, random: Random) -> dict[str, Any]:
        """What a verdict has to bring."""
        gate = visit.gate
        assert gate is not None
        policy = gate.policy
        found: dict[str, Any] = {"comment": "Seen."}
        if decision == DENIED and policy.denial_codes:
            found["code"] = random.choice(policy.denial_codes)
        if policy.form is not None and decision != DENIED:
            found["form"] = values.value(policy.form, random, self.stage.pools.get(f"step {visit.step_id}", {}))
        if gate.missing and decision == APPROVED:
            found["inputs"] = self._missing(gate.missing, random)
        if decision == DONE:
            tool = visit.request.tool if visit.request is not None else ""
            found["output"] = self.stage.answer(visit.step_id, tool, random, 1.0)
        return found

    def _missing(self, pointers: tuple[str, ...], random: Random) -> dict[str, Any]:
        schema = self.stage.vertical.entry.inputs_schema
        whole = values.value(
            {**schema, "required": [*schema.get("properties", {})]}, random, self.stage.pools.get("", {})
        )
        found: dict[str, Any] = {}
        for pointer in pointers:
            path = tuple(pointer.removeprefix("/inputs").split("/")[1:])
            known = values.get(self.stage.example, path)
            found = values.put(found, path, values.get(whole, path) if known is values.GONE else known)
        return found

    # ------------------------------------------------------------------------------ what happened

    @property
    def path(self) -> tuple[Any, ...]:
        """The steps, branches, hits, questions and moments of the run, in their order."""
        return tuple(one for event in self.events if (one := _told(event)) is not None)

    @property
    def edges(self) -> Iterator[tuple[str, str]]:
        """The ways that were taken, but for those out of a gateway that a person had to take."""
        by_hand: set[str] = set()
        for event in self.events:
            match event:
                case VerdictGiven() if (
                    not (node := self.stage.template.node(event.step_id)).gate and node.panel is None
                ):
                    by_hand.add(event.step_id)
                case StepCleared():
                    by_hand.discard(event.step_id)
                case StepEntered() if event.source and event.source not in by_hand:
                    yield event.source, event.step_id

    @property
    def outcome(self) -> str | None:
        ended = self.talk.run.ended
        return None if ended is None else ended.outcome

    def unattended_after(self, step_id: str) -> bool:
        """Whether behind a step something is done, or the run ends, before a human decides."""
        begun = False
        effects = {node.id: node.effect for node in self.stage.template.nodes}
        for event in self.events:
            match event:
                case CallSettled() if event.step_id == step_id:
                    begun = True
                case GateOpened() | VerdictGiven() if begun:
                    return False
                case StepEntered() if begun and effects.get(event.step_id) in ("reversible", "irreversible"):
                    return True
                case RunEnded() if begun:
                    return True
        return False


def _due(visit: Visit) -> Any:
    """When something is due at a visit next."""
    if visit.gate is not None and visit.gate.wake_at is not None:
        return visit.gate.wake_at
    return None if visit.wait is None else visit.wait.until


def _told(event: Event) -> Any:
    match event:
        case StepEntered():
            return "entered", event.step_id, event.visit, event.source
        case StepCleared():
            return "cleared", event.step_id, event.visit, event.branch or None
        case CallSettled():
            return "settled", event.step_id, event.visit, event.signal is True
        case GateOpened():
            return "asked", event.step_id, event.visit, event.question or None
        case VerdictGiven():
            return "decided", event.step_id, event.visit, event.decision
        case WaitBegan():
            return "waits", event.step_id, event.visit, event.until or None
        case RunEnded():
            return "ended", event.status, event.outcome or None
        case _:
            return None
