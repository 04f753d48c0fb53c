"""Which agents are stopped: what waits stays, and nothing new begins."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from msgspec import structs

from actors.core.approvals import unsettled
from actors.core.messages import CallEffect
from actors.core.run import Run
from actors.ports import CompanySource
from daemon.identity.company.companies import Companies, NewestSettings
from daemon.identity.company.settings import SettingService
from daemon.identity.tokens import Principal
from daemon.model.events.company import Pause, StoppedAgents
from daemon.model.people.companies import ACTION_PAUSES, StoredSetting
from daemon.stores.store import Store

PAUSED_AGENTS_MAX = 1_000


class TooManyPauses(Exception):
    """The company has as many agents stopped one by one as it may have."""


class Pauses(SettingService[StoppedAgents]):
    """Stops agents; memory has the companies in which any agent is stopped."""

    kind = ACTION_PAUSES

    def __init__(self, repository: Store, now: Callable[[], datetime], companies: Companies) -> None:
        super().__init__(repository, now, companies)
        self._known: NewestSettings[StoppedAgents] = NewestSettings()
        self._listeners: list[Callable[[str], None]] = []

    def subscribe(self, listener: Callable[[str], None]) -> None:
        """Call the listener with the company after each change, here or elsewhere."""
        self._listeners.append(listener)

    def apply(self, found: Iterable[StoredSetting[StoppedAgents]]) -> None:
        found = [
            one for one in found if (known := self._known.get(one.company_id)) is None or known.number < one.number
        ]
        self._known.apply(found)
        for one in found:
            for listener in self._listeners:
                listener(one.company_id)

    def why(self, company_id: str, agent: str) -> Pause | None:
        """Why an agent is stopped; None where it is not. Never waits."""
        known = self._known.get(company_id)
        return None if known is None else known.value.all or known.value.agents.get(agent)

    async def pause(self, principal: Principal, agent: str | None, reason: str) -> StoppedAgents:
        """Stop an agent, or all without a name."""
        return await self._set(principal, agent, Pause(reason=reason, by=principal.email, at=self._now()))

    async def lift(self, principal: Principal, agent: str | None) -> StoppedAgents:
        """Let an agent go on, or lift what stops all."""
        return await self._set(principal, agent, None)

    async def _set(self, principal: Principal, agent: str | None, pause: Pause | None) -> StoppedAgents:
        return await self.change(principal, {"all": pause} if agent is None else {"agent": (agent, pause)})

    def merged(self, before: StoppedAgents, changes: Mapping[str, Any]) -> StoppedAgents:
        """The pauses after one began or ended; one that is the same again keeps when it began."""
        if "all" in changes:
            return structs.replace(before, all=_kept(before.all, changes["all"]))
        name, pause = changes["agent"]
        agents = {**before.agents, name: _kept(before.agents.get(name), pause)}
        after = {one: kept for one in sorted(agents) if (kept := agents[one]) is not None}
        if len(after) > max(PAUSED_AGENTS_MAX, len(before.agents)):
            raise TooManyPauses
        return structs.replace(before, agents=after)


def _kept(before: Pause | None, after: Pause | None) -> Pause | None:
    same = before is not None and after is not None and (before.reason, before.by) == (after.reason, after.by)
    return before if same else after


async def _known() -> None:
    """One daemon alone knows all changes."""


class ActionGuard:
    """Asks pauses, rules and keys right before a call leaves.

    A call that is held is noted as such before it waits, and let go by one daemon alone: after a
    restart, what is noted was not sent.
    """

    fresh: Callable[[], Awaitable[None]] = staticmethod(_known)
    """Has this daemon know all that others have answered."""

    def __init__(
        self,
        store: Store,
        pauses: Pauses,
        companies: CompanySource,
        now: Callable[[], datetime],
        live: Callable[[str, str], Run | None] = lambda *_: None,
    ) -> None:
        """`live` is the run as committed last, where this daemon alone may append to it."""
        self._store, self._pauses, self._companies, self._now, self._live = store, pauses, companies, now, live
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
        key = (call.company_id, call.run_id)
        run = self._live(*key) or await self._store.load(*key)
        visit = None if run is None else run.at(call.step_id)
        if run is None or visit is None:
            return "its run has moved on"
        return unsettled(run, visit, await self._companies.load(call.company_id))

    def _tell(self, company_id: str) -> None:
        changed = self._changed.pop(company_id, None)
        if changed is not None:
            changed.set()
