"""`penstock webhooks`: list, create, test, rotate, delete, deliveries."""

from __future__ import annotations

from typing import Annotated

import typer

from daemon.client import WebhookTestResult
from daemon.commands import display
from daemon.commands.base import AsJson, error_exit, print_result
from daemon.commands.naming import WEBHOOK, delivery_of, resolved
from daemon.commands.remote import Token, Url, complete_webhook, perform, taken
from daemon.runtime import exit_codes

LISTED_MAX = 1_000
webhooks = typer.Typer(help="Webhooks: endpoints that receive events.", no_args_is_help=True)
WebhookId = Annotated[
    str, typer.Argument(help="Id of the webhook, its beginning, or the URL.", autocompletion=complete_webhook)
]


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


@webhooks.command("test")
def try_(webhook_id: WebhookId, as_json: AsJson = False, url: Url = None, token: Token = None) -> None:
    """Send a test; exit code 1 unless it is taken."""
    webhook_id = resolved(url, token, WEBHOOK, webhook_id)
    tell_result(perform(url, token, lambda api: api.test_webhook(webhook_id)), as_json=as_json)


def tell_result(found: WebhookTestResult, *, as_json: bool) -> None:
    """Say what became of a test, and exit by it."""
    if as_json:
        display.print_json(found)
    else:
        answered = "" if found.status_code is None else f", status {found.status_code} in {found.latency_ms} ms"
        why = f": {found.error}" if found.error else ""
        display.show(display.text(f"{'taken' if found.ok else 'not taken'}{answered}{why}"))
    raise typer.Exit(0 if found.ok else exit_codes.REFUSED)


@webhooks.command("rotate")
def rotate(
    webhook_id: WebhookId,
    overlap: Annotated[int, typer.Option(min=0, help="Seconds in which the secret before signs, too.")] = 86_400,
    as_json: AsJson = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Make a new signing secret; prints it once."""
    webhook_id = resolved(url, token, WEBHOOK, webhook_id)
    made = perform(url, token, lambda api: api.rotate_webhook(webhook_id, overlap_s=overlap))
    if as_json:
        display.print_json(made)
    else:
        display.show(display.text(f"secret: {made.secret}"))
        display.show(display.text(f"the one before signs until {made.overlap_until:%Y-%m-%d %H:%M} UTC"))


@webhooks.command("rm")
def rm(
    webhook_id: WebhookId,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    as_json: AsJson = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Delete a webhook and its deliveries."""
    webhook_id = resolved(url, token, WEBHOOK, webhook_id)
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
    webhook_id = resolved(url, token, WEBHOOK, webhook_id)
    found = perform(url, token, lambda api: taken(api.deliveries(webhook_id), limit))
    display.show_result(found, display.deliveries, as_json=as_json)


@webhooks.command("redeliver")
def redeliver(
    webhook_id: WebhookId,
    delivery_id: Annotated[str, typer.Argument(help="Id of the delivery, or its beginning.")],
    as_json: AsJson = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Deliver an event again."""
    webhook_id = resolved(url, token, WEBHOOK, webhook_id)
    delivery_id = resolved(url, token, delivery_of(lambda api: api.deliveries(webhook_id)), delivery_id)
    one = perform(url, token, lambda api: api.redeliver(webhook_id, delivery_id))
    display.show_result(one, lambda sent: display.deliveries([sent]), as_json=as_json)
