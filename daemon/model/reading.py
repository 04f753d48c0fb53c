"""What somebody may read at a time."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from actors.core.reading.scope import ReadScope, subject_name
from actors.core.template import Template


class Sight(NamedTuple):
    """What somebody may read of a company's runs, at the time at which they ask."""

    company_id: str
    scope: ReadScope
    at: datetime

    def subjects(self, template: Template) -> frozenset[str]:
        """What stands in rows for those about whom no run of a template is read."""
        return frozenset([subject_name(self.company_id, one) for one in self.scope.closed_about(template)])
