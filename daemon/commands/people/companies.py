"""`penstock companies`: those of a person: list, switch, join, hand over."""

from __future__ import annotations

from typing import Annotated

import typer

from daemon.client import Member, Penstock, Session
from daemon.commands import display
from daemon.commands.base import AsJson, error_exit
from daemon.commands.people.members import Who, member_named
from daemon.commands.people.session import keep_session, token_of_invitation
from daemon.commands.remote import Token, Url, perform
from daemon.runtime import exit_codes

companies = typer.Typer(help="The companies that you belong to.", no_args_is_help=True)


@companies.command("ls")
def ls(as_json: AsJson = False, url: Url = None, token: Token = None) -> None:
    """List your companies, with your role in each: as `penstock whoami`."""
    display.show_result(perform(url, token, lambda api: api.me()), display.account, as_json=as_json)


@companies.command("switch")
def switch(
    company: Annotated[str, typer.Argument(help="Name or id of the company.")],
    as_json: AsJson = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Go on in another of your companies, and store its token for later commands."""

    async def work(api: Penstock) -> Session:
        found = [one.id for one in (await api.me()).companies if company in (one.id, one.name)]
        if len(found) != 1:
            why = "several of your companies have this name: give the id" if found else "you belong to no such company"
            raise error_exit(f"{company}: {why}.", exit_codes.REFUSED)
        return await api.switch(found[0])

    keep_session(url, perform(url, token, work), as_json)


@companies.command("join")
def join(
    invitation: Annotated[str, typer.Argument(help="Token or link of the invitation.")],
    as_json: AsJson = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Accept an invitation with your account, and go on in that company."""
    held = token_of_invitation(invitation)
    keep_session(url, perform(url, token, lambda api: api.accept_invitation(held)), as_json)


@companies.command("hand-over")
def hand_over(
    who: Who,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    as_json: AsJson = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Make another member the owner of the company; you become an admin."""
    if not yes and not typer.confirm(f"Make {who} the owner?", err=True):
        raise error_exit("Nothing was handed over.", exit_codes.REFUSED)

    async def work(api: Penstock) -> Member:
        company_id = (await api.me()).company.id
        return await api.hand_over(company_id, await member_named(api, company_id, who))

    display.show_result(perform(url, token, work), lambda one: display.members([one]), as_json=as_json)
