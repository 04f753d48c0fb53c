"""Checks of the servers beside the service: SMTP and the OpenID provider."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from aiosmtplib import SMTPException, SMTPResponseException

from daemon.connectors.egress import egress_guard
from daemon.doctor.environment import Check, ok, private, problem, warning
from daemon.mail import mailer
from daemon.mail.mailer import Mailer
from daemon.mail.server import SmtpServer, parse_sender
from daemon.settings import Settings, smtp_server
from daemon.sso.provider import Client, Provider, ProviderUnavailable, ProviderUnfit, insecure, open_session

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
    if not mailer.HEADERS_VERIFIED:
        hint = "update Python; Penstock keeps such words out of headers itself"
        yield warning("python", "this Python writes line breaks of encoded words into headers of mails", hint)
    yield asyncio.run(_smtp_reached(server, settings.mail_from))


async def _smtp_reached(server: SmtpServer, sender: str) -> Check:
    where = f"{server.host}:{server.port}"
    try:
        await Mailer(server, parse_sender(sender)).reach()
    except (SMTPException, OSError) as error:
        answer = f" ({error.code})" if isinstance(error, SMTPResponseException) else ""
        return problem("mail", f"{where} takes no mail from here: {type(error).__name__}{answer}", HINT)
    with_login = "" if server.user is None else " and takes the password"
    return ok("mail", f"{where} is there{with_login}")


NAME = "single sign-on"


def single_sign_on(settings: Settings) -> Iterator[Check]:
    """Read what the provider says of itself, if there is one."""
    if not settings.oidc_issuer:
        return
    if (reason := insecure(settings.oidc_issuer)) is not None:
        yield problem(NAME, f"{settings.oidc_issuer}: {reason}", "correct PENSTOCK_OIDC_ISSUER")
        return
    yield asyncio.run(_provider_reached(settings))


async def _provider_reached(settings: Settings) -> Check:
    client = Client(settings.oidc_issuer, settings.oidc_client_id, "", "")
    guard = egress_guard(settings.egress_allow, settings.egress_hosts, settings.egress_ports)
    async with open_session(guard) as session:
        try:
            metadata = await Provider(client, session).metadata()
        except ProviderUnfit as unfit:
            return problem(NAME, f"the provider does not fit: {unfit}", "correct the PENSTOCK_OIDC_ settings")
        except ProviderUnavailable as unavailable:
            hint = "see that it is up, and that this machine may call it"
            return problem(NAME, f"{settings.oidc_issuer}: {unavailable}", hint)
    return ok(NAME, f"{metadata.issuer} is there and signs by {', '.join(sorted(metadata.algorithms))}")
