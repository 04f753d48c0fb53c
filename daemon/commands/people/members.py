"""`penstock whoami` and `penstock members`: list, invite, change a role, remove."""

from __future__ import annotations

from typing import Annotated

import typer

from daemon.client import InvitedMember, Member, Penstock
from daemon.commands import display
from daemon.commands.base import AsJson, error_exit, print_result
from daemon.commands.naming import MEMBER, identified
from daemon.commands.remote import Token, Url, address, perform, taken
from daemon.runtime import exit_codes

LISTED_MAX = 10_000
Who = Annotated[str, typer.Argument(help="E-mail address, id of the membership, or the beginning of that.")]
members = typer.Typer(help="The people of the company.", no_args_is_help=True)


def whoami(as_json: AsJson = False, url: Url = None, token: Token = None) -> None:
    """Show whose token it is, the role, and the person's companies."""
    display.show_result(perform(url, token, lambda api: api.me()), display.account, as_json=as_json)


@members.command("ls")
def ls(as_json: AsJson = False, url: Url = None, token: Token = None) -> None:
    """List the members and those invited."""

    async def work(api: Penstock) -> list[Member]:
        return await taken(api.members((await api.me()).company.id), LISTED_MAX)

    display.show_result(perform(url, token, work), display.members, as_json=as_json)


@members.command("invite")
def invite(
    email: Annotated[str, typer.Argument(help="E-mail address.")],
    role: Annotated[str, typer.Option(help="viewer, member, manager or admin.")] = "member",
    as_json: AsJson = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Invite a person; prints the link once. A repeat replaces it."""

    async def work(api: Penstock) -> InvitedMember:
        return await api.invite((await api.me()).company.id, email, role)

    made = perform(url, token, work)
    if as_json:
        display.print_json(made)
    else:
        display.show(display.members([made]))
        until = display.time(made.invitation.expires_at)
        display.show(display.text(f"link, until {until}: {address(url)}/#/invitations/{made.invitation.token}"))


@members.command("role")
def role(
    who: Who,
    new: Annotated[str, typer.Argument(metavar="ROLE", help="viewer, member, manager or admin.")],
    as_json: AsJson = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Give a member another role; it counts from then on."""

    async def work(api: Penstock) -> Member:
        company_id = (await api.me()).company.id
        return await api.change_role(company_id, await identified(api, MEMBER, who), new)

    display.show_result(perform(url, token, work), lambda one: display.members([one]), as_json=as_json)


@members.command("rm")
def rm(
    who: Who,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    as_json: AsJson = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Remove a member, or withdraw an invitation; the person's tokens count no more."""
    if not yes and not typer.confirm(f"Remove {who}?", err=True):
        raise error_exit("Nobody was removed.", exit_codes.REFUSED)

    async def work(api: Penstock) -> None:
        company_id = (await api.me()).company.id
        await api.remove_member(company_id, await identified(api, MEMBER, who))

    perform(url, token, work)
    print_result({"removed": who}, f"{who} was removed", as_json=as_json)


async def addresses(api: Penstock, company_id: str) -> dict[str, str]:
    """The e-mail addresses of the members, by their ids."""
    return {one.id: one.email async for one in api.members(company_id)}
