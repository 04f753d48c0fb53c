"""The response cache: the JSON of the runs that were read last."""

from __future__ import annotations

from aiohttp import web

from actors.core.run import Run
from daemon.runtime.json_codec import dumps
from daemon.web.resources.run_json import run_json

KEPT_BYTES_MAX = 16 * 1024 * 1024


class ResponseCache:
    """Keeps the JSON of one version of each run, the oldest dropped first.

    Only committed runs may come here: of two decisions on the same version one is never committed.
    """

    def __init__(self, bytes_max: int = KEPT_BYTES_MAX) -> None:
        self._kept: dict[tuple[str, str], tuple[int, bytes]] = {}
        self._free_bytes = bytes_max

    def body(self, run: Run) -> bytes:
        """A committed run as JSON."""
        key = (run.company_id, run.id)
        kept = self._kept.get(key)
        if kept is not None and kept[0] == run.version:
            return kept[1]
        body = dumps(run_json(run))
        self._drop(key)
        self._kept[key] = (run.version, body)
        self._free_bytes -= len(body)
        while self._free_bytes < 0:
            self._drop(next(iter(self._kept)))
        return body

    def _drop(self, key: tuple[str, str]) -> None:
        kept = self._kept.pop(key, None)
        if kept is not None:
            self._free_bytes += len(kept[1])


RESPONSE_CACHE = web.AppKey("response_cache", ResponseCache)
