"""`penstock api-keys`: list, create, delete."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from daemon.commands import display
from daemon.commands.naming import API_KEY, resolved
from daemon.commands.remote import Shell, Yes, calling, confirm, taken

api_keys = typer.Typer(help="API keys of services and agents, which never decide.", no_args_is_help=True)


@api_keys.command("ls")
@calling
def ls(shell: Shell) -> None:
    """List the API keys."""
    found = shell.perform(lambda api: taken(api.api_keys()))
    shell.show(found, display.api_keys)


@api_keys.command("create")
@calling
def create(
    shell: Shell,
    name: Annotated[str, typer.Argument(help="Name of the key; records name it as who did something.")],
    kind: Annotated[str, typer.Option(help="agent or service.")] = "agent",
    role: Annotated[str, typer.Option(help="At most member for an agent, admin for a service.")] = "member",
    expires: Annotated[datetime | None, typer.Option(help="When it ends, in UTC; default: never.")] = None,
) -> None:
    """Create an API key; prints it once."""
    until = None if expires is None else expires.replace(tzinfo=UTC)
    made = shell.perform(lambda api: api.create_api_key(name, role=role, kind=kind, expires_at=until))
    if shell.as_json:
        display.print_json(made)
    else:
        display.show(display.api_keys([made]))
        display.show(display.text(f"key: {made.key}"))


@api_keys.command("rm")
@calling
def rm(
    shell: Shell,
    key_id: Annotated[str, typer.Argument(help="Id of the key, its beginning, or its name.")],
    yes: Yes = False,
) -> None:
    """Delete an API key; it counts nowhere from then on."""
    key_id = resolved(shell, API_KEY, key_id)
    confirm(yes, f"Delete {key_id}?", "Nothing was deleted.")
    shell.perform(lambda api: api.delete_api_key(key_id))
    shell.say({"deleted": key_id}, f"{key_id} was deleted")
