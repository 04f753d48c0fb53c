"""Calendars: a company's business days, and the holidays of countries to begin one with."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from zoneinfo import reset_tzpath

import pytest

from tests.web.people import colleague, company
from tests.web.support import House, Person, assert_invalid, assert_problem
from tests.web.test_companies import company_of

VIENNA = {"timezone": "Europe/Vienna", "weekend": ["sunday"], "holidays": ["2026-12-25", "2027-01-01"]}


def calendar_of(person: Person) -> str:
    return f"{company(person)}/calendar"


async def test_a_calendar_counts_from_monday_to_friday_in_utc_until_it_is_changed(ann: Person) -> None:
    answer = await ann.get(calendar_of(ann))
    assert (answer.status, answer.json) == (
        200,
        {"timezone": "UTC", "weekend": ["saturday", "sunday"], "holidays": []},
    )


async def test_a_changed_calendar_leaves_what_it_does_not_name_and_is_audited(ann: Person) -> None:
    assert (await ann.put(calendar_of(ann), VIENNA)).json == VIENNA
    changed = await ann.put(calendar_of(ann), {"holidays": ["2027-01-01", "2026-12-24", "2027-01-01"]})
    assert (changed.status, changed.json) == (200, {**VIENNA, "holidays": ["2026-12-24", "2027-01-01"]})
    assert (await ann.put(calendar_of(ann), {"timezone": "Europe/Vienna"})).json == changed.json
    events = [one for one in (await ann.get("/audit/log")).json if one["event"]["type"] == "calendar_changed"]
    assert [one["event"]["number"] for one in events] == [2, 1]
    assert events[0]["event"]["before"]["holidays"] == VIENNA["holidays"]
    assert (events[0]["event"]["by"], events[0]["change"]["action"]) == (ann.email, "change_calendar")


async def test_days_count_by_the_calendar_once_a_change_is_answered(ann: Person) -> None:
    eve = datetime(2026, 12, 24, 22, 30, tzinfo=UTC)  # still that day in UTC, and in Vienna
    for _ in range(3):
        await ann.put(calendar_of(ann), VIENNA)
        calendar = (await company_of(ann)).calendar
        assert calendar.business_days_after(eve, 1) == datetime(2026, 12, 26, 22, 30, tzinfo=UTC)
        await ann.put(calendar_of(ann), {"weekend": ["saturday", "sunday"], "holidays": []})
        calendar = (await company_of(ann)).calendar
        assert calendar.business_days_after(eve, 1) == datetime(2026, 12, 25, 22, 30, tzinfo=UTC)
        assert calendar.is_business_day(date(2026, 12, 25))


async def test_a_calendar_outlives_a_restart(house: House, ann: Person) -> None:
    await ann.put(calendar_of(ann), VIENNA)
    await house.restart()
    assert (await ann.get(calendar_of(ann))).json == VIENNA


async def test_only_an_admin_changes_the_calendar_and_all_read_it(ann: Person) -> None:
    bob = await colleague(ann, "bob", "manager")
    refused = assert_problem(await bob.put(calendar_of(ann), VIENNA), 403, "forbidden")
    assert refused["required"] == "admin"
    assert (await bob.get(calendar_of(ann))).status == 200


async def test_the_calendar_of_another_company_is_not_there(ann: Person, eve: Person) -> None:
    assert_problem(await eve.get(calendar_of(ann)), 404, "not_found")
    assert_problem(await eve.put(calendar_of(ann), VIENNA), 404, "not_found")
    assert_problem(await eve.get(f"{calendar_of(ann)}/holidays?country=AT&year=2027"), 404, "not_found")


async def test_a_calendar_that_cannot_be_is_refused_by_pointer(ann: Person) -> None:
    path = calendar_of(ann)
    week = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
    assert_invalid(await ann.put(path, {"timezone": "Mars/Olympus"}), "/timezone")
    assert_invalid(await ann.put(path, {"timezone": "../../etc/passwd"}), "/timezone")
    assert_invalid(await ann.put(path, {"weekend": ["sunday", "someday"]}), "/weekend/1")
    assert_invalid(await ann.put(path, {"weekend": week}), "/weekend")
    for wrong in ("2026-02-30", "20261225", "2026-12-25T00:00:00Z", "٢٠٢٦-12-25", "tomorrow"):
        assert_invalid(await ann.put(path, {"holidays": ["2026-12-25", wrong]}), "/holidays/1")
    assert_invalid(await ann.put(path, {"holidays": ["2026-12-25"] * 1_001}), "/holidays")
    assert_invalid(await ann.put(path, {"time_zone": "UTC"}), "/time_zone")
    assert (await ann.get(path)).json["timezone"] == "UTC"


async def test_a_company_may_work_all_week(ann: Person) -> None:
    assert (await ann.put(calendar_of(ann), {"weekend": []})).json["weekend"] == []
    assert (await company_of(ann)).calendar.weekend == frozenset()


async def test_the_holidays_of_a_country_can_be_stored_as_they_are_listed(ann: Person) -> None:
    listed = await ann.get(f"{calendar_of(ann)}/holidays?country=DE&year=2027&subdivision=BY")
    assert (listed.status, listed.json["country"], listed.json["subdivision"]) == (200, "DE", "BY")
    days = {one["date"]: one["name"] for one in listed.json["holidays"]}
    assert days["2027-01-06"] == "Epiphany"
    assert "2027-01-06" not in [
        one["date"] for one in (await ann.get(f"{calendar_of(ann)}/holidays?country=DE&year=2027")).json["holidays"]
    ]
    assert (await ann.put(calendar_of(ann), {"holidays": list(days)})).json["holidays"] == sorted(days)


async def test_holidays_of_nowhere_are_refused_by_pointer(ann: Person) -> None:
    path = f"{calendar_of(ann)}/holidays"
    assert_invalid(await ann.get(f"{path}?year=2027"), "/country")
    assert_invalid(await ann.get(f"{path}?country=XX&year=2027"), "/country")
    assert_invalid(await ann.get(f"{path}?country=at&year=2027"), "/country")
    assert_invalid(await ann.get(f"{path}?country=AT"), "/year")
    assert_invalid(await ann.get(f"{path}?country=AT&year=9999"), "/year")
    assert_invalid(await ann.get(f"{path}?country=AT&year=2027&subdivision=ZZ"), "/subdivision")
    assert_invalid(await ann.get(f"{path}?country=AT&year=2027&region=1"), "/region")


@pytest.fixture
def _no_zones_of_the_system() -> Iterator[None]:
    reset_tzpath(to=())
    yield
    reset_tzpath()


@pytest.mark.usefixtures("_no_zones_of_the_system")
async def test_a_machine_without_time_zones_counts_as_any_other(ann: Person) -> None:
    await ann.put(calendar_of(ann), {"timezone": "Pacific/Auckland"})
    zone = (await company_of(ann)).calendar.zone
    assert datetime(2027, 7, 1, 12, tzinfo=UTC).astimezone(zone).hour == 0
