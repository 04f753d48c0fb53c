"""Process templates as the core sees them: typed graphs, and where their inputs are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol

from msgspec import Struct
from msgspec.structs import replace

from actors.core.autonomy import PanelRule
from actors.core.gate_policy import PLAIN, GatePolicy, Loosened
from actors.core.people import ReaderRule

Kind = Literal["task", "gate", "gateway", "wait", "end"]
Tier = Literal["low", "medium", "high", "critical"]
ToolEffect = Literal["read", "reversible", "irreversible"]
Flow = Literal["exclusive", "parallel"]

GATE_TIERS: frozenset[str] = frozenset({"high", "critical"})
APPROVED = "approved"
DENIED = "denied"
ERROR = "error"
"""The branch that a task takes when its call has failed for good."""
MESSAGE = "message"
TIMEOUT = "timeout"


class Traits(Struct, frozen=True):
    """What is true of every node of a kind; `kinds.py` has what a run does there."""

    calls: bool = False
    """It makes a call of a tool."""
    branches: bool = False
    """It has several ways on."""
    signs: bool = False
    """A human always decides."""
    waits: bool = False
    """It waits for a time or a message."""
    begins: bool = False
    """An approval lets it begin, and settles nothing."""
    ends: bool = False
    """The run ends there."""


TRAITS: dict[Kind, Traits] = {
    "task": Traits(calls=True),
    "gate": Traits(signs=True),
    "gateway": Traits(branches=True),
    "wait": Traits(waits=True, begins=True),
    "end": Traits(ends=True),
}


class ConditionFailed(Exception):
    """A condition could not be answered with true or false; the text says why."""


class Condition(Protocol):
    """A yes-or-no question about a run's inputs and facts."""

    @property
    def text(self) -> str:
        """The expression as its author wrote it."""

    @property
    def reads(self) -> tuple[str, ...]:
        """The inputs that it reads without asking whether they are there, as dotted keys."""

    def holds(self, inputs: dict[str, Any], facts: dict[str, Any]) -> bool:
        """Answer the question; raise ConditionFailed when there is no clear yes or no."""


class OutputCondition(Protocol):
    """A yes-or-no question about what a tool answered."""

    @property
    def text(self) -> str:
        """The expression as its author wrote it."""

    def holds(self, output: Any) -> bool:
        """Answer the question; raise ConditionFailed when there is no clear yes or no."""


class Moment(Protocol):
    """A question about a run's inputs, facts and clocks whose answer is a time."""

    @property
    def text(self) -> str:
        """The expression as its author wrote it."""

    @property
    def reads(self) -> tuple[str, ...]:
        """The inputs that it reads without asking whether they are there, as dotted keys."""

    def time(self, inputs: dict[str, Any], facts: dict[str, Any], clocks: dict[str, Any], /) -> datetime:
        """Answer the question; raise ConditionFailed when there is no clear answer.

        `clocks` has the state and the times of the run's clocks by id, times as text of RFC 3339.
        """


class Form(Protocol):
    """What a verdict has to bring."""

    def errors(self, values: dict[str, Any]) -> list[tuple[str, str]]:
        """All that is wrong: a pointer below the form and a sentence for each."""


class Wait(Struct, frozen=True):
    """What a step waits for: a duration, a time, or a message within a duration."""

    duration: str | None = None
    until: Moment | None = None
    message: str | None = None
    within: str | None = None

    @property
    def counts_business_days(self) -> bool:
        """Whether it follows the company's calendar."""
        return "B" in (self.duration or self.within or "")


class DurationExpression(Protocol):
    """A question about a run's inputs and facts whose answer is a duration."""

    @property
    def text(self) -> str:
        """The expression as its author wrote it."""

    @property
    def reads(self) -> tuple[str, ...]:
        """The inputs that it reads without asking whether they are there, as dotted keys."""

    def duration(self, inputs: dict[str, Any], facts: dict[str, Any]) -> str:
        """Answer the question in text of ISO 8601; raise ConditionFailed without a clear answer."""


class ClockExtension(Struct, frozen=True):
    """A decision at a gate gives a clock more time, once, when the step of its notice is done."""

    at: str
    decision: str
    by: str
    once_done: str


class ClockRule(Struct, frozen=True, kw_only=True):
    """How long the law gives a case, from a time or a step until one of its acts is done.

    Without `since` and `from_step` it counts from the start of the run. `pauses` are waits, and
    questions at a gate as `question:<step-id>`. `warn` counts back from when it is due. After a
    breach people of the role `escalate` may decide at the gates in its way, too.
    """

    id: str
    label: str
    within: str | DurationExpression
    stops: tuple[str, ...]
    since: Moment | None = None
    from_step: str | None = None
    pauses: tuple[str, ...] = ()
    extend: ClockExtension | None = None
    warn: tuple[str, ...] = ()
    escalate: str | None = None
    source: str | None = None

    @property
    def counts_business_days(self) -> bool:
        """Whether it follows the company's calendar, or may, since an expression says how long."""
        added = () if self.extend is None else (self.extend.by,)
        return not isinstance(self.within, str) or any("B" in one for one in (self.within, *added, *self.warn))


class FunctionRule(Struct, frozen=True):
    """An office that a company fills; the least role stands in while it fills it with nobody."""

    label: str
    role: str


class Inputs(Protocol):
    """The form of a template's inputs."""

    def errors(self, inputs: dict[str, Any]) -> list[tuple[str, str]]:
        """The inputs of a wrong form: a pointer below `/inputs` and a sentence for each."""


class DryRun(Struct, frozen=True):
    """What a shadowed tool answers when its condition holds, and whether that is a hit."""

    output: dict[str, Any]
    signal: bool = False
    when: Condition | None = None


class Node(Struct, frozen=True):
    """One step of a template; docs/guides/templates.md has its kinds and their fields.

    `question` is what a gate asks, with placeholders for values. `compensate` is the tool that
    undoes a task; an end that `compensates` has it all undone. A `panel` hears a task. `duty` is
    the id of the rule whose act this is. An end says of the clocks that it `ends_clocks` why the
    law asks for nothing more. The call of an action has the `consent` of the company's rule of that
    id, and is `handed` over where the agent makes it.
    """

    id: str
    kind: Kind
    label: str
    tier: Tier = "low"
    flow: Flow | None = None
    tool: str | None = None
    effect: ToolEffect | None = None
    needs: tuple[str, ...] = ()
    dry_run: tuple[DryRun, ...] = ()
    signal_when: OutputCondition | None = None
    role: str | None = None
    outcome: str | None = None
    policy: GatePolicy = PLAIN
    form: Form | None = None
    question: str | None = None
    wait: Wait | None = None
    compensate: str | None = None
    compensates: bool = False
    panel: PanelRule | None = None
    duty: str | None = None
    ends_clocks: dict[str, str] = {}
    consent: str | None = None
    handed: bool = False

    @property
    def traits(self) -> Traits:
        return TRAITS[self.kind]

    @property
    def gate(self) -> bool:
        """Whether a human verdict is always needed here."""
        return self.traits.signs or (not self.traits.ends and self.tier in GATE_TIERS)

    @property
    def asks_company(self) -> bool:
        """Whether the company's people, calendar or autonomy matter here."""
        return (
            self.panel is not None
            or self.consent is not None
            or self.policy.asks_people
            or self.policy.counts_business_days
            or (self.wait is not None and self.wait.counts_business_days)
        )

    def undoing(self) -> Node:
        """The task as it calls its tool of compensation."""
        return replace(self, tool=self.compensate, dry_run=(), needs=(), signal_when=None)

    def is_hit(self, output: Any) -> bool:
        """Whether `signal_when` finds a hit; without a clear answer it does."""
        if self.signal_when is None:
            return False
        try:
            return self.signal_when.holds(output)
        except ConditionFailed:
            return True


class Edge(Struct, frozen=True):
    """A way from one node to another, under a branch label, and for a gateway under a condition."""

    source: str
    target: str
    branch: str | None = None
    when: Condition | None = None


@dataclass(frozen=True, slots=True)
class Template:
    """A process as a graph, identified by vertical, version and digest.

    `author` is the e-mail address of who published it, and `drafted_by` of who saved the draft; a
    shipped template has none. Its `loosened` gates are those that it makes laxer. With
    `asks_company` a step of it needs to know the company's people, calendar or autonomy; panels
    hear the `judged` steps. `exempt` has by rule the ends that a refused duty may lead to. Without
    `readers` everybody of the company reads its runs, apart from those whose address stands at an
    input of the `subjects`.
    """

    vertical: str
    version: int
    digest: str
    title: str
    start: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    inputs: Inputs | None = field(default=None, repr=False, compare=False)
    author: str | None = None
    drafted_by: str | None = None
    loosened: tuple[Loosened, ...] = ()
    clocks: tuple[ClockRule, ...] = ()
    functions: Mapping[str, FunctionRule] = field(default_factory=dict)
    readers: ReaderRule | None = None
    subjects: tuple[str, ...] = ()
    exempt: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    _node: dict[str, Node] = field(init=False, repr=False, compare=False)
    _leaving: dict[str, tuple[Edge, ...]] = field(init=False, repr=False, compare=False)
    _entering: dict[str, tuple[Edge, ...]] = field(init=False, repr=False, compare=False)
    _failing: dict[str, Edge] = field(init=False, repr=False, compare=False)
    _ahead: dict[tuple[str, tuple[str, ...]], tuple[tuple[Node, tuple[str, ...]], ...]] = field(
        init=False, repr=False, compare=False, default_factory=dict
    )
    _downstream: dict[str, frozenset[str]] = field(init=False, repr=False, compare=False, default_factory=dict)
    _tools_ahead: dict[str, tuple[str, ...]] = field(init=False, repr=False, compare=False, default_factory=dict)
    asks_company: bool = field(init=False, repr=False, compare=False)
    judged: tuple[str, ...] = field(init=False, repr=False, compare=False)
    guarded: bool = field(init=False, repr=False, compare=False)
    """Whether it says who may read its runs, or whom they are about."""

    def __post_init__(self) -> None:
        """Index the graph once; templates are read millions of times and never change."""
        ids = [node.id for node in self.nodes]
        object.__setattr__(self, "_node", {node.id: node for node in self.nodes})
        asks = bool(self.loosened or self.subjects) or any(node.asks_company for node in self.nodes)
        asks = asks or any(clock.counts_business_days for clock in self.clocks)
        object.__setattr__(self, "asks_company", asks)
        object.__setattr__(self, "guarded", self.readers is not None or bool(self.subjects))
        object.__setattr__(self, "judged", tuple([node.id for node in self.nodes if node.panel is not None]))
        calling = {node.id for node in self.nodes if node.traits.calls}
        failing = {e.source: e for e in self.edges if e.branch == ERROR and e.source in calling}
        leaving: dict[str, list[Edge]] = {i: [] for i in ids}
        entering: dict[str, list[Edge]] = {i: [] for i in ids}
        for edge in self.edges:
            leaving.get(edge.source, []).append(edge)
            entering.get(edge.target, []).append(edge)
        object.__setattr__(self, "_failing", failing)
        object.__setattr__(self, "_leaving", {i: tuple(edges) for i, edges in leaving.items()})
        object.__setattr__(self, "_entering", {i: tuple(edges) for i, edges in entering.items()})

    def has(self, step_id: str) -> bool:
        """Whether there is a step of that id."""
        return step_id in self._node

    def clock(self, clock_id: str) -> ClockRule | None:
        """The clock of that id, if there is one."""
        return next((one for one in self.clocks if one.id == clock_id), None)

    def node(self, step_id: str) -> Node:
        """The node of that step-id; KeyError when the template has none."""
        return self._node[step_id]

    def leaving(self, step_id: str) -> tuple[Edge, ...]:
        """The edges out of a step, in the order of the document."""
        return self._leaving[step_id]

    def onward(self, step_id: str) -> tuple[Edge, ...]:
        """The edges out of a step, apart from that of a denial."""
        return tuple(edge for edge in self._leaving[step_id] if edge.branch != DENIED)

    def on_error(self, step_id: str) -> Edge | None:
        """The edge that a task takes when its call has failed for good."""
        return self._failing.get(step_id)

    def entering(self, step_id: str) -> tuple[Edge, ...]:
        """The edges into a step, in the order of the document."""
        return self._entering[step_id]

    def joins(self, step_id: str) -> bool:
        """Whether the step waits for several branches."""
        return self._node[step_id].flow == "parallel" and len(self._entering[step_id]) > 1

    def decisions(self, step_id: str) -> tuple[str, ...]:
        """The branches of an exclusive gateway; approved or denied elsewhere."""
        if self._node[step_id].flow == "exclusive":
            return tuple(edge.branch for edge in self._leaving[step_id] if edge.branch is not None)
        return (APPROVED, DENIED) if self.may_deny(step_id) else (APPROVED,)

    def may_deny(self, step_id: str) -> bool:
        """Whether people may deny a step: not a call of duty whose denial leads nowhere."""
        node = self._node[step_id]
        return node.duty is None or node.gate or any(edge.branch == DENIED for edge in self._leaving[step_id])

    def ahead(self, step_id: str, decisions: tuple[str, ...]) -> tuple[tuple[Node, tuple[str, ...]], ...]:
        """The irreversible tasks before the next gate, each with the decisions that lead to it."""
        found = self._ahead.get((step_id, decisions))
        if found is None:
            leading: dict[str, list[str]] = {}
            for decision in decisions:
                for task in _irreversible_ahead(self, step_id, decision):
                    leading.setdefault(task, []).append(decision)
            found = tuple((self.node(task), tuple(led_by)) for task, led_by in leading.items())
            self._ahead[step_id, decisions] = found
        return found

    def tools_ahead(self, step_id: str) -> tuple[str, ...]:
        """The tools of the step and of all tasks before the next gate, over any branch."""
        found = self._tools_ahead.get(step_id)
        if found is None:
            met, waiting = {step_id}, [step_id]
            for step in waiting:  # grows while it is walked
                ahead = {edge.target: None for edge in self.leaving(step)}
                waiting.extend(one for one in ahead if one not in met and not self.node(one).gate)
                met.update(ahead)
            tools = (self.node(step).tool for step in waiting)
            found = self._tools_ahead[step_id] = tuple({tool: None for tool in tools if tool is not None})
        return found

    def downstream(self, step_id: str) -> frozenset[str]:
        """The step and every step that any path from it reaches."""
        found = self._downstream.get(step_id)
        if found is None:
            found = self._downstream[step_id] = reached(self, (step_id,), frozenset())
        return found

    @property
    def gates(self) -> tuple[str, ...]:
        """The step-ids at which a human verdict is always needed, in the order of the document."""
        return tuple(node.id for node in self.nodes if node.gate)


def _irreversible_ahead(template: Template, step_id: str, decision: str) -> Iterator[str]:
    """Walk breadth first from a step by a decision, over all branches, up to the next gates."""
    exclusive = template.node(step_id).flow == "exclusive"
    if exclusive or decision == DENIED:
        waiting = [edge.target for edge in template.leaving(step_id) if edge.branch == decision]
    else:
        waiting = [edge.target for edge in template.onward(step_id)]
    seen: set[str] = set()
    for step in waiting:  # grows while it is walked
        node = template.node(step)
        if step in seen or node.gate:
            continue
        seen.add(step)
        if node.effect == "irreversible":
            yield step
        ways = template.leaving(step) if node.flow == "exclusive" else template.onward(step)
        waiting.extend(edge.target for edge in ways)


def reached(template: Template, starts: tuple[str, ...], closed: frozenset[str]) -> frozenset[str]:
    """The steps that paths from the starts reach without entering a closed one."""
    found: set[str] = set()
    waiting = [step for step in starts if step not in closed]
    while waiting:
        step = waiting.pop()
        if step not in found:
            found.add(step)
            waiting.extend(e.target for e in template.leaving(step) if e.target not in closed)
    return frozenset(found)


Wrong = tuple[str, str]


def pointer(key: str, template: Template) -> str | None:
    """The JSON pointer of the input that a dotted key names; None for a key of the facts."""
    first, _, rest = key.partition(".")
    if first == "inputs" and rest:
        key = rest
    elif (first == "facts" and rest) or template.has(first):
        return None
    return "".join(map(pointed, key.split(".")))


def sentence(key: str, template: Template) -> str:
    """Why a step waits for what a dotted key names."""
    found = pointer(key, template)
    kind = "fact" if found is None else "input"
    return f"the {kind} {key.removeprefix(f'{kind}s.')} is missing"


def pointed(part: str) -> str:
    """One step of a JSON pointer."""
    return "/" + part.replace("~", "~0").replace("/", "~1")


def merged(inputs: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """The inputs with what was given later, members of members included."""
    found = {**inputs}
    for name, value in given.items():
        known = found.get(name)
        found[name] = merged(known, value) if isinstance(known, dict) and isinstance(value, dict) else value
    return found


def misplaced(
    given: dict[str, Any], missing: tuple[str, ...], inputs: dict[str, Any], path: str = ""
) -> Iterator[Wrong]:
    """What is given though it is not missing, by its pointer in the body of a resume."""
    for name, value in given.items():
        here = path + pointed(name)
        if here in missing:
            continue
        known = inputs.get(name, {})
        if not any(one.startswith(f"{here}/") for one in missing) or not isinstance(known, dict):
            yield f"/inputs{here}", "is not among what is missing at this gate"
        elif not isinstance(value, dict):
            yield f"/inputs{here}", "has to be an object"
        else:
            yield from misplaced(value, missing, known, here)
