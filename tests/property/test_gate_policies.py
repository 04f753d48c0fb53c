"""Any policy, any people, any order: no verdict counts that the policy forbids, no gate closes
twice, and a gate that nobody can pass says so.

The rules are stated here a second time, as plainly as they can be, and compared with the core.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from actors.core.decider import TurnResult
from actors.core.gate_policy import Escalation
from actors.core.messages import Event, GateEscalated, GateExpired, GateOpened, VerdictGiven, VerdictWithdrawn
from actors.core.people import ActiveDelegation, Company, Person
from actors.core.template import DENIED, Template
from tests.conversations import MORNING, Conversation
from tests.processes import end, gate, process

NAMES = ("ann", "bob", "cyd", "dan", "eve")
ROLES = ("viewer", "member", "manager", "admin", "owner")
GROUPS = ("finance", "board")
EVER = timedelta(days=10_000)
HOUR = timedelta(hours=1)
Key = tuple[str, int]

people = st.builds(
    lambda roles, groups: {
        name: Person(f"m-{name}", name, role, frozenset(each))
        for name, role, each in zip(NAMES, roles, groups, strict=True)
    },
    st.tuples(*[st.sampled_from(("manager", "manager", "admin", "owner", "member"))] * len(NAMES)),
    st.tuples(*[st.sampled_from((GROUPS, GROUPS, GROUPS[:1], ()))] * len(NAMES)),
)
outcomes = st.one_of(
    st.just(DENIED),
    st.builds(Escalation, st.sampled_from(ROLES[2:]), st.just("PT2H"), st.just(DENIED)),
    st.builds(Escalation, st.sampled_from(ROLES[2:])),
)


@st.composite
def policies(draw: st.DrawFn) -> dict[str, Any]:
    policy: dict[str, Any] = {
        "role": draw(st.sampled_from(("manager", "manager", "admin"))),
        "quorum": draw(st.integers(1, 3)),
        "denials": draw(st.integers(1, 2)),
        "groups": tuple(sorted(draw(st.sets(st.sampled_from(GROUPS), max_size=1)))),
        "four_eyes": draw(st.sampled_from([(), ("starter",), ("gate:first",), ("starter", "gate:first")])),
    }
    if draw(st.booleans()):
        policy |= {"deadline": "PT3H", "remind": ("PT1H",), "on_deadline": draw(outcomes)}
    return policy


@dataclass(frozen=True)
class Say:
    """Something that happens; the names say who is meant."""

    verb: str
    who: str
    other: str
    word: str
    hours: int


OFTEN = ("decide",) * 6
TWICE = ("delegate", "undelegate", "decide for", "withdraw", "stale", "time") * 2
sayings = st.builds(
    Say,
    st.sampled_from((*OFTEN, *TWICE, "role", "group", "leave", "join", "propose")),
    st.sampled_from(NAMES),
    st.sampled_from(NAMES),
    st.sampled_from(("approved", "approved", "approved", DENIED)),
    st.integers(-1, 4),
)


@dataclass
class Book:
    """What the history says of gates, kept apart from the core."""

    template: Template
    counts: dict[Key, list[tuple[frozenset[str], str, str]]] = field(default_factory=dict)
    closed: list[Key] = field(default_factory=list)
    escalated: dict[Key, str] = field(default_factory=dict)

    @property
    def deciders(self) -> set[str]:
        """Who decided at the first gate and has not taken it back."""
        verdicts = (one for (step, _), found in self.counts.items() if step == "first" for one in found)
        return {who for both, _, _ in verdicts for who in both}

    def may(self, rights: Person, both: frozenset[str], at: Key, company: Company) -> bool:
        """Whether somebody with these rights may decide; `both` are who decides and for whom."""
        policy, step = self.template.node(at[0]).policy, at[0]
        lifted = at in self.escalated and ROLES.index(rights.role) >= ROLES.index(self.escalated[at])
        if rights.email not in company.people:
            return False
        if ROLES.index(rights.role) < ROLES.index(policy.role) and not lifted:
            return False
        if policy.groups and not set(policy.groups) & rights.groups and not lifted:
            return False
        barred = {"ann"} if "starter" in policy.four_eyes else set()
        barred |= self.deciders if "gate:first" in policy.four_eyes else set()
        return step == "first" or not both & barred

    def needed(self, at: Key, decision: str) -> int:
        policy = self.template.node(at[0]).policy
        return policy.denials if decision == DENIED else policy.quorum

    def take(self, event: Event, company: Company) -> None:
        """Add an event, and check that it was allowed."""
        match event:
            case GateOpened():
                assert (event.step_id, event.visit) not in self.closed
            case GateEscalated():
                self.escalated[event.step_id, event.visit] = event.to
            case VerdictGiven():
                self.verdict(event, company)
            case VerdictWithdrawn():
                at = (event.step_id, event.visit)
                assert at not in self.closed
                self.counts[at] = [one for one in self.counts[at] if one[2] != event.giver]
            case GateExpired():
                self.close((event.step_id, event.visit))
            case _:
                pass

    def verdict(self, event: VerdictGiven, company: Company) -> None:
        at = (event.step_id, event.visit)
        giver = event.on_behalf_of if isinstance(event.on_behalf_of, str) else event.by
        both = frozenset({event.by, giver})
        before = self.counts.setdefault(at, [])
        assert self.may(company.people[giver], both, at, company), "a verdict that the policy forbids"
        assert not any(both & people for people, _, _ in before), "two verdicts of one person"
        before.append((both, event.decision, event.by))
        agree = sum(decision == event.decision for _, decision, _ in before)
        if event.open is True:
            assert agree < self.needed(at, event.decision), "enough verdicts, and the gate is open"
        else:
            assert agree >= self.needed(at, event.decision), "too few verdicts, and the gate is closed"
            self.close(at)

    def close(self, at: Key) -> None:
        assert at not in self.closed, "a gate closes twice"
        self.closed.append(at)


def check(talk: Conversation, book: Book) -> None:
    """A run that goes on waits at a gate; one that nobody can pass says so; nothing is overdue."""
    run = talk.run
    assert run.ended is not None or run.parked
    for visit in run.parked:
        assert visit.gate is not None
        at, policy = (visit.step_id, visit.visit), visit.gate.policy
        for verdict in visit.gate.verdicts:
            assert verdict.by in talk.company.people, "a verdict of somebody who has left"
            behalf = (f"m-{verdict.on_behalf_of}", f"m-{verdict.by}")
            given = [(one.giver, one.to) for one in talk.company.delegations]
            assert verdict.on_behalf_of is None or behalf in given, "a verdict of a delegate who is none any more"
        for both, decision, _ in book.counts.get(at, []):
            assert any(verdict.people == both and verdict.decision == decision for verdict in visit.gate.verdicts)
        if policy.asks_people:
            votes = book.counts.get(at, [])
            free = [one for one in talk.company.people.values() if not any(one.email in both for both, _, _ in votes)]
            able = sum(book.may(one, frozenset({one.email}), at, talk.company) for one in free)
            reach = {word: able + sum(vote == word for _, vote, _ in votes) for word in visit.gate.decisions}
            split = all(count < book.needed(at, word) for word, count in reach.items())
            says = visit.gate.blocked
            assert (says is not None) == (split or able + len(votes) < policy.quorum), (able, policy, says)
        if visit.gate.due_at is not None:
            assert run.wake_at is not None
            assert run.wake_at <= visit.gate.due_at


def do(talk: Conversation, say: Say, book: Book) -> None:
    """Let it happen."""
    company = talk.company
    parked = talk.parked[0]
    match say.verb:
        case "decide" | "decide for" | "stale":
            decide(talk, say, book, parked)
        case "withdraw":
            talk.withdraw(parked, by=say.who)
        case "propose":
            talk.propose(parked, say.word, by=say.who)
        case "time":
            now = talk.at + say.hours * HOUR
            talk.due(say.hours * HOUR)
            assert all(
                visit.gate is None or visit.gate.due_at is None or visit.gate.due_at > now for visit in talk.run.parked
            )
        case "delegate":
            given = ActiveDelegation(f"m-{say.who}", f"m-{say.other}", MORNING - EVER, MORNING + EVER)
            talk.review(replace(company, delegations=(*company.delegations, given)))
        case "undelegate":
            left = tuple(one for one in company.delegations if one.giver != f"m-{say.who}")
            talk.review(replace(company, delegations=left))
        case _:
            talk.review(replace(company, people=changed(company, say)))


def changed(company: Company, say: Say) -> dict[str, Person]:
    """The people after somebody left, came back, or got another role or group."""
    people = dict(company.people)
    known = people.pop(say.who, Person(f"m-{say.who}", say.who, "manager"))
    if say.verb == "role":
        known = replace(known, role=ROLES[say.hours + 1 if say.hours < 4 else 2])
    elif say.verb == "group":
        known = replace(known, groups=known.groups ^ {GROUPS[say.hours % 2]})
    return people if say.verb == "leave" else {**people, say.who: known}


def decide(talk: Conversation, say: Say, book: Book, parked: str) -> None:
    """A verdict is taken if, and only if, the rules allow it."""
    company, visit = talk.company, talk.run.parked[0]
    who = company.people.get(say.who)
    if who is None:
        return  # whoever has left cannot sign in
    giver = company.people.get(say.other) if say.verb == "decide for" else who
    behalf = f"m-{say.other}" if say.verb == "decide for" else None
    digest = "sha256:stale" if say.verb == "stale" else None
    at = (visit.step_id, visit.visit)
    delegated = giver is who or any(
        (one.giver, one.to) == (f"m-{say.other}", who.member_id) for one in company.delegations
    )
    both = frozenset({say.who, say.other if giver is not who else say.who})
    again = any(both & people for people, _, _ in book.counts.get(at, []))
    allowed = giver is not None and delegated and book.may(giver, both, at, company) and not again
    talk.resume(parked, say.word, by=say.who, role=who.role, on_behalf_of=behalf, digest=digest)
    taken = isinstance(talk.last, TurnResult) and talk.last.rejected is None
    assert taken == (allowed and say.verb != "stale"), (allowed, talk.last)


@given(policies(), policies(), people, st.lists(sayings, min_size=8, max_size=40))
def test_no_verdict_counts_that_the_policy_forbids(
    first: dict[str, Any], second: dict[str, Any], people: dict[str, Person], said: list[Say]
) -> None:
    template = process(
        gate("first", **{**first, "four_eyes": ()}),
        gate("second", **second),
        end(),
        end("no", "refused"),
        ways="first -> second -> end\nsecond -[denied]-> no",
    )
    talk = Conversation(template, company=Company(people)).start()
    book, seen = Book(template), 0
    for say in (None, *said):
        company = talk.company
        if say is not None:
            do(talk, say, book)
        for event in talk.history[seen:]:
            book.take(event, talk.company if say is not None else company)
        seen = len(talk.history)
        check(talk, book)
        if talk.run.ended is not None:
            return
