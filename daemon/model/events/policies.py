"""What a company asks of its people, and the event of its change."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from msgspec import UNSET, Struct, UnsetType

from actors.core.messages import EventBase


class Policy(Struct, frozen=True, kw_only=True):
    """People of the role `second_factor_from` and of those above it need a second factor.

    With `solo` the only person of a company decides alone. Runs are archived `archive_after_days`
    after their end, if at all. `templates` are those that it uses, in its own order; all others can
    be started, too. Where `passwords` is false they do not count for addresses of a domain that is
    mapped to the company. Policies of before have neither.
    """

    archive_after_days: int | None = None
    second_factor_from: str | None = None
    solo: bool = True
    templates: tuple[str, ...] | UnsetType = UNSET
    passwords: bool | UnsetType = UNSET

    @property
    def takes_passwords(self) -> bool:
        """Whether those whom a provider vouches for may sign in by password, too."""
        return self.passwords is not False

    @property
    def uses(self) -> tuple[str, ...]:
        """The verticals of the templates that the company uses."""
        return () if self.templates is UNSET else self.templates


class PolicyChanged(EventBase, frozen=True, kw_only=True, tag="policy_changed"):
    """What a company asks of its people was changed for the `number`th time."""

    after: Policy
    before: Policy
    by: str
    number: int
    via: str


@dataclass(frozen=True, slots=True)
class StoredPolicy:
    """A policy; `number` counts its changes."""

    company_id: str
    policy: Policy
    number: int
    updated_at: datetime
    updated_by: str
