"""The mails that the service sends."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime

from daemon.mail.mailer import Mailer, MailResult
from daemon.mail.texts import Invited, invitation, password_reset
from daemon.model.mail import SmtpServer, parse_sender, parse_smtp_url
from daemon.settings import Settings

INVITATION, RESET = "/#/invitations/", "/#/reset/"


class Mails:
    """Invitations and links for a new password; none of the methods waits for the SMTP server."""

    def __init__(self, mailer: Mailer, public_url: str) -> None:
        self.mailer = mailer
        self._public_url = public_url

    def invitation(self, invited: Invited, token: str) -> None:
        self.mailer.post(invitation(invited, f"{self._public_url}{INVITATION}{token}"))

    def password_reset(self, to: str, company_id: str, until: datetime, token: str) -> None:
        self.mailer.post(password_reset(to, company_id, until, f"{self._public_url}{RESET}{token}"))


@asynccontextmanager
async def open_mails(
    settings: Settings, count_result: Callable[[str, MailResult], None] | None = None
) -> AsyncIterator[Mails | None]:
    """The mails of this service; None where it has no SMTP server."""
    mailer = open_mailer(settings, count_result)
    if mailer is None:
        yield None
        return
    try:
        yield Mails(mailer, settings.public_url)
    finally:
        mailer.close()


def open_mailer(settings: Settings, count_result: Callable[[str, MailResult], None] | None = None) -> Mailer | None:
    """OSError when the file of the password cannot be read."""
    server = smtp_server(settings)
    if server is None:
        return None
    return Mailer(server, parse_sender(settings.mail_from), count_result=count_result)


def smtp_server(settings: Settings) -> SmtpServer | None:
    """The server of the settings, with its password."""
    if settings.smtp_url is None:
        return None
    server = parse_smtp_url(settings.smtp_url.get_secret_value())
    if settings.smtp_password_file is None:
        return server
    return replace(server, password=settings.smtp_password_file.read_text(encoding="utf-8").strip())
