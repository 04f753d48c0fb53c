"""A real SMTP server on the loopback address that keeps what it is given."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Self
from warnings import catch_warnings, simplefilter

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, Session
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from pydantic import SecretStr

HOST, USER, PASSWORD = "127.0.0.1", "penstock", "p@ss word"
PATIENCE_S = 20.0
OK = "250 OK"


@dataclass(frozen=True)
class Received:
    """A mail, and whom it came from and is for on the envelope."""

    sender: str
    recipients: list[str]
    message: EmailMessage

    @property
    def text(self) -> str:
        return str(self.message.get_content())


@dataclass
class PostOffice:
    """Answers each mail by the next of `answers`, and then by OK."""

    tls: ssl.SSLContext | None = None
    tls_at_once: bool = False
    needs_login: bool = False
    login_in_clear: bool = False
    answers: list[str] = field(default_factory=list)
    received: list[Received] = field(default_factory=list)
    attempts: int = 0
    utf8: bool = True
    port: int = 0

    async def __aenter__(self) -> Self:
        self._changed = asyncio.Condition()
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self._protocol, HOST, 0, ssl=self.tls if self.tls_at_once else None)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        await self._server.wait_closed()

    def url(self, scheme: str = "smtp", user: str = "", query: str = "?starttls=none") -> str:
        return f"{scheme}://{user}{HOST}:{self.port}{query}"

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of a service that sends its mail here."""
        page = {"mail_from": "penstock@penstock.test", "public_url": "https://penstock.test"}
        return {"smtp_url": SecretStr(self.url()), **page}

    async def until(self, fits: Callable[[PostOffice], bool]) -> None:
        async with asyncio.timeout(PATIENCE_S), self._changed:
            await self._changed.wait_for(lambda: fits(self))

    async def mail_to(self, address: str, number: int = 1) -> Received:
        """The mail to an address, once so many have come."""
        await self.until(lambda office: len(office.mails_to(address)) >= number)
        return self.mails_to(address)[number - 1]

    def mails_to(self, address: str) -> list[Received]:
        return [one for one in self.received if one.recipients == [address]]

    async def handle_DATA(self, _server: SMTP, _session: Session, envelope: Envelope) -> str:  # noqa: N802
        self.attempts += 1
        answer = self.answers.pop(0) if self.answers else OK
        if answer == OK:
            raw = envelope.original_content or b""
            message = message_from_bytes(raw, EmailMessage, policy=default)
            self.received.append(Received(str(envelope.mail_from), [str(one) for one in envelope.rcpt_tos], message))
        async with self._changed:
            self._changed.notify_all()
        return answer

    def _protocol(self) -> SMTP:
        more: dict[str, Any] = {}
        if self.needs_login or self.login_in_clear:
            in_tls = self.needs_login and not self.tls_at_once
            more = {"authenticator": _authenticated, "auth_required": True, "auth_require_tls": in_tls}
        starttls = None if self.tls_at_once else self.tls
        with catch_warnings():
            simplefilter("ignore", UserWarning)  # it does not know of TLS that is there from the beginning
            return SMTP(
                self,
                hostname="post.test",
                enable_SMTPUTF8=self.utf8,
                tls_context=starttls,
                require_starttls=starttls is not None,
                loop=asyncio.get_running_loop(),
                **more,
            )


def certificate(folder: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """What a server of this address uses for TLS, and a client that trusts it."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "post office")])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address(HOST))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    plain = serialization.NoEncryption()
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    file = folder / "post.pem"
    file.write_bytes(pem + made.public_bytes(serialization.Encoding.PEM))
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(file)
    return server, ssl.create_default_context(cadata=made.public_bytes(serialization.Encoding.PEM).decode())


def _authenticated(_server: SMTP, _session: Session, _envelope: Envelope, _mechanism: str, data: Any) -> AuthResult:
    return AuthResult(success=(data.login, data.password) == (USER.encode(), PASSWORD.encode()), handled=False)
