"""The present roles of members whose tokens may say otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from daemon.identity.tokens import NotAuthenticated, Principal


class Standings:
    """The roles of members that were changed within the longest lifetime of a token.

    Kept in memory for all of them until the daemon ends: each is two words.
    """

    def __init__(self) -> None:
        self._roles: dict[str, str | None] = {}

    def update(self, roles: Mapping[str, str | None]) -> None:
        """Add roles as they stand now, None for members who were removed."""
        self._roles.update(roles)

    def of(self, principal: Principal) -> Principal:
        """The holder of a token with the present role; NotAuthenticated once removed."""
        if principal.member_id not in self._roles:
            return principal
        role = self._roles[principal.member_id]
        if role is None:
            raise NotAuthenticated
        return principal if role == principal.role else replace(principal, role=role)
