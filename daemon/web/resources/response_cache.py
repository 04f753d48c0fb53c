"""The response cache: the JSON of the runs that were read last."""

from __future__ import annotations

from functools import partial

from aiohttp import web

from actors.core.run import Run
from actors.ports import Compute
from daemon.web.resources.run_json import run_body

KEPT_BYTES_MAX = 16 * 1024 * 1024


class ResponseCache:
    """Keeps the JSON of one version of each run, the oldest dropped first.

    Only committed runs may come here: of two decisions on the same version one is never committed.
    """

    def __init__(self, compute: Compute, bytes_max: int = KEPT_BYTES_MAX) -> None:
        self._compute = compute
        self._kept: dict[tuple[str, str], tuple[int, bytes]] = {}
        self._free_bytes = bytes_max

    async def body(self, run: Run) -> bytes:
        """A committed run as JSON."""
        key = (run.company_id, run.id)
        kept = self._kept.get(key)
        if kept is not None and kept[0] == run.version:
            return kept[1]
        body = await self._compute.sized(run.company_id, run.size_bytes, partial(run_body, run))
        self.keep(run, body)
        return body

    def keep(self, run: Run, body: bytes) -> None:
        """Keep the JSON of a committed run that was made for a response."""
        key = (run.company_id, run.id)
        self._drop(key)
        self._kept[key] = (run.version, body)
        self._free_bytes -= len(body)
        while self._free_bytes < 0:
            self._drop(next(iter(self._kept)))

    def forget(self, key: tuple[str, str]) -> None:
        """Drop the JSON of a run whose values are gone."""
        self._drop(key)

    def _drop(self, key: tuple[str, str]) -> None:
        kept = self._kept.pop(key, None)
        if kept is not None:
            self._free_bytes += len(kept[1])


RESPONSE_CACHE = web.AppKey("response_cache", ResponseCache)
