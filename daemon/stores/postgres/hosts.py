"""The hosts that a database's URL names, of which one takes writes: found again when it moves."""

from __future__ import annotations

import asyncio
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import parse_qs, unquote, urlsplit

import asyncpg
import structlog

from actors.ports import StoreFailed
from daemon.model import SchemaMismatch
from daemon.settings import libpq_environment

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

Db: TypeAlias = "asyncpg.Connection[Any]"
Address: TypeAlias = tuple[str, int]
Prepare: TypeAlias = "Callable[[Db], Awaitable[None]]"
Opened: TypeAlias = "tuple[Db, Address | None]"
SHARE_MIN_S = 1.0
STAGGER_S = 0.25
PROBE_S = 1.0
WRITABLE = ("read-write", "primary", "any")
STANDBY = "The database only reads: it is a standby."
_log = structlog.get_logger("penstock")


def parse_hosts(url: str, environment: Mapping[str, str]) -> tuple[Address, ...]:
    """The hosts of a URL, or of PGHOST; none where there is one, or a service file names them."""
    parts = urlsplit(url)
    query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    wanted = query.get("target_session_attrs") or environment.get("PGTARGETSESSIONATTRS")
    if wanted and wanted not in WRITABLE:
        raise SchemaMismatch(f"target_session_attrs={wanted} finds a database that only reads; use read-write.")
    authority = parts.netloc.partition("@")[2] if "@" in parts.netloc else parts.netloc
    hosts = authority or query.get("host", "")
    if not hosts and "service" not in query and "PGSERVICE" not in environment:
        hosts = environment.get("PGHOST", "")
    listed = hosts.split(",")
    ports = (("" if authority else query.get("port", "")) or environment.get("PGPORT") or "5432").split(",")
    if len(listed) == 1:
        return ()
    if len(ports) not in (1, len(listed)):
        raise ValueError(f"{len(ports)} ports for {len(listed)} hosts")
    named = zip(listed, ports * len(listed) if len(ports) == 1 else ports, strict=True)
    decode = unquote if authority else str
    return tuple(_address(host, port, decode) for host, port in named)


def _address(host: str, port: str, decode: Callable[[str], str]) -> Address:
    if host.startswith("["):
        host, _, own = host[1:].partition("]")
        own = own.removeprefix(":")
    else:
        host, _, own = (host, "", "") if host.startswith("/") else host.partition(":")
    number = decode(own) or port
    if not (number.isascii() and number.isdecimal()):
        raise ValueError("a port of the URL is no number")  # what it is may be a part of the password
    return decode(host), int(number)


class Hosts:
    """Where a database may be. The host that took writes last is asked first.

    `moves` counts the hosts that fell silent: what is open since before may be to one of them.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._order: list[Address | None] = list(parse_hosts(url, libpq_environment())) or [None]
        self.moves = 0

    @property
    def several(self) -> bool:
        return len(self._order) > 1

    async def open(self, prepare: Prepare, within_s: float, **options: Any) -> Opened:
        """Connect to the first host that takes writes, and that `prepare` takes.

        Each has its share of the time, and the next one is asked beside one that is slow. While one
        stays silent the others are asked again, since one of them may be promoted meanwhile.
        """
        if not self.several:
            return await self._connected(None, prepare, within_s, options), None
        share_s = max(SHARE_MIN_S, within_s / len(self._order))
        waiting, untried = list(self._order), set(self._order)
        pending: dict[asyncio.Task[Db], Address | None] = {}

        def begin(address: Address | None, pause_s: float = 0.0) -> None:
            opening = self._connected(address, prepare, share_s, options, pause_s)
            pending[asyncio.get_running_loop().create_task(opening)] = address

        try:
            while True:
                if waiting:
                    begin(waiting.pop(0))
                wait_s = STAGGER_S if waiting else None
                done, _ = await asyncio.wait(pending, timeout=wait_s, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    error, address = task.exception(), pending[task]
                    if error is None:
                        del pending[task]
                        self._order.sort(key=lambda one: one != address)
                        return task.result(), address
                    untried.discard(address)
                    if not untried or isinstance(error, SchemaMismatch):
                        raise error
                    del pending[task]
                    begin(address, STAGGER_S)
        finally:
            for task in pending:
                task.cancel()
                task.add_done_callback(_close)

    async def answers(self, address: Address | None) -> bool:
        """Whether a host takes another connection; one that does not is asked last from now on."""
        try:
            db = await asyncpg.connect(self._url, timeout=PROBE_S, **_at(address))
        except asyncpg.PostgresError:
            return True
        except (OSError, TimeoutError, asyncpg.InterfaceError):
            if self._order[-1] != address:
                _log.warning("database_silent", host=address and address[0], port=address and address[1])
                self._order.sort(key=lambda one: one == address)
                self.moves += 1
            return False
        db.terminate()
        return True

    async def _connected(
        self, address: Address | None, prepare: Prepare, within_s: float, options: Mapping[str, Any], pause_s: float = 0
    ) -> Db:
        await asyncio.sleep(pause_s)
        async with asyncio.timeout(within_s):
            db: Db = await asyncpg.connect(self._url, timeout=within_s, **_at(address), **options)
            try:
                if self.several:
                    _refuse_standby(db)
                await prepare(db)
            except BaseException:
                db.terminate()
                raise
        return db


def _at(address: Address | None) -> dict[str, Any]:
    return {} if address is None else {"host": address[0], "port": address[1], "target_session_attrs": "any"}


def _refuse_standby(db: Db) -> None:
    if getattr(db.get_settings(), "in_hot_standby", "off") == "on":
        raise StoreFailed(STANDBY, "not_applied")


def _close(task: asyncio.Task[Db]) -> None:
    if not task.cancelled() and task.exception() is None:
        task.result().terminate()


@lru_cache(maxsize=16)
def hosts_of(url: str) -> Hosts:
    """The hosts of a URL, shared by all connections of the process."""
    return Hosts(url)
