"""The present roles of members whose tokens may say otherwise."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from daemon.identity.tokens import MembershipEnded, Principal
from daemon.model import MembershipState


class Standings:
    """How members stand that were changed within the longest lifetime of a token.

    Kept in memory for all of them until the daemon ends: each is a few words.
    """

    def __init__(self) -> None:
        self._known: dict[str, MembershipState] = {}
        self._listeners: list[Callable[[str], None]] = []

    def subscribe(self, listener: Callable[[str], None]) -> None:
        """Call the listener with the company whenever a member changes, here or elsewhere."""
        self._listeners.append(listener)

    def update(self, standings: Mapping[str, MembershipState]) -> None:
        """Add what is not older than what is known: changes of two daemons arrive in any order."""
        companies = set()
        for member_id, standing in standings.items():
            known = self._known.get(member_id)
            if known is None or known.changed_at < standing.changed_at:
                self._known[member_id] = standing
                companies.add(standing.company_id)
        for company_id in companies:
            for listener in self._listeners:
                listener(company_id)

    def of(self, principal: Principal) -> Principal:
        """The holder of a token with the present role; MembershipEnded once removed."""
        known = self._known.get(principal.member_id)
        if known is None or known.role == principal.role:
            return principal
        if known.role is None:
            raise MembershipEnded
        return replace(principal, role=known.role)
