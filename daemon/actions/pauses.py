"""Which agents are stopped: what waits stays, and nothing new begins."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from msgspec import structs

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
