"""Messages fit what a channel takes."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from daemon.notifications.messages import (
    LISTED_MAX,
    SLACK_SECTION_CHARS_MAX,
    TEAMS_BYTES_MAX,
    Message,
    sample,
    slack,
    teams,
)
from daemon.runtime.json_codec import dumps

NOW = datetime(2026, 5, 4, 12, 30, tzinfo=UTC)
LONG = {"label": "\U0001f418" * 100, "process": "\u00fc" * 100, "business_key": "&" * 100, "by": "&" * 100}


def message(number: int, page: str = "https://penstock.test") -> Message:
    notices = [replace(sample(page), **LONG) for _ in range(number)]
    return Message(id="m", at=NOW, zone=UTC, notices=notices, inbox_url=f"{page}/#/")


@pytest.mark.parametrize("number", [1, 2, LISTED_MAX, 500])
def test_a_card_is_as_long_as_a_channel_of_teams_takes_it_and_counts_the_rest(number: int) -> None:
    card = teams(message(number))
    assert len(dumps(card)) <= TEAMS_BYTES_MAX
    body = card["attachments"][0]["content"]["body"]
    listed = sum(one["type"] == "Container" for one in body)
    assert listed >= 1
    rest = number - listed
    assert (f"And {rest} more." in str(body)) == (rest > 0)


@pytest.mark.parametrize("page", ["https://penstock.test", f"https://{'a' * 60}.test/{'b' * 2_000}"])
def test_a_section_is_as_long_as_slack_takes_it_and_has_its_link(page: str) -> None:
    sections = [one for one in slack(message(3, page))["blocks"] if one["type"] == "section"]
    for one in sections:
        assert len(one["text"]["text"]) <= SLACK_SECTION_CHARS_MAX
        assert f"<{page}/#/|" in one["text"]["text"]
