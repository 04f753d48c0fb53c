"""Runs as they stand when somebody reads them: an open gate shows what its connectors are by then."""

from __future__ import annotations

from actors.core.approvals import as_it_stands, changed_gates, tag, unchanged
from actors.core.run import Run
from daemon.web.services import Services


async def as_read(services: Services, run: Run) -> tuple[Run, str]:
    """The run with its open gates as they stand, and its entity tag; nothing is written for it."""
    connectors = await services.connector_service.connectors(run.company_id) if run.parked else {}
    if unchanged(run, connectors):
        return run, tag(run, ())
    template = await services.catalog.pinned(run.template_digest)
    gates = changed_gates(run, template, connectors)
    return as_it_stands(run, gates), tag(run, gates)
