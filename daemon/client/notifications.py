"""The API of notifications as methods."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

from pydantic import TypeAdapter

from daemon.client.base import BaseClient
from daemon.client.transport import path
from daemon.contract.webhooks import NewNotificationRule, NotificationDelivery, NotificationRule, WebhookTestResult

NOTIFICATIONS = TypeAdapter(list[NotificationRule])
DELIVERIES = TypeAdapter(list[NotificationDelivery])


class NotificationsClient(BaseClient):
    """What people and groups are told of, and what they were told."""

    def notifications(self) -> AsyncIterator[NotificationRule]:
        """The caller's own, and for an admin those of groups."""
        return self._all("/notifications/", NOTIFICATIONS)

    async def notification(self, notification_id: str) -> NotificationRule:
        return await self._get(NotificationRule, "notifications", notification_id)

    async def add_notification(
        self, /, kind: str, events: Sequence[str], *, url: str | None = None, key: str | None = None, **more: Any
    ) -> NewNotificationRule:
        """Have the caller, or with `group` a group, told; `more` are further members of the body.

        This response alone has the secret that signs what a webhook gets.
        """
        body = _body(kind, events, url, more)
        return await self._post(NewNotificationRule, "/notifications/", body, key=key)

    async def put_notification(
        self, /, notification_id: str, kind: str, events: Sequence[str], *, url: str | None = None, **more: Any
    ) -> NotificationRule:
        """Change a notification; without `url` it keeps the one that it has."""
        body = _body(kind, events, url, more)
        return await self._put(NotificationRule, "notifications", notification_id, body=body)

    async def delete_notification(self, notification_id: str) -> None:
        """Delete a notification; no error when there is none."""
        await self._delete("notifications", notification_id)

    async def test_notification(self, notification_id: str) -> WebhookTestResult:
        """Send a test; it is never repeated."""
        return await self._post_once(WebhookTestResult, "notifications", notification_id, "test", body={})

    def notification_deliveries(self, notification_id: str) -> AsyncIterator[NotificationDelivery]:
        """What was sent or waits to be, newest first."""
        return self._all(path("notifications", notification_id, "deliveries"), DELIVERIES)

    async def redeliver_notification(
        self, notification_id: str, delivery_id: str, *, key: str | None = None
    ) -> NotificationDelivery:
        where = path("notifications", notification_id, "deliveries", delivery_id, "redeliver")
        return await self._post(NotificationDelivery, where, {}, key=key)


def _body(kind: str, events: Sequence[str], url: str | None, more: dict[str, Any]) -> dict[str, Any]:
    return {"kind": kind, "events": list(events), **({} if url is None else {"url": url}), **more}
