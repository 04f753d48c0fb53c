"""What a company asks of its people."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from msgspec import Struct


class Policy(Struct, frozen=True, kw_only=True):
    """People of the role `second_factor_from` and of those above it need a second factor.

    With `solo` the only person of a company decides alone.
    """

    second_factor_from: str | None = None
    solo: bool = True


@dataclass(frozen=True, slots=True)
class StoredPolicy:
    """A policy; `number` counts its changes."""

    company_id: str
    policy: Policy
    number: int
    updated_at: datetime
    updated_by: str
