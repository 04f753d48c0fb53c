"""Calls of actions, held while their agents are stopped, and not sent when they stand no more."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime

from actors.core.approvals import unsettled
from actors.core.messages import CallEffect
from actors.ports import CompanySource
from daemon.actions.pauses import Pauses
from daemon.stores.store import Store


async def _known() -> None:
    """One daemon alone knows all changes."""


class ActionGuard:
    """Asks pauses, rules and keys right before a call leaves.

    A call that is held is noted as such before it waits, and let go by one daemon alone: after a
    restart, what is noted was not sent.
    """

    fresh: Callable[[], Awaitable[None]] = staticmethod(_known)
    """Has this daemon know all that others have answered."""

    def __init__(self, store: Store, pauses: Pauses, companies: CompanySource, now: Callable[[], datetime]) -> None:
        self._store, self._pauses, self._companies, self._now = store, pauses, companies, now
        self._changed: dict[str, asyncio.Event] = {}
        pauses.subscribe(self._tell)

    def stopped(self, call: CallEffect) -> bool:
        """Whether the agent is stopped, as is known now."""
        return call.agent is not None and self._pauses.why(call.company_id, call.agent) is not None

    async def until_lifted(self, call: CallEffect, *, noting: bool, noted: bool = False) -> bool:
        """Wait while the agent is stopped, perhaps `noting` that so long nothing is sent.

        False where another daemon has let it go meanwhile, so that it may have been sent.
        """
        await self.fresh()
        while self.stopped(call):
            changed = self._changed.setdefault(call.company_id, asyncio.Event())
            if noting and not noted:
                await self._store.hold_call(call.company_id, call.run_id, self._now())
                noted = True
            await changed.wait()
        return not noted or await self._store.release_call(call.company_id, call.run_id)

    async def was_held(self, call: CallEffect) -> bool:
        """Whether a call was held when its daemon ended, so that it was not sent."""
        return await self._store.call_held(call.company_id, call.run_id)

    async def unsettled(self, call: CallEffect) -> str | None:
        """Why a call does not stand as it was approved."""
        await self.fresh()
        run = await self._store.load(call.company_id, call.run_id)
        visit = None if run is None else run.at(call.step_id)
        if run is None or visit is None:
            return "its run has moved on"
        return unsettled(run, visit, await self._companies.load(call.company_id))

    def _tell(self, company_id: str) -> None:
        changed = self._changed.pop(company_id, None)
        if changed is not None:
            changed.set()
