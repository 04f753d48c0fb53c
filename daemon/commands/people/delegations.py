"""`penstock delegations`: list, add, end."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, TypeAlias

import typer

from daemon.client import Delegation, Penstock
from daemon.commands import display
from daemon.commands.naming import DELEGATION, MEMBER, identified, resolved
from daemon.commands.people.members import Who, addresses
from daemon.commands.remote import Shell, calling, taken
from daemon.runtime.clock import utc_now

Found: TypeAlias = tuple[list[Delegation], dict[str, str]]
delegations = typer.Typer(help="Who may decide as another member for a time.", no_args_is_help=True)


@delegations.command("ls")
@calling
def ls(shell: Shell) -> None:
    """List the delegations that you gave or were given; an admin sees all."""

    async def work(api: Penstock) -> Found:
        found = await taken(api.delegations())
        return found, await addresses(api, (await api.me()).company.id)

    found, known = shell.perform(work)
    shell.show(found, lambda every: display.delegations(every, known))


@delegations.command("add")
@calling
def add(
    shell: Shell,
    who: Who,
    until: Annotated[datetime, typer.Option(help="When it ends, in UTC; at most a year after it begins.")],
    begins: Annotated[datetime | None, typer.Option("--from", help="When it begins, in UTC; default: now.")] = None,
    vertical: Annotated[list[str] | None, typer.Option(help="Only this process; repeatable. Default: all.")] = None,
) -> None:
    """Let another member decide as you for a time."""
    since = utc_now() if begins is None else begins.replace(tzinfo=UTC)

    async def work(api: Penstock) -> Found:
        company_id = (await api.me()).company.id
        to = await identified(api, MEMBER, who)
        made = await api.delegate(to, since, until.replace(tzinfo=UTC), verticals=vertical or None)
        return [made], await addresses(api, company_id)

    (made,), known = shell.perform(work)
    shell.show(made, lambda one: display.delegations([one], known))


@delegations.command("rm")
@calling
def rm(
    shell: Shell, delegation_id: Annotated[str, typer.Argument(help="Id of the delegation, or its beginning.")]
) -> None:
    """End a delegation before its time."""
    delegation_id = resolved(shell, DELEGATION, delegation_id)
    shell.perform(lambda api: api.end_delegation(delegation_id))
    shell.say({"ended": delegation_id}, f"{delegation_id} was ended")
