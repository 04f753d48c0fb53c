"""Who may do what: roles contain one another, machines never decide, the unknown may nothing."""

from __future__ import annotations

import pytest

from actors.core.people import ACTIONS, ANYBODY, GATE_ROLES, ROLES, Refusal, rank, refusal


@pytest.mark.parametrize("name", ACTIONS)
def test_each_role_from_the_least_on_may_do_an_action_and_none_below(name: str) -> None:
    action = ACTIONS[name]
    refused = [role for role in ROLES if refusal(role, "person", action) is not None]
    assert refused == list(ROLES[: rank(action.role)])


@pytest.mark.parametrize("kind", ["service", "agent"])
def test_a_machine_does_not_decide_nor_touch_people_keys_or_policy_whatever_its_role(kind: str) -> None:
    for name in ("decide", "people", "keys", "policy", "hand_over", "account", "leave"):
        required = ACTIONS[name].others or ACTIONS[name].role
        assert refusal("owner", kind, ACTIONS[name]) == Refusal(required, "machine")
    assert refusal("member", kind, ACTIONS["propose"]) is None


def test_an_agent_reads_starts_and_proposes_and_does_nothing_else_whatever_its_role() -> None:
    for role in ROLES[1:]:
        done = {name for name, action in ACTIONS.items() if refusal(role, "agent", action) is None}
        assert done == {"read", "start", "act", "propose"}, role
    assert refusal("member", "agent", ACTIONS["deliver"], own=True) is None
    assert refusal("viewer", "agent", ACTIONS["deliver"], own=True) == Refusal("member", "machine")
    assert refusal("member", "agent", ACTIONS["retry"], own=True) == Refusal("member", "machine")


def test_a_gate_may_ask_for_a_higher_role_and_not_for_a_lower_one() -> None:
    decide = ACTIONS["decide"]
    assert refusal("manager", "person", decide, "admin") == Refusal("admin", "role")
    assert refusal("admin", "person", decide, "admin") is None
    assert refusal("member", "person", decide, "member") == Refusal("manager", "role")
    assert GATE_ROLES == ("manager", "admin", "owner")


def test_what_is_unknown_may_do_nothing() -> None:
    read = ACTIONS["read"]
    assert refusal("root", "person", read) == Refusal("viewer", "role")
    assert refusal("owner", "ghost", read) == Refusal("viewer", "machine")
    assert refusal("owner", "person", ACTIONS["decide"], "pope") == Refusal("pope", "role")
    assert all(action.kinds <= ANYBODY for action in ACTIONS.values())
