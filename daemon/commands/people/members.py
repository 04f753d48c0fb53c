"""`penstock whoami` and `penstock members`: list, invite, change a role, remove."""

from __future__ import annotations

from typing import Annotated

import typer

from daemon.client import InvitedMember, Member, Penstock
from daemon.commands import display
from daemon.commands.naming import MEMBER, identified
from daemon.commands.remote import Shell, Yes, calling, confirm, taken

Who = Annotated[str, typer.Argument(help="E-mail address, id of the membership, or the beginning of that.")]
members = typer.Typer(help="The people of the company.", no_args_is_help=True)


@calling
def whoami(shell: Shell) -> None:
    """Show whose token it is, the role, and the person's companies."""
    shell.show(shell.perform(lambda api: api.me()), display.account)


@members.command("ls")
@calling
def ls(shell: Shell) -> None:
    """List the members and those invited."""

    async def work(api: Penstock) -> list[Member]:
        return await taken(api.members((await api.me()).company.id))

    shell.show(shell.perform(work), display.members)


@members.command("invite")
@calling
def invite(
    shell: Shell,
    email: Annotated[str, typer.Argument(help="E-mail address.")],
    role: Annotated[str, typer.Option(help="viewer, member, manager or admin.")] = "member",
) -> None:
    """Invite a person; prints the link once. A repeat replaces it."""

    async def work(api: Penstock) -> InvitedMember:
        return await api.invite((await api.me()).company.id, email, role)

    made = shell.perform(work)
    if shell.as_json:
        display.print_json(made)
    else:
        display.show(display.members([made]))
        until = display.time(made.invitation.expires_at)
        display.show(display.text(f"link, until {until}: {shell.address}/#/invitations/{made.invitation.token}"))


@members.command("role")
@calling
def role(
    shell: Shell,
    who: Who,
    new: Annotated[str, typer.Argument(metavar="ROLE", help="viewer, member, manager or admin.")],
) -> None:
    """Give a member another role; it counts from then on."""

    async def work(api: Penstock) -> Member:
        company_id = (await api.me()).company.id
        return await api.change_role(company_id, await identified(api, MEMBER, who), new)

    shell.show(shell.perform(work), lambda one: display.members([one]))


@members.command("rm")
@calling
def rm(shell: Shell, who: Who, yes: Yes = False) -> None:
    """Remove a member, or withdraw an invitation; the person's tokens count no more."""
    confirm(yes, f"Remove {who}?", "Nobody was removed.")

    async def work(api: Penstock) -> None:
        company_id = (await api.me()).company.id
        await api.remove_member(company_id, await identified(api, MEMBER, who))

    shell.perform(work)
    shell.say({"removed": who}, f"{who} was removed")


async def addresses(api: Penstock, company_id: str) -> dict[str, str]:
    """The e-mail addresses of the members, by their ids."""
    return {one.id: one.email async for one in api.members(company_id)}
