"""`penstock groups`: list, write, delete."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

from daemon.client import Group, Penstock
from daemon.commands import display
from daemon.commands.base import AsJson, error_exit, print_result
from daemon.commands.naming import GROUP, MEMBER, identified, resolved
from daemon.commands.people.members import LISTED_MAX, addresses
from daemon.commands.remote import Token, Url, perform, taken
from daemon.runtime import exit_codes

Name = Annotated[str, typer.Argument(help="Name of the group.")]
Found: TypeAlias = tuple[list[Group], dict[str, str]]
groups = typer.Typer(help="Groups of members.", no_args_is_help=True)


@groups.command("ls")
def ls(as_json: AsJson = False, url: Url = None, token: Token = None) -> None:
    """List the groups with their members."""

    async def work(api: Penstock) -> Found:
        company_id = (await api.me()).company.id
        return await taken(api.groups(company_id), LISTED_MAX), await addresses(api, company_id)

    found, known = perform(url, token, work)
    display.show_result(found, lambda every: display.groups(every, known), as_json=as_json)


@groups.command("put")
def put(
    name: Name,
    who: Annotated[list[str] | None, typer.Argument(help="E-mail addresses or ids of all its members.")] = None,
    as_json: AsJson = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Create a group, or replace its members."""

    async def work(api: Penstock) -> Found:
        company_id = (await api.me()).company.id
        members = [await identified(api, MEMBER, one) for one in who or ()]
        return [await api.put_group(company_id, name, members)], await addresses(api, company_id)

    (group,), known = perform(url, token, work)
    display.show_result(group, lambda one: display.groups([one], known), as_json=as_json)


@groups.command("rm")
def rm(
    name: Name,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    as_json: AsJson = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Delete a group; its members stay in the company."""
    name = resolved(url, token, GROUP, name)
    if not yes and not typer.confirm(f"Delete {name}?", err=True):
        raise error_exit("Nothing was deleted.", exit_codes.REFUSED)

    async def work(api: Penstock) -> None:
        await api.delete_group((await api.me()).company.id, name)

    perform(url, token, work)
    print_result({"deleted": name}, f"{name} was deleted", as_json=as_json)
