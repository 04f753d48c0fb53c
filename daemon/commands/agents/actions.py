"""`penstock actions`: the rules for the calls of agents, and the switch that stops them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from daemon.client import Action, ActionPauses, ActionRules, ActionSummary, ActionTrialResult, GatedChange, Penstock
from daemon.commands import display
from daemon.commands.naming import ACTION, identified, resolved
from daemon.commands.remote import Shell, Yes, calling, confirm, taken
from daemon.commands.runs import Status
from daemon.contract.actions import ActionRuleForm

Agent = Annotated[str | None, typer.Argument(help="Name of the agent's key. Default: all agents.")]
ActionId = Annotated[str, typer.Argument(help="Id of the action, or its beginning.")]
actions = typer.Typer(help="Calls that agents want to make: what decides about them.", no_args_is_help=True)
rules = typer.Typer(help="The rules that decide about calls.", no_args_is_help=True)
actions.add_typer(rules, name="rules")
SAID = frozenset(ActionRuleForm.model_fields)


@actions.command("ls")
@calling
def ls(
    shell: Shell,
    agent: Annotated[str | None, typer.Option(help="Filter by the name of the agent's key.")] = None,
    tool: Annotated[str | None, typer.Option(help="Filter by tool.")] = None,
    server: Annotated[str | None, typer.Option(help="Filter by the server of the tool.")] = None,
    rule: Annotated[str | None, typer.Option(help="Filter by the id of the rule that decided.")] = None,
    status: Annotated[Status | None, typer.Option(help="Filter by status.")] = None,
    outcome: Annotated[str | None, typer.Option(help="Filter by outcome; `unknown` are those in doubt.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number.")] = 50,
) -> None:
    """List the actions, newest first."""
    asked = {"agent": agent, "tool": tool, "server": server, "rule": rule, "status": status, "outcome": outcome}

    async def work(api: Penstock) -> list[ActionSummary]:
        return await taken(api.action_summaries(**asked, limit=min(limit, 200)), limit)

    shell.show(shell.perform(work), display.actions)


@actions.command("show")
@calling
def show(shell: Shell, action: ActionId) -> None:
    """Show an action: what an agent wants, what decided about it, and what came of it."""

    async def work(api: Penstock) -> Action:
        return await api.action(await identified(api, ACTION, action))

    shell.show(shell.perform(work), display.action)


@actions.command("cancel")
@calling
def cancel(
    shell: Shell,
    action: ActionId,
    reason: Annotated[str | None, typer.Option(help="Reason, which the agent reads.")] = None,
    yes: Yes = False,
) -> None:
    """Cancel an action that has not ended: one's own, and as a manager any."""
    action = resolved(shell, ACTION, action)
    confirm(yes, f"Cancel {action}?", "Nothing was cancelled.")
    shell.show(shell.perform(lambda api: api.cancel_action(action, reason=reason)), display.action)


@rules.command("propose")
@calling
def propose(shell: Shell, action: ActionId) -> None:
    """Propose always to allow such calls; an admin decides: `penstock company changes`."""

    async def work(api: Penstock) -> GatedChange:
        return await api.propose_action_rule(await identified(api, ACTION, action))

    shell.show(shell.perform(work), lambda one: display.changes([one]))


@rules.command("show")
@calling
def show_rules(shell: Shell) -> None:
    """Show the rules, how often each decided of late, and which agents are stopped."""

    async def work(api: Penstock) -> ActionRules:
        return await api.action_rules((await api.me()).company.id)

    shell.show(shell.perform(work), display.action_rules)


@rules.command("set")
@calling
def put_rules(
    shell: Shell,
    file: Annotated[Path, typer.Argument(help="Rules (YAML, JSON): a list, or what `show --json` prints.")],
) -> None:
    """Replace all rules by those of a file; what `show --json` printed, only while it is so."""
    given, version = _read(file)

    async def work(api: Penstock) -> ActionRules:
        return await api.put_action_rules((await api.me()).company.id, given, version=version)

    shell.show(shell.perform(work), display.action_rules)


@rules.command("try")
@calling
def try_rules(
    shell: Shell,
    tool: Annotated[str, typer.Argument(help="The tool of the call.")],
    arguments: Annotated[str, typer.Option(help="The arguments of the call (JSON).")] = "{}",
    agent: Annotated[str, typer.Option(help="Name of the agent's key.")] = "agent",
    model: Annotated[str | None, typer.Option(help="The agent's model.")] = None,
    server: Annotated[str | None, typer.Option(help="The server of the tool.")] = None,
) -> None:
    """Say what the rules say of a call; nothing is counted or asked."""
    try:
        parsed = json.loads(arguments)
    except ValueError as error:
        raise typer.BadParameter(f"--arguments: {error}") from None

    async def work(api: Penstock) -> ActionTrialResult:
        company_id = (await api.me()).company.id
        return await api.try_action_rules(company_id, tool, parsed, agent=agent, model=model, server=server)

    shell.show(shell.perform(work), display.action_trial)


@actions.command("pause")
@calling
def pause(
    shell: Shell, reason: Annotated[str, typer.Option(help="Why, for the company's log.")], agent: Agent = None
) -> None:
    """Stop an agent, or all: nothing of it begins, and what is approved is held."""

    async def work(api: Penstock) -> ActionPauses:
        return await api.pause_actions((await api.me()).company.id, reason, agent=agent)

    shell.show(shell.perform(work), display.action_pauses)


@actions.command("resume")
@calling
def resume(shell: Shell, agent: Agent = None) -> None:
    """Let an agent go on, or lift what stops all."""

    async def work(api: Penstock) -> None:
        await api.resume_actions((await api.me()).company.id, agent=agent)

    shell.perform(work)
    shell.say({"resumed": agent}, f"{agent or 'All agents'} may go on")


def _read(file: Path) -> tuple[list[dict[str, Any]], int | None]:
    """The rules of a file, and the version that they follow on, if it says one."""
    try:
        found = yaml.safe_load(file.read_text(encoding="utf-8"))
        given = found["rules"] if isinstance(found, dict) else found
        rules_ = [{name: one for name, one in each.items() if name in SAID and one is not None} for each in given]
    except (OSError, ValueError, TypeError, KeyError, AttributeError, yaml.YAMLError) as error:
        raise typer.BadParameter(f"{file} has no rules: {error}") from None
    return rules_, found.get("version") if isinstance(found, dict) else None
