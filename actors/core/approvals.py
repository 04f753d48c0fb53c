"""What an approval covers: the calls that a gate shows, and whether one may be sent."""

from __future__ import annotations

import hashlib
from typing import Any

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from actors.core.actions.deciding import shown_action, standing
from actors.core.calls import (
    BODILESS,
    CallRequest,
    Connector,
    Connectors,
    Difference,
    Missing,
    PlannedCall,
    differences,
    mapped_keys,
    plan,
    prepare,
    sendable,
    shown,
    shown_plan,
)
from actors.core.canonical import canonical, digest
from actors.core.governance import Held, resolve
from actors.core.messages import OUTCOME_UNKNOWN_CODE, Failure
from actors.core.people import NOBODY, Company
from actors.core.run import RETRY, Gate, Run, Visit
from actors.core.template import APPROVED, Node, Template

CHANGED = "changed since approval"
OUTCOME_UNKNOWN = "outcome unknown"
FAILED_ONCE = "failed after it may have been sent"
TAG_DIGITS = 16
PARTS_MAX = 12
PART_CHARS_MAX = 160
"""So many values of a lost call are told, none longer; the whole call stands at the gate."""


class GateSnapshot(Struct, frozen=True):
    """What a gate asks now: the step's own call, the calls that follow, and their digest.

    `missing` are JSON pointers of the inputs that the step lacks; at an action it says what has
    `changed` since its rule decided, and has the `arguments` that somebody put in their place.
    """

    request: CallRequest | Missing | None
    effects: tuple[PlannedCall, ...]
    digest: str
    missing: tuple[str, ...] = ()
    changed: str | None = None
    arguments: dict[str, Any] | UnsetType = UNSET


ChangedGates = tuple[tuple[Visit, GateSnapshot], ...]


def snapshot_gate(
    run: Run,
    visit: Visit,
    decisions: tuple[str, ...],
    request: CallRequest | Missing | None,
    *,
    template: Template,
    connectors: Connectors,
    missing: tuple[str, ...] = (),
    company: Company = NOBODY,
) -> GateSnapshot:
    """What these decisions at a visit can lead to now; `request` is the step's own call."""
    effects = _planned(run, visit, decisions, template, connectors)
    own = sendable(request)
    asked = {
        "run": run.id,
        "template": template.digest,
        "step": visit.step_id,
        "visit": visit.visit,
        "inputs": run.inputs,
        "facts": run.facts,
        "missing": missing,
        "effect": shown(own),
        "effects": [shown_plan(one, own if one.step_id == visit.step_id else None) for one in effects],
    }
    if run.action is None:
        return GateSnapshot(request, effects, digest(asked, run.size_bytes), missing)
    changed = changed_since(run, visit, company)
    asked |= {"action": shown_action(run.action), "changed": changed, "questions": _questions(visit)}
    return GateSnapshot(request, effects, digest(asked, run.size_bytes), missing, changed)


def _questions(visit: Visit) -> list[list[str | None]]:
    """What the agent was asked at a gate, and what it answered."""
    return [] if visit.gate is None else [[one.id, one.text, one.answer] for one in visit.gate.questions]


def changed_since(run: Run, visit: Visit, company: Company) -> str | None:
    """What has changed since the rule of an action decided; if nobody knows, as the gate says."""
    if run.action is None or company is NOBODY:
        return None if visit.gate is None else visit.gate.changed
    return standing(company, run.action)


def unsettled(run: Run, visit: Visit, company: Company) -> str | None:
    """Why a call of an action must not be made: what has changed, its gate has not shown."""
    changed = changed_since(run, visit, company)
    return None if visit.gate is not None and changed == visit.gate.changed else changed


def current_snapshot(
    run: Run, visit: Visit, template: Template, connectors: Connectors, company: Company = NOBODY
) -> GateSnapshot:
    """What an open gate asks now: as when it opened, unless a connector has changed.

    At an action its rule and the agent's key have to stand as it has shown, too.
    One that opened before effects were kept has shown none, and stands only where there are none.
    """
    gate = visit.gate
    assert gate is not None  # noqa: S101 - an open gate is asked about
    if _as_opened(visit, connectors) and (run.action is None or _settled(run, visit, company)):
        told = gate.effects is not None
        effects = gate.effects or () if told else _planned(run, visit, gate.decisions, template, connectors)
        if told or not effects:
            return GateSnapshot(visit.request, effects, gate.digest, gate.missing, gate.changed)
    return restated(run, visit, template, connectors, company)


def restated(
    run: Run, visit: Visit, template: Template, connectors: Connectors, company: Company = NOBODY
) -> GateSnapshot:
    """What an open gate asks now, worked out anew from the run's facts and the connectors."""
    decisions = visit.gate.decisions if visit.gate is not None else ()
    request = own_call(run, visit, template.node(visit.step_id), connectors)
    lacks = missing_inputs(run, visit, template, request)
    known: Any = {"template": template, "connectors": connectors, "missing": lacks, "company": company}
    return snapshot_gate(run, visit, decisions, request, **known)


def missing_inputs(
    run: Run, visit: Visit, template: Template, request: CallRequest | Missing | None
) -> tuple[str, ...]:
    """The missing inputs of an open gate; none where its call was made already."""
    if visit.gate is None or visit.gate.decisions != template.decisions(visit.step_id):
        return ()
    answer = resolve(run, template.node(visit.step_id), template, request)
    return answer.missing if isinstance(answer, Held) else ()


def differs(visit: Visit, now: GateSnapshot) -> bool:
    """Whether an open gate stands otherwise than it showed when it opened."""
    return visit.gate is not None and visit.gate.digest != now.digest


def departures(run: Run, visit: Visit, request: CallRequest | Missing | None) -> tuple[Difference, ...]:
    """Where the live call of a promoted run is not the one that was recorded in shadow.

    The nth time that a run comes to a step is compared with the nth recorded call; trying a step
    again is not another time.
    """
    if run.promoted_from is None or visit.undoes is not None:
        return ()
    if not isinstance(request, CallRequest) or request.mode != "live":
        return ()
    recorded = [one.request for one in run.recorded if one.step_id == visit.step_id]
    times = sum(1 for one in (*run.trace, *run.open) if one.step_id == visit.step_id and comes_anew(one))
    return differences(recorded[times - 1] if times <= len(recorded) else None, request)


def comes_anew(visit: Visit) -> bool:
    """Whether the run came to the step, and does not try it again or undo it."""
    return visit.undoes is None and bool(visit.arrived or visit.visit == 1)


def departure(found: tuple[Difference, ...]) -> str:
    """Differences as the reason of a gate."""
    if found[0].pointer == "":
        return "shadow recorded no such call"
    return f"the call is not the one that shadow recorded: {', '.join(one.pointer for one in found)}"


def own_call(run: Run, visit: Visit, node: Node, connectors: Connectors) -> CallRequest | Missing | None:
    """The call that a decision sends at once; a call in doubt is repeated as it was."""
    if not node.traits.calls:
        return None
    doubtful = visit.gate is not None and RETRY in visit.gate.decisions
    if doubtful and visit.request is not None and _bound(visit.request, connectors):
        return visit.request
    called = node if visit.undoes is None else node.undoing()
    return prepare(called, connectors, run.inputs, run.facts)


def allowing(run: Run, visit: Visit, template: Template, *, doubtful: bool) -> tuple[Gate, ...]:
    """The gates whose verdicts have allowed the call of an irreversible step, if people did.

    Who may decide about the call was decided there: it holds wherever the call waits for a human
    again, be it that it has changed, lacks something, or may have happened.
    """
    node = template.node(visit.step_id)
    if node.effect != "irreversible" or not (doubtful or (run.auto_resolve and not node.gate)):
        return ()
    own: Gate | None = None
    for one in reversed((*run.trace, *run.open)):
        if one.gate is None or one.verdict is None:
            continue
        if one.step_id != visit.step_id:
            if _leads(one, one.verdict.decision, visit.step_id, template):
                return (one.gate,) if own is None else (one.gate, own)
        elif own is None and one.verdict.decision in (APPROVED, RETRY):
            own = one.gate
    return () if own is None else (own,)


def _leads(visit: Visit, decision: str, step_id: str, template: Template) -> bool:
    """Whether a decision at a gate was shown a call, or leads to it step by step."""
    effects = visit.gate.effects if visit.gate is not None else None
    if any(one.step_id == step_id and decision in one.decisions for one in effects or ()):
        return True
    ahead = template.ahead(visit.step_id, (decision,)) if template.has(visit.step_id) else ()
    return any(node.id == step_id for node, _ in ahead)


def lost_call(request: CallRequest | Missing | None) -> str | None:
    """What a human is asked about a call that may have happened: what was sent, and where to."""
    if not isinstance(request, CallRequest):
        return None
    if request.mode == "handed":
        said = "The agent was to make this call, and nobody knows what came of it."
        return f"{said} Look there whether it has happened before you decide."
    if request.url is None:
        return None
    said = f"{request.method} {request.url} may have been sent, and nobody saw the answer."
    parts = [f"{name}: {value if isinstance(value, str) else canonical(value)}" for name, value in _sent(request)]
    if parts:
        whole = [part for part in parts if len(part) <= PART_CHARS_MAX][:PARTS_MAX]
        more = f"; {len(parts) - len(whole)} more in the call" if len(whole) < len(parts) else ""
        said = f"{said} It says {'; '.join(whole)}{more}."
    return f"{said} Look there whether it has happened before you decide."


def _sent(request: CallRequest) -> list[tuple[str, Any]]:
    """The values of a body, each with its name; `inputs` and `facts` whole are taken apart."""
    found: list[tuple[str, Any]] = []
    for name, value in (request.body or {}).items():
        if isinstance(value, dict):
            found += [(f"{name}.{inner}", one) for inner, one in value.items()]
        else:
            found.append((name, value))
    return found


def unchanged(run: Run, connectors: Connectors, company: Company = NOBODY) -> bool:
    """Whether every open gate stands as it opened, for sure: who fills its function is not asked.

    It costs a look-up for each call that it shows.
    """
    for visit in run.parked:
        gate = visit.gate
        if gate is None or gate.effects is None or gate.function is not None or not _as_opened(visit, connectors):
            return False
    return run.action is None or all(_settled(run, visit, company) for visit in run.parked)


def changed_gates(run: Run, template: Template, connectors: Connectors, company: Company = NOBODY) -> ChangedGates:
    """The open gates that stand otherwise than when they opened, each with how it stands."""
    if unchanged(run, connectors, company):
        return ()
    found = ((visit, current_snapshot(run, visit, template, connectors, company)) for visit in run.parked)
    return tuple((visit, now) for visit, now in found if differs(visit, now))


def as_it_stands(run: Run, gates: ChangedGates) -> Run:
    """The run with its open gates as they stand now, for readers; it is not what was committed."""
    now = {(visit.step_id, visit.visit): standing for visit, standing in gates}
    if not now:
        return run
    return replace(run, open=tuple(_showing(visit, now.get((visit.step_id, visit.visit))) for visit in run.open))


def tag(run: Run, gates: ChangedGates) -> str:
    """The entity tag of a run: its version, and a digest of the gates that have changed."""
    if not gates:
        return str(run.version)
    digests = ",".join(now.digest for _, now in gates)
    return f"{run.version}-{hashlib.sha256(digests.encode()).hexdigest()[:TAG_DIGITS]}"


def covered(run: Run, step_id: str, request: CallRequest | Missing) -> bool:
    """Whether the latest verdict that leads to a step was shown the call that is due."""
    if isinstance(request, Missing):
        return True
    seen = next((one for one in run.approved if one.step_id == step_id), None)
    if request.mode == "shadow":
        return seen is None or seen.mode == "shadow"
    if seen is None or seen.mode != "live" or seen.connector_version != request.connector_version:
        return False
    return seen.request is None or seen.request == request


def doubt(run: Run, step_id: str, undoes: int | None = None) -> str | None:
    """Why a step needs a human before its next call: an earlier call may have happened."""
    for visit in reversed(run.trace):
        if visit.step_id == step_id and visit.undoes == undoes:
            if visit.status == "done":
                return None
            if visit.error is not None and visit.error.maybe_sent is not False:
                return _doubt_of(visit.error)
    return None


def _doubt_of(error: Failure) -> str:
    return OUTCOME_UNKNOWN if error.code == OUTCOME_UNKNOWN_CODE else FAILED_ONCE


def _planned(
    run: Run, visit: Visit, decisions: tuple[str, ...], template: Template, connectors: Connectors
) -> tuple[PlannedCall, ...]:
    """The irreversible calls that each decision can lead to before the next human."""
    node = template.node(visit.step_id)
    own = tuple(one for one in decisions if one in (APPROVED, RETRY)) if node.effect == "irreversible" else ()
    planned = [plan(node, own, connectors)] if own else []
    for step, leading in template.ahead(node.id, decisions) if run.auto_resolve else ():
        planned.append(plan(step, leading, connectors, _certain(run, step, template, connectors)))
    return tuple(planned)


def _certain(run: Run, node: Node, template: Template, connectors: Connectors) -> CallRequest | None:
    """The call of a later step, if no step before it can change its content."""
    connector = connectors.get(node.tool or node.id)
    if connector is None:
        return None
    keys = _keys(connector)
    if keys is None or any(_root(key) in template.downstream(one.step_id) for one in run.open for key in keys):
        return None
    return sendable(prepare(node, connectors, run.inputs, run.facts))


def _keys(connector: Connector) -> tuple[str, ...] | None:
    """The keys that a call reads; None when it carries all inputs and facts."""
    if connector.body_map is None and connector.query_map is None:
        return mapped_keys(connector) if connector.method in BODILESS else None
    return mapped_keys(connector)


def _root(key: str) -> str:
    """The step whose output a key would read, if there is one of that name."""
    first, _, rest = key.partition(".")
    if first == "inputs" and rest:
        return ""
    return rest.partition(".")[0] if first == "facts" and rest else first


def _settled(run: Run, visit: Visit, company: Company) -> bool:
    """Whether an open gate of an action has shown all that has changed since its rule decided."""
    return visit.gate is not None and visit.gate.changed == changed_since(run, visit, company)


def _as_opened(visit: Visit, connectors: Connectors) -> bool:
    """Whether every connector behind an open gate is still the one that it showed."""
    if visit.calls and (visit.request is None or not _bound(visit.request, connectors)):
        return False
    effects = visit.gate.effects if visit.gate is not None else None
    return all(_version(one.tool, connectors) == one.connector_version for one in effects or ())


def _bound(request: CallRequest, connectors: Connectors) -> bool:
    return _version(request.tool, connectors) == request.connector_version


def _version(tool: str, connectors: Connectors) -> int | None:
    connector = connectors.get(tool)
    return None if connector is None else connector.version


def _showing(visit: Visit, now: GateSnapshot | None) -> Visit:
    if now is None or visit.gate is None:
        return visit
    gate = replace(visit.gate, digest=now.digest, effects=now.effects, missing=now.missing, changed=now.changed)
    return replace(visit, gate=gate, request=sendable(now.request))
