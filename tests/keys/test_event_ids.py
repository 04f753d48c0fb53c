"""The ids of events say nothing but where to go on."""

from __future__ import annotations

import pytest

from daemon.model.event_log import EventIds, Position

IDS = EventIds(b"k" * 32, plain_until=100)
PLACES = [Position(0, 0), Position(1, 1), Position(2, 1), Position(10**18, 10**6)]


def test_an_id_is_the_same_each_time_and_leads_back_to_its_position() -> None:
    for place in PLACES:
        text = IDS.encode("acme", place)
        assert text == IDS.encode("acme", place)
        assert IDS.parse("acme", text) == (place, b"")
        assert text.replace("-", "").replace("_", "").isalnum()
        assert len(text) == 38
    assert len({IDS.encode("acme", place) for place in PLACES}) == len(PLACES)


def test_an_id_tells_which_history_its_position_is_in() -> None:
    one, other = IDS.encode("acme", PLACES[2], b"1234"), IDS.encode("acme", PLACES[2], b"5678")
    assert (IDS.parse("acme", one), IDS.parse("acme", other)) == ((PLACES[2], b"1234"), (PLACES[2], b"5678"))


def test_an_id_means_nothing_to_another_company_or_under_another_key() -> None:
    text = IDS.encode("acme", PLACES[1])
    assert IDS.encode("other", PLACES[1]) != text
    assert IDS.parse("other", text) is None
    assert EventIds(b"x" * 32).parse("acme", text) is None


@pytest.mark.parametrize("text", ["", "x", "é", "=" * 38, "A" * 38, "A" * 39, "A" * 4_000, "1-", "-1", "1-2-3", "\x00"])
def test_what_is_no_id_is_none(text: str) -> None:
    assert IDS.parse("acme", text) is None


def test_ids_of_earlier_versions_count_up_to_where_they_were_given_out() -> None:
    assert IDS.parse("acme", "100-3") == (Position(100, 3), b"")
    assert IDS.parse("acme", "101-1") is None
