"""Copies of redacted values are found in texts, in time that grows as the values and texts do."""

from __future__ import annotations

from typing import Any

import pytest

from daemon.model.retention.records import NotRedactable
from daemon.model.retention.redaction import RedactionMatcher
from tests.effort import Effort


@pytest.mark.parametrize(
    ("value", "text", "everywhere", "in_speech"),
    [
        ("Smith", "mr. SMITHSON", True, False),
        ("Anna Smith", "it is anna smith.", True, True),
        ("Anna Smith", "JoAnna Smithson", True, False),
        ("Anna Smith", "/people/anna%20smith?x", True, True),
        ("Anna Smith", "/people?name=Anna+Smith", True, True),
        (4711, "of 4711.", True, False),
        (4711, "of 14711", False, False),
        (4711, "of 4711.5", False, False),
        (4711, "of 3.4711", False, False),
        (4711, "a4711b", True, False),
        (12345678, "of 12345678.", True, True),
        (12345678, "of 12345678.5 and 0.12345678", False, False),
        ({"a": ["no", {"b": "Straße 7"}]}, "in der STRASSE 7", True, True),
        ("no", "no", False, False),
        ("", "anything", False, False),
    ],
)
def test_a_copy_is_found_in_a_text(value: Any, text: str, everywhere: bool, in_speech: bool) -> None:
    found = RedactionMatcher([value], frozenset())
    assert (found.in_text(text), found.in_speech(text)) == (everywhere, in_speech)


def test_what_stands_for_a_redacted_value_is_looked_for_no_more() -> None:
    assert not RedactionMatcher([["gone for good"]], frozenset({"gone for good"})).in_text("gone for good")


def test_many_values_are_looked_for_as_fast_as_a_few() -> None:
    text = " ".join(f"k{number}" for number in range(2_000))

    def effort(count: int) -> int:
        matcher = RedactionMatcher([[f"value {number}" for number in range(count)]], frozenset())
        with Effort() as done:
            assert not matcher.in_text(text)
        return done.steps

    assert effort(2_000) <= 2 * effort(20)


def test_values_that_are_too_much_alike_are_refused_before_they_take_minutes() -> None:
    matcher = RedactionMatcher([["a" * 3 + "b" * number for number in range(1, 1_500)]], frozenset())
    with pytest.raises(NotRedactable):
        matcher.in_text("a" * 100_000)
