"""Standings: the present roles of members, whatever their tokens say."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from daemon.identity.revocations import MembershipStates
from daemon.identity.tokens import NotAuthenticated, Principal
from daemon.model import MembershipState

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
LATER = NOON + timedelta(microseconds=1)
MANAGER = Principal(
    "user", "company", "manager", "m@clinic.example", "token", LATER, "password", "session", member_id="m"
)


def test_a_token_without_a_change_says_what_it_said() -> None:
    assert MembershipStates().with_present_role(MANAGER) is MANAGER


def test_a_changed_role_takes_the_place_of_that_of_the_token() -> None:
    standings = MembershipStates()
    standings.update({"m": MembershipState("viewer", NOON, "company")})
    assert standings.with_present_role(MANAGER) == replace(MANAGER, role="viewer")


def test_a_removed_member_is_not_authenticated() -> None:
    standings = MembershipStates()
    standings.update({"m": MembershipState(None, NOON, "company")})
    with pytest.raises(NotAuthenticated):
        standings.with_present_role(MANAGER)


def test_a_change_that_is_heard_of_late_does_not_undo_a_newer_one() -> None:
    standings = MembershipStates()
    standings.update({"m": MembershipState("viewer", LATER, "company")})
    standings.update({"m": MembershipState("manager", NOON, "company")})
    assert standings.with_present_role(MANAGER).role == "viewer"


def test_the_company_is_told_of_a_change_once() -> None:
    standings, told = MembershipStates(), list[str]()
    standings.subscribe(told.append)
    for changed_at in (NOON, NOON, LATER, NOON):
        standings.update(
            {"m": MembershipState("viewer", changed_at, "company"), "n": MembershipState(None, NOON, "company")}
        )
    assert told == ["company", "company"]
