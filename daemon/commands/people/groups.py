"""`penstock groups`: list, write, delete."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

from daemon.client import Group, Penstock
from daemon.commands import display
from daemon.commands.naming import GROUP, MEMBER, identified, resolved
from daemon.commands.people.members import addresses
from daemon.commands.remote import Shell, Yes, calling, confirm, taken

Name = Annotated[str, typer.Argument(help="Name of the group.")]
Found: TypeAlias = tuple[list[Group], dict[str, str]]
groups = typer.Typer(help="Groups of members.", no_args_is_help=True)


@groups.command("ls")
@calling
def ls(shell: Shell) -> None:
    """List the groups with their members."""

    async def work(api: Penstock) -> Found:
        company_id = (await api.me()).company.id
        return await taken(api.groups(company_id)), await addresses(api, company_id)

    found, known = shell.perform(work)
    shell.show(found, lambda every: display.groups(every, known))


@groups.command("put")
@calling
def put(
    shell: Shell,
    name: Name,
    who: Annotated[list[str] | None, typer.Argument(help="E-mail addresses or ids of all its members.")] = None,
) -> None:
    """Create a group, or replace its members."""

    async def work(api: Penstock) -> Found:
        company_id = (await api.me()).company.id
        members = [await identified(api, MEMBER, one) for one in who or ()]
        return [await api.put_group(company_id, name, members)], await addresses(api, company_id)

    (group,), known = shell.perform(work)
    shell.show(group, lambda one: display.groups([one], known))


@groups.command("rm")
@calling
def rm(shell: Shell, name: Name, yes: Yes = False) -> None:
    """Delete a group; its members stay in the company."""
    name = resolved(shell, GROUP, name)
    confirm(yes, f"Delete {name}?", "Nothing was deleted.")

    async def work(api: Penstock) -> None:
        await api.delete_group((await api.me()).company.id, name)

    shell.perform(work)
    shell.say({"deleted": name}, f"{name} was deleted")
