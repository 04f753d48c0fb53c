"""What mails say."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

NAME_CHARS_MAX = 100


class Mail(NamedTuple):
    """A mail to one person; `kind` and `company_id` are for the log, `id` for its header."""

    kind: str
    company_id: str
    to: str
    subject: str
    text: str
    id: str | None = None


class InvitationMail(NamedTuple):
    """Who is invited, by whom, and until when."""

    to: str
    company_id: str
    company: str
    inviter: str
    until: datetime


def invitation(invited: InvitationMail, link: str) -> Mail:
    company, inviter = shown(invited.company), shown(invited.inviter)
    text = (
        f'{inviter} invites you to join the company "{company}" on Penstock.\n\n'
        f"Open this link to accept:\n\n{link}\n\n"
        f"It works once, until {_moment(invited.until)}. If you do not know the sender, ignore this mail.\n"
    )
    return Mail("invitation", invited.company_id, invited.to, f'Invitation to "{company}"', text)


def password_reset(to: str, company_id: str, until: datetime, link: str) -> Mail:
    text = (
        "Somebody asked for a new password for this address on Penstock.\n\n"
        f"Open this link to choose one:\n\n{link}\n\n"
        f"It works once, until {_moment(until)}. If you did not ask, ignore this mail: your password stays.\n"
    )
    return Mail("password_reset", company_id, to, "A new password", text)


def shown(name: str) -> str:
    """A name that a user chose, on one line and of bounded length."""
    line = " ".join("".join(one if one.isprintable() else " " for one in name).split())
    return line if len(line) <= NAME_CHARS_MAX else f"{line[: NAME_CHARS_MAX - 1]}…"


def _moment(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"
