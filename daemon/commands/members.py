"""`penstock members`, `groups`, `delegations`, `companies` and `api-keys`: who acts for whom."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, TypeAlias

import typer

from daemon.client import ApiKey, Delegation, Group, InvitedMember, Member, Penstock, Problem, Session
from daemon.commands import display
from daemon.commands.login import keep_session, token_of_invitation
from daemon.commands.naming import API_KEY, COMPANY, DELEGATION, GROUP, MEMBER, identified, resolved
from daemon.commands.remote import NotFound, Shell, Yes, calling, confirm, taken
from daemon.runtime.clock import utc_now

Who = Annotated[str, typer.Argument(help="E-mail address, id of the membership, or the beginning of that.")]
members = typer.Typer(help="The people of the company.", no_args_is_help=True)


@calling
def whoami(shell: Shell) -> None:
    """Show whose token it is, the role, and the person's companies."""
    shell.show(shell.perform(lambda api: api.me()), display.account)


@members.command("ls")
@calling
def list_members(shell: Shell) -> None:
    """List the members and those invited."""

    async def work(api: Penstock) -> list[Member]:
        return await taken(api.members((await api.me()).company.id))

    shell.show(shell.perform(work), display.members)


@members.command("invite")
@calling
def invite_member(
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
def change_role(
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
def remove_member(shell: Shell, who: Who, yes: Yes = False) -> None:
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


GroupName = Annotated[str, typer.Argument(help="Name of the group.")]
GroupsFound: TypeAlias = tuple[list[Group], dict[str, str]]
groups = typer.Typer(help="Groups of members.", no_args_is_help=True)


@groups.command("ls")
@calling
def list_groups(shell: Shell) -> None:
    """List the groups with their members."""

    async def work(api: Penstock) -> GroupsFound:
        company_id = (await api.me()).company.id
        return await taken(api.groups(company_id)), await addresses(api, company_id)

    found, known = shell.perform(work)
    shell.show(found, lambda every: display.groups(every, known))


@groups.command("put")
@calling
def put_group(
    shell: Shell,
    name: GroupName,
    who: Annotated[list[str] | None, typer.Argument(help="E-mail addresses or ids of all its members.")] = None,
) -> None:
    """Create a group, or replace its members."""

    async def work(api: Penstock) -> GroupsFound:
        company_id = (await api.me()).company.id
        members = [await identified(api, MEMBER, one) for one in who or ()]
        return [await api.put_group(company_id, name, members)], await addresses(api, company_id)

    (group,), known = shell.perform(work)
    shell.show(group, lambda one: display.groups([one], known))


@groups.command("rm")
@calling
def delete_group(shell: Shell, name: GroupName, yes: Yes = False) -> None:
    """Delete a group; its members stay in the company."""
    name = resolved(shell, GROUP, name)
    confirm(yes, f"Delete {name}?", "Nothing was deleted.")

    async def work(api: Penstock) -> None:
        await api.delete_group((await api.me()).company.id, name)

    shell.perform(work)
    shell.say({"deleted": name}, f"{name} was deleted")


DelegationsFound: TypeAlias = tuple[list[Delegation], dict[str, str]]
delegations = typer.Typer(help="Who may decide as another member for a time.", no_args_is_help=True)


@delegations.command("ls")
@calling
def list_delegations(shell: Shell) -> None:
    """List the delegations that you gave or were given; an admin sees all."""

    async def work(api: Penstock) -> DelegationsFound:
        found = await taken(api.delegations())
        return found, await addresses(api, (await api.me()).company.id)

    found, known = shell.perform(work)
    shell.show(found, lambda every: display.delegations(every, known))


@delegations.command("add")
@calling
def add_delegation(
    shell: Shell,
    who: Who,
    until: Annotated[datetime, typer.Option(help="When it ends, in UTC; at most a year after it begins.")],
    begins: Annotated[datetime | None, typer.Option("--from", help="When it begins, in UTC; default: now.")] = None,
    vertical: Annotated[list[str] | None, typer.Option(help="Only this process; repeatable. Default: all.")] = None,
) -> None:
    """Let another member decide as you for a time."""
    since = utc_now() if begins is None else begins.replace(tzinfo=UTC)

    async def work(api: Penstock) -> DelegationsFound:
        company_id = (await api.me()).company.id
        to = await identified(api, MEMBER, who)
        made = await api.delegate(to, since, until.replace(tzinfo=UTC), verticals=vertical or None)
        return [made], await addresses(api, company_id)

    (made,), known = shell.perform(work)
    shell.show(made, lambda one: display.delegations([one], known))


@delegations.command("rm")
@calling
def end_delegation(
    shell: Shell, delegation_id: Annotated[str, typer.Argument(help="Id of the delegation, or its beginning.")]
) -> None:
    """End a delegation before its time."""
    delegation_id = resolved(shell, DELEGATION, delegation_id)
    shell.perform(lambda api: api.end_delegation(delegation_id))
    shell.say({"ended": delegation_id}, f"{delegation_id} was ended")


companies = typer.Typer(help="The companies that you belong to.", no_args_is_help=True)


@companies.command("ls")
@calling
def list_companies(shell: Shell) -> None:
    """List your companies, with your role in each: as `penstock whoami`."""
    shell.show(shell.perform(lambda api: api.me()), display.account)


@companies.command("switch")
@calling
def switch_company(
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


KeyModel = Annotated[str | None, typer.Option(help="The model that uses the key.")]
KeyModels = Annotated[list[str] | None, typer.Option(help="Models that a call may name, as a glob; repeatable.")]
KeyStarts = Annotated[list[str] | None, typer.Option(help="Processes that it may start, as a glob; repeatable.")]
KeyCalls = Annotated[list[str] | None, typer.Option(help="Tools that it may call: tool or server/tool; repeatable.")]
KeyReads = Annotated[list[str] | None, typer.Option(help="own, all, or processes that it reads; repeatable.")]
api_keys = typer.Typer(help="API keys of services and agents, which never decide.", no_args_is_help=True)


@api_keys.command("ls")
@calling
def list_api_keys(shell: Shell) -> None:
    """List the API keys."""
    found = shell.perform(lambda api: taken(api.api_keys()))
    shell.show(found, display.api_keys)


@api_keys.command("create")
@calling
def create_api_key(
    shell: Shell,
    name: Annotated[str, typer.Argument(help="Name of the key; records name it as who did something.")],
    kind: Annotated[str, typer.Option(help="agent or service.")] = "agent",
    role: Annotated[str, typer.Option(help="At most member for an agent, admin for a service.")] = "member",
    expires: Annotated[datetime | None, typer.Option(help="When it ends, in UTC; default: never.")] = None,
    model: KeyModel = None,
    models: KeyModels = None,
    start: KeyStarts = None,
    call: KeyCalls = None,
    read: KeyReads = None,
) -> None:
    """Create an API key; prints it once."""
    until = None if expires is None else expires.replace(tzinfo=UTC)
    terms: Any = {"model": model, "models": models or (), "scopes": _scopes({}, start, call, read)}
    made = shell.perform(lambda api: api.create_api_key(name, role=role, kind=kind, expires_at=until, **terms))
    if shell.as_json:
        display.print_json(made)
    else:
        display.show(display.api_keys([made]))
        display.show(display.text(f"key: {made.key}"))


@api_keys.command("change")
@calling
def change_api_key(
    shell: Shell,
    key_id: Annotated[str, typer.Argument(help="Id of the key, its beginning, or its name.")],
    model: KeyModel = None,
    models: KeyModels = None,
    start: KeyStarts = None,
    call: KeyCalls = None,
    read: KeyReads = None,
    unscoped: Annotated[bool, typer.Option("--unscoped", help="Drop the scopes that stand.")] = False,
) -> None:
    """Say which models use a key, and how little it may do; what is not named stays."""

    async def work(api: Penstock) -> ApiKey:
        found = await identified(api, API_KEY, key_id)
        stood = next(one for one in await taken(api.api_keys()) if one.id == found)
        before = {} if unscoped or stood.scopes is None else stood.scopes.model_dump(exclude_none=True)
        said: Any = {"model": stood.model if model is None else model or None, "models": models or stood.models}
        return await api.put_api_key(found, **said, scopes=_scopes(before, start, call, read))

    shell.show(shell.perform(work), lambda one: display.api_keys([one]))


def _scopes(
    stood: dict[str, Any], start: list[str] | None, call: list[str] | None, read: list[str] | None
) -> dict[str, Any] | None:
    """The scopes with those that are named in place of those that stood."""
    reads = read[0] if read in (["own"], ["all"]) else read
    named = {"start": start, "call": call, "read": reads}
    return {**stood, **{name: one for name, one in named.items() if one}} or None


@api_keys.command("rm")
@calling
def delete_api_key(
    shell: Shell,
    key_id: Annotated[str, typer.Argument(help="Id of the key, its beginning, or its name.")],
    yes: Yes = False,
) -> None:
    """Delete an API key; it counts nowhere from then on."""
    key_id = resolved(shell, API_KEY, key_id)
    confirm(yes, f"Delete {key_id}?", "Nothing was deleted.")
    shell.perform(lambda api: api.delete_api_key(key_id))
    shell.say({"deleted": key_id}, f"{key_id} was deleted")
