"""`penstock inbox` and `penstock gates`: what waits for whom, claims, and taking a verdict back."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Annotated, Literal, TypeAlias

import typer

from daemon.client import GateCount, GatePreview, GateQuestion, GateRow, OpenGate, Penstock, Run
from daemon.commands import display
from daemon.commands.naming import RUN, TEMPLATE, gate_of, identified, resolved
from daemon.commands.remote import Shell, calling, complete_run, complete_vertical, taken
from daemon.runtime.clock import utc_now

RunId = Annotated[
    str, typer.Argument(help="Id of the run, its beginning, or the business key.", autocompletion=complete_run)
]
Step = Annotated[str | None, typer.Argument(help="The gate; required if several are open.")]
Vertical = Annotated[str | None, typer.Option(help="Filter by template.", autocompletion=complete_vertical)]
Risk = Annotated[
    Literal["low", "medium", "high", "critical"] | None, typer.Option("--tier", help="Filter by tier, the risk.")
]
Due = Annotated[datetime | None, typer.Option(help="Filter by deadline, in local time.")]
Words = Annotated[str | None, typer.Option(help="Words of label, business key and inputs.")]
Limit = Annotated[int, typer.Option(min=1, help="Maximum number.")]
PAGE_MAX = 200
Filters: TypeAlias = dict[str, str | datetime | None]
gates = typer.Typer(help="Open gates of all runs: what waits for whom, until when.", no_args_is_help=True)


@calling
def inbox(
    shell: Shell,
    vertical: Vertical = None,
    tier: Risk = None,
    due_before: Due = None,
    q: Words = None,
    limit: Limit = 50,
) -> None:
    """List the gates that wait for your decision, most urgent first."""
    which = _filters(vertical, tier, q, due_before)

    async def work(api: Penstock) -> tuple[list[GateRow], GateCount]:
        return await _rows(api, which, limit, mine=True), await api.count_gates(**which)

    found, count = shell.perform(work)
    if shell.as_json:
        display.print_json(found)
        return
    if found:
        display.show(display.gate_rows(found, utc_now()))
    display.ask(display.text(_rest(found, count), "dim"))


def _rest(found: Sequence[GateRow], count: GateCount) -> str:
    """What is not listed, and how to go on."""
    others = count.open - count.mine
    sentences = {
        "Nothing waits for you.": not found,
        f"{len(found)} of {count.mine} are shown: --limit shows more.": 0 < len(found) < count.mine,
        f"{others} more wait for others: penstock gates ls.": others > 0,
        "penstock runs resume RUN shows all of one, and takes your decision.": bool(found),
    }
    return " ".join(sentence for sentence, told in sentences.items() if told)


@gates.command("ls")
@calling
def ls(
    shell: Shell,
    vertical: Vertical = None,
    tier: Risk = None,
    due_before: Due = None,
    q: Words = None,
    limit: Limit = 50,
) -> None:
    """List the open gates, those for others, too, most urgent first."""
    which = _filters(vertical, tier, q, due_before)
    if shell.as_json:
        whole = partial(Penstock.gates, vertical=vertical, tier=tier, q=q, due_before=_local(due_before))
        display.print_json(shell.perform(lambda api: taken(whole(api, limit=min(limit, PAGE_MAX)), limit)))
        return
    found = shell.perform(lambda api: _rows(api, which, limit, mine=False))
    display.show(display.gate_rows(found, utc_now()))


async def _rows(api: Penstock, which: Filters, limit: int, *, mine: bool) -> list[GateRow]:
    found = await taken(api.gate_rows(mine=mine, limit=min(limit, PAGE_MAX), **which), limit)
    if not found and isinstance(vertical := which["vertical"], str):
        await identified(api, TEMPLATE, vertical)
    return found


def _filters(vertical: str | None, tier: str | None, q: str | None, due_before: datetime | None) -> Filters:
    return {"vertical": vertical, "tier": tier, "q": q, "due_before": _local(due_before)}


def _local(at: datetime | None) -> datetime | None:
    return None if at is None else at.astimezone()


@gates.command("show")
@calling
def show(shell: Shell, run_id: RunId, step_id: Step = None) -> None:
    """Show a gate with all that a decision depends on, and what follows on each."""
    run_id = resolved(shell, RUN, run_id)

    async def work(api: Penstock) -> tuple[Run, OpenGate, GatePreview]:
        run = await api.run(run_id)
        named = gate_of(run, step_id).step_id
        return run, await api.gate(run_id, named), await api.preview(run_id, named)

    run, found, preview = shell.perform(work)
    shell.show(found, lambda one: display.question(run, one.gate, preview, one))


@gates.command("claim")
@calling
def claim(shell: Shell, run_id: RunId, step_id: Step = None) -> None:
    """Say that you look at a gate; others may decide all the same."""
    run_id = resolved(shell, RUN, run_id)

    async def work(api: Penstock) -> OpenGate:
        return await api.claim(run_id, gate_of(await api.run(run_id), step_id).step_id)

    shell.show(shell.perform(work), display.open_gate)


@gates.command("release")
@calling
def release(shell: Shell, run_id: RunId, step_id: Step = None) -> None:
    """End the claim of a gate."""
    run_id = resolved(shell, RUN, run_id)

    async def work(api: Penstock) -> OpenGate:
        return await api.release(run_id, gate_of(await api.run(run_id), step_id).step_id)

    shell.show(shell.perform(work), display.open_gate)


@gates.command("withdraw")
@calling
def withdraw(shell: Shell, run_id: RunId, step_id: Step = None) -> None:
    """Take your verdict back while the gate is open."""
    run_id = resolved(shell, RUN, run_id)

    async def work(api: Penstock) -> Run:
        return await api.withdraw(run_id, gate_of(await api.run(run_id), step_id).step_id)

    shell.show(shell.perform(work), display.run)


@gates.command("ask")
@calling
def ask(
    shell: Shell,
    run_id: RunId,
    text: Annotated[str, typer.Argument(help="The question.")],
    gate: Annotated[str | None, typer.Option(help="The gate; required if several are open.")] = None,
) -> None:
    """Ask the agent of an action something before you decide."""
    run_id = resolved(shell, RUN, run_id)

    async def work(api: Penstock) -> GateQuestion:
        return await api.ask(run_id, gate_of(await api.run(run_id), gate).step_id, text)

    shell.show(shell.perform(work), display.asked)


@gates.command("answer")
@calling
def answer(
    shell: Shell,
    run_id: RunId,
    question: Annotated[str, typer.Argument(help="Id of the question.")],
    text: Annotated[str, typer.Argument(help="The answer.")],
    gate: Annotated[str | None, typer.Option(help="The gate; required if several are open.")] = None,
) -> None:
    """Answer what you, as the agent of an action, were asked."""
    run_id = resolved(shell, RUN, run_id)

    async def work(api: Penstock) -> GateQuestion:
        return await api.answer(run_id, gate_of(await api.run(run_id), gate).step_id, question, text)

    shell.show(shell.perform(work), display.asked)
