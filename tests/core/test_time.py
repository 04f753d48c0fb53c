"""Durations, business days, and what happens at gates and waits when time has passed."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from msgspec.structs import replace

from actors.core.gate_policy import Escalation
from actors.core.people import Company, Person
from actors.core.schedule import DAYS_MAX, BusinessCalendar, duration
from actors.core.template import ConditionFailed
from tests.conversations import ALONE, MORNING, Conversation
from tests.processes import choice, end, gate, parallel, process, wait

DAY = timedelta(days=1)
FRIDAY = datetime(2026, 3, 6, 16, 0, tzinfo=UTC)
ALL_WORK = BusinessCalendar()
MONDAY_OFF = BusinessCalendar(holidays=frozenset({date(2026, 3, 9)}))
TUESDAY_OFF = Company(solo=True, calendar=BusinessCalendar(holidays=frozenset({date(2026, 3, 3)})))


@pytest.mark.parametrize(
    ("text", "calendar", "over"),
    [
        ("PT72H", ALL_WORK, datetime(2026, 3, 9, 16, 0, tzinfo=UTC)),
        ("P1W", ALL_WORK, datetime(2026, 3, 13, 16, 0, tzinfo=UTC)),
        ("P11M25D", ALL_WORK, datetime(2027, 3, 3, 16, 0, tzinfo=UTC)),
        ("P1BD", ALL_WORK, datetime(2026, 3, 9, 16, 0, tzinfo=UTC)),
        ("P1BD", MONDAY_OFF, datetime(2026, 3, 10, 16, 0, tzinfo=UTC)),
        ("P1BD", BusinessCalendar(zone=ZoneInfo("Pacific/Auckland")), datetime(2026, 3, 8, 16, 0, tzinfo=UTC)),
        ("P1BD", BusinessCalendar(weekend=frozenset(range(7))), FRIDAY + timedelta(days=DAYS_MAX)),
    ],
)
def test_a_duration_ends_when_the_calendar_says(text: str, calendar: BusinessCalendar, over: datetime) -> None:
    assert duration(text).after(FRIDAY, calendar) == over


def test_a_calendar_without_any_business_day_is_looked_through_no_further_than_it_may_be() -> None:
    never = BusinessCalendar(weekend=frozenset(range(7)))
    assert never.business_days_before(FRIDAY, 1) == FRIDAY - timedelta(days=DAYS_MAX)


def test_a_month_ends_on_the_last_day_of_a_shorter_one() -> None:
    assert duration("P1M").after(datetime(2026, 1, 31, tzinfo=UTC), ALL_WORK) == datetime(2026, 2, 28, tzinfo=UTC)


@pytest.mark.parametrize("text", ["", "P", "PT", "P1X", "72h", "P3.5D", "P0BD", "PT0S", "P11Y", "P999BD", "P٣D"])
def test_no_other_text_is_a_duration(text: str) -> None:
    with pytest.raises(ValueError, match=r"no ISO 8601 duration|longer than nothing"):
        duration(text)


# ------------------------------------------------------------------------------------------ gates


def happened(talk: Conversation) -> tuple[str, ...]:
    return talk.events


def asking(**policy: Any) -> Conversation:
    return Conversation(process(gate("a", **policy), end(), ways="a -> end")).start()


def test_reminders_in_business_days_follow_the_calendar_without_a_deadline() -> None:
    talk = asking(remind=("P1BD", "P3BD"))
    assert (talk.gate("a").due_at, talk.gate("a").remind_at) == (None, (MORNING + DAY, MORNING + 3 * DAY))
    talk.review(TUESDAY_OFF)
    assert (talk.events, talk.run.reviewed) == (("gate_rescheduled",), True)
    assert talk.gate("a").remind_at == (MORNING + 2 * DAY, MORNING + 4 * DAY)
    talk.review(TUESDAY_OFF)
    assert happened(talk) == ()
    talk.due(5 * DAY)
    assert happened(talk) == ("gate_reminded",)
    assert talk.run.wake_at is None


def test_an_escalation_counts_its_business_days_from_its_own_begin() -> None:
    talk = asking(deadline="PT1H", on_deadline=Escalation("admin", "P1BD", "denied"))
    talk.due(timedelta(hours=1))
    assert (talk.events, talk.gate("a").escalated) == (("gate_escalated",), "admin")
    begun = talk.gate("a").escalated_at
    assert begun is not None
    assert talk.gate("a").due_at == begun + DAY
    talk.review(TUESDAY_OFF)
    assert (talk.events, talk.gate("a").due_at) == (("gate_rescheduled",), begun + 2 * DAY)
    talk.due(2 * DAY)
    assert (talk.events, talk.run.status) == (("gate_expired", "run_ended"), "completed")


def test_an_escalation_without_an_end_leaves_the_gate_open() -> None:
    talk = asking(deadline="P1BD", on_deadline=Escalation("admin"))
    talk.due(DAY)
    assert (talk.gate("a").escalated, talk.gate("a").due_at, talk.run.wake_at) == ("admin", None, None)
    talk.review(TUESDAY_OFF)
    assert (talk.events, talk.parked) == ((), ["a"])


def test_a_deadline_never_takes_a_decision_that_the_gate_does_not_offer() -> None:
    small = choice("a", "high", deadline="PT1H", on_deadline="denied")
    talk = Conversation(process(small, end(), ways="a -[yes]-> end\na -[no]-> end")).start()
    talk.due(timedelta(hours=1))
    assert (talk.events, talk.parked, talk.run.wake_at) == (("gate_rescheduled",), ["a"], None)


def test_two_gates_side_by_side_expire_in_one_turn() -> None:
    both: Any = {"deadline": "PT1H", "on_deadline": "denied"}
    fork = (parallel("fork"), gate("legal", **both), gate("money", **both), parallel("join"), end())
    ways = "fork -> legal -> join -> end\nfork -> money -> join"
    talk = Conversation(process(*fork, ways=ways)).start()
    talk.due(timedelta(hours=1))
    assert (talk.events, talk.run.status) == (("gate_expired", "gate_expired", "run_ended"), "completed")


def test_a_daemon_whose_clock_is_behind_turns_no_history_back_and_moves_no_deadline() -> None:
    fork = (parallel("fork"), gate("legal"), gate("money", deadline="PT1H", on_deadline="denied"), parallel("join"))
    ways = "fork -> legal -> join -> end\nfork -> money -> join"
    talk = Conversation(process(*fork, end(), ways=ways)).start()
    before, due_at = talk.run.updated_at, talk.gate("money").due_at
    talk.passed = timedelta(minutes=-30)
    talk.resume("legal")
    assert (talk.events[0], talk.run.updated_at, talk.gate("money").due_at) == ("verdict_given", before, due_at)
    talk.due(timedelta(minutes=80))
    assert happened(talk) == ()
    talk.due(timedelta(minutes=8))
    assert (talk.events, talk.run.status) == (("gate_expired", "run_ended"), "completed")


def test_a_review_leaves_a_gate_alone_that_asks_for_nobody_in_particular() -> None:
    talk = asking(deadline="P1BD", on_deadline="denied")
    talk.review(TUESDAY_OFF)
    assert (talk.events, talk.gate("a").due_at) == (("gate_rescheduled",), MORNING + 2 * DAY)
    talk.review(Company({"bob": Person("1", "bob", "manager")}, calendar=TUESDAY_OFF.calendar))
    assert talk.events == ()


# ------------------------------------------------------------------------------------------ waits


class Until:
    """A time that a step waits for."""

    text = "inputs.when"
    reads = ("when",)

    def time(self, inputs: dict[str, object], _facts: dict[str, object], _clocks: object = None) -> datetime:
        when = inputs.get("when")
        if not isinstance(when, str):
            raise ConditionFailed("inputs.when is no time")
        return datetime.fromisoformat(when)


UNTIL = process(wait("a", until=Until()), end(), ways="a -> end")


def test_a_wait_until_a_time_that_has_passed_is_over_at_once() -> None:
    talk = Conversation(UNTIL).start({"when": "2026-03-01T00:00:00+00:00"})
    assert talk.events == ("run_started", "step_entered", "wait_ended", "step_entered", "run_ended")


def test_a_wait_until_a_time_goes_on_then() -> None:
    talk = Conversation(UNTIL).start({"when": "2026-03-03T09:00:00+00:00"})
    assert (talk.run.status, talk.run.wake_at) == ("waiting", MORNING + DAY)
    talk.due(DAY)
    assert (talk.events, talk.run.status) == (("wait_ended", "step_entered", "run_ended"), "completed")


def test_where_the_time_is_not_clear_a_human_says_go_on_or_stop() -> None:
    talk = Conversation(UNTIL).start()
    assert (talk.gate("a").reason, talk.gate("a").missing) == ("the input when is missing", ("/when",))
    talk = Conversation(UNTIL).start({"when": 5})
    assert talk.gate("a").reason.startswith("the time inputs.when has no clear answer")
    talk.resume("a")
    assert (talk.events[1], talk.run.status) == ("wait_ended", "completed")
    talk = Conversation(UNTIL).start()
    talk.resume("a", "denied")
    assert talk.run.status == "completed"
    assert talk.steps() == ["a:1 denied"]


def test_a_wait_in_business_days_follows_the_calendar() -> None:
    talk = Conversation(process(wait("a", duration="P1BD"), end(), ways="a -> end")).start()
    assert (talk.run.reviewed, talk.run.wake_at) == (True, MORNING + DAY)
    talk.review(TUESDAY_OFF)
    assert (talk.events, talk.run.wake_at) == (("wait_began",), MORNING + 2 * DAY)
    talk.review(ALONE)
    talk.review(replace(ALONE, calendar=BusinessCalendar(weekend=frozenset())))
    assert talk.run.wake_at == MORNING + DAY


def test_a_wait_for_a_message_alone_is_never_due() -> None:
    ways = "fork -> letter -[message]-> join -> end\nfork -> pause -> join"
    both = process(
        parallel("fork"),
        wait("letter", message="letter"),
        wait("pause", duration="PT1H"),
        parallel("join"),
        end(),
        ways=ways,
    )
    talk = Conversation(both).start()
    talk.due(timedelta(hours=1))
    assert (talk.events[0], talk.run.status) == ("wait_ended", "waiting")
    talk.due(400 * DAY)
    assert talk.events == ()
    talk.deliver("letter", {"pages": 2})
    assert talk.run.status == "completed"


def test_a_message_that_came_early_is_taken_when_the_step_is_reached() -> None:
    talk = Conversation(
        process(gate("ask"), wait("a", message="letter"), end(), ways="ask -> a -[message]-> end")
    ).start()
    talk.deliver("other")
    talk.deliver("letter", {"pages": 2})
    talk.resume("ask")
    assert (talk.run.status, talk.run.facts["a"]) == ("completed", {"ended_by": "message", "payload": {"pages": 2}})


def test_a_run_keeps_so_many_messages_and_no_more() -> None:
    talk = asking()
    for _ in range(100):
        talk.deliver("letter")
    talk.deliver("letter")
    assert (talk.refusal.code, talk.refusal.more) == ("quota_exceeded", {"budget": "messages", "limit": 100})
