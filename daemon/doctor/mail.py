"""Checks of the SMTP server: whether it is there, has TLS, and takes the password."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from aiosmtplib import SMTPException, SMTPResponseException

from daemon.doctor.checks import Check, ok, problem, warning
from daemon.doctor.environment import private
from daemon.mail import mails
from daemon.mail.mailer import Mailer
from daemon.mail.server import SmtpServer, parse_sender
from daemon.settings import Settings, smtp_server

HINT = "correct PENSTOCK_SMTP_URL, or see that the server is up and that this machine trusts its certificate"


def mail(settings: Settings) -> Iterator[Check]:
    """Connect to the SMTP server and log in, if there is one; no mail is sent."""
    file = settings.smtp_password_file
    try:
        server = smtp_server(settings)
    except (OSError, ValueError) as error:
        yield problem("mail", f"{file} cannot be read: {type(error).__name__}", "correct PENSTOCK_SMTP_PASSWORD_FILE")
        return
    if server is None:
        return
    if file is not None:
        yield from private("mail", file, "0600")
    if not mails.HEADERS_VERIFIED:
        hint = "update Python; Penstock keeps such words out of headers itself"
        yield warning("python", "this Python writes line breaks of encoded words into headers of mails", hint)
    yield asyncio.run(_reached(server, settings.mail_from))


async def _reached(server: SmtpServer, sender: str) -> Check:
    where = f"{server.host}:{server.port}"
    try:
        await Mailer(server, parse_sender(sender)).reach()
    except (SMTPException, OSError) as error:
        answer = f" ({error.code})" if isinstance(error, SMTPResponseException) else ""
        return problem("mail", f"{where} takes no mail from here: {type(error).__name__}{answer}", HINT)
    with_login = "" if server.user is None else " and takes the password"
    return ok("mail", f"{where} is there{with_login}")
