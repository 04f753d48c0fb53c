"""`penstock webhooks`: list, create, delete, deliveries."""

from __future__ import annotations

from typing import Annotated

import typer

from daemon.commands import display
from daemon.commands.base import AsJson, error_exit, print_result
from daemon.commands.remote import Token, Url, complete_webhook, perform, taken
from daemon.runtime import exit_codes

LISTED_MAX = 1_000
webhooks = typer.Typer(help="Webhooks: endpoints that receive events.", no_args_is_help=True)
WebhookId = Annotated[str, typer.Argument(help="Id of the webhook.", autocompletion=complete_webhook)]


@webhooks.command("ls")
def ls(as_json: AsJson = False, url: Url = None, token: Token = None) -> None:
    """List the webhooks."""
    found = perform(url, token, lambda api: taken(api.webhooks(), LISTED_MAX))
    display.show_result(found, display.webhooks, as_json=as_json)


@webhooks.command("add")
def add(
    to: Annotated[str, typer.Argument(help="The URL that receives events.")],
    event: Annotated[list[str] | None, typer.Option(help="An event type; repeat for more; default: all.")] = None,
    description: Annotated[str | None, typer.Option(help="Description.")] = None,
    as_json: AsJson = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Send future events to a URL; prints the signing secret once."""
    made = perform(url, token, lambda api: api.add_webhook(to, events=event or None, description=description))
    if as_json:
        display.print_json(made)
    else:
        display.show(display.webhooks([made]))
        display.show(display.text(f"secret: {made.secret}"))


@webhooks.command("rm")
def rm(
    webhook_id: WebhookId,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    as_json: AsJson = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Delete a webhook and its deliveries."""
    if not yes and not typer.confirm(f"Delete {webhook_id} and its deliveries?", err=True):
        raise error_exit("Nothing was deleted.", exit_codes.REFUSED)
    perform(url, token, lambda api: api.delete_webhook(webhook_id))
    print_result({"forgotten": webhook_id}, f"{webhook_id} was deleted", as_json=as_json)


@webhooks.command("deliveries")
def deliveries(
    webhook_id: WebhookId,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number.")] = 50,
    as_json: AsJson = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """List the deliveries of a webhook, newest first."""
    found = perform(url, token, lambda api: taken(api.deliveries(webhook_id), limit))
    display.show_result(found, display.deliveries, as_json=as_json)


@webhooks.command("redeliver")
def redeliver(
    webhook_id: WebhookId,
    delivery_id: Annotated[str, typer.Argument(help="Id of the delivery.")],
    as_json: AsJson = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Deliver an event again."""
    one = perform(url, token, lambda api: api.redeliver(webhook_id, delivery_id))
    display.show_result(one, lambda sent: display.deliveries([sent]), as_json=as_json)
