"""Autonomies: what each company lets be cleared without a human."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from msgspec import structs

from actors.core.autonomy import Autonomy
from daemon.identity.company.companies import Companies
from daemon.identity.tokens import Principal
from daemon.model.audit_events import Logged
from daemon.model.events.company import AutonomyChanged, StoredAutonomy
from daemon.stores.store import Store


class Autonomies:
    """Reads and changes autonomies; `Companies` keeps those that clear nothing."""

    def __init__(self, repository: Store, now: Callable[[], datetime], companies: Companies) -> None:
        self._repository = repository
        self._now = now
        self._companies = companies

    async def open(self) -> None:
        self._companies.apply_autonomies(await self._repository.held_autonomies())

    async def autonomy(self, company_id: str) -> Autonomy:
        stored = await self._repository.autonomy(company_id)
        return Autonomy() if stored is None else stored.autonomy

    async def change(self, principal: Principal, changes: Mapping[str, Any]) -> Autonomy:
        """Change members of the company's settings; they count on every daemon after this."""
        company_id, by = principal.company_id, principal.email
        while True:
            stored, at = await self._repository.autonomy(company_id), self._now()
            before, number = (Autonomy(), 1) if stored is None else (stored.autonomy, stored.number + 1)
            after = structs.replace(before, **changes)
            if after == before:
                return after
            changed = AutonomyChanged(at=at, by=by, before=before, after=after, number=number, via=principal.via)
            fresh = StoredAutonomy(company_id, after, number, at, by)
            if await self._repository.put_autonomy(fresh, Logged(company_id, changed, caller=principal.caller)):
                self._companies.apply_autonomies([fresh])
                self._companies.changed(company_id)
                return after
