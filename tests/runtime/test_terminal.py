"""Text of others on a terminal."""

from __future__ import annotations

import json

from daemon.runtime.terminal import clean, clean_lines

HOSTILE = "a\x1b[2Jb\x07\r\x9b31mc\u202ed\u2066\U000e0041\x7f\ud800"


def test_what_moves_the_cursor_or_turns_the_text_is_escaped() -> None:
    assert clean(HOSTILE) == ("a\\u001b[2Jb\\u0007\\u000d\\u009b31mc\\u202ed\\u2066\\udb40\\udc41\\u007f\\ud800")
    assert clean("line\nline") == "line\\u000aline"


def test_names_of_people_stay_as_they_are() -> None:
    assert clean("Zoë Ødegård 王小明 😀") == "Zoë Ødegård 王小明 😀"


def test_lines_stay_lines_and_json_stays_the_same_json() -> None:
    written = json.dumps({"label": HOSTILE}, indent=2, ensure_ascii=False)
    cleaned = clean_lines(written)
    assert cleaned.count("\n") == 2
    assert all(one.isprintable() for one in cleaned.split("\n"))
    assert json.loads(cleaned) == {"label": HOSTILE}
