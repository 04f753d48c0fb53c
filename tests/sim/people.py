"""The people of the simulation: they start, decide, cancel, give up, ask again, and now and then
pull the plug.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from actors.actor import Overloaded, Stopped
from actors.core.decider import TurnResult
from actors.core.messages import (
    BreakGlass,
    Cancel,
    Command,
    Deliver,
    GateOpened,
    Rejected,
    Resume,
    Retry,
    Start,
    Withdraw,
)
from actors.core.run import Run
from actors.core.template import Template
from actors.ports import Receipt, ReceiptTaken, StoreFailed
from tests.property.templates import TOOLS
from tests.sim.disk import Key
from tests.sim.process import Process
from tests.sim.rooms import ORDER, look
from tests.sim.shadow import Sight
from tests.sim.world import CALM_S, COMPANIES, World

PATH = "/process-runs"
TRIES_MAX = 4
RUNS_MAX = 6
PATIENCE_S = (0.0, 0.005, 0.5, 30.0, 30.0, 30.0)
ROLES = ("owner", "owner", "owner", "owner", "owner", "manager", "manager", "member")
WANTS_PEOPLE = ("parked", "failed", "waiting")
WORDS = ("approved", "denied", "retry", "done", "on", "again", "?")


@dataclass(frozen=True)
class Order:
    """Something to be said to a run, by somebody whose name nobody else has."""

    key: Key
    by: str
    make: Callable[[], Command]
    template: Template | None = None
    keyed: bool = True


class People:
    """They act one after the other; what they ask for goes on beside them."""

    def __init__(self, world: World) -> None:
        self.world, self.rng = world, world.rng
        self.asking: list[asyncio.Task[None]] = []
        self.runs: list[Key] = []
        self._names = 0

    async def act(self) -> None:
        """Everything that happens in a seed, until faults are over and all stands still."""
        world, slots = self.world, 1 if self.world.mix.alone else 2
        await world.bind_all()
        guards = [world.loop.create_task(world.keep_alive(slot)) for slot in range(slots)]
        await asyncio.sleep(1.0)
        for _ in range(world.mix.runs):
            self.start()
        for _ in range(world.mix.actions):
            await asyncio.sleep(self.rng.choice((0.0, 0.01, 0.1, 1.0, 4.0)) * self.rng.random())
            await self.rng.choice(ACTIONS)(self)
            self.look()
            for process in world.up:
                process.look()
        for company in COMPANIES:  # so that the last word is one about people
            world.dismiss(company)
        world.calm = True
        world.note("all faults are over")
        await asyncio.sleep(CALM_S)
        for process in world.up:
            process.passivate()
        world.witness.must(len(world.up) == slots, "a process is not up again")
        world.witness.must(all(task.done() for task in self.asking), "somebody still waits for an answer")
        world.witness.finished(world.now(), world.companies)
        for guard in guards:
            guard.cancel()

    # ------------------------------------------------------------------------------- what they say

    def name(self) -> str:
        self._names += 1
        return f"person-{self._names}"

    def start(self) -> None:
        """Somebody starts a run."""
        company, template = self.rng.choice(COMPANIES), self.rng.choice(self.world.templates)
        key, by, auto = (company, f"run-{len(self.runs)}"), self.name(), self.rng.random() < 0.85
        self.world.employ(company, by, self.rng.choice(ORDER))
        inputs = {"amount": 12, "who": f"person-{self.rng.randint(1, 12)}"}

        def make() -> Command:
            at = self.world.now()
            return Start(run_id=key[1], company_id=company, by=by, inputs=inputs, auto_resolve=auto, at=at)

        self.runs.append(key)
        self.say(Order(key, by, make, template))

    async def decide(self) -> None:
        """Somebody decides on a gate."""
        key, run = self.one_run()
        if run is not None:
            self.say(self.verdict(key, run))

    async def rush(self) -> None:
        """Several decide on the same gate at once, and not alike."""
        key, run = self.one_run()
        if run is not None:
            for _ in range(self.rng.randint(2, 5)):
                self.say(self.verdict(key, run))

    def verdict(self, key: Key, run: Run) -> Order:
        """Mostly on a gate that is open, with a decision that it offers, having seen it or not."""
        gates = [*[visit.step_id for visit in run.parked] * 6, *run.visits]
        gate = self.rng.choice(gates)
        visit = run.at(gate)
        offered = visit.gate.decisions if visit is not None and visit.gate is not None else ()
        decision = self.rng.choice((*offered[:1] * 6, *offered * 3, *WORDS) if offered else WORDS)
        history = self.world.witness.shadows[key].history
        digests = [event.digest for event in history if isinstance(event, GateOpened) and event.step_id == gate]
        digest = self.rng.choice((None, None, None, *digests[-1:], *digests[:1]))
        versions = self.rng.choice((None, None, None, frozenset({str(run.version)})))
        by, role = self.name(), self.rng.choice(ROLES)
        self.world.employ(key[0], by, role)
        self.world.witness.sights[by] = Sight(digest, versions)

        def make() -> Command:
            seen = {"digest": digest, "tags": versions}
            return Resume(gate=gate, decision=decision, by=by, role=role, at=self.world.now(), **seen)  # type: ignore[arg-type]

        return Order(key, by, make)

    async def repeat(self) -> None:
        """Somebody who has decided in a run decides there again."""
        key, run = self.one_run()
        deciders = sorted(self.world.witness.deciders(key))
        if run is not None and run.parked and deciders:
            visit, by = self.rng.choice(run.parked), self.rng.choice(deciders)
            gate = visit.step_id
            decision = visit.gate.decisions[0] if visit.gate else "approved"

            def make() -> Command:
                return Resume(gate=gate, decision=decision, by=by, role="owner", at=self.world.now())

            self.say(Order(key, self.name(), make, keyed=False))

    async def withdraw(self) -> None:
        """Somebody takes a verdict back, if the gate is still open."""
        key, run = self.one_run()
        given = [(one, each) for one in (run.parked if run else ()) for each in (one.gate.verdicts if one.gate else ())]
        if given:
            visit, verdict = self.rng.choice(given)
            gate, by = visit.step_id, verdict.by
            self.say(Order(key, self.name(), lambda: Withdraw(gate=gate, by=by, at=self.world.now()), keyed=False))

    async def write(self) -> None:
        """A message comes, early or late."""
        key, _ = self.one_run()
        by = self.name()
        self.say(Order(key, by, lambda: Deliver(name="answered", by=by, at=self.world.now())))

    async def leave(self) -> None:
        """Somebody leaves, and verdicts of theirs may count no more."""
        self.world.dismiss(self.rng.choice(COMPANIES))

    def look(self) -> None:
        """Members look for a run: whoever may read it finds it, and nobody else."""
        key, _ = self.one_run()
        members = sorted(self.world.companies[key[0]].people)
        if self.world.up and members:
            process = self.rng.choice(self.world.up)
            for by in self.rng.sample(members, min(3, len(members))):
                process.spawn(look(self.world, process, key, by))

    async def break_glass(self) -> None:
        """An admin whom a run is not about has it opened for a while."""
        key, run = self.one_run()
        people = self.world.companies[key[0]].people
        admins = [one for one in sorted(people) if people[one].role in ORDER[-2:]]
        if run is not None and admins:
            admin = self.rng.choice(admins)
            if run.inputs["who"] != admin:
                said: dict[str, Any] = {"by": admin, "reason": "why"}
                make = lambda: BreakGlass(**said, at=self.world.now())  # noqa: E731 - it is made when it is sent
                self.say(Order(key, self.name(), make, keyed=False))

    async def promote(self) -> None:
        """A member has another role and other groups from now on."""
        company = self.rng.choice(COMPANIES)
        members = sorted(self.world.companies[company].people)
        if members:
            self.world.employ(company, self.rng.choice(members), self.rng.choice(ORDER))

    async def appoint(self) -> None:
        """A function is bound otherwise."""
        self.world.rebind_function(self.rng.choice(COMPANIES))

    async def narrow(self) -> None:
        """A company says who reads."""
        self.world.narrow(self.rng.choice(COMPANIES))

    async def retry(self) -> None:
        """Somebody has a failed step tried again."""
        key, _ = self.one_run()
        by = self.name()
        self.say(Order(key, by, lambda: Retry(by=by, at=self.world.now())))

    async def cancel(self) -> None:
        """Somebody cancels a run, though not every time it crosses his mind."""
        key, _ = self.one_run()
        by = self.name()
        if self.rng.random() < 0.5:
            self.say(Order(key, by, lambda: Cancel(by=by, at=self.world.now())))

    async def trespass(self) -> None:
        """Somebody asks for the run of another company."""
        (company, run_id), run = self.one_run()
        stranger = (next(other for other in COMPANIES if other != company), run_id)
        by = self.name()
        if run is not None:
            order = self.verdict((company, run_id), run)
            self.say(Order(stranger, order.by, order.make))
        else:
            self.say(Order(stranger, by, lambda: Cancel(by=by, at=self.world.now())))

    def one_run(self) -> tuple[Key, Run | None]:
        """A run, and where it stands; mostly one that waits for people."""
        shadows = self.world.witness.shadows
        asking = [key for key in self.runs if key in shadows and shadows[key].run.status in WANTS_PEOPLE]
        key = self.rng.choice((*asking * 4, *self.runs))
        return key, shadows[key].run if key in shadows else None

    # ----------------------------------------------------------------------------- how they say it

    def say(self, order: Order) -> None:
        """Send it, and see to it that it is answered, as far as this person cares."""
        once = order.keyed and self.rng.random() < 0.7
        self.asking.append(self.world.loop.create_task(self._insist(order, once=once)))

    async def _insist(self, order: Order, *, once: bool) -> None:
        """Ask; whoever has a key asks again until there is an answer."""
        for _ in range(TRIES_MAX if once else 1):
            up = self.world.up
            if up and await self._ask(self.rng.choice(up), order, once=once):
                return
            await asyncio.sleep(self.rng.choice((0.0, 0.2, 3.0)))

    async def _ask(self, process: Process, order: Order, *, once: bool) -> bool:
        """One request: whether it was answered; it may break off, when its process dies or its
        sender gives up.
        """
        handling = process.spawn(self._handle(process, order, once=once))
        patience_s, cut = self.rng.choice(PATIENCE_S), not once and self.rng.random() < 0.5
        await asyncio.wait((handling, process.gone), timeout=patience_s, return_when=asyncio.FIRST_COMPLETED)
        if handling.done():
            return not handling.cancelled() and handling.result()
        if cut and not process.life.dead:
            handling.cancel()
        return False

    async def _handle(self, process: Process, order: Order, *, once: bool) -> bool:
        """What the service does with a request; whether there is nothing more to ask."""
        async with process.under_way.setdefault(order.by, asyncio.Lock()):
            said = await self._give(process, order, once=once)
        self.world.note(f"{process.name} answers {order.by} on {order.key[1]}: {said}")
        return not said.startswith("503")

    async def _give(self, process: Process, order: Order, *, once: bool) -> str:
        place = (order.key[0], PATH, order.by)

        def receipt(run: Run, refused: Rejected | None) -> Receipt:
            status = 200 if refused is None else 409
            return Receipt(*place, b"print", run.id, status, "{}", str(run.version).encode())

        disk = self.world.disk
        await self.world.pause(0.005)
        if once and place in disk.receipts:
            return self._again(disk.receipts[place])
        witness = self.world.witness
        witness.tries(order.by)
        try:
            answer = await process.ask(order.key, order.make(), order.template, receipt if once else None)
        except ReceiptTaken:
            return self._again(disk.receipts[place])
        except (Overloaded, Stopped) as none:
            witness.refused(process, order.key, order.by)
            return f"503 {none!r}"
        except StoreFailed as failed:
            if failed.outcome == "not_applied":
                witness.refused(process, order.key, order.by)
            else:
                witness.doubted(process, order.by)
            return f"503 {failed.outcome}"
        if isinstance(answer, TurnResult):
            return f"{'200' if answer.rejected is None else '409'} version {answer.run.version}"
        witness.refused(process, order.key, order.by)
        known = order.key in witness.shadows
        witness.must(known or answer.code == "not_found", f"{order.key} is said to be there")
        return f"409 {answer.code}"

    def _again(self, receipt: Receipt) -> str:
        """The answer that was kept: it has happened."""
        shadow = self.world.witness.shadows.get((receipt.company_id, receipt.run_id or ""))
        version = int(receipt.body)
        known = shadow is not None and version in shadow.states and receipt.key in shadow.spoke
        self.world.witness.must(known or receipt.status != 200, f"{receipt.key} is answered as done and was not")
        return f"{receipt.status} version {version}, kept"

    # --------------------------------------------------------------------------- what else happens

    async def begin(self) -> None:
        """Another run is started, as long as there are few."""
        if len(self.runs) < RUNS_MAX:
            self.start()

    async def rebind(self) -> None:
        """A tool is bound otherwise."""
        if self.world.up:
            process = self.rng.choice(self.world.up)
            binding = self.world.bind(process.connector_service, self.rng.choice(COMPANIES), self.rng.choice(TOOLS))
            process.spawn(binding)

    async def housekeeping(self) -> None:
        """Idle runs are let go."""
        for process in self.world.up:
            process.passivate()

    async def pull_the_plug(self) -> None:
        """A process is killed."""
        if self.world.up:
            self.rng.choice(self.world.up).kill("on a sudden")

    async def terminate(self) -> None:
        """A process is told to stop, and drains; now and then in the middle of a rush."""
        if self.rng.random() < 0.5:
            await self.rush()
            await asyncio.sleep(self.rng.choice((0.0, 0.02)))
        if self.world.up:
            process = self.rng.choice(self.world.up)
            process.stopping = True
            process.spawn(process.stop())

    async def set_the_clock(self) -> None:
        self.world.jump()

    async def fail_over(self) -> None:
        self.world.fail_over()

    async def follow(self) -> None:
        """Somebody waits for a run to rest."""
        key, run = self.one_run()
        if run is not None and self.world.up:
            process = self.rng.choice(self.world.up)
            if key not in process.feed._by_run:
                process.spawn(self._watch(process, key))

    async def _watch(self, process: Process, key: Key) -> None:
        with process.feed.follow(*key) as follower, suppress(TimeoutError, EOFError):
            async with asyncio.timeout(10.0):
                resting = False
                while not resting:
                    run, events = await follower.next()
                    if run is None:  # connectors have changed
                        continue
                    self.world.witness.seen(f"{process.name} follower", run, events)
                    resting = run.resting

    async def nothing(self) -> None:
        """Time passes."""
        await asyncio.sleep(self.rng.choice((0.1, 2.0, 12.0)))


Action = Callable[[People], Awaitable[None]]
ACTIONS: tuple[Action, ...] = (
    *((People.decide,) * 10),
    *((People.rush,) * 4),
    *((People.housekeeping,) * 3),
    *((People.retry,) * 2),
    *((People.nothing,) * 2),
    *((People.follow,) * 2),
    *((People.write,) * 2),
    *((People.leave,) * 2),
    *((People.break_glass,) * 2),
    *((People.promote,) * 2),
    People.appoint,
    People.narrow,
    People.withdraw,
    People.repeat,
    People.begin,
    People.cancel,
    People.trespass,
    People.rebind,
    People.pull_the_plug,
    People.terminate,
    People.set_the_clock,
    People.fail_over,
    People.fail_over,
)
