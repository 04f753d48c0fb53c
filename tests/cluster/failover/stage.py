"""Daemons whose address of the database names both servers of a pair, behind a balancer."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.daemons import Daemon, make_keys
from tests.cluster.proxy import Proxy
from tests.crash.conductor import prepare, read_line, spawned
from tests.crash.service import command, write_templates
from tests.crash.world import TEMPLATES
from tests.postgres import Server, free_port
from tests.replication import Pair

DAEMONS = 3
TWO_GATES = {
    # Denied or approved at the first gate, a run has the same version, and not the same future.
    "two-signatures": """
  - {id: one, kind: gate, label: One, next: {approved: two, denied: refused}}
  - {id: two, kind: gate, label: Two, next: {approved: pay, denied: refused}}
  - {id: pay, kind: task, label: Pay, tool: pay, effect: irreversible, next: paid}
  - {id: paid, kind: end, label: Paid, outcome: paid}
  - {id: refused, kind: end, label: Refused, outcome: refused}
""",
}


class Direct:
    """A place beside all others, whose daemon connects to the database itself."""

    host = "127.0.0.1"

    def __init__(self) -> None:
        self.port = free_port()

    def command(self, *words: str) -> Sequence[str]:
        """What runs a command."""
        return words

    def url(self, url: str) -> str:
        """The address of a database from here."""
        return url

    async def open(self) -> None:
        """There is nothing to begin."""

    async def close(self) -> None:
        """There is nothing to end."""

    def cut(self) -> None:
        """There is nothing to cut."""

    def mend(self) -> None:
        """There is nothing to mend."""


@dataclass
class Stage:
    """What a case is played on."""

    folder: Path
    pair: Pair
    database: str
    daemons: list[Daemon]
    port: int
    token: str
    survivor: Server
    """The server whose history counts in the end."""
    metrics_ports: list[int]
    """Where each daemon shows its metrics."""
    settings: Mapping[str, str]

    def another(self, place: Direct, settings: Iterable[tuple[str, str]] = ()) -> Daemon:
        """One more daemon, which callers do not know, before it is begun."""
        own = {**self.settings, "database_url": place.url(self.settings["database_url"]), **dict(settings)}
        return Daemon(self.folder, len(self.daemons), place, own)

    @property
    def calls(self) -> Path:
        """Every call that reached the far side."""
        return self.folder / "ledger.jsonl"

    @property
    def ends(self) -> str:
        """How the daemons ended by themselves."""
        ends = sum((daemon.ends for daemon in self.daemons), Counter[int]())
        return ", ".join(f"{times} x code {code}" for code, times in ends.items()) or "never"

    async def findings(self) -> list[str]:
        """What `penstock verify` finds in the database that is left."""
        daemon = self.daemons[0]
        env = {**daemon._environment(), "PENSTOCK_DATABASE_URL": self.survivor.url(self.database)}
        code, out, err = await command("verify", "--database", env=env)
        return [] if code == 0 else (out.strip() or err.strip()).splitlines()


@asynccontextmanager
async def proxied(places: Sequence[Direct]) -> AsyncIterator[int]:
    """A balancer of the rig's own before daemons; the port is its."""
    balancer = Proxy(*((place.host, place.port) for place in places))
    await balancer.open()
    try:
        yield balancer.port
    finally:
        await balancer.close()


@asynccontextmanager
async def staged(
    folder: Path,
    pair: Pair,
    *,
    daemons: int = DAEMONS,
    standby_first: bool = False,
    place: Callable[[], Direct] = Direct,
    settings: Iterable[tuple[str, str]] = (),
    balanced: Callable[[Sequence[Direct]], AbstractAsyncContextManager[int]] = proxied,
) -> AsyncIterator[Stage]:
    """Daemons on a new database of a pair, each in a place of its own, whose connectors lead to a
    ledger in a process of its own.
    """
    write_templates(folder / "templates", {**TEMPLATES, **TWO_GATES})
    make_keys(folder)
    database = (await pair.primary.made()).rpartition("/")[2]
    url = pair.url(database, standby_first=standby_first)
    own = {"database_url": url, "lease_s": "3", **dict(settings)}
    async with AsyncExitStack() as stack:
        places = [place() for _ in range(daemons)]
        metrics = [free_port() for _ in places]
        many = [
            Daemon(folder, number, there, {**own, "database_url": there.url(url), "metrics_port": str(metrics[number])})
            for number, there in enumerate(places)
        ]
        for daemon in many:
            stack.push_async_callback(daemon.close)
            await daemon.open()
        port = await stack.enter_async_context(balanced(places))
        ledger = await stack.enter_async_context(
            spawned("tests.crash.ledger", str(folder / "ledger.jsonl"), "failover")
        )
        token = await prepare(port, int(await read_line(ledger)))
        yield Stage(folder, pair, database, many, port, token, pair.standby, metrics, own)
