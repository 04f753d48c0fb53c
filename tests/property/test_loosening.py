"""Nobody decides at a gate that a version of theirs has made laxer, whatever followed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from actors.core.gate_policy import Escalation, GatePolicy, GateTerms, inherited, laxer
from actors.core.people import GATE_ROLES, ROLES, rank
from actors.core.rules.guards import published
from actors.core.template import ClockRule
from tests.processes import end, gate, process

GROUPS = st.lists(st.sampled_from("xyz"), unique=True, max_size=2).map(tuple)
EYES = st.lists(st.sampled_from(["starter", "template-author", "gate:b"]), unique=True).map(tuple)
POLICIES = st.builds(
    GatePolicy,
    role=st.sampled_from(GATE_ROLES),
    groups=GROUPS,
    quorum=st.integers(1, 3),
    four_eyes=EYES,
    on_deadline=st.none() | st.just("denied") | st.builds(Escalation, st.sampled_from(GATE_ROLES)),
)
TERMS = st.builds(GateTerms, POLICIES, st.none() | st.sampled_from(GATE_ROLES))


def version(number: int, terms: GateTerms) -> Any:
    asked = replace_node(terms.policy)
    clock = ClockRule(id="c", label="C", within="P7D", stops=("end",), escalate=terms.breach_role)
    drawn = process(asked, end(), ways="a -> end")
    return replace(drawn, version=number, digest=f"sha256:{number}", clocks=(clock,))


@given(TERMS, TERMS, st.sampled_from(ROLES))
def test_whoever_a_clock_lets_decide_and_no_clock_or_deadline_did_before_makes_a_gate_laxer(
    before: GateTerms, after: GateTerms, role: str
) -> None:
    if let_in(after, role) and not let_in(before, role):
        assert laxer(before, after)


def let_in(terms: GateTerms, role: str) -> bool:
    """Whether somebody of a role and of no group may decide once all time has passed."""
    policy = terms.policy
    late = [policy.on_deadline.escalate] if isinstance(policy.on_deadline, Escalation) else []
    late += [terms.breach_role] if terms.breach_role is not None else []
    plain = [] if policy.groups else [policy.role]
    return any(rank(role) >= rank(one) for one in (*late, *plain))


def replace_node(policy: GatePolicy) -> Any:
    from msgspec.structs import replace as changed  # noqa: PLC0415 - the other `replace` is of dataclasses

    return changed(gate("a"), policy=policy)


@given(TERMS, TERMS)
def test_of_two_policies_that_differ_in_who_decides_one_at_least_is_laxer(one: GateTerms, other: GateTerms) -> None:
    assert not laxer(one, one)
    assert laxer(one, None)
    asks = [(rank(p.role), {*p.groups}, p.quorum, {*p.four_eyes}) for p, _ in (one, other)]
    if asks[0] != asks[1]:
        assert laxer(one, other) or laxer(other, one)


@given(POLICIES, POLICIES)
def test_what_a_call_inherits_from_its_gate_is_never_laxer_than_either(own: GatePolicy, allowing: GatePolicy) -> None:
    found = inherited(own, allowing)
    keys = ("role", "quorum", "groups", "four_eyes")
    for one in (allowing, own):
        kept = {name: getattr(found, name) for name in keys if name != "groups" or one is allowing}
        plain = {name: getattr(one, name) for name in kept}
        assert not laxer(GateTerms(GatePolicy(**plain)), GateTerms(GatePolicy(**kept)))


@given(st.lists(st.tuples(TERMS, st.sampled_from(["ann", "bob"])), min_size=1, max_size=5), TERMS)
def test_nobodys_own_versions_in_a_row_free_them_of_a_gate_that_is_laxer_than_before_the_first(
    versions: list[tuple[GateTerms, str]], shipped: GateTerms
) -> None:
    before, since, author = version(1, shipped), shipped, ""
    stood = shipped
    for number, (terms, by) in enumerate(versions, 2):
        if by != author:
            since, author = stood, by
        after, stood = version(number, terms), terms
        after = replace(after, author=by, loosened=published(before, after, by))
        barred = {name for one in after.loosened for name in one.by}
        if laxer(since, terms) or barred:
            assert barred == {by}
        before = after
