"""What mails say."""

from __future__ import annotations

import re
from datetime import datetime
from typing import NamedTuple

from daemon.contract.base import address_fault

NAME_CHARS_MAX = 100
_ENCODED = re.compile(r"=(?=\?)")
_ENDED = re.compile(r"=(?=\?)|/(?=/)|(?<=[^\s.])[.\u3002\uff0e\uff61](?=[^\W\d_])")


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
    company, inviter = shown(invited.company), shown_as_sender(invited.inviter)
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


class LiveMail(NamedTuple):
    """Which tool of a company calls for real from now on, and who did that."""

    company_id: str
    company: str
    tool: str
    by: str


def went_live(to: str, live: LiveMail, link: str) -> Mail:
    company, tool, by = shown(live.company), shown(live.tool), shown_as_sender(live.by)
    text = (
        f'{by} switched the tool "{tool}" of the company "{company}" to live: what a process asks of it is '
        f"sent from now on.\n\nSee what it calls, and who changed it:\n\n{link}\n"
    )
    return Mail("went_live", live.company_id, to, f'The tool "{tool}" of "{company}" is live', text)


class ChangeMail(NamedTuple):
    """A change of a company that waits for another person, or that `actor` has decided."""

    company_id: str
    company: str
    act: str
    what: str
    status: str
    by: str
    actor: str


_ACTS = {
    "publish_laxer": 'publish a version of "{what}" that is laxer at a gate',
    "go_live": 'switch the tool "{what}" live, or change it',
    "policy_off": "turn off what the company's policy asks",
    "action_rule": 'always allow such calls of "{what}" of an agent',
}
_DECIDED = {
    "approved": "approved it, and it is done",
    "denied": "denied it",
    "stale": "approved it too late: what it stood on had changed",
}


def change_told(to: str, one: ChangeMail, link: str) -> Mail:
    company, by = shown(one.company), shown_as_sender(one.by)
    act = _ACTS[one.act].format(what=shown(one.what))
    subject, then = f'A change of "{company}" was decided', _DECIDED.get(one.status, "")
    if one.status == "open":
        subject, said = f'A change of "{company}" waits for approval', "It waits for another person for seven days."
    else:
        said = f"{shown_as_sender(one.actor)} {then}."
    text = f'{by} asked to {act} in the company "{company}".\n\n{said}\n\n'
    text += f"`penstock company changes ls` lists what waits. The service is at:\n\n{link}\n"
    return Mail(f"change_{one.status}", one.company_id, to, subject, text)


def shown(name: str, chars_max: int = NAME_CHARS_MAX) -> str:
    """A name that a user chose: on one line, of bounded length, no link and no encoded word.

    Mail programs and chats make links of addresses of the web; a space ends them.
    """
    line = " ".join("".join(one if one.isprintable() else " " for one in name).split())
    line = _ENDED.sub(r"\g<0> ", line)
    return line if len(line) <= chars_max else f"{line[: chars_max - 1]}…"


def shown_as_sender(name: str) -> str:
    """An e-mail address as it is; any other name as `shown`."""
    return name if address_fault(name) is None else shown(name)


def in_header(text: str) -> str:
    """A text that stands in a header as nothing but text, whatever the version of `email`.

    Python before 3.13 wrote what an encoded word (RFC 2047) of a header says, line breaks included.
    """
    return _ENCODED.sub("= ", "".join(one if one.isprintable() else " " for one in text))


def _moment(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"
