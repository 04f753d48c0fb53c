"""The sweeper: reports and wakes runs that nothing would wake."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import structlog

from actors.core.decider import outstanding
from actors.core.messages import CallEffect, Effect
from actors.core.run import Run
from actors.core.template import Template
from actors.directory import Directory
from actors.ports import StoreFailed
from daemon.engine.due_runs import Timers
from daemon.stores.store import Store
from daemon.templates.catalog import Catalog

PAGE = 256
LOOK_AGAIN_S = 2.0

Key = tuple[str, str]
_log = structlog.get_logger("penstock")


def reason(run: Run, template: Template) -> str | None:
    """What a run waits for; None when nothing can ever wake it."""
    if run.ended is not None:
        return "ended"
    for visit in run.open:
        if visit.status == "failed":
            return f"{visit.step_id} has failed and can be tried again"
    for visit in run.parked:
        return f"gate {visit.step_id} is open"
    for effect in outstanding(run, template):
        return _waited_for(effect)
    return None


@dataclass(frozen=True, slots=True)
class Stuck:
    key: Key
    version: int
    status: str
    why: str


@dataclass(slots=True)
class Sweeper:
    """Looks at all unfinished runs; a run counts as stuck after two unchanged looks."""

    store: Store
    catalog: Catalog
    directory: Directory
    in_flight: Callable[[CallEffect], bool]
    timers: Timers
    forget_answered: Callable[[str, str], None]
    _stuck: frozenset[Stuck] = field(default=frozenset(), init=False)

    async def run_once(self, pause_s: float = LOOK_AGAIN_S) -> None:
        try:
            self._stuck = await self.sweep(self._stuck, pause_s)
        except StoreFailed as failure:
            _log.warning("sweep_failed", reason=str(failure))

    async def sweep(self, before: frozenset[Stuck] = frozenset(), pause_s: float = LOOK_AGAIN_S) -> frozenset[Stuck]:
        """Report, wake and return the stuck runs; `before` is what the last sweep returned."""
        stuck: set[Stuck] = set()
        after: Key | None = ("", "")
        while after is not None:
            keys = await self.store.needs_recovery(after, PAGE)
            stuck.update(await self._sure(keys, pause_s))
            after = keys[-1] if len(keys) == PAGE else None
        for one in sorted(stuck, key=lambda found: found.key):
            _tell(one, again=one in before)
            if one not in before:
                self.forget_answered(*one.key)
            await self.directory.wake(one.key)
        return frozenset(stuck)

    async def _sure(self, keys: Sequence[Key], pause_s: float) -> Sequence[Stuck]:
        """The runs that are stuck, unchanged, at two looks."""
        first = [one for key in keys if (one := await self._look(key)) is not None]
        if first:
            await asyncio.sleep(pause_s)
        return [one for one in first if await self._look(one.key) == one]

    async def _look(self, key: Key) -> Stuck | None:
        """Why a run is stuck; None when it is not, or when it is changing."""
        try:
            run = self.directory.live(*key) or await self.store.load(*key)
        except StoreFailed as failure:
            return Stuck(key, 0, "unknown", f"it cannot be read: {failure}")
        if run is None:
            return None
        try:
            template = await self.catalog.pinned(run.company_id, run.template_digest)
        except (KeyError, ValueError) as error:
            return Stuck(key, run.version, run.status, f"its template cannot be used: {error}")
        # From here on nothing else gets the event loop, so that what is compared is of one moment.
        live = self.directory.live(*key)
        if self.directory.under_way(key) or (live is not None and live is not run):
            return None
        why = self._nothing_sees_to(run, template)
        return None if why is None else Stuck(key, run.version, run.status, why)

    def _nothing_sees_to(self, run: Run, template: Template) -> str | None:
        if reason(run, template) is None:
            return "nothing that it waits for can come"
        for effect in outstanding(run, template):
            if not self._under_way(effect):
                return f"{_waited_for(effect)}, but nobody sees to it"
        return None

    def _under_way(self, effect: Effect) -> bool:
        return self.in_flight(effect) if isinstance(effect, CallEffect) else self.timers.under_way(effect)


def _waited_for(effect: Effect) -> str:
    name = f"{effect.step_id}-{effect.visit}"
    if isinstance(effect, CallEffect):
        return f"call {name} is outstanding"
    return f"timer {name} is due" if effect.at is None else f"timer until {effect.at.isoformat()}"


def _tell(one: Stuck, *, again: bool) -> None:
    company_id, run_id = one.key
    about = {"run_id": run_id, "company_id": company_id, "status": one.status, "why": one.why}
    if again:
        _log.error("run_still_stuck", **about, hint="waking it did not help: run penstock doctor")
    else:
        _log.error("run_stuck", **about, hint="it is woken now")
