"""The evidence, as methods: see docs/guides/audit.md for what it proves."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from pydantic import RootModel, TypeAdapter

from daemon.client.base import BaseClient
from daemon.client.transport import CONNECTION_ERRORS, ApiRequest, lines
from daemon.contract.audit import Checkpoint

CHECKPOINTS = TypeAdapter(list[Checkpoint])
LOG = TypeAdapter(list[dict[str, Any]])


class AuditClient(BaseClient):
    """Read what proves the history."""

    def checkpoints(self) -> AsyncIterator[Checkpoint]:
        """The signed checkpoints of the company's tree, newest first."""
        return self._all("/audit/checkpoints", CHECKPOINTS)

    def audit_log(self) -> AsyncIterator[dict[str, Any]]:
        """The company's own log, newest first: log-ins, changes of connectors and webhooks."""
        return self._all("/audit/log", LOG)

    async def audit_keys(self) -> dict[str, str]:
        """The public keys by id (Ed25519, Base64)."""
        return (await self._get(RootModel[dict[str, str]], "audit", "keys")).root

    async def run_audit(self, run_id: str) -> dict[str, Any]:
        """A run's hash chain, with the proof that a checkpoint covers it, as JSON."""
        return (await self._get(RootModel[dict[str, Any]], "process-runs", run_id, "audit")).root

    async def audit_export(self) -> AsyncIterator[bytes]:
        """Everything as JSON Lines, for `penstock verify`; Unreachable where it breaks off."""
        try:
            async with self._transport.stream(ApiRequest("GET", "/audit/export")) as response:
                async for line in lines(response):
                    yield line + b"\n"
        except CONNECTION_ERRORS as error:
            raise self._transport.unreachable(error) from error
