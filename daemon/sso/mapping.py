"""The operator's mapping of e-mail domains to companies."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from actors.core.people import rank
from daemon.contract.addresses import email_key

DEFAULT_ROLE, HIGHEST_ROLE = "member", "admin"
_DOMAIN = re.compile(r"(?=.{1,253}\Z)[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63})*")
_COMPANY = re.compile(r"[0-9a-zA-Z-]{1,64}")


class Mapped(NamedTuple):
    """The company of a domain, and the role of who comes to it."""

    company_id: str
    role: str


def parse_domains(text: str) -> Mapping[str, Mapped]:
    """Parse a list like `example.com=<company id>:member`; ValueError names what is invalid."""
    found: dict[str, Mapped] = {}
    for item in filter(None, map(str.strip, text.split(","))):
        domain, _, rest = item.partition("=")
        company_id, _, role = rest.partition(":")
        domain, role = email_key(domain.strip()), role.strip() or DEFAULT_ROLE
        if not _DOMAIN.fullmatch(domain) or not _COMPANY.fullmatch(company_id.strip()):
            raise ValueError(f"{item} is no mapping such as example.com=<company id>:member")
        if not 0 <= rank(role) <= rank(HIGHEST_ROLE):
            raise ValueError(f"{role} is no role from viewer to admin")
        found[domain] = Mapped(company_id.strip(), role)
    return found


def domain_of(email: str) -> str:
    return email_key(email.rpartition("@")[2])
