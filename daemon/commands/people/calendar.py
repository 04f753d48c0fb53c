"""`penstock calendar`: show, set, and list the holidays of a country."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from daemon.client import Calendar, Holidays, Penstock
from daemon.commands import display
from daemon.commands.base import error_exit
from daemon.commands.remote import Shell, calling
from daemon.runtime import exit_codes

Part = Annotated[str | None, typer.Option(help="Code of a part of the country, such as a state.")]
Days = Annotated[list[str] | None, typer.Option(metavar="DATE", help="A day off, such as 2026-12-25; repeatable.")]
calendar = typer.Typer(help="The business days of the company.", no_args_is_help=True)


@calendar.command("show")
@calling
def show(shell: Shell) -> None:
    """Show time zone, weekend and holidays."""

    async def work(api: Penstock) -> Calendar:
        return await api.calendar((await api.me()).company.id)

    shell.show(shell.perform(work), display.calendar)


@calendar.command("set")
@calling
def change(
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
def holidays(
    shell: Shell,
    country: Annotated[str, typer.Argument(help="ISO 3166-1 code, such as AT.")],
    year: Annotated[int, typer.Option(help="Which year.")],
    subdivision: Part = None,
) -> None:
    """List the public holidays of a country; nothing is changed."""

    async def work(api: Penstock) -> Holidays:
        return await api.holidays((await api.me()).company.id, country, year, subdivision)

    shell.show(shell.perform(work), display.holidays)
