"""A house in which actors live: real stores, templates, connectors, timers and feed, and a place to
watch effects.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from actors.actor import ActorContext, Answer
from actors.core.calls import Connector
from actors.core.decider import STEPS_MAX, TurnResult
from actors.core.messages import CallEffect, CallReturned, Cancel, Command, Effect, Event, Outcome, Resume, Start, Wake
from actors.core.run import Run
from actors.core.template import Template
from actors.directory import Directory
from actors.ports import Commit, CommittedRun, Receipt, StoreFailed, VersionConflict
from daemon.connectors.service import ConnectorService
from daemon.engine.due_runs import Timers
from daemon.engine.feed import Feed
from daemon.keys.keyring import KeyRing
from daemon.keys.vault import Vault
from daemon.runtime.clock import utc_now
from daemon.stores.sqlite.store import SqliteStore
from daemon.templates.catalog import Catalog
from daemon.templates.loading import CatalogEntry, load_text
from tests.processes import ALWAYS, choice, end, process, task

Store = SqliteStore
Key = tuple[str, str]
COMPANY = "acme"
PATIENCE_S = 10.0
MORNING = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
SIGN = """
  - {id: signoff, kind: gate, label: Sign, next: {approved: yes-end, denied: no-end}}
  - {id: yes-end, kind: end, label: Granted, outcome: approved}
  - {id: no-end, kind: end, label: Refused, outcome: refused}
"""
# A gate that opens again after each approval, so that one run can take any number of verdicts.
AGAIN = """
  - {id: review, kind: gate, label: Review, next: {approved: note, denied: over}}
  - {id: note, kind: task, label: Note it, tool: note, effect: read, next: review}
  - {id: over, kind: end, label: Over, outcome: over}
"""
CALLS = """
  - {id: fetch, kind: task, label: Fetch, tool: fetch, effect: read, next: signoff}
  - {id: signoff, kind: gate, label: Sign, next: {approved: done, denied: done}}
  - {id: done, kind: end, label: Done, outcome: done}
"""
# Nothing ever ends it but the bound on the steps of a run.
ENDLESS = """
  - {id: spin, kind: task, label: Spin, tool: spin, effect: read, next: enough}
  - id: enough
    kind: gateway
    flow: exclusive
    label: Enough?
    branches: [{branch: enough, when: 'false', to: done}, {branch: more, to: spin}]
  - {id: done, kind: end, label: Done, outcome: done}
"""


def document(vertical: str, steps: str) -> str:
    """A template document in YAML."""
    head = f"vertical: {vertical}\nversion: 1\ntitle: A process\ndescription: It is tested with.\n"
    return f"{head}inputs_schema: {{type: object}}\nexample: {{}}\nsteps:{steps}"


ENTRIES = {
    vertical: load_text(document(vertical, steps), vertical)
    for vertical, steps in {"sign": SIGN, "again": AGAIN, "calls": CALLS, "endless": ENDLESS}.items()
}

UNKEPT = process(
    task("spin"), choice("enough"), end(), ways="spin -> enough -[no]-> spin\n enough -[yes]-> end", when={"no": ALWAYS}
)


class Hands:
    """Effects as they are asked for, in order; wake-ups are real, calls are answered by the
    test.
    """

    def __init__(self, timers: Timers) -> None:
        self.asked: list[tuple[str, bool]] = []
        self.forgotten: list[Key] = []
        self.faults: list[Exception] = []
        self.lost: set[str] = set()
        self.looked_at: Callable[[], None] = lambda: None
        self._timers = timers
        self._more = asyncio.Event()
        self._posting = asyncio.get_running_loop().create_task(self._post_due())

    async def _post_due(self) -> None:
        while True:
            await self._timers.post_due()

    def perform(self, effects: Sequence[Effect], *, recovered: bool) -> None:
        if self.faults:
            raise self.faults.pop(0)
        for effect in effects:
            match effect:
                case Wake():
                    self._timers.wake(effect)
                case CallEffect():
                    self.asked.append((effect.key, recovered))
                    self._more.set()

    def under_way(self, call: CallEffect) -> bool:
        """Whether a call was asked for, unless the test says that it is lost."""
        self.looked_at()
        return call.key in {key for key, _ in self.asked} - self.lost

    async def reached(self, calls: int) -> None:
        """Wait until so many calls were asked for."""
        async with asyncio.timeout(PATIENCE_S):
            while len(self.asked) < calls:
                self._more.clear()
                await self._more.wait()

    def forget(self, company_id: str, run_id: str) -> None:
        self.forgotten.append((company_id, run_id))


class Slow:
    """A journal whose appends wait for the test to let them go, or fail as the test says; all else
    is the store's.
    """

    shared = False

    def __init__(self, store: Store) -> None:
        self.store = store
        self.open = asyncio.Event()
        self.open.set()
        self.reached = asyncio.Event()
        self.faults: list[Exception] = []
        self.faults_after: list[Exception] = []
        self.faults_of_loads: list[Exception] = []
        self.conflicts = 0
        self.loads: Counter[Key] = Counter()
        self._faultless = asyncio.Event()

    async def append(self, commit: Commit) -> bytes:
        self.reached.set()
        await self.open.wait()
        if self.faults:
            fault = self.faults.pop(0)
            if not self.faults:
                self._faultless.set()
            raise fault
        try:
            head = await self.store.append(commit)
        except VersionConflict:
            self.conflicts += 1
            raise
        if self.faults_after:
            raise self.faults_after.pop(0)
        return head

    async def load(self, company_id: str, run_id: str) -> Run | None:
        found = await self.load_committed(company_id, run_id)
        return None if found is None else found.run

    async def load_committed(self, company_id: str, run_id: str) -> CommittedRun | None:
        self.loads[company_id, run_id] += 1
        if self.faults_of_loads:
            raise self.faults_of_loads.pop(0)
        return await self.store.load_committed(company_id, run_id)

    async def claim(self) -> Sequence[Key]:
        return await self.store.claim()

    async def faultless(self) -> None:
        """Wait until all faults of appends have been met."""
        async with asyncio.timeout(PATIENCE_S):
            await self._faultless.wait()

    async def needs_recovery(self, after: Key, limit: int) -> Sequence[Key]:
        return await self.store.needs_recovery(after, limit)

    def hold(self) -> None:
        """Let nothing through from now on."""
        self.open.clear()
        self.reached.clear()


@dataclass
class House:
    """One process's actors on a store; several houses on one store are several processes."""

    store: Store
    journal: Slow
    catalog: Catalog
    connector_service: ConnectorService
    hands: Hands
    feed: Feed
    timers: Timers
    directory: Directory
    reported: list[tuple[Key, Exception]] = field(default_factory=list)
    started: int = 0

    async def start(
        self, vertical: str, run_id: str | None = None, template: Template | None = None, **how: Any
    ) -> TurnResult:
        """Start a run, by a template of its own if one is given, and answer what that did."""
        self.started += 1
        template = template or (UNKEPT if vertical == "unkept" else ENTRIES[vertical].template)
        message = Start(run_id=run_id or f"run-{self.started}", company_id=COMPANY, by="ann", inputs={}, at=MORNING)
        done = await self.ask(message.run_id, message, template=template, **how)
        assert isinstance(done, TurnResult), done
        return done

    async def resume(self, run: Run, gate: str, decision: str = "approved", by: str = "bob", **how: Any) -> Answer:
        """Give a verdict."""
        return await self.ask(run.id, verdict(gate, decision, by), **how)

    async def cancel(self, run_id: str) -> Answer:
        return await self.ask(run_id, Cancel(by="ann", at=MORNING))

    async def ask(self, run_id: str, message: Command, **how: Any) -> Answer:
        """Whoever waits is answered; a test that is not, fails."""
        async with asyncio.timeout(PATIENCE_S):
            return await self.directory.ask((COMPANY, run_id), message, **how)

    def returned(self, run: Run, step_id: str = "fetch", output: Any = "found") -> None:
        """Let a call come back."""
        outcome = CallReturned(step_id=step_id, visit=1, output={"it": output}, at=MORNING)
        self.directory.tell(COMPANY, run.id, outcome)

    async def live_tool(self, tool: str) -> None:
        """Bind a tool, so that its calls are real ones."""
        connector = Connector(tool, 0, "https://api.test", "POST", "/", reversible=True)
        await self.connector_service.put(COMPANY, connector, None, "ann")

    async def history(self, run_id: str) -> list[Event]:
        return [one.event for one in await self.store.history(COMPANY, run_id, 0, 100_000)]

    async def loaded(self, run_id: str) -> Run:
        run = await self.store.load(COMPANY, run_id)
        assert run is not None
        return run

    async def ended(self, run: Run) -> Run:
        """The run once it has ended."""
        return await self.until(run, lambda now: now.ended is not None)

    async def until(self, run: Run, fits: Callable[[Run], bool]) -> Run:
        """The run once it is like that; what it is now counts, too."""
        with self.feed.follow(COMPANY, run.id) as follower:
            run = await self.loaded(run.id)
            async with asyncio.timeout(PATIENCE_S):
                while not fits(run):
                    run = (await follower.next())[0] or run
        return run

    async def settled(self) -> None:
        """Wait until no actor works any more."""
        async with asyncio.timeout(PATIENCE_S):
            while tasks := [actor.task for actor in self.directory._actors.values() if actor.task is not None]:
                await asyncio.wait(tasks)


def verdict(gate: str, decision: str = "approved", by: str = "bob") -> Resume:
    return Resume(gate=gate, decision=decision, by=by, role="owner", at=MORNING)


def receipt(run_id: str, key: str = "k") -> Receipt:
    return Receipt(COMPANY, "/process-runs", key, b"print", run_id, 200, "{}", b"{}")


def passing() -> StoreFailed:
    return StoreFailed("The disk is full.", "not_applied")


def doubtful() -> StoreFailed:
    return StoreFailed("The disk has gone.", "unknown")


async def house(store: Store, *, entries: Iterable[CatalogEntry] = ENTRIES.values(), **how: Any) -> House:
    """A house on a store; `how` sets the bounds of its actors."""
    directory: Directory

    def post(company_id: str, run_id: str, outcome: Outcome) -> None:
        directory.tell(company_id, run_id, outcome)

    reported: list[tuple[Key, Exception]] = []
    timers, feed = Timers(post, utc_now), Feed()
    journal, hands = Slow(store), Hands(timers)
    catalog = Catalog(entries, store)
    await catalog.open()
    connector_service = ConnectorService(store, Vault(KeyRing("", {}).rotated(), store, utc_now), utc_now)
    bounds = {"mailbox_max": 1_000, "steps_max": STEPS_MAX, **how}
    context = ActorContext(journal, catalog.pinned, connector_service, hands, feed, **bounds)
    directory = Directory(context, idle_s=0, report=lambda key, error: reported.append((key, error)), repeat_s=0)
    return House(store, journal, catalog, connector_service, hands, feed, timers, directory, reported)
