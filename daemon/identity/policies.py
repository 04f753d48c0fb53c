"""Policies: what each company asks of its people."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from msgspec import structs

from actors.core.people.authority import rank
from daemon.identity.tokens import Principal
from daemon.model.audit_events import Logged
from daemon.model.events.company import Policy, PolicyChanged, StoredPolicy
from daemon.stores.store import Store


class Policies:
    """Reads and changes policies; those that ask for more than a password are kept in memory."""

    def __init__(self, repository: Store, now: Callable[[], datetime], changed: Callable[[str], None]) -> None:
        """`changed` is called with the company after each change."""
        self._repository = repository
        self._now = now
        self._changed = changed
        self._known: dict[str, StoredPolicy] = {}

    async def open(self) -> None:
        self.apply(await self._repository.demanding_policies())

    def apply(self, found: Iterable[StoredPolicy]) -> None:
        """Take policies over that are newer than the known ones."""
        for one in found:
            known = self._known.get(one.company_id)
            if known is None or known.number < one.number:
                self._known[one.company_id] = one

    def asks_for_second_factor(self, company_id: str, role: str) -> bool:
        """Whether people of that role need a second factor."""
        known = self._known.get(company_id)
        least = None if known is None else known.policy.second_factor_from
        return least is not None and rank(role) >= rank(least)

    def asks_more(self, company_id: str) -> bool:
        """Whether the company asks anybody for more than a password."""
        return company_id in self._known

    def takes_passwords(self, company_id: str) -> bool:
        """Whether those whom a provider vouches for there may sign in by password, too."""
        known = self._known.get(company_id)
        return known is None or known.policy.takes_passwords

    async def policy(self, company_id: str) -> Policy:
        stored = await self._repository.policy(company_id)
        return Policy() if stored is None else stored.policy

    async def change(self, principal: Principal, changes: Mapping[str, Any]) -> Policy:
        """Change members of the company's policy; it counts on every daemon after this."""
        company_id, by = principal.company_id, principal.email
        while True:
            stored = await self._repository.policy(company_id)
            now = self._now()
            if stored is None:
                stored = StoredPolicy(company_id, Policy(), 0, now, by)
            before, number = stored.policy, stored.number + 1
            after = structs.replace(before, **changes)
            if after == before:
                return after
            changed = PolicyChanged(at=now, by=by, before=before, after=after, number=number, via=principal.via)
            fresh = replace(stored, policy=after, number=number, updated_at=now, updated_by=by)
            if await self._repository.put_policy(fresh, Logged(company_id, changed, caller=principal.caller)):
                self.apply([fresh])
                self._changed(company_id)
                return after
