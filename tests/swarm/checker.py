"""Holds what reached the outside, what agents and people were told, and the service's own record
against each other, and names what does not fit.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import pairwise
from typing import Any

from tests.swarm.law import READS, UNRULED, clauses, possible
from tests.swarm.notes import Json, Notes, Span

Fault = tuple[str, str]
"""The kind of a fault, and where it is."""
LATE_S = 1.0
"""A call that left before a change was answered has reached the outside by then."""
ENDED = frozenset({"completed", "failed", "cancelled"})
NOT_MADE = frozenset({"denied", "expired", "expired_unused", "cancelled"})


def stamp(at: str) -> float:
    """A time of the contract in seconds."""
    return datetime.fromisoformat(at).timestamp()


class Case:
    """One action: what is shown of it, its history, and its calls that reached the outside."""

    def __init__(self, shown: Json, events: list[Json], arrivals: list[Json]) -> None:
        self.shown, self.events, self.arrivals = shown, events, arrivals
        self.id, self.tool = str(shown["id"]), str(shown["tool"])
        self.facts: Json = {"way": "penstock", **events[0]["action"]}
        self.asked: Json = events[0]["inputs"]

    def of(self, kind: str) -> list[Json]:
        """The events of a kind."""
        return [one for one in self.events if one["type"] == kind]

    @property
    def allowed(self) -> bool:
        return bool(self.facts["decision"] == "allow")

    @property
    def approvals(self) -> list[Json]:
        return [one for one in self.of("verdict_given") if one["decision"] == "approved" and not one.get("open")]

    @property
    def ended_at(self) -> float:
        """When it was over, in seconds; never where it is not."""
        last = "call_settled" if self.shown["status"] == "failed" else "run_ended"
        return max((stamp(one["at"]) for one in self.of(last)), default=float("inf"))

    @property
    def is_doubtful(self) -> bool:
        """Whether the last that its history says is that nobody knows."""
        told = [one for one in self.events if one["type"] in ("gate_opened", "verdict_given", "call_settled")]
        return bool(told) and told[-1]["type"] == "gate_opened" and bool(told[-1].get("in_doubt"))


def cases(notes: Notes) -> Iterator[Case]:
    """Each action with its calls."""
    arrivals = defaultdict(list)
    for one in notes.arrivals:
        arrivals[one["run"]].append(one)
    for run_id, shown in notes.actions.items():
        yield Case(shown, notes.events[run_id], arrivals[run_id])


def none_twice(notes: Notes) -> Iterator[Fault]:
    """No call that may not be repeated has reached the outside twice, nor one of no action."""
    counts = Counter(one["run"] for one in notes.arrivals if one["tool"] not in READS)
    yield from (("call twice", run) for run, times in counts.items() if times > 1)
    yield from (("call of no action", run) for run in {one["run"] for one in notes.arrivals} - notes.actions.keys())


def consented(notes: Notes) -> Iterator[Fault]:
    """Each call was allowed, or approved by people, with exactly what was sent."""
    people: defaultdict[str, list[Json | None]] = defaultdict(list)
    for said in notes.verdicts:
        if said.decision == "approved":
            people[said.run].append(said.arguments)
    for case in cases(notes):
        for arrival in case.arrivals:
            before = [one for one in case.approvals if stamp(one["at"]) <= arrival["at"]]
            if not (case.allowed or before):
                yield "call without consent", f"{case.id}: {case.facts['decision']} by {case.facts['rule']['id']}"
                continue
            changed = next((one["arguments"] for one in reversed(before) if one.get("arguments")), None)
            if arrival["arguments"] != (changed or case.asked):
                yield "call with other arguments", f"{case.id}: {arrival['arguments']}"
            if arrival["tool"] != case.tool:
                yield "call with other arguments", f"{case.id}: of {arrival['tool']}"
        for approval in case.approvals:
            if approval.get("arguments") not in people[case.id]:
                yield "approval of nobody", f"{case.id}: {approval.get('arguments')}"


def by_the_rules(notes: Notes) -> Iterator[Fault]:
    """Each decision is that of rules which stood when it was made."""
    by_n = {one.n: one for one in notes.intents.values()}
    for case in cases(notes):
        intent = by_n.get(case.asked["n"])
        if intent is None or (case.tool, case.asked["amount"]) != (intent.tool, intent.amount):
            yield "action of nobody", case.id
            continue
        at, rule, decision = stamp(case.shown["created_at"]), case.facts["rule"], case.facts["decision"]
        for turn in notes.turns:
            stood = turn.sent <= at <= turn.ended + LATE_S
            same = rule["id"] == UNRULED or turn.versions.get(rule["id"]) == rule["version"]
            if stood and same and (rule["id"], decision) in possible(turn.turn, case.tool, intent.amount):
                break
        else:
            yield "decision without a rule", f"{case.id}: {decision} by {rule['id']} {rule['version']}"


def still_standing(notes: Notes) -> Iterator[Fault]:
    """What a rule allowed, or people approved under it, is not sent once it is another rule."""
    for case in cases(notes):
        rule = case.facts["rule"]
        for arrival in case.arrivals if rule["id"] != UNRULED and case.facts["way"] != "aap" else ():
            changes = [one for one in notes.turns if one.answered <= arrival["at"] - LATE_S and one.turn]
            if not changes or changes[-1].versions.get(rule["id"]) == rule["version"]:
                continue
            first = next(one for one in changes if one.versions[rule["id"]] == changes[-1].versions[rule["id"]])
            if first.answered <= stamp(case.shown["created_at"]):
                continue
            if not any(stamp(one["at"]) >= first.sent for one in case.approvals):
                yield "call after its rule", f"{case.id}: {rule['id']} {rule['version']} at {arrival['at']}"


def none_while_paused(notes: Notes) -> Iterator[Fault]:
    """Nothing of a stopped agent begins, is used up or reaches the outside."""
    stops: defaultdict[str | None, list[Span]] = defaultdict(list)
    for one in notes.pauses:
        stops[one.agent].append(one)

    def within(agent: str, first: float, last: float) -> bool:
        return any(one.answered < first and last < one.over for one in (*stops[None], *stops[agent]))

    for intent in notes.intents.values():
        if intent.told and intent.way != "mcp" and within(intent.agent, intent.sent, intent.told[0][0]):
            yield "begun while paused", f"{intent.told[0][2]} of {intent.agent}"
    agents = {run_id: str(one["agent"]) for run_id, one in notes.actions.items()}
    for use in notes.uses:
        if use.status == 200 and within(agents[use.run], use.sent, use.at):
            yield "used while paused", use.run
    for arrival in notes.arrivals:
        agent = agents.get(arrival["run"], "")
        if arrival["way"] != "aap" and within(agent, arrival["at"] - LATE_S, arrival["at"]):
            yield "call while paused", f"{arrival['run']} of {agent} at {arrival['at']}"


def within_budgets(notes: Notes) -> Iterator[Fault]:
    """What rules with budgets allowed adds up to no more than these."""
    laws, totals = clauses(0), Counter[tuple[str, str]]()
    for case in cases(notes):
        clause = laws.get(case.facts["rule"]["id"])
        if clause is None or clause.budget_max is None or not case.allowed:
            continue
        if case.arrivals or case.of("call_granted"):
            scope = case.facts["agent"] if clause.of == "agent" else ""
            totals[case.facts["rule"]["id"], scope] += clause.taken(case.asked["amount"])
    for (rule, scope), total in totals.items():
        most = laws[rule].budget_max
        if most is not None and total > most:
            yield "budget passed", f"{rule} of {scope or 'all'}: {total} of {most}"


def none_lost(notes: Notes) -> Iterator[Fault]:
    """Each action that was acknowledged is there, one for each key, in a state that says why."""
    for intent in notes.intents.values():
        runs = {run for _, _, run in intent.told if run}
        if intent.way != "mcp" and len(runs) > 1:
            yield "key of two actions", f"{intent.key}: {sorted(runs)}"
        yield from (("action lost", run) for run in runs - notes.actions.keys())
        if not intent.told:
            yield "call not answered", str(intent.n)
    known = {str(one["arguments"]["n"]) for one in notes.actions.values()}
    for intent in notes.intents.values():
        if intent.told and str(abs(intent.n)) not in known:
            yield "action lost", f"call {intent.n} by {intent.way}"


def explained(notes: Notes) -> Iterator[Fault]:
    """The state of each action is what became of its calls."""
    for case in cases(notes):
        if (why := _unexplained(case)) is not None:
            yield "state not explained", f"{case.id}: {why}"


def _unexplained(case: Case) -> str | None:
    status, outcome, came = case.shown["status"], case.shown["outcome"], len(case.arrivals)
    done = any(one["decision"] == "done" for one in case.of("verdict_given"))
    if outcome in NOT_MADE:
        return f"{outcome}, and it was made" if came else None
    if outcome == "made":
        return None if came or done else "made, and nothing has reached the outside"
    if outcome == "failed":
        return None if case.shown["reason"] else "failed for no reason"
    if outcome == "unknown":
        return None if status == "parked" and case.is_doubtful else f"in doubt, and {status}"
    if status == "parked":
        return None if case.shown["gate"] or case.of("gate_opened") else "it waits at no gate"
    if case.of("call_consumed") or case.of("call_granted"):
        return None if case.shown["expires_at"] or case.of("call_consumed") else "an approval without an end"
    return f"{status} with {outcome}"


def used_once(notes: Notes) -> Iterator[Fault]:
    """Of all uses of an approval one was answered as the one that counts."""
    for run, times in Counter(one.run for one in notes.uses if one.status == 200).items():
        if times > 1:
            yield "approval used twice", run
    used = {one.run for one in notes.uses if one.status == 200}
    for case in cases(notes):
        times = len(case.of("call_consumed"))
        if times > 1:
            yield "approval used twice", case.id
        if case.id in used and not times:
            yield "use lost", case.id


def doubts_listed(notes: Notes) -> Iterator[Fault]:
    """What is in doubt is listed as such, and nothing else."""
    doubtful = {case.id for case in cases(notes) if case.is_doubtful}
    yield from (("doubt not listed", run) for run in doubtful - notes.doubtful)
    yield from (("listed without doubt", run) for run in notes.doubtful - doubtful)


def none_beside(notes: Notes) -> Iterator[Fault]:
    """Of the same call, only one at once is allowed without a person."""
    same: defaultdict[tuple[int, str, str], list[Case]] = defaultdict(list)
    for case in cases(notes):
        if case.allowed and case.tool not in READS:
            same[case.asked["n"], case.tool, str(case.shown["server"])].append(case)
    for some in same.values():
        ordered = sorted(some, key=lambda one: str(one.shown["created_at"]))
        for first, second in pairwise(ordered):
            if first.ended_at > stamp(second.shown["created_at"]):
                yield "same call beside", f"{first.id} and {second.id}"


CHECKS: tuple[Callable[[Notes], Iterator[Fault]], ...] = (
    none_twice, consented, by_the_rules, still_standing, none_while_paused, within_budgets, none_lost, explained,
    used_once, doubts_listed, none_beside,
)  # fmt: skip


def faults(notes: Notes) -> dict[str, list[str]]:
    """What does not fit, by kind."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for check in CHECKS:
        for kind, where in check(notes):
            found[kind].append(where)
    return dict(found)


def figures(notes: Notes) -> Json:
    """What there was to check."""
    all_cases = list(cases(notes))
    verdicts: Counter[str] = Counter(one["decision"] for case in all_cases for one in case.of("verdict_given"))
    changed = sum(bool(one.get("arguments")) for case in all_cases for one in case.approvals)
    ways = Counter(case.facts["way"] for case in all_cases)
    decided: Counter[Any] = Counter(case.facts["decision"] for case in all_cases)
    outcomes: Counter[Any] = Counter(case.shown["outcome"] or case.shown["status"] for case in all_cases)
    return {
        "actions": f"{len(all_cases):,} ({_of(ways)})",
        "decided by rules": _of(decided),
        "decided by people": f"{_of(verdicts)}, {changed:,} with other arguments",
        "reached the outside": f"{len(notes.arrivals):,}",
        "became": _of(outcomes),
        "pauses, turns of rules": f"{len(notes.pauses)}, {len(notes.turns)}",
        "answers": _of(Counter({str(status or "none"): times for status, times in notes.statuses.items()})),
    }


def _of(counted: Counter[Any]) -> str:
    return ", ".join(f"{times:,} {name}" for name, times in counted.most_common())
