"""DNS lookups in threads of their own, so that a slow name server delays no other call."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any
from weakref import WeakValueDictionary

from aiohttp.abc import AbstractResolver, ResolveResult

from actors.context import LOG_CONTEXT

THREADS_MAX = 64
SHARE_MAX = 8


class DnsResolver(AbstractResolver):
    """The system's resolver in a thread pool of which a company gets a limited share.

    A lookup cannot be cancelled: it holds its thread until the system gives up. The default pool of
    the event loop is too small for that.
    """

    def __init__(
        self,
        threads_max: int = THREADS_MAX,
        share_max: int = SHARE_MAX,
        look_up: Callable[..., list[Any]] | None = None,
    ) -> None:
        self._pool = ThreadPoolExecutor(threads_max, "lookup")
        self._share_max = share_max
        self._look_up = look_up or socket.getaddrinfo
        self._shares: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        return [
            ResolveResult(
                hostname=host,
                host=str(address[0]),
                port=int(address[1]),
                family=kind,
                proto=proto,
                flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
            )
            for kind, _, proto, _, address in await self._found(host, port, family)
            if kind in {socket.AF_INET, socket.AF_INET6}
        ]

    async def close(self) -> None:
        """Start no more lookups; those in progress end by themselves."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def _found(self, host: str, port: int, family: socket.AddressFamily) -> list[Any]:
        share = self._shares.setdefault(
            str(LOG_CONTEXT.get().get("company_id", "")), asyncio.Semaphore(self._share_max)
        )
        await share.acquire()
        loop = asyncio.get_running_loop()

        def give_back(_: Future[Any]) -> None:
            with suppress(RuntimeError):  # the loop is closed, and nobody waits any more
                loop.call_soon_threadsafe(share.release)

        try:
            work = self._pool.submit(self._look_up, host, port, family, socket.SOCK_STREAM, 0, socket.AI_ADDRCONFIG)
        except RuntimeError:
            share.release()
            raise OSError("no names are looked up any more") from None
        work.add_done_callback(give_back)
        return await asyncio.wrap_future(work)
