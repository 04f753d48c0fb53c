"""The command line. A command's module is imported when the command is asked for."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator, Mapping
from importlib import import_module
from types import ModuleType
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from daemon import __version__

COMMANDS = {
    "serve": "cli.serving:serve",
    "demo": "cli.serving:demo",
    "version": "cli:version",
    "keys": "commands.keys:tokens",
    "secrets": "commands.keys:secrets",
    "commits": "commands.keys:commits",
    "backup": "commands.backup:backup",
    "restore": "commands.backup:restore",
    "doctor": "commands.doctor:doctor",
    "migrate": "commands.backup:migrate",
    "mcp": "mcp.command:mcp",
    "verify": "commands.audit:verify",
    "audit": "commands.audit:audit",
    "register": "commands.login:register_company",
    "login": "commands.login:login",
    "logout": "commands.login:logout",
    "whoami": "commands.members:whoami",
    "members": "commands.members:members",
    "groups": "commands.members:groups",
    "autonomy": "commands.company:autonomy",
    "calendar": "commands.company:calendar",
    "company": "commands.company:company",
    "delegations": "commands.members:delegations",
    "companies": "commands.members:companies",
    "sessions": "commands.sessions:sessions",
    "actions": "commands.agents.actions:actions",
    "runs": "commands.runs:runs",
    "inbox": "commands.gates:inbox",
    "gates": "commands.gates:gates",
    "templates": "commands.templates:templates",
    "connectors": "commands.connectors:connectors",
    "webhooks": "commands.webhooks:webhooks",
    "notifications": "commands.webhooks:notifications",
    "api-keys": "commands.members:api_keys",
}
"""Each command, and the function or the group of functions that it is."""


def _imported(name: str) -> ModuleType:
    """A module, imported without the collector of garbage: what it defines stays."""
    gc.disable()
    try:
        return import_module(name)
    finally:
        gc.freeze()
        gc.enable()


class LazyCommands(Mapping[str, Any]):
    """The commands by name, each imported when it is taken."""

    def __getitem__(self, name: str) -> Any:
        module, _, attribute = COMMANDS[name].partition(":")
        found = getattr(_imported(f"daemon.{module}"), attribute)
        around = typer.Typer(callback=lambda: None)
        if isinstance(found, typer.Typer):
            around.add_typer(found, name=name)
        else:
            around.command(name)(found)
        return typer.main.get_group(around).commands[name]

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class OnDemand(TyperGroup):
    """The group of all commands."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = LazyCommands()  # type: ignore[assignment]  # it is only read


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(__version__)
        raise typer.Exit


app = typer.Typer(name="penstock", cls=OnDemand, no_args_is_help=True, pretty_exceptions_enable=False)


@app.callback()
def main(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Governed processes: what is safe flows, everything else waits at a gate for a human."""


def version(as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Print the version."""
    typer.echo(json.dumps({"version": __version__}, indent=2) if as_json else __version__)
