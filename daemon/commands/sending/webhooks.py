"""`penstock webhooks`: list, create, test, rotate, delete, deliveries."""

from __future__ import annotations

from typing import Annotated

import typer

from daemon.client import WebhookTestResult
from daemon.commands import display
from daemon.commands.naming import WEBHOOK, delivery_of, resolved
from daemon.commands.remote import Shell, Yes, calling, complete_webhook, confirm, taken
from daemon.runtime import exit_codes

webhooks = typer.Typer(help="Webhooks: endpoints that receive events.", no_args_is_help=True)
WebhookId = Annotated[
    str, typer.Argument(help="Id of the webhook, its beginning, or the URL.", autocompletion=complete_webhook)
]


@webhooks.command("ls")
@calling
def ls(shell: Shell) -> None:
    """List the webhooks."""
    found = shell.perform(lambda api: taken(api.webhooks()))
    shell.show(found, display.webhooks)


@webhooks.command("add")
@calling
def add(
    shell: Shell,
    to: Annotated[str, typer.Argument(help="The URL that receives events.")],
    event: Annotated[list[str] | None, typer.Option(help="An event type; repeat for more; default: all.")] = None,
    description: Annotated[str | None, typer.Option(help="Description.")] = None,
) -> None:
    """Send future events to a URL; prints the signing secret once."""
    made = shell.perform(lambda api: api.add_webhook(to, events=event or None, description=description))
    if shell.as_json:
        display.print_json(made)
    else:
        display.show(display.webhooks([made]))
        display.show(display.text(f"secret: {made.secret}"))


@webhooks.command("test")
@calling
def try_(shell: Shell, webhook_id: WebhookId) -> None:
    """Send a test; exit code 1 unless it is taken."""
    webhook_id = resolved(shell, WEBHOOK, webhook_id)
    tell_result(shell.perform(lambda api: api.test_webhook(webhook_id)), as_json=shell.as_json)


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
@calling
def rotate(
    shell: Shell,
    webhook_id: WebhookId,
    overlap: Annotated[int, typer.Option(min=0, help="Seconds in which the secret before signs, too.")] = 86_400,
) -> None:
    """Make a new signing secret; prints it once."""
    webhook_id = resolved(shell, WEBHOOK, webhook_id)
    made = shell.perform(lambda api: api.rotate_webhook(webhook_id, overlap_s=overlap))
    if shell.as_json:
        display.print_json(made)
    else:
        display.show(display.text(f"secret: {made.secret}"))
        display.show(display.text(f"the one before signs until {made.overlap_until:%Y-%m-%d %H:%M} UTC"))


@webhooks.command("rm")
@calling
def rm(shell: Shell, webhook_id: WebhookId, yes: Yes = False) -> None:
    """Delete a webhook and its deliveries."""
    webhook_id = resolved(shell, WEBHOOK, webhook_id)
    confirm(yes, f"Delete {webhook_id} and its deliveries?", "Nothing was deleted.")
    shell.perform(lambda api: api.delete_webhook(webhook_id))
    shell.say({"forgotten": webhook_id}, f"{webhook_id} was deleted")


@webhooks.command("deliveries")
@calling
def deliveries(
    shell: Shell, webhook_id: WebhookId, limit: Annotated[int, typer.Option(min=1, help="Maximum number.")] = 50
) -> None:
    """List the deliveries of a webhook, newest first."""
    webhook_id = resolved(shell, WEBHOOK, webhook_id)
    found = shell.perform(lambda api: taken(api.deliveries(webhook_id), limit))
    shell.show(found, display.deliveries)


@webhooks.command("redeliver")
@calling
def redeliver(
    shell: Shell,
    webhook_id: WebhookId,
    delivery_id: Annotated[str, typer.Argument(help="Id of the delivery, or its beginning.")],
) -> None:
    """Deliver an event again."""
    webhook_id = resolved(shell, WEBHOOK, webhook_id)
    delivery_id = resolved(shell, delivery_of(lambda api: api.deliveries(webhook_id)), delivery_id)
    one = shell.perform(lambda api: api.redeliver(webhook_id, delivery_id))
    shell.show(one, lambda sent: display.deliveries([sent]))
