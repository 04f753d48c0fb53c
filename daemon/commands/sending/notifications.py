"""`penstock notifications`: list, create, test, delete, deliveries."""

from __future__ import annotations

import re
from typing import Annotated, Any, TypeAlias, get_args

import typer

from daemon.client import NewNotificationRule, NotificationRule, Penstock
from daemon.commands import display
from daemon.commands.base import AsJson, error_exit, print_result
from daemon.commands.naming import GROUP, NOTIFICATION, TEMPLATE, delivery_of, identified, resolved
from daemon.commands.people.members import addresses
from daemon.commands.remote import (
    Token,
    Url,
    complete_notification,
    complete_vertical,
    perform,
    read_token,
    taken,
)
from daemon.commands.sending.webhooks import tell_result
from daemon.contract.webhooks import Digest, NotificationEvent, NotificationKind
from daemon.runtime import exit_codes

LISTED_MAX = 1_000
EVENTS = ", ".join(get_args(NotificationEvent))
QUIET = re.compile(r"(\d\d:\d\d)-(\d\d:\d\d)")
Found: TypeAlias = tuple[list[NotificationRule], dict[str, str]]
notifications = typer.Typer(help="Notifications: what people and groups are told of.", no_args_is_help=True)
NotificationId = Annotated[
    str,
    typer.Argument(help="Id of the notification, or its beginning.", autocompletion=complete_notification),
]


@notifications.command("ls")
def ls(as_json: AsJson = False, url: Url = None, token: Token = None) -> None:
    """List your notifications, and for an admin those of groups."""

    async def work(api: Penstock) -> Found:
        return await taken(api.notifications(), LISTED_MAX), await addresses(api, (await api.me()).company.id)

    found, known = perform(url, token, work)
    display.show_result(found, lambda every: display.notifications(every, known), as_json=as_json)


@notifications.command("add")
def add(
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
    as_json: AsJson = False,
    url: Url = None,
    token: Token = None,
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

    made, known = perform(url, token, work)
    if as_json:
        display.print_json(made)
        return
    display.show(display.notifications([made], known))
    if made.secret is not None:
        display.show(display.text(f"secret: {made.secret}"))


@notifications.command("test")
def try_(notification_id: NotificationId, as_json: AsJson = False, url: Url = None, token: Token = None) -> None:
    """Send a test; exit code 1 unless it is taken."""
    notification_id = resolved(url, token, NOTIFICATION, notification_id)
    tell_result(perform(url, token, lambda api: api.test_notification(notification_id)), as_json=as_json)


@notifications.command("deliveries")
def deliveries(
    notification_id: NotificationId,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number.")] = 50,
    as_json: AsJson = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """List the deliveries of a notification, newest first."""
    notification_id = resolved(url, token, NOTIFICATION, notification_id)
    found = perform(url, token, lambda api: taken(api.notification_deliveries(notification_id), limit))
    display.show_result(found, display.deliveries, as_json=as_json)


@notifications.command("redeliver")
def redeliver(
    notification_id: NotificationId,
    delivery_id: Annotated[str, typer.Argument(help="Id of the delivery, or its beginning.")],
    as_json: AsJson = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Deliver again what was to be told."""
    notification_id = resolved(url, token, NOTIFICATION, notification_id)
    deliveries_of = delivery_of(lambda api: api.notification_deliveries(notification_id))
    delivery_id = resolved(url, token, deliveries_of, delivery_id)
    one = perform(url, token, lambda api: api.redeliver_notification(notification_id, delivery_id))
    display.show_result(one, lambda sent: display.deliveries([sent]), as_json=as_json)


@notifications.command("rm")
def rm(
    notification_id: NotificationId,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    as_json: AsJson = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Delete a notification and its deliveries."""
    notification_id = resolved(url, token, NOTIFICATION, notification_id)
    if not yes and not typer.confirm(f"Delete {notification_id} and its deliveries?", err=True):
        raise error_exit("Nothing was deleted.", exit_codes.REFUSED)
    perform(url, token, lambda api: api.delete_notification(notification_id))
    print_result({"deleted": notification_id}, f"{notification_id} was deleted", as_json=as_json)


def _quiet_hours(given: str, timezone: str | None) -> dict[str, str]:
    found = QUIET.fullmatch(given)
    if found is None:
        raise typer.BadParameter("--quiet takes two times of the day, such as 19:00-07:30")
    return {"from": found[1], "to": found[2], **({} if timezone is None else {"timezone": timezone})}
