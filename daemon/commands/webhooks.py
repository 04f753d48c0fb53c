"""`penstock webhooks` and `penstock notifications`: list, create, test, delete, deliveries."""

from __future__ import annotations

import re
from typing import Annotated, Any, TypeAlias, get_args

import typer

from daemon.client import NewNotificationRule, NotificationRule, Penstock, WebhookTestResult
from daemon.commands import display
from daemon.commands.members import addresses
from daemon.commands.naming import GROUP, NOTIFICATION, TEMPLATE, WEBHOOK, delivery_of, identified, resolved
from daemon.commands.remote import (
    Shell,
    Yes,
    calling,
    complete_notification,
    complete_vertical,
    complete_webhook,
    confirm,
    read_token,
    taken,
)
from daemon.contract.webhooks import Digest, NotificationEvent, NotificationKind
from daemon.runtime import exit_codes

webhooks = typer.Typer(help="Webhooks: endpoints that receive events.", no_args_is_help=True)
WebhookId = Annotated[
    str, typer.Argument(help="Id of the webhook, its beginning, or the URL.", autocompletion=complete_webhook)
]


@webhooks.command("ls")
@calling
def list_webhooks(shell: Shell) -> None:
    """List the webhooks."""
    found = shell.perform(lambda api: taken(api.webhooks()))
    shell.show(found, display.webhooks)


@webhooks.command("add")
@calling
def add_webhook(
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
def test_webhook(shell: Shell, webhook_id: WebhookId) -> None:
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
def rotate_webhook(
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
def delete_webhook(shell: Shell, webhook_id: WebhookId, yes: Yes = False) -> None:
    """Delete a webhook and its deliveries."""
    webhook_id = resolved(shell, WEBHOOK, webhook_id)
    confirm(yes, f"Delete {webhook_id} and its deliveries?", "Nothing was deleted.")
    shell.perform(lambda api: api.delete_webhook(webhook_id))
    shell.say({"forgotten": webhook_id}, f"{webhook_id} was deleted")


@webhooks.command("deliveries")
@calling
def list_webhook_deliveries(
    shell: Shell, webhook_id: WebhookId, limit: Annotated[int, typer.Option(min=1, help="Maximum number.")] = 50
) -> None:
    """List the deliveries of a webhook, newest first."""
    webhook_id = resolved(shell, WEBHOOK, webhook_id)
    found = shell.perform(lambda api: taken(api.deliveries(webhook_id), limit))
    shell.show(found, display.deliveries)


@webhooks.command("redeliver")
@calling
def redeliver_webhook(
    shell: Shell,
    webhook_id: WebhookId,
    delivery_id: Annotated[str, typer.Argument(help="Id of the delivery, or its beginning.")],
) -> None:
    """Deliver an event again."""
    webhook_id = resolved(shell, WEBHOOK, webhook_id)
    delivery_id = resolved(shell, delivery_of(lambda api: api.deliveries(webhook_id)), delivery_id)
    one = shell.perform(lambda api: api.redeliver(webhook_id, delivery_id))
    shell.show(one, lambda sent: display.deliveries([sent]))


EVENTS = ", ".join(get_args(NotificationEvent))
QUIET = re.compile(r"(\d\d:\d\d)-(\d\d:\d\d)")
Found: TypeAlias = tuple[list[NotificationRule], dict[str, str]]
notifications = typer.Typer(help="Notifications: what people and groups are told of.", no_args_is_help=True)
NotificationId = Annotated[
    str, typer.Argument(help="Id of the notification, or its beginning.", autocompletion=complete_notification)
]


@notifications.command("ls")
@calling
def list_notifications(shell: Shell) -> None:
    """List your notifications, and for an admin those of groups."""

    async def work(api: Penstock) -> Found:
        return await taken(api.notifications()), await addresses(api, (await api.me()).company.id)

    found, known = shell.perform(work)
    shell.show(found, lambda every: display.notifications(every, known))


@notifications.command("add")
@calling
def add_notification(
    shell: Shell,
    kind: Annotated[NotificationKind, typer.Argument(help="The channel.")],
    event: Annotated[list[str] | None, typer.Option(help=f"Repeatable: {EVENTS}. Default: gate_opened.")] = None,
    to: Annotated[
        str | None,
        typer.Option(
            "--to-file",
            parser=read_token,
            metavar="FILE",
            help="File of the URL, a secret; - for standard input. Needed for all but email.",
        ),
    ] = None,
    group: Annotated[str | None, typer.Option(help="Tell this group; default: you.")] = None,
    vertical: Annotated[
        list[str] | None,
        typer.Option(help="Only this process; repeatable. Default: all.", autocompletion=complete_vertical),
    ] = None,
    quiet: Annotated[str | None, typer.Option(help="Send nothing between, such as 19:00-07:30.")] = None,
    timezone: Annotated[str | None, typer.Option(help="Of those times; default: the company's.")] = None,
    digest: Annotated[Digest | None, typer.Option(help="Collect what happens in an hour or a day.")] = None,
    description: Annotated[str | None, typer.Option(help="Description.")] = None,
) -> None:
    """Have yourself or a group told of gates and failures; prints the secret of a webhook once."""
    more = {"group": group, "verticals": vertical, "digest": digest, "description": description}
    body: dict[str, Any] = {name: value for name, value in more.items() if value is not None}
    if quiet is not None:
        body["quiet_hours"] = _quiet_hours(quiet, timezone)

    async def work(api: Penstock) -> tuple[NewNotificationRule, dict[str, str]]:
        if group is not None:
            await identified(api, GROUP, group)
        for one in vertical or ():
            await identified(api, TEMPLATE, one)
        made = await api.add_notification(kind, event or ["gate_opened"], url=to, **body)
        return made, await addresses(api, (await api.me()).company.id)

    made, known = shell.perform(work)
    if shell.as_json:
        display.print_json(made)
        return
    display.show(display.notifications([made], known))
    if made.secret is not None:
        display.show(display.text(f"secret: {made.secret}"))


@notifications.command("test")
@calling
def test_notification(shell: Shell, notification_id: NotificationId) -> None:
    """Send a test; exit code 1 unless it is taken."""
    notification_id = resolved(shell, NOTIFICATION, notification_id)
    tell_result(shell.perform(lambda api: api.test_notification(notification_id)), as_json=shell.as_json)


@notifications.command("deliveries")
@calling
def list_notification_deliveries(
    shell: Shell,
    notification_id: NotificationId,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number.")] = 50,
) -> None:
    """List the deliveries of a notification, newest first."""
    notification_id = resolved(shell, NOTIFICATION, notification_id)
    found = shell.perform(lambda api: taken(api.notification_deliveries(notification_id), limit))
    shell.show(found, display.deliveries)


@notifications.command("redeliver")
@calling
def redeliver_notification(
    shell: Shell,
    notification_id: NotificationId,
    delivery_id: Annotated[str, typer.Argument(help="Id of the delivery, or its beginning.")],
) -> None:
    """Deliver again what was to be told."""
    notification_id = resolved(shell, NOTIFICATION, notification_id)
    deliveries_of = delivery_of(lambda api: api.notification_deliveries(notification_id))
    delivery_id = resolved(shell, deliveries_of, delivery_id)
    one = shell.perform(lambda api: api.redeliver_notification(notification_id, delivery_id))
    shell.show(one, lambda sent: display.deliveries([sent]))


@notifications.command("rm")
@calling
def delete_notification(shell: Shell, notification_id: NotificationId, yes: Yes = False) -> None:
    """Delete a notification and its deliveries."""
    notification_id = resolved(shell, NOTIFICATION, notification_id)
    confirm(yes, f"Delete {notification_id} and its deliveries?", "Nothing was deleted.")
    shell.perform(lambda api: api.delete_notification(notification_id))
    shell.say({"deleted": notification_id}, f"{notification_id} was deleted")


def _quiet_hours(given: str, timezone: str | None) -> dict[str, str]:
    found = QUIET.fullmatch(given)
    if found is None:
        raise typer.BadParameter("--quiet takes two times of the day, such as 19:00-07:30")
    return {"from": found[1], "to": found[2], **({} if timezone is None else {"timezone": timezone})}
