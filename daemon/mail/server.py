"""The SMTP server that takes the service's mail."""

from __future__ import annotations

from dataclasses import dataclass, field
from email.headerregistry import Address
from email.utils import parseaddr
from typing import Literal, TypeAlias
from urllib.parse import parse_qsl, unquote, urlsplit

from daemon.contract.base import address_fault

SmtpTls: TypeAlias = Literal["implicit", "required", "auto", "none"]
PORTS = {"smtp": 587, "smtps": 465}
STARTTLS: dict[str, SmtpTls] = {"required": "required", "auto": "auto", "none": "none"}


@dataclass(frozen=True, slots=True)
class SmtpServer:
    """`auto` takes TLS where the server offers it; the others say what they mean."""

    host: str
    port: int
    tls: SmtpTls
    user: str | None = None
    password: str | None = field(default=None, repr=False)


def parse_smtp_url(url: str) -> SmtpServer:
    """The server of smtp://user:password@host:port?starttls=required, or of smtps://.

    ValueError says what is wrong, and repeats nothing of the URL.
    """
    try:
        parts = urlsplit(url)
        port, query = parts.port, parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    except ValueError:
        raise ValueError("it is no URL such as smtp://user:password@mail.example:587") from None
    if parts.scheme not in PORTS:
        raise ValueError("it has to begin with smtp:// or smtps://")
    if not parts.hostname or parts.path not in ("", "/") or parts.fragment:
        raise ValueError("it needs a host, and nothing behind the port but ?starttls=")
    tls = _tls(parts.scheme, query)
    user = unquote(parts.username) if parts.username else None
    password = unquote(parts.password) if parts.password else None
    if user is None and password is not None:
        raise ValueError("it has a password and no user")
    if user is not None and tls == "auto":
        raise ValueError("with starttls=auto the password might go over the wire in clear")
    return SmtpServer(parts.hostname, port or PORTS[parts.scheme], tls, user, password)


def parse_sender(text: str) -> Address:
    """The address that mail comes from, such as `Penstock <penstock@example.test>`."""
    name, address = parseaddr(text)
    if address_fault(address) is not None or not address.isascii() or not text.isprintable() or "=?" in text:
        raise ValueError("it is no address such as penstock@example.test or Penstock <penstock@example.test>")
    return Address(display_name=name, addr_spec=address)


def is_page_address(text: str) -> bool:
    """Whether links for people can begin with this text."""
    try:
        parts = urlsplit(text)
        has_host = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    return has_host and not any(one in text for one in "@?# ") and text.isprintable()


def _tls(scheme: str, query: list[tuple[str, str]]) -> SmtpTls:
    given = dict(query)
    if given and (scheme != "smtp" or len(query) != 1 or given.get("starttls") not in STARTTLS):
        raise ValueError("all that may follow a ? is starttls=required, auto or none, and with smtp:// alone")
    return "implicit" if scheme == "smtps" else STARTTLS[given.get("starttls", "required")]
