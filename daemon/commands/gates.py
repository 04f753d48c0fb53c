"""`penstock gates`: the inbox, one gate, claims, and taking a verdict back."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

import typer

from daemon.client import OpenGate, Penstock, Run
from daemon.commands import display
from daemon.commands.base import AsJson, error_exit
from daemon.commands.remote import Token, Url, complete_run, complete_vertical, perform, taken
from daemon.runtime import exit_codes

RunId = Annotated[str, typer.Argument(help="Id of the run.", autocompletion=complete_run)]
Step = Annotated[str | None, typer.Argument(help="The gate; required if several are open.")]
Tier = Literal["low", "medium", "high", "critical"]
gates = typer.Typer(help="Open gates: what waits for whom, until when.", no_args_is_help=True)


@gates.command("ls")
def ls(
    mine: Annotated[bool, typer.Option("--mine", help="Only those at which you may decide.")] = False,
    vertical: Annotated[str | None, typer.Option(help="Filter by template.", autocompletion=complete_vertical)] = None,
    tier: Annotated[Tier | None, typer.Option(help="Filter by tier.")] = None,
    due_before: Annotated[datetime | None, typer.Option(help="Filter by deadline, in local time.")] = None,
    q: Annotated[str | None, typer.Option(help="Words of label, business key and inputs.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number.")] = 50,
    as_json: AsJson = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """List the open gates, most urgent first."""
    due = None if due_before is None else due_before.astimezone()

    async def work(api: Penstock) -> list[OpenGate]:
        found = api.gates(mine=mine, vertical=vertical, tier=tier, due_before=due, q=q, limit=min(limit, 200))
        return await taken(found, limit)

    display.show_result(perform(url, token, work), display.open_gates, as_json=as_json)


@gates.command("show")
def show(run_id: RunId, step_id: Step = None, as_json: AsJson = False, url: Url = None, token: Token = None) -> None:
    """Show a gate: what it asks, who decides, by when, what was decided so far."""

    async def work(api: Penstock) -> OpenGate:
        return await api.gate(run_id, await _step(api, run_id, step_id))

    display.show_result(perform(url, token, work), display.open_gate, as_json=as_json)


@gates.command("claim")
def claim(run_id: RunId, step_id: Step = None, as_json: AsJson = False, url: Url = None, token: Token = None) -> None:
    """Say that you look at a gate; others may decide all the same."""

    async def work(api: Penstock) -> OpenGate:
        return await api.claim(run_id, await _step(api, run_id, step_id))

    display.show_result(perform(url, token, work), display.open_gate, as_json=as_json)


@gates.command("release")
def release(run_id: RunId, step_id: Step = None, as_json: AsJson = False, url: Url = None, token: Token = None) -> None:
    """End the claim of a gate."""

    async def work(api: Penstock) -> OpenGate:
        return await api.release(run_id, await _step(api, run_id, step_id))

    display.show_result(perform(url, token, work), display.open_gate, as_json=as_json)


@gates.command("withdraw")
def withdraw(
    run_id: RunId, step_id: Step = None, as_json: AsJson = False, url: Url = None, token: Token = None
) -> None:
    """Take your verdict back while the gate is open."""

    async def work(api: Penstock) -> Run:
        return await api.withdraw(run_id, await _step(api, run_id, step_id))

    display.show_result(perform(url, token, work), display.run, as_json=as_json)


async def _step(api: Penstock, run_id: str, named: str | None) -> str:
    """The named gate, or the only open one."""
    if named is not None:
        return named
    run = await api.run(run_id)
    if len(run.gates) == 1:
        return run.gates[0].step_id
    if not run.gates:
        raise error_exit(f"The run is {run.status} and has no open gate.", exit_codes.REFUSED)
    raise error_exit(f"Name one of its gates: {', '.join(run.parked_gates)}.", exit_codes.REFUSED)
