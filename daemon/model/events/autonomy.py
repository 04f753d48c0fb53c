"""What a company lets be cleared without a human: the stored settings and the event of a change."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from actors.core.autonomy import Autonomy
from actors.core.messages import EventBase


class AutonomyChanged(EventBase, frozen=True, kw_only=True, tag="autonomy_changed"):
    """What a company lets be cleared without a human was changed for the `number`th time."""

    after: Autonomy
    before: Autonomy
    by: str
    number: int
    via: str


@dataclass(frozen=True, slots=True)
class StoredAutonomy:
    """The settings of a company; `number` counts their changes."""

    company_id: str
    autonomy: Autonomy
    number: int
    updated_at: datetime
    updated_by: str
