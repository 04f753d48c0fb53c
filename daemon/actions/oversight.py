"""What agents did and who oversaw them, as a deployer keeps it: actions, overrides, stops."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from actors.core.actions.deciding import UNRULED_ID, Decision, misedits
from actors.core.messages import EventBase, RunEnded, VerdictGiven, VerdictWithdrawn, attribution
from actors.core.run import Run
from daemon.actions.views import action_json, made
from daemon.model.actions import ActionRow

Rule = tuple[str, int]
"""A rule's id, and the version that decided."""
SHOWN = ("status", "outcome", "agent", "model", "tool", "server", "rule", "decision", "why", "reason")


class Told(NamedTuple):
    """An action with what happened to it."""

    row: ActionRow
    run: Run | None
    events: Sequence[EventBase]

    @property
    def asks_for(self) -> Rule | None:
        """The rule whose own word has to be known: a person denied what another word asked."""
        row = self.row
        if self.run is None or self.run.action is None or self.run.action.why is None or row.rule == UNRULED_ID:
            return None
        denied = any(isinstance(one, VerdictGiven) and one.decision == "denied" for one in self.events)
        return (row.rule, row.rule_version) if denied else None


def action_entry(told: Told, said: Mapping[Rule, Decision]) -> dict[str, Any]:
    """An action with who oversaw it; `said` is what rules say themselves."""
    row, run = told.row, told.run
    entry: dict[str, Any] = {
        "kind": "action",
        "at": row.created_at,
        "id": row.run_id,
        **{name: getattr(row, name) for name in ("agent", "agent_id", "model", "tool", "server", "way")},
        "rule": {"id": row.rule, "version": row.rule_version, "digest": None},
        **{name: getattr(row, name) for name in ("decision", "status", "outcome")},
        "why": None,
        "reason": None,
        "arguments": None,
        "made": None,
        "verdicts": [],
        "overrides": [],
    }
    if run is None or run.action is None:
        return entry
    shown = action_json(run, None)
    call = made(run)
    return {
        **entry,
        **{name: shown[name] for name in SHOWN},
        "arguments": shown["arguments"],
        "made": None if call is None else shown["made"],
        "verdicts": list(_verdicts(told.events)),
        "overrides": list(_overrides(run, told.events, allowed=said.get((row.rule, row.rule_version)) == "allow")),
    }


def _verdicts(events: Iterable[EventBase]) -> Iterator[dict[str, Any]]:
    """What people decided, those that were taken back included."""
    events = tuple(events)
    taken = {_key(one): one.at for one in events if isinstance(one, VerdictWithdrawn)}
    for one in events:
        if isinstance(one, VerdictGiven):
            yield {
                **_who(one),
                "decision": one.decision,
                "comment": one.comment,
                "code": one.code or None,
                "withdrawn_at": taken.get(_key(one)),
            }


def _key(one: VerdictGiven | VerdictWithdrawn) -> tuple[str, int, Any]:
    giver = one.giver if isinstance(one, VerdictWithdrawn) else one.by
    return one.step_id, one.visit, one.verdict_id or giver


def _overrides(run: Run, events: Iterable[EventBase], *, allowed: bool) -> Iterator[dict[str, Any]]:
    """Where people made something else of what the agent, or the rule, would have done."""
    assert run.action is not None  # noqa: S101 - it is an action
    asked = run.inputs if run.action.asked is None else run.action.asked
    for one in events:
        match one:
            case VerdictGiven(arguments=dict() as arguments):
                yield {**_who(one), "kind": "arguments", "pointers": list(misedits(asked, arguments, ()))}
            case VerdictGiven(decision="denied") if allowed:
                yield {**_who(one), "kind": "denial", "pointers": []}
            case VerdictWithdrawn():
                yield {**_who(one), "kind": "withdrawal", "pointers": []}
            case RunEnded(status="cancelled", by=str()):
                yield {**_who(one), "kind": "cancellation", "pointers": []}
            case _:
                pass


def _who(one: EventBase) -> dict[str, Any]:
    return {"at": one.at, **dict(zip(("by", "by_kind", "on_behalf_of"), _attributed(one), strict=True))}


def _attributed(one: EventBase) -> tuple[Any, Any, Any]:
    found = attribution(one)
    return found.by, found.by_kind, found.on_behalf_of


def stop_entry(event: Mapping[str, Any]) -> dict[str, Any]:
    """A stop of agents, or its end, from the event that the log has."""
    before, after = (_paused(event[side]) for side in ("before", "after"))
    name = next((one for one in sorted({*before, *after}) if before.get(one) != after.get(one)), "")
    begun = after.get(name)
    return {
        "kind": "lift" if begun is None else "stop",
        "at": event["at"],
        "agent": name or None,
        "by": event["by"],
        "reason": None if begun is None else begun["reason"],
        "verdicts": [],
        "overrides": [],
    }


def _paused(said: Mapping[str, Any]) -> dict[str, Any]:
    """Who is stopped, by name; all of them have none."""
    everybody = said.get("all")
    return {**(said.get("agents") or {}), **({} if everybody is None else {"": everybody})}


def concerns(event: Mapping[str, Any], agent: str) -> bool:
    """Whether a stop or its end is about an agent: its own, or that of all."""
    return stop_entry(event)["agent"] in (None, agent)


def words_of(rules: Iterable[Any]) -> dict[Rule, Decision]:
    """What each of these rules says itself, whatever was made of it; as the log has them."""
    return {(one["id"], one.get("version", 0)): one["decision"] for one in rules}
