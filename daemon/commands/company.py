"""`penstock autonomy`, `calendar` and `company`: what a company sets."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import typer

from daemon.client import Autonomy, Calendar, Function, GatedChange, Holidays, Penstock
from daemon.client.people import FUNCTIONS
from daemon.commands import display
from daemon.commands.base import error_exit
from daemon.commands.members import addresses
from daemon.commands.naming import CHANGE, MEMBER, identified, missing
from daemon.commands.remote import NotFound, Shell, calling, taken
from daemon.runtime import exit_codes

AutoResolve = Annotated[bool | None, typer.Option("--auto-resolve/--no-auto-resolve", help="Clear steps at all.")]
ConfidenceFloor = Annotated[
    float | None, typer.Option(help="How often people have to approve what is cleared, from 0 to 1.")
]
IrreversibleFloor = Annotated[float | None, typer.Option(help="The same for steps that cannot be undone.")]
Learn = Annotated[
    list[str] | None,
    typer.Option(metavar="VERTICAL/STEP[:THRESHOLD[:N]]", help="Let a step learn; one in N is seen. Repeatable."),
]
Unlearn = Annotated[
    list[str] | None, typer.Option(metavar="VERTICAL/STEP", help="Let a step learn no more. Repeatable.")
]
autonomy = typer.Typer(help="What is cleared without a human.", no_args_is_help=True)


@autonomy.command("show")
@calling
def show_autonomy(shell: Shell) -> None:
    """Show whether steps are cleared, above which floors, and which may learn."""

    async def work(api: Penstock) -> Autonomy:
        return await api.autonomy((await api.me()).company.id)

    shell.show(shell.perform(work), display.autonomy)


@autonomy.command("set")
@calling
def change_autonomy(
    shell: Shell,
    auto_resolve: AutoResolve = None,
    confidence_floor: ConfidenceFloor = None,
    irreversible_floor: IrreversibleFloor = None,
    learn: Learn = None,
    unlearn: Unlearn = None,
) -> None:
    """Change what is named; all else stays as it is."""
    named: dict[str, Any] = {
        "auto_resolve": auto_resolve,
        "confidence_floor": confidence_floor,
        "irreversible_floor": irreversible_floor,
    }
    changes = {name: value for name, value in named.items() if value is not None}
    steps = dict(_learnable(text) for text in learn or ())
    if not (changes or steps or unlearn):
        raise typer.BadParameter("Give an option with what to change.")

    async def work(api: Penstock) -> Autonomy:
        company_id = (await api.me()).company.id
        if steps or unlearn:
            known = {name: one.model_dump() for name, one in (await api.autonomy(company_id)).learnable.items()}
            for name in unlearn or ():
                if name not in known:
                    raise NotFound(missing("learnable step", name, sorted(known)))
                del known[name]
            changes["learnable"] = {**known, **steps}
        return await api.put_autonomy(company_id, **changes)

    shell.show(shell.perform(work), display.autonomy)


def _learnable(text: str) -> tuple[str, dict[str, float | int]]:
    """A step that may learn, as an option names it."""
    name, *numbers = text.split(":")
    readers = {"threshold": float, "sample_one_in": int}
    try:
        return name, {member: read(one) for (member, read), one in zip(readers.items(), numbers, strict=False)}
    except ValueError:
        raise error_exit(
            f"{text} is no step with numbers, such as refund/refund:0.95:20.", exit_codes.REFUSED
        ) from None


Part = Annotated[str | None, typer.Option(help="Code of a part of the country, such as a state.")]
Days = Annotated[list[str] | None, typer.Option(metavar="DATE", help="A day off, such as 2026-12-25; repeatable.")]
calendar = typer.Typer(help="The business days of the company.", no_args_is_help=True)


@calendar.command("show")
@calling
def show_calendar(shell: Shell) -> None:
    """Show time zone, weekend and holidays."""

    async def work(api: Penstock) -> Calendar:
        return await api.calendar((await api.me()).company.id)

    shell.show(shell.perform(work), display.calendar)


@calendar.command("set")
@calling
def change_calendar(
    shell: Shell,
    timezone: Annotated[str | None, typer.Option(help="Time zone, such as Europe/Vienna.")] = None,
    weekend: Annotated[str | None, typer.Option(help="Weekdays with commas between, or none.")] = None,
    holiday: Days = None,
    country: Annotated[str | None, typer.Option(help="Add the holidays of this country, such as AT.")] = None,
    year: Annotated[list[int] | None, typer.Option(help="Years of those holidays; repeatable.")] = None,
    subdivision: Part = None,
    clear: Annotated[bool, typer.Option("--clear", help="Drop the holidays that are there.")] = False,
) -> None:
    """Change what is named; holidays are added to those that are there."""
    if (country is None) != (not year):
        raise error_exit("--country and --year go together.", exit_codes.REFUSED)
    changes: dict[str, Any] = {} if timezone is None else {"timezone": timezone}
    if weekend is not None:
        changes["weekend"] = [] if weekend == "none" else weekend.split(",")

    async def work(api: Penstock) -> Calendar:
        company_id = (await api.me()).company.id
        days = set(holiday or ()) if clear else {*(await api.calendar(company_id)).holidays, *(holiday or ())}
        for one in year or ():
            found = await api.holidays(company_id, country or "", one, subdivision)
            days |= {each.date for each in found.holidays}
        return await api.put_calendar(company_id, **changes, holidays=sorted(days))

    shell.show(shell.perform(work), display.calendar)


@calendar.command("holidays")
@calling
def list_holidays(
    shell: Shell,
    country: Annotated[str, typer.Argument(help="ISO 3166-1 code, such as AT.")],
    year: Annotated[int, typer.Option(help="Which year.")],
    subdivision: Part = None,
) -> None:
    """List the public holidays of a country; nothing is changed."""

    async def work(api: Penstock) -> Holidays:
        return await api.holidays((await api.me()).company.id, country, year, subdivision)

    shell.show(shell.perform(work), display.holidays)


FunctionsFound: TypeAlias = tuple[dict[str, Function], dict[str, str]]
company = typer.Typer(help="What the company sets for all its processes.", no_args_is_help=True)
functions = typer.Typer(help="Who fills the functions that processes name.", no_args_is_help=True)
company.add_typer(functions, name="functions")


@functions.command("show")
@calling
def show_functions(shell: Shell) -> None:
    """Show the functions, who fills each, and where it is asked for."""

    async def work(api: Penstock) -> FunctionsFound:
        company_id = (await api.me()).company.id
        return await api.functions(company_id), await addresses(api, company_id)

    found, known = shell.perform(work)
    shell.show(FUNCTIONS(found), lambda every: display.functions(every.root, known))


@functions.command("bind")
@calling
def bind_function(
    shell: Shell,
    name: Annotated[str, typer.Argument(help="Id of the function, as templates name it.")],
    group: Annotated[list[str] | None, typer.Option(help="A group that fills it; repeatable.")] = None,
    member: Annotated[
        list[str] | None, typer.Option(help="E-mail address or id of a member who fills it; repeatable.")
    ] = None,
    nobody: Annotated[bool, typer.Option("--nobody", help="Bind it no more: its role decides again.")] = False,
) -> None:
    """Say who fills a function, in place of who does; they decide alone at its gates."""
    if nobody == bool(group or member):
        raise error_exit("Give groups or members, or --nobody.", exit_codes.REFUSED)

    async def work(api: Penstock) -> FunctionsFound:
        company_id = (await api.me()).company.id
        members = [await identified(api, MEMBER, one) for one in member or ()]
        bound = await api.put_functions(company_id, {name: {"groups": group or [], "members": members}})
        return {one: each for one, each in bound.items() if one == name}, await addresses(api, company_id)

    found, known = shell.perform(work)
    shell.show(FUNCTIONS(found), lambda every: display.functions(every.root, known))


ChangeId = Annotated[str, typer.Argument(help="Id of the change, or its beginning.")]
Remark = Annotated[str | None, typer.Option("--comment", help="Why, for the company's log.")]
changes = typer.Typer(help="Changes that wait for another person's approval.", no_args_is_help=True)
company.add_typer(changes, name="changes")


@changes.command("ls")
@calling
def list_changes(shell: Shell) -> None:
    """List the changes that wait, and those that were decided, the newest first."""

    async def work(api: Penstock) -> list[GatedChange]:
        return await taken(api.changes((await api.me()).company.id))

    shell.show(shell.perform(work), display.changes)


@changes.command("approve")
@calling
def approve_change(
    shell: Shell,
    change_id: ChangeId,
    digest: Annotated[str | None, typer.Option(help="The digest that you looked at. Default: that of now.")] = None,
    comment: Remark = None,
) -> None:
    """Do what another person asked for."""
    _decide(shell, change_id, digest, comment, approve=True)


@changes.command("deny")
@calling
def deny_change(
    shell: Shell,
    change_id: ChangeId,
    digest: Annotated[str | None, typer.Option(help="The digest that you looked at. Default: that of now.")] = None,
    comment: Remark = None,
) -> None:
    """Close a change without doing it."""
    _decide(shell, change_id, digest, comment, approve=False)


def _decide(shell: Shell, change_id: str, digest: str | None, comment: str | None, *, approve: bool) -> None:
    async def work(api: Penstock) -> GatedChange:
        company_id = (await api.me()).company.id
        named = await identified(api, CHANGE, change_id)
        shown = digest or next(one.digest for one in await taken(api.changes(company_id)) if one.id == named)
        decide = api.approve_change if approve else api.deny_change
        return await decide(company_id, named, shown, comment=comment)

    shell.show(shell.perform(work), lambda one: display.changes([one]))
