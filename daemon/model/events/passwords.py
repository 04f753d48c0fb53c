"""Events of the logs: what happened to forgotten passwords."""

from __future__ import annotations

from datetime import datetime

from actors.core.messages import EventBase


class PasswordResetRequested(EventBase, frozen=True, kw_only=True, tag="password_reset_requested"):
    """Somebody asked for a link for a new password; `reset` is the SHA-256 of its token.

    For an address without an account the service's own log says so, without user and link.
    """

    by: str
    reset: str = ""
    until: datetime
    user: str = ""
    via: str
