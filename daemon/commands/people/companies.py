"""`penstock companies`: those of a person: list, switch, join, hand over."""

from __future__ import annotations

from typing import Annotated

import typer

from daemon.client import Member, Penstock, Problem, Session
from daemon.commands import display
from daemon.commands.naming import COMPANY, MEMBER, identified
from daemon.commands.people.members import Who
from daemon.commands.people.session import keep_session, token_of_invitation
from daemon.commands.remote import NotFound, Shell, Yes, calling, confirm

companies = typer.Typer(help="The companies that you belong to.", no_args_is_help=True)


@companies.command("ls")
@calling
def ls(shell: Shell) -> None:
    """List your companies, with your role in each: as `penstock whoami`."""
    shell.show(shell.perform(lambda api: api.me()), display.account)


@companies.command("switch")
@calling
def switch(
    shell: Shell, company: Annotated[str, typer.Argument(help="Name of the company, its id, or the beginning of that.")]
) -> None:
    """Go on in another of your companies, and store its token for later commands."""

    async def work(api: Penstock) -> Session:
        return await api.switch(await identified(api, COMPANY, company))

    keep_session(shell, shell.perform(work))


# A token may begin with a dash.
@companies.command("join", context_settings={"ignore_unknown_options": True})
@calling
def join(shell: Shell, invitation: Annotated[str, typer.Argument(help="Token or link of the invitation.")]) -> None:
    """Accept an invitation with your account, and go on in that company."""
    held = token_of_invitation(invitation)

    async def work(api: Penstock) -> Session:
        try:
            return await api.accept_invitation(held)
        except Problem as problem:
            if problem.code == "not_found":
                raise NotFound("There is no such invitation; ask for another link.") from None
            raise

    keep_session(shell, shell.perform(work))


@companies.command("hand-over")
@calling
def hand_over(shell: Shell, who: Who, yes: Yes = False) -> None:
    """Make another member the owner of the company; you become an admin."""
    confirm(yes, f"Make {who} the owner?", "Nothing was handed over.")

    async def work(api: Penstock) -> Member:
        return await api.hand_over((await api.me()).company.id, await identified(api, MEMBER, who))

    shell.show(shell.perform(work), lambda one: display.members([one]))
