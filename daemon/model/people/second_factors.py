"""Second factors: what proves a person beside the password."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class SecondFactor:
    """A person's second factor; it counts from `confirmed_at`, and no more without a secret.

    `number` counts its changes. `last_step` is the time step of the last code that was used, and
    `session_id` the session in which it was confirmed.
    """

    company_id: str
    user_id: str
    number: int
    sealed_secret: bytes | None
    created_at: datetime
    confirmed_at: datetime | None = None
    last_step: int = 0
    session_id: str = ""

    @property
    def counts(self) -> bool:
        return self.sealed_secret is not None and self.confirmed_at is not None


class Enrolment(NamedTuple):
    """Whether a person's second factor counts after so many changes, and who confirmed it where."""

    number: int
    counts: bool
    session_id: str = ""
