"""The mails that the service sends."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from email.policy import EmailPolicy

import structlog

from daemon.mail.mailer import Mailer, MailResult
from daemon.mail.server import SmtpServer, parse_sender
from daemon.mail.texts import InvitationMail, LiveMail, invitation, password_reset, went_live

HEADERS_VERIFIED = hasattr(EmailPolicy, "verify_generated_headers")
"""Whether this Python refuses line breaks in a header that it writes."""
_log = structlog.get_logger("penstock")
INVITATION, RESET, CONNECTOR = "/#/invitations/", "/#/reset/", "/#/connectors/"


class Mails:
    """What is told by mail at once; none of the methods waits for the SMTP server."""

    def __init__(self, mailer: Mailer, public_url: str) -> None:
        self.mailer = mailer
        self._public_url = public_url

    def invitation(self, invited: InvitationMail, token: str) -> None:
        self.mailer.post(invitation(invited, f"{self._public_url}{INVITATION}{token}"))

    def password_reset(self, to: str, company_id: str, until: datetime, token: str) -> None:
        self.mailer.post(password_reset(to, company_id, until, f"{self._public_url}{RESET}{token}"))

    def went_live(self, to: str, live: LiveMail) -> None:
        self.mailer.post(went_live(to, live, f"{self._public_url}{CONNECTOR}{live.tool}"))


@asynccontextmanager
async def open_mails(
    server: SmtpServer | None,
    sender: str,
    public_url: str,
    count_result: Callable[[str, MailResult], None] | None = None,
) -> AsyncIterator[Mails | None]:
    """The mails of a service; None where it has no SMTP server."""
    if server is None:
        yield None
        return
    if not HEADERS_VERIFIED:
        _log.warning("mail_headers_unverified")
    mailer = Mailer(server, parse_sender(sender), count_result=count_result)
    try:
        yield Mails(mailer, public_url)
    finally:
        mailer.close()
