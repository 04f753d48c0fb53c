"""Connections to PostgreSQL: checked at open, reopened when lost, with errors explained."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, suppress
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import asyncpg
import structlog

from actors.ports import StoreFailed
from daemon.model import DiskFull, SchemaMismatch
from daemon.stores.postgres.hosts import STANDBY, hosts_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from daemon.stores.postgres.hosts import Address
    from daemon.stores.postgres.timelines import Timelines

T = TypeVar("T")
Db: TypeAlias = "asyncpg.Connection[Any]"
_log = structlog.get_logger()

CONNECT_S = 5.0
COMMAND_S = 8.0
SUSPECT_S = 1.0
QUIET_MAX_S = 1.0
RETRIES_MAX = 10
VERSION_MIN = 14
# A frozen client must hold up nobody: its transactions end, and so do dead connections.
SESSION: Mapping[str, str] = {
    "application_name": "penstock",
    "synchronous_commit": "on",
    "default_transaction_isolation": "read committed",
    "idle_in_transaction_session_timeout": "2000",
    "statement_timeout": "6000",
    "lock_timeout": "5000",
    "tcp_keepalives_idle": "3",
    "tcp_keepalives_interval": "1",
    "tcp_keepalives_count": "3",
    "tcp_user_timeout": "5000",
    "timezone": "UTC",
    "jit": "off",
}
# A lookup by key never gets faster by a scan, however small the table was when it was planned.
PLANNER: Mapping[str, str] = {"enable_seqscan": "off"}

# A serialization failure or a deadlock.
AGAIN = frozenset({"40001", "40P01"})
FULL = "53100"
# The connection or the server went away: what was under way may or may not have come about.
GONE = ("08", "57P01", "57P02", "57P03", "57P05", "40003", "58", "XX")


def failed(error: BaseException, *, committing: bool) -> StoreFailed:
    """What an error of the database means; `committing` when it can have come after a commit."""
    detail = f"The database could not do it: {named(error)}."
    if isinstance(error, asyncpg.PostgresError):
        state = error.sqlstate or ""
        if state == FULL:
            return DiskFull(detail, "not_applied")
        outcome: Literal["unknown", "not_applied"] = "unknown" if state.startswith(GONE) else "not_applied"
        return StoreFailed(detail, outcome if committing else "not_applied")
    return StoreFailed(detail, "unknown" if committing else "not_applied")


def named(error: BaseException) -> str:
    """An error with its SQLSTATE, or its type where it has none."""
    state = getattr(error, "sqlstate", None)
    # What follows the first line quotes the row.
    first = str(error).partition("\n")[0]
    return f"{first} ({state})" if state else f"{type(error).__name__} {first}".strip()


def without_nul(words: str | None) -> str | None:
    """Text for PostgreSQL, which cannot store NUL; the symbol for NUL replaces it."""
    return None if words is None else words.replace("\x00", "\u2400")


ERRORS = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError, TimeoutError)
"""What a statement can raise."""


class TimedSession(asyncpg.Connection):  # type: ignore[misc]
    """A session whose statements have a time limit, at whose end the session is closed.

    A cancel request, as asyncpg's own limit sends, would end a wait for a standby, and make a
    commit visible that no standby has.
    """

    limit_s = COMMAND_S

    async def execute(self, *args: Any, **named: Any) -> str:
        return str(await self._within(super().execute(*args, **named)))

    async def executemany(self, *args: Any, **named: Any) -> None:
        await self._within(super().executemany(*args, **named))

    async def fetch(self, *args: Any, **named: Any) -> Any:
        return await self._within(super().fetch(*args, **named))

    async def fetchrow(self, *args: Any, **named: Any) -> Any:
        return await self._within(super().fetchrow(*args, **named))

    async def fetchval(self, *args: Any, **named: Any) -> Any:
        return await self._within(super().fetchval(*args, **named))

    async def copy_records_to_table(self, *args: Any, **named: Any) -> str:
        return str(await self._within(super().copy_records_to_table(*args, **named)))

    async def _within(self, statement: Awaitable[T]) -> T:
        loop = asyncio.get_running_loop()
        limit = loop.call_later(self.limit_s, self.terminate)
        try:
            return await statement
        except asyncpg.ConnectionDoesNotExistError:
            if loop.time() < limit.when():
                raise
            raise TimeoutError(f"no answer within {self.limit_s:g} s") from None
        finally:
            limit.cancel()


class PostgresConnection:
    """A connection used by one caller at a time; after an error the next use opens another.

    A failed attempt to connect also fails those who wait, for as long as it took and QUIET_MAX_S at
    most: they do not try one after the other.
    """

    def __init__(
        self,
        url: str,
        *,
        planner: Mapping[str, str] = PLANNER,
        connect_s: float = CONNECT_S,
        command_s: float = COMMAND_S,
        timelines: Timelines | None = None,
    ) -> None:
        self._url = url
        self._timelines = timelines
        self._connect_s, self._command_s = connect_s, command_s
        self._address: Address | None = None
        self._moves = 0
        self._refusal = ""
        self._quiet_until = 0.0
        self._settings = {**SESSION, **planner}
        self._alone = asyncio.Lock()
        self._db: Db | None = None
        self._used_at = 0.0
        self.waiting = 0

    async def use(self, work: Callable[[Db], Awaitable[T]], *, writing: bool = False) -> T:
        """Run a work on the connection; StoreFailed when the database could not do it.

        A read, and whatever comes before the connection is there, has certainly changed nothing.
        """
        self.waiting += 1
        try:
            async with self._alone:
                return await self._used(work, writing=writing)
        finally:
            self.waiting -= 1
            self._used_at = asyncio.get_running_loop().time()

    async def release(self, idle_s: float) -> None:
        """Close the connection if nobody has used it for that long; the next use opens another."""
        if not self.waiting and self._used_at < asyncio.get_running_loop().time() - idle_s:
            await self.close()

    async def close(self) -> None:
        db, self._db = self._db, None
        if db is not None and self.waiting:
            db.terminate()
        elif db is not None:
            with suppress(*ERRORS):
                await db.close(timeout=1.0)

    async def _used(self, work: Callable[[Db], Awaitable[T]], *, writing: bool) -> T:
        for attempt in range(RETRIES_MAX):
            db = await self._connected()
            try:
                return await self._run(work, db, writing=writing)
            except ERRORS as error:
                if not isinstance(error, asyncpg.PostgresError) or db.is_closed() or db.is_in_transaction():
                    self._drop(db)
                state = getattr(error, "sqlstate", None) or ""
                if state in AGAIN and attempt < RETRIES_MAX - 1:
                    continue
                # A read on a connection that was lost unnoticed is repeated on a new one.
                gone = state.startswith(GONE) or isinstance(error, asyncpg.InterfaceError)
                if not writing and attempt == 0 and gone and db.is_closed():
                    continue
                raise failed(error, committing=writing) from error
            except BaseException:
                # A refusal leaves the connection usable, a cancelled task does not.
                if db.is_closed() or db.is_in_transaction() or asyncio.current_task().cancelling():  # type: ignore[union-attr]
                    self._drop(db)
                raise
        raise AssertionError  # the last attempt returns or raises

    async def _run(self, work: Callable[[Db], Awaitable[T]], db: Db, *, writing: bool) -> T:
        """Run a work, beside a look at its host where there are others.

        A write has a task of its own, so that its caller's end closes the session first.
        """

        async def worked() -> T:
            return await work(db)

        hosts = hosts_of(self._url)
        if not writing and not hosts.several:
            return await work(db)
        task = asyncio.get_running_loop().create_task(worked())
        try:
            while hosts.several and not (await asyncio.wait((task,), timeout=SUSPECT_S))[0]:
                if not await hosts.answers(self._address):
                    db.terminate()
            return await asyncio.shield(task)
        finally:
            if not task.done():
                db.terminate()
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    async def _connected(self) -> Db:
        hosts = hosts_of(self._url)
        if self._db is not None and self._moves != hosts.moves + self._rises:
            self._drop(self._db)
        if self._db is not None and not self._db.is_closed():
            return self._db
        clock = asyncio.get_running_loop().time
        began = clock()
        if began < self._quiet_until:
            raise StoreFailed(self._refusal, "not_applied")
        moves = hosts.moves
        # asyncpg's own limit is for cursors, which only read.
        options = {"connection_class": TimedSession, "command_timeout": self._command_s + 1}
        try:
            self._db, self._address = await hosts.open(self._prepare, self._connect_s, **options)
        except (*ERRORS, ValueError, StoreFailed) as error:
            failure = error if isinstance(error, StoreFailed) else failed(error, committing=False)
            self._refusal, self._quiet_until = str(failure), clock() + min(clock() - began, QUIET_MAX_S)
            raise failure from error
        self._moves = moves + self._rises
        return self._db

    @property
    def _rises(self) -> int:
        """Failovers so far: what is open since before may be to a server that was replaced."""
        return 0 if self._timelines is None else self._timelines.rises

    async def _prepare(self, db: Db) -> None:
        db.limit_s = self._command_s
        await _set(db, self._settings)
        await _check(db)
        if self._timelines is not None:
            await self._timelines.check(db)

    def _drop(self, db: Db) -> None:
        db.terminate()
        if self._db is db:
            self._db = None


async def reachable(url: str, awaiting: Callable[[str], Awaitable[None]]) -> None:
    """Return once the database answers; `awaiting` is told why it does not, and waits."""
    while True:
        connection = PostgresConnection(url)
        try:
            await connection.use(lambda db: db.fetchval("SELECT 1"))
        except StoreFailed as failure:
            await awaiting(str(failure))
        else:
            return
        finally:
            await connection.close()


async def _set(db: Db, settings: Mapping[str, str]) -> None:
    """Make settings for the session, behind a pooler too, which refuses them when connecting."""
    statement = (
        "SELECT set_config(name, value, false) FROM unnest($1::text[], $2::text[]) AS t(name, value) "
        "WHERE name <> 'synchronous_commit' OR current_setting(name) <> 'remote_apply'"
    )
    try:
        await db.fetch(statement, list(settings), list(settings.values()))
    except ERRORS as error:
        raise failed(error, committing=False) from error


async def check_sessions(url: str) -> None:
    """SchemaMismatch where a pooler lets two connections share a session of the server."""
    try:
        async with AsyncExitStack() as stack:
            pair: list[Db] = []
            for _ in range(2):
                pair.append((await hosts_of(url).open(_nothing, CONNECT_S, statement_cache_size=0))[0])
                stack.callback(pair[-1].terminate)
            async with asyncio.timeout(CONNECT_S):
                shared = await _shared(*pair)
    except (*ERRORS, ValueError) as error:
        shared = "pooling mode" in str(error)
        if not shared:
            raise failed(error, committing=False) from error
    if shared:
        raise SchemaMismatch(
            "A pooler in transaction or statement mode stands before PostgreSQL: leases, LISTEN and prepared "
            "statements need sessions. Connect to the server itself, or set pool_mode = session."
        )


async def _nothing(_db: Db) -> None:
    """Take a connection as it is."""


async def _shared(one: Db, other: Db) -> bool:
    """Whether a pooler gives the session that has just become free to whoever asks next."""
    backend = "SELECT pg_backend_pid()"
    async with one.transaction():
        before = await one.fetchval(backend)
    async with other.transaction():
        beside = await other.fetchval(backend)
        async with one.transaction():
            after = await one.fetchval(backend)
    return bool(beside == before or after != before)


async def _check(db: Db) -> None:
    """Read back the settings that durability rests on; SchemaMismatch when one is wrong."""
    if db.get_server_version().major < VERSION_MIN:
        raise SchemaMismatch(f"PostgreSQL {VERSION_MIN} or newer is needed; this is {db.get_server_version().major}.")
    try:
        wanted = {"synchronous_commit": ("on", "remote_apply"), "fsync": ("on",), "transaction_read_only": ("off",)}
        for name, values in wanted.items():
            found = await db.fetchval("SELECT current_setting($1)", name)
            if found not in values:
                if name == "transaction_read_only":
                    raise StoreFailed(STANDBY, "not_applied")
                raise SchemaMismatch(f"PostgreSQL has {name} = {found}, and needs {values[0]}: writes are not safe.")
    except ERRORS as error:
        raise failed(error, committing=False) from error
