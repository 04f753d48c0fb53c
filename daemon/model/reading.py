"""What somebody may read at a time."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from actors.core.reading.scope import ReadScope, subject_name


class Sight(NamedTuple):
    """What somebody may read of a company's runs, at the time at which they ask."""

    company_id: str
    scope: ReadScope
    at: datetime

    @property
    def subjects(self) -> frozenset[str]:
        """What stands in rows for those whose runs are closed to them."""
        return frozenset([subject_name(self.company_id, one) for one in self.scope.addresses])
