"""`penstock api-keys`: list, create, delete."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from daemon.commands import display
from daemon.commands.base import AsJson, error_exit, print_result
from daemon.commands.naming import API_KEY, resolved
from daemon.commands.remote import Token, Url, perform, taken
from daemon.runtime import exit_codes

LISTED_MAX = 1_000
api_keys = typer.Typer(help="API keys of services and agents, which never decide.", no_args_is_help=True)


@api_keys.command("ls")
def ls(as_json: AsJson = False, url: Url = None, token: Token = None) -> None:
    """List the API keys."""
    found = perform(url, token, lambda api: taken(api.api_keys(), LISTED_MAX))
    display.show_result(found, display.api_keys, as_json=as_json)


@api_keys.command("create")
def create(
    name: Annotated[str, typer.Argument(help="Name of the key; records name it as who did something.")],
    kind: Annotated[str, typer.Option(help="agent or service.")] = "agent",
    role: Annotated[str, typer.Option(help="At most member for an agent, admin for a service.")] = "member",
    expires: Annotated[datetime | None, typer.Option(help="When it ends, in UTC; default: never.")] = None,
    as_json: AsJson = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Create an API key; prints it once."""
    until = None if expires is None else expires.replace(tzinfo=UTC)
    made = perform(url, token, lambda api: api.create_api_key(name, role=role, kind=kind, expires_at=until))
    if as_json:
        display.print_json(made)
    else:
        display.show(display.api_keys([made]))
        display.show(display.text(f"key: {made.key}"))


@api_keys.command("rm")
def rm(
    key_id: Annotated[str, typer.Argument(help="Id of the key, its beginning, or its name.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    as_json: AsJson = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Delete an API key; it counts nowhere from then on."""
    key_id = resolved(url, token, API_KEY, key_id)
    if not yes and not typer.confirm(f"Delete {key_id}?", err=True):
        raise error_exit("Nothing was deleted.", exit_codes.REFUSED)
    perform(url, token, lambda api: api.delete_api_key(key_id))
    print_result({"deleted": key_id}, f"{key_id} was deleted", as_json=as_json)
