"""Delegations: who may decide as another member for a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NamedTuple

from actors.core.people import ADMIN, rank
from actors.ports import Receipt
from daemon.identity.people import NotPermitted
from daemon.identity.tokens import Principal
from daemon.model.audit_events import Logged
from daemon.model.events.company import DelegationEnded, DelegationMade
from daemon.model.people.companies import StoredDelegation
from daemon.runtime.clock import new_id
from daemon.stores.store import Store


class UnknownDelegation(Exception):
    """There is no such delegation that the caller may see, or it has ended."""


class DelegationDraft(NamedTuple):
    """What a new delegation is to be; without verticals it is for all."""

    to: str
    begins: datetime
    ends: datetime
    verticals: tuple[str, ...]


class Delegations:
    """Delegations of all companies; a change counts on every daemon when it returns."""

    def __init__(
        self, repository: Store, now: Callable[[], datetime], changed: Callable[[str], None], most: int
    ) -> None:
        """`changed` is called with the company after each change."""
        self._repository = repository
        self._now = now
        self._changed = changed
        self._most = most

    async def add(
        self,
        principal: Principal,
        draft: DelegationDraft,
        receipt: Callable[[StoredDelegation], Receipt | None] = lambda _: None,
    ) -> StoredDelegation:
        """Let another decide as the caller; NotActive or TooManyDelegations if refused."""
        at, company_id = self._now(), principal.company_id
        who = (company_id, new_id(), principal.member_id, draft.to)
        one = StoredDelegation(*who, draft.begins, draft.ends, draft.verticals, at)
        event = DelegationMade(
            at=at,
            begins=one.begins_at,
            by=principal.email,
            delegation=one.id,
            ends=one.ends_at,
            giver=one.giver,
            to=one.recipient,
            verticals=one.verticals,
            via=principal.via,
        )
        await self._repository.add_delegation(
            one, Logged(company_id, event, caller=principal.caller), receipt(one), self._most
        )
        self._changed(company_id)
        return one

    async def visible(self, principal: Principal) -> Sequence[StoredDelegation]:
        """Those that have not ended: given by the caller or to the caller, to an admin all."""
        found = await self._repository.delegations_of(principal.company_id, self._now())
        if rank(principal.role) >= rank(ADMIN):
            return found
        return [one for one in found if principal.member_id in (one.giver, one.recipient)]

    async def end(self, principal: Principal, delegation_id: str) -> None:
        """End a delegation; only its giver and admins may."""
        found = next((one for one in await self.visible(principal) if one.id == delegation_id), None)
        if found is None:
            raise UnknownDelegation
        if found.giver != principal.member_id and rank(principal.role) < rank(ADMIN):
            raise NotPermitted("role", ADMIN)
        at, company_id = self._now(), principal.company_id
        event = DelegationEnded(
            at=at,
            by=principal.email,
            delegation=found.id,
            giver=found.giver,
            reason="ended",
            to=found.recipient,
            via=principal.via,
        )
        if not await self._repository.end_delegation(found, at, Logged(company_id, event, caller=principal.caller)):
            raise UnknownDelegation
        self._changed(company_id)
