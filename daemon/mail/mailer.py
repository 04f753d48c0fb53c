"""Sends the mails of the service in the background, with retries."""

from __future__ import annotations

import asyncio
import heapq
import re
import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP as WIRE
from email.policy import EmailPolicy
from email.utils import format_datetime, make_msgid
from itertools import count
from typing import Literal, NamedTuple

import structlog
from aiosmtplib import SMTP, SMTPException, SMTPRecipientsRefused, SMTPResponseException
from yarl import URL

from daemon.mail.server import SmtpServer, SmtpTls, parse_sender
from daemon.mail.texts import (
    ChangeMail,
    InvitationMail,
    LiveMail,
    Mail,
    change_told,
    in_header,
    invitation,
    password_reset,
    shown,
    went_live,
)
from daemon.runtime.background import Clock
from daemon.runtime.clock import utc_now

QUEUE_MAX = 1_000
SEND_TIMEOUT_S = 30.0
PAUSES_S = (2.0, 10.0, 60.0, 300.0, 900.0)
"""The pauses before a mail is tried again."""
REFUSED, AUTHENTICATION = 500, frozenset({530, 534, 535, 538})
_START_TLS: dict[SmtpTls, bool | None] = {"implicit": False, "required": True, "auto": None, "none": False}
_WORD = re.compile(r"\S++")
_log = structlog.get_logger("penstock")

MailResult = Literal["sent", "retried", "failed"]


class _Queued(NamedTuple):
    """A mail, when it is tried next, and how often it was."""

    due: float
    number: int
    mail: Mail
    tries: int = 0


class Mailer:
    """Sends one mail after another; those that wait are in memory, and a bounded number.

    A mail holds a link that counts like a password, so none is written to disk.
    """

    def __init__(
        self,
        server: SmtpServer,
        sender: Address,
        *,
        tls: ssl.SSLContext | None = None,
        pauses_s: Sequence[float] = PAUSES_S,
        count_result: Callable[[str, MailResult], None] | None = None,
    ) -> None:
        self._server = server
        self._sender = sender
        self._tls = tls or ssl.create_default_context()
        self._pauses_s = pauses_s
        self._count_result = count_result
        self._clock = Clock()
        self._queue: list[_Queued] = []
        self._numbers = count()
        self._posted = asyncio.Event()

    def __len__(self) -> int:
        return len(self._queue)

    def post(self, mail: Mail) -> None:
        """Have a mail sent soon; beyond `QUEUE_MAX` it is logged and dropped."""
        if len(self._queue) >= QUEUE_MAX:
            self._failed(mail, 0, "queue_full")
            return
        heapq.heappush(self._queue, _Queued(self._clock.monotonic(), next(self._numbers), mail))
        self._posted.set()

    async def work(self) -> None:
        """Send the next mail as soon as it is due."""
        queued = await self._next()
        tries = queued.tries + 1
        try:
            await self.send(queued.mail)
        except (SMTPException, OSError, ValueError) as error:
            self._not_sent(queued, tries, error)
        else:
            self._counted(queued.mail, "sent")
            _log.info("mail_sent", kind=queued.mail.kind, company_id=queued.mail.company_id, tries=tries)
        _end_if_cancelled()

    def close(self) -> None:
        """Log the mails that are lost with the process."""
        for queued in self._queue:
            self._failed(queued.mail, queued.tries, "stopped")
        self._queue.clear()

    async def send(self, mail: Mail) -> None:
        """Hand a mail to the server; SMTPException, OSError or ValueError when it cannot be."""
        to = _address(mail.to)
        message = self._message(mail, to)
        async with asyncio.timeout(SEND_TIMEOUT_S), self._connected() as smtp:
            if not to.addr_spec.isascii():
                await smtp.ehlo()
                if not smtp.supports_extension("smtputf8"):
                    raise ValueError("the mail server takes no addresses with letters like these (SMTPUTF8)")
            await smtp.send_message(message, sender=self._sender.addr_spec, recipients=[to.addr_spec])

    async def reach(self) -> None:
        """Connect and log in without a mail; SMTPException or OSError when that fails."""
        async with asyncio.timeout(SEND_TIMEOUT_S), self._connected():
            pass

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[SMTP]:
        """A connection, logged in where the server has a user."""
        smtp = self._connection()
        try:
            await smtp.connect()
            yield smtp
            with suppress(SMTPException):  # the mail was taken
                await smtp.quit()
        finally:
            smtp.close()

    def _connection(self) -> SMTP:
        server = self._server
        return SMTP(
            hostname=server.host,
            port=server.port,
            use_tls=server.tls == "implicit",
            start_tls=_START_TLS[server.tls],
            username=server.user,
            password=server.password,
            local_hostname=self._sender.domain,
            tls_context=self._tls,
            timeout=SEND_TIMEOUT_S,
        )

    async def _next(self) -> _Queued:
        while True:
            wait_s = self._queue[0].due - self._clock.monotonic() if self._queue else None
            if wait_s is not None and wait_s <= 0:
                return heapq.heappop(self._queue)
            self._posted.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await self._posted.wait()

    def _not_sent(self, queued: _Queued, tries: int, error: Exception) -> None:
        """Try again later, unless the server refused the mail for good."""
        mail, code = queued.mail, answered_code(error)
        if is_final(error) or tries > len(self._pauses_s):
            self._failed(mail, tries, type(error).__name__, code, cause(error))
            return
        pause_s = self._pauses_s[tries - 1]
        heapq.heappush(self._queue, queued._replace(due=self._clock.monotonic() + pause_s, tries=tries))
        self._counted(mail, "retried")
        _log.warning(
            "mail_retried",
            kind=mail.kind,
            company_id=mail.company_id,
            error=type(error).__name__,
            code=code,
            cause=cause(error),
            tries=tries,
            again_in_s=pause_s,
        )

    def _failed(self, mail: Mail, tries: int, error: str, code: int = 0, why: str = "") -> None:
        self._counted(mail, "failed")
        about = {"kind": mail.kind, "company_id": mail.company_id, "tries": tries}
        _log.error("mail_failed", **about, error=error, code=code, cause=why)

    def _counted(self, mail: Mail, result: MailResult) -> None:
        if self._count_result is not None:
            self._count_result(mail.kind, result)

    def _message(self, mail: Mail, to: Address) -> EmailMessage:
        message = EmailMessage(WIRE)
        message["From"] = self._sender
        message["To"] = to
        message["Subject"] = in_header(mail.subject)
        message["Date"] = format_datetime(utc_now())
        message["Message-ID"] = self._message_id(mail)
        message["Auto-Submitted"] = "auto-generated"
        message.set_content(mail.text)
        return message

    def _message_id(self, mail: Mail) -> str:
        """The same each time for a mail that has an id, so that its reader sees it once."""
        return make_msgid(domain=self._sender.domain) if mail.id is None else f"<{mail.id}@{self._sender.domain}>"


def _address(text: str) -> Address:
    """An address that is only what it seems: no other recipient, and no other header.

    Its domain is an A-label, which every server takes.
    """
    local, _, domain = text.rpartition("@")
    wrong = not local or not domain or not text.isprintable() or any(one in text for one in ' ,;:<>()[]\\"')
    if wrong or "=?" in text:
        raise ValueError("no header can hold that address")
    return Address(username=local, domain=domain if domain.isascii() else _a_label(domain))


def _a_label(domain: str) -> str:
    found = URL.build(scheme="http", host=domain).raw_host
    if found is None:
        raise ValueError("no domain has that name")
    return found


def _end_if_cancelled() -> None:
    """Raise what `asyncio.wait_for`, which aiosmtplib uses, may swallow in Python 3.11."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


def is_final(error: Exception) -> bool:
    """Whether the server refused a mail for good."""
    code = answered_code(error)
    return isinstance(error, ValueError) or (code >= REFUSED and code not in AUTHENTICATION)


def cause(error: Exception) -> str:
    """Why a mail was not sent, for its sender: what the server said, without addresses."""
    said = error.message if isinstance(error, SMTPResponseException) else str(error)
    if isinstance(error, SMTPRecipientsRefused):
        said = error.recipients[0].message
    said = shown(_WORD.sub(lambda word: "…" if "@" in word[0] else word[0], said))
    if isinstance(error, ValueError):
        return f"The mail cannot be sent: {said}."
    code = answered_code(error)
    if code:
        return f"The mail server answered {code}: {said}"
    return f"The mail server could not be reached: {said or type(error).__name__}."


def answered_code(error: Exception) -> int:
    """What the server answered; 0 when it did not answer."""
    if isinstance(error, SMTPRecipientsRefused):
        return max(one.code for one in error.recipients)
    return error.code if isinstance(error, SMTPResponseException) else 0


HEADERS_VERIFIED = hasattr(EmailPolicy, "verify_generated_headers")
"""Whether this Python refuses line breaks in a header that it writes."""
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
        place = "" if "/" in live.tool else f"{CONNECTOR}{live.tool}"  # a server has no page of its own
        self.mailer.post(went_live(to, live, f"{self._public_url}{place}"))

    def change_told(self, to: str, one: ChangeMail) -> None:
        self.mailer.post(change_told(to, one, self._public_url))


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
