"""Checks inputs against the schema of a template, large ones where that can hold up nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from daemon.observability.logs import ThrottledLog
from daemon.runtime.json_codec import dumps, loads
from daemon.runtime.offload import Offload
from daemon.runtime.workers import Worker, WorkerFailed
from daemon.templates.loading import CatalogEntry

STOPPED = "take too long to check against the template's schema"


class InputChecks:
    """Lists errors of inputs: of large ones in a process of its own, unless they plainly hold."""

    def __init__(self, offload: Offload) -> None:
        self._offload = offload
        self._worker = Worker("daemon.templates.input_worker")
        self._stopped = ThrottledLog("input_check_stopped")

    async def close(self) -> None:
        await self._worker.close()

    async def errors(
        self, company_id: str, entry: CatalogEntry, inputs: dict[str, Any], *, large: bool
    ) -> list[tuple[str, str]]:
        """Schema errors of given inputs: JSON pointers below `/inputs`, and a sentence for each."""
        if not large:
            return entry.input_errors(inputs)
        if entry.plainly_hold(inputs):
            return []
        raw = await self._offload.run(company_id, lambda: dumps([entry.inputs_schema, inputs]))
        try:
            return [(pointer, sentence) for pointer, sentence in loads(await self._worker.ask(company_id, raw))]
        except WorkerFailed:
            self._stopped.warn(company_id=company_id)
            return [("/inputs", STOPPED)]


@asynccontextmanager
async def open_input_checks(offload: Offload) -> AsyncIterator[InputChecks]:
    checks = InputChecks(offload)
    try:
        yield checks
    finally:
        await checks.close()
