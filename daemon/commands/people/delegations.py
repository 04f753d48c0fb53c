"""`penstock delegations`: list, add, end."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, TypeAlias

import typer

from daemon.client import Delegation, Penstock
from daemon.commands import display
from daemon.commands.base import AsJson, print_result
from daemon.commands.naming import DELEGATION, MEMBER, identified, resolved
from daemon.commands.people.members import LISTED_MAX, Who, addresses
from daemon.commands.remote import Token, Url, perform, taken
from daemon.runtime.clock import utc_now

Found: TypeAlias = tuple[list[Delegation], dict[str, str]]
delegations = typer.Typer(help="Who may decide as another member for a time.", no_args_is_help=True)


@delegations.command("ls")
def ls(as_json: AsJson = False, url: Url = None, token: Token = None) -> None:
    """List the delegations that you gave or were given; an admin sees all."""

    async def work(api: Penstock) -> Found:
        found = await taken(api.delegations(), LISTED_MAX)
        return found, await addresses(api, (await api.me()).company.id)

    found, known = perform(url, token, work)
    display.show_result(found, lambda every: display.delegations(every, known), as_json=as_json)


@delegations.command("add")
def add(
    who: Who,
    until: Annotated[datetime, typer.Option(help="When it ends, in UTC; at most a year after it begins.")],
    begins: Annotated[datetime | None, typer.Option("--from", help="When it begins, in UTC; default: now.")] = None,
    vertical: Annotated[list[str] | None, typer.Option(help="Only this process; repeatable. Default: all.")] = None,
    as_json: AsJson = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Let another member decide as you for a time."""
    since = utc_now() if begins is None else begins.replace(tzinfo=UTC)

    async def work(api: Penstock) -> Found:
        company_id = (await api.me()).company.id
        to = await identified(api, MEMBER, who)
        made = await api.delegate(to, since, until.replace(tzinfo=UTC), verticals=vertical or None)
        return [made], await addresses(api, company_id)

    (made,), known = perform(url, token, work)
    display.show_result(made, lambda one: display.delegations([one], known), as_json=as_json)


@delegations.command("rm")
def rm(
    delegation_id: Annotated[str, typer.Argument(help="Id of the delegation, or its beginning.")],
    as_json: AsJson = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """End a delegation before its time."""
    delegation_id = resolved(url, token, DELEGATION, delegation_id)
    perform(url, token, lambda api: api.end_delegation(delegation_id))
    print_result({"ended": delegation_id}, f"{delegation_id} was ended", as_json=as_json)
