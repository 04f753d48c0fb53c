"""Notifications by the Python client."""

from __future__ import annotations

import asyncio

import pytest

from daemon.client import Penstock
from daemon.settings import Settings
from tests.web.support import PATIENCE_S, FarSide, House, Person


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"public_url": "https://penstock.test"})


async def test_notifications_are_managed_by_the_client(ann: Person, house: House, far: FarSide) -> None:
    address = str(house.client.make_url("")).rstrip("/")
    async with Penstock(address, ann.token) as api:
        quiet = {"from": "22:00", "to": "22:01", "timezone": "Europe/Vienna"}
        made = await api.add_notification("webhook", ["gate_opened"], url=far.url, digest=None, quiet_hours=quiet)
        assert (made.secret or "").startswith("whsec_")
        assert made.quiet_hours is not None
        assert (made.quiet_hours.begins, made.quiet_hours.timezone) == ("22:00", "Europe/Vienna")
        changed = await api.put_notification(made.id, "webhook", ["gate_opened"], description="the desk")
        assert (changed.description, changed.url) == ("the desk", f"{far.url}/…")
        assert [one.id async for one in api.notifications()] == [made.id]
        assert (await api.notification(made.id)) == changed
        assert (await api.test_notification(made.id)).ok
        await api.start("line", inputs={"amount": 1})
        async with asyncio.timeout(PATIENCE_S):
            while not (found := [one async for one in api.notification_deliveries(made.id)]) or not found[0].attempts:
                pass
        assert (await api.redeliver_notification(made.id, found[0].id)).status == "pending"
        await api.delete_notification(made.id)
        assert [one async for one in api.notifications()] == []


async def test_where_the_service_sends_no_mail_there_are_none_by_mail(ann: Person) -> None:
    body = {"kind": "email", "events": ["gate_opened"]}
    refused = await ann.post("/notifications/", body)
    assert "PENSTOCK_SMTP_URL" in refused.json["errors"][0]["detail"]
