"""The evidence, as methods: see docs/guides/audit.md for what it proves."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from pydantic import TypeAdapter

from daemon.client.http import LOST, Ask, lines, path
from daemon.client.paging import Paging
from daemon.contract.audit import Checkpoint

CHECKPOINTS = TypeAdapter(list[Checkpoint])
KEYS = TypeAdapter(dict[str, str])
LOG = TypeAdapter(list[dict[str, Any]])
CHAIN = TypeAdapter(dict[str, Any])


class Evidence(Paging):
    """Read what proves the history."""

    def checkpoints(self) -> AsyncIterator[Checkpoint]:
        """The signed checkpoints of the company's tree, newest first."""
        return self._all("/audit/checkpoints", CHECKPOINTS)

    def audit_log(self) -> AsyncIterator[dict[str, Any]]:
        """The company's own log, newest first: log-ins, changes of connectors and webhooks."""
        return self._all("/audit/log", LOG)

    async def audit_keys(self) -> dict[str, str]:
        """The public keys by id (Ed25519, base64)."""
        return (await self._exchange.send(Ask("GET", "/audit/keys"))).read_as(KEYS)

    async def run_audit(self, run_id: str) -> dict[str, Any]:
        """A run's hash chain, with the proof that a checkpoint covers it, as JSON."""
        return (await self._exchange.send(Ask("GET", path("process-runs", run_id, "audit")))).read_as(CHAIN)

    async def audit_export(self) -> AsyncIterator[bytes]:
        """Everything as JSON Lines, for `penstock verify`; Unreachable where it breaks off."""
        try:
            async with self._exchange.stream(Ask("GET", "/audit/export")) as response:
                async for line in lines(response):
                    yield line + b"\n"
        except LOST as error:
            raise self._exchange.lost(error) from error
