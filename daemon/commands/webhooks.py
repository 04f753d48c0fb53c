"""`penstock webhooks`: who is told of what happens, and what became of it."""

from __future__ import annotations

from typing import Annotated

import typer

from daemon.client import Delivery, Penstock
from daemon.commands import display
from daemon.commands.base import AsJson, refused, tell
from daemon.commands.remote import Token, Url, complete_webhook, perform, taken
from daemon.runtime import exit_codes

LISTED_MAX = 1_000
webhooks = typer.Typer(help="Webhooks: who is told of what happens.", no_args_is_help=True)
WebhookId = Annotated[str, typer.Argument(help="Id of the webhook.", autocompletion=complete_webhook)]


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    app.add_typer(webhooks, name="webhooks")


@webhooks.command("ls")
def ls(as_json: AsJson = False, url: Url = None, token: Token = None) -> None:
    """List the webhooks."""
    found = perform(url, token, lambda api: taken(api.webhooks(), LISTED_MAX))
    display.answer(found, display.webhooks, as_json=as_json)


@webhooks.command("add")
def add(
    to: Annotated[str, typer.Argument(help="The URL that is told.")],
    event: Annotated[list[str] | None, typer.Option(help="A type of event; once for each; all without it.")] = None,
    description: Annotated[str | None, typer.Option(help="What it is for.")] = None,
    as_json: AsJson = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Have events sent to a URL, from now on; shows the secret that signs them, which is not shown again."""
    made = perform(url, token, lambda api: api.add_webhook(to, events=event or None, description=description))
    if as_json:
        display.say_json(made)
    else:
        display.say(display.webhooks([made]))
        display.say(display.text(f"secret: {made.secret}"))


@webhooks.command("rm")
def rm(
    webhook_id: WebhookId,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask again.")] = False,
    as_json: AsJson = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Forget a webhook, with its deliveries."""
    if not yes and not typer.confirm(f"Forget {webhook_id} and its deliveries?", err=True):
        raise refused(ValueError("Nothing was forgotten."), exit_codes.REFUSED)
    perform(url, token, lambda api: api.delete_webhook(webhook_id))
    tell({"forgotten": webhook_id}, f"{webhook_id} is told nothing any more", as_json=as_json)


@webhooks.command("deliveries")
def deliveries(
    webhook_id: WebhookId,
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 50,
    as_json: AsJson = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """List what was sent to a webhook or waits to be, newest first."""

    async def work(api: Penstock) -> list[Delivery]:
        return await taken(api.deliveries(webhook_id), limit)

    found = perform(url, token, work)
    display.answer(found, display.deliveries, as_json=as_json)


@webhooks.command("redeliver")
def redeliver(
    webhook_id: WebhookId,
    delivery_id: Annotated[str, typer.Argument(help="Id of the delivery.")],
    as_json: AsJson = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Send an event to a webhook once more."""
    one = perform(url, token, lambda api: api.redeliver(webhook_id, delivery_id))
    display.answer(one, lambda sent: display.deliveries([sent]), as_json=as_json)
