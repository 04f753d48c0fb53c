"""`penstock companies`: those of a person: list, switch, join, hand over."""

from __future__ import annotations

from typing import Annotated

import typer

from daemon.client import Member, Penstock, Problem, Session
from daemon.commands import display
from daemon.commands.base import AsJson, error_exit
from daemon.commands.naming import COMPANY, MEMBER, identified
from daemon.commands.people.members import Who
from daemon.commands.people.session import keep_session, token_of_invitation
from daemon.commands.remote import NotFound, Token, Url, perform
from daemon.runtime import exit_codes

companies = typer.Typer(help="The companies that you belong to.", no_args_is_help=True)


@companies.command("ls")
def ls(as_json: AsJson = False, url: Url = None, token: Token = None) -> None:
    """List your companies, with your role in each: as `penstock whoami`."""
    display.show_result(perform(url, token, lambda api: api.me()), display.account, as_json=as_json)


@companies.command("switch")
def switch(
    company: Annotated[str, typer.Argument(help="Name of the company, its id, or the beginning of that.")],
    as_json: AsJson = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Go on in another of your companies, and store its token for later commands."""

    async def work(api: Penstock) -> Session:
        return await api.switch(await identified(api, COMPANY, company))

    keep_session(url, perform(url, token, work), as_json)


# A token may begin with a dash.
@companies.command("join", context_settings={"ignore_unknown_options": True})
def join(
    invitation: Annotated[str, typer.Argument(help="Token or link of the invitation.")],
    as_json: AsJson = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Accept an invitation with your account, and go on in that company."""
    held = token_of_invitation(invitation)

    async def work(api: Penstock) -> Session:
        try:
            return await api.accept_invitation(held)
        except Problem as problem:
            if problem.code == "not_found":
                raise NotFound("There is no such invitation; ask for another link.") from None
            raise

    keep_session(url, perform(url, token, work), as_json)


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
        return await api.hand_over((await api.me()).company.id, await identified(api, MEMBER, who))

    display.show_result(perform(url, token, work), lambda one: display.members([one]), as_json=as_json)
