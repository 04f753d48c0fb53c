"""What surrounds an event when people are told of it: its run, and the company as it stands."""

from __future__ import annotations

from typing import NamedTuple

from actors.core.eligibility import Setting
from actors.core.run import Run
from actors.ports import Companies, Templates, Tools
from daemon.stores.store import Store


class NotificationContext(NamedTuple):
    run: Run
    setting: Setting


class Situations(NamedTuple):
    """Reads runs, templates, connectors and people."""

    runs: Store
    templates: Templates
    tools: Tools
    companies: Companies

    async def of(self, company_id: str, run_id: str) -> NotificationContext | None:
        """None without a run, or where its template is gone."""
        run = await self.runs.load(company_id, run_id)
        if run is None:
            return None
        try:
            template = await self.templates.pinned(company_id, run.template_digest)
        except KeyError:
            return None
        connectors, company = await self.tools.connectors(company_id), await self.companies.of(company_id)
        return NotificationContext(run, Setting(template, connectors, company))
