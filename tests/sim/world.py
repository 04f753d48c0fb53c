"""The world of one seed: the disk, the far sides, the processes, the people, and all that can go
wrong with them.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Literal

import structlog
from msgspec import structs

from actors.core import kinds
from actors.core.calls import Connector
from actors.core.commands import glass
from actors.core.people import Company, FunctionBinding, Person, ReaderRule
from actors.ports import StoreFailed
from daemon.connectors.service import ConnectorService
from daemon.stores import codec
from tests.property.templates import TOOLS
from tests.sim.disk import WRITE_S, Disk, Shelf, Transaction
from tests.sim.loop import SimLoop
from tests.sim.process import Process, vault
from tests.sim.rooms import CHIEF, GROUPS, RULES, Rules, furnished
from tests.sim.templates import draw
from tests.sim.witness import Witness

MORNING = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
COMPANIES = ("acme", "umbra")
SILENT = 50
CALM_S = 240.0
GLASS_S = 10.0

StoreFault = Literal["not_applied", "lost", "kept"]
FarSideWay = Literal["well", "hit", "late", "never", "lost", "status", "refused", "broken"]
WAYS: tuple[FarSideWay, ...] = ("hit", "late", "never", "lost", "lost", "status", "refused", "broken")


@dataclass(frozen=True)
class Mix:
    """What a seed is like: how large its bounds are and how often each thing goes wrong."""

    disorder: float
    alone: bool
    runs: int
    actions: int
    mailbox_max: int
    batch_max: int
    calls_max: int
    failures_max: int
    steps_max: int
    turn_steps_max: int
    idle_s: float
    not_applied: float
    unknown: float
    unread: float
    slow: float
    death: float
    trouble: float
    echo: float

    @classmethod
    def of(cls, rng: Random) -> Mix:
        return cls(
            disorder=rng.choice((0.0, 0.2, 0.7)),
            alone=rng.random() < 0.85,
            runs=rng.randint(1, 3),
            actions=rng.randint(15, 50),
            mailbox_max=rng.choice((2, 4, 1_000)),
            batch_max=rng.choice((1, 3, 256)),
            calls_max=rng.choice((1, 2, 256)),
            failures_max=rng.choice((2, 20)),
            steps_max=40,
            turn_steps_max=rng.choice((1, 3, 200)),
            idle_s=rng.choice((0.0, 0.0, 1.0)),
            not_applied=rng.choice((0.0, 0.0, 0.1, 0.3)),
            unknown=rng.choice((0.0, 0.0, 0.03, 0.1)),
            unread=rng.choice((0.0, 0.0, 0.1, 0.3)),
            slow=rng.choice((0.0, 0.0, 0.05, 0.2)),
            death=rng.choice((0.0, 0.02, 0.05)),
            trouble=rng.choice((0.0, 0.2, 0.5)),
            echo=rng.choice((0.0, 0.2, 0.5)),
        )


class World:
    """Everything that outlives a process, and the seed's word on what happens next."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(f"world {seed}")
        self.mix = Mix.of(self.rng)
        self.loop = SimLoop(Random(f"order {seed}"), self.mix.disorder)
        self.witness = Witness(alone=self.mix.alone)
        self.disk, self.shelf = Disk(), Shelf(self)
        self.calm = False
        self.trace: list[str] = []
        drawn = [draw(self.rng, number) for number in range(self.rng.randint(1, 2))]
        self.templates = [furnished(one, self.rng) for one in drawn]
        self.witness.templates = {template.digest: template for template in self.templates}
        self.processes: list[Process] = []
        self.deaths = 0
        self._jumped_s = 0.0
        self.bound: dict[tuple[str, str], int] = {}
        self.companies = {company: Company() for company in COMPANIES}
        self.narrowed: dict[str, dict[str, ReaderRule]] = {company: {} for company in COMPANIES}
        self.rules_changed = 0

    # ----------------------------------------------------------------------------------- the clock

    def now(self) -> datetime:
        """The time of day, which people may set; the loop's own time never jumps."""
        return MORNING + timedelta(seconds=self.loop.time() + self._jumped_s)

    def jump(self) -> None:
        """Somebody sets the clock."""
        self._jumped_s += self.rng.choice((-7_200.0, -1.5, 3.0, 7_200.0))
        self.note("the clock jumps")

    def note(self, what: str) -> None:
        """One line of the trace."""
        self.trace.append(f"{self.loop.time():10.4f} {what}")

    def hash(self) -> str:
        """What two runs of one seed have in common."""
        text = "\n".join((*self.trace, *self.witness.wrong, f"{self.loop.steps} steps"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    # ------------------------------------------------------------------------------ the seed's say

    async def pause(self, most_s: float) -> None:
        """Take a moment, or only let others go first, or not even that."""
        lot = self.rng.random()
        if lot < 0.2:
            return
        await asyncio.sleep(0.0 if lot < 0.4 else most_s * self.rng.random())

    def _happens(self, chance: float) -> bool:
        return not self.calm and chance > 0 and self.rng.random() < chance

    def store_fault(self) -> StoreFault | None:
        """How a write goes wrong, if it does."""
        if self._happens(self.mix.not_applied):
            return "not_applied"
        if self._happens(self.mix.unknown):
            return self.rng.choice(("lost", "kept"))
        return None

    def write_s(self) -> float:
        """How long a write takes at most: mostly little, now and then longer than anybody wants to
        wait.
        """
        return self.rng.choice((0.5, 9.0, 9.0)) if self._happens(self.mix.slow) else WRITE_S

    def load_fails(self) -> bool:
        return self._happens(self.mix.unread)

    def dies(self, weight: float) -> bool:
        return self._happens(self.mix.death * weight)

    def far_side(self, timeout_s: float) -> tuple[FarSideWay, float]:
        """How a far side answers a call, and after how long."""
        delay_s = self.rng.choice((0.0, 0.01, 0.3, 1.0)) * self.rng.random()
        if not self._happens(self.mix.trouble):
            return "well", delay_s
        how = self.rng.choice(WAYS)
        return how, timeout_s * self.rng.uniform(0.9, 1.05) if how == "late" else delay_s

    def echoes(self) -> Iterator[float]:
        """After how long an outcome comes once more."""
        while self._happens(self.mix.echo):
            yield self.rng.choice((0.0, 0.05, 0.3, 1.0, 10.0))

    # ----------------------------------------------------------------------------------- the tools

    def connector(self, company: str, tool: str) -> Connector:
        """One of the ways to bind a tool."""
        return Connector(
            tool,
            1,
            f"https://{company}.test",
            "POST",
            f"/{tool}",
            body_map=self.rng.choice((None, {"amount": "amount"})),
            signal_rule=self.rng.choice((None, "hit")),
            reversible=self.rng.random() < 0.9,
            idempotent=self.rng.random() < 0.25,
            timeout_s=self.rng.choice((1.0, 4.0)),
            retries=self.rng.choice((0, 2)),
        )

    def employ(self, company: str, name: str, role: str) -> None:
        """Somebody joins a company, or has another role from now on."""
        groups = frozenset(self.rng.sample(GROUPS, self.rng.randint(0, 2)))
        people = {**self.companies[company].people, name: Person(name, name, role, groups)}
        self._staff(company, people)

    def rules(self, company: str) -> Rules:
        """Who is in a company now, and whom it lets read."""
        return Rules(self.companies[company], self.narrowed[company])

    def rebind_function(self, company: str) -> None:
        """A group fills the function from now on, or nobody does."""
        binding = FunctionBinding(frozenset(self.rng.sample(GROUPS, self.rng.randint(0, 1))))
        self.companies[company] = structs.replace(self.companies[company], functions={CHIEF: binding})
        self._staff(company, dict(self.companies[company].people))

    def narrow(self, company: str) -> None:
        """A company says who reads the runs of a vertical, or leaves that to its template."""
        rule = self.rng.choice(RULES)
        self.narrowed[company] = {} if rule is None else {self.rng.choice(self.templates).vertical: rule}
        self.rules_changed += 1

    def dismiss(self, company: str) -> None:
        """Somebody leaves a company, or everybody does."""
        people = dict(self.companies[company].people)
        gone = self.rng.choice((sorted(people)[:1], sorted(people)[-1:], sorted(people)))
        for name in gone:
            del people[name]
            self.note(f"{name} leaves {company}")
        self._staff(company, people)

    def _staff(self, company: str, people: dict[str, Person]) -> None:
        self.companies[company] = Company(people, functions=self.companies[company].functions)
        self.rules_changed += 1
        for process in self.processes:
            process.do(process.reviewer.changed, company)

    async def bind_all(self) -> None:
        """Before the service is there, most tools are bound."""
        connector_service = ConnectorService(self.shelf, vault(), self.now)
        for company in COMPANIES:
            for tool in TOOLS:
                if self.rng.random() < 0.8:
                    await self.bind(connector_service, company, tool)

    async def bind(self, connector_service: ConnectorService, company: str, tool: str) -> None:
        """Somebody binds a tool, anew or otherwise."""
        with suppress(StoreFailed):
            stored, _ = await connector_service.put(company, self.connector(company, tool), None, "ann")
            version = self.bound[company, tool] = stored.connector.version
            self.note(f"{company} binds {tool}, version {version}")

    def fail_over(self) -> None:
        """The database loses the last commit of a run, and somebody decides there in its place."""
        losing = [key for key in sorted(self.disk.runs) if not self.mix.alone and self.witness.may_lose(key)]
        if losing:
            key = self.rng.choice(losing)
            kept = self.disk.runs[key]
            assert kept.before is not None
            self.disk.runs[key] = kept.before
            if kept.receipt is not None:
                self.disk.receipts.pop(kept.receipt, None)
            commit = self.witness.fail_over(key, f"rival-{len(self.trace)}")
            transaction = Transaction(self.disk)
            events, snapshot = codec.encode_events(commit.events), codec.encode_run(commit.run)
            transaction.append(structs.replace(commit, follows=kept.before.head), events, snapshot)
            transaction.keep()
            self.note(f"the database fails over without the last commit of {key[1]}")

    # ------------------------------------------------------------------------------- the processes

    async def keep_alive(self, slot: int) -> None:
        """Start a process, and another one whenever it is gone."""
        born = 0
        while True:
            born += 1
            process = Process(self, f"{'ab'[slot]}{born}")
            self.note(f"{process.name} starts")
            recovering = process.spawn(process.recover())
            await asyncio.wait((recovering, process.gone), return_when=asyncio.FIRST_COMPLETED)
            self.processes.append(process)
            how = await process.gone
            self.processes.remove(process)
            self.deaths += 1
            self.note(f"{process.name} {how}")
            await asyncio.sleep(self.rng.choice((0.0, 0.1, 2.0)))

    @property
    def up(self) -> list[Process]:
        """The processes that take commands."""
        return [process for process in self.processes if not process.stopping]


@contextmanager
def bounds(turn_steps_max: int) -> Iterator[None]:
    """Short turns, so that runs have to be woken for more; glass that mends soon; and no log."""
    before, broken, log = kinds.TURN_STEPS_MAX, glass.BROKEN, structlog.get_config()
    kinds.TURN_STEPS_MAX, glass.BROKEN = turn_steps_max, timedelta(seconds=GLASS_S)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(SILENT))
    try:
        yield
    finally:
        kinds.TURN_STEPS_MAX, glass.BROKEN = before, broken
        structlog.configure(**log)
