"""What comes back from outside never shows a secret again, in whatever form it was echoed."""

from __future__ import annotations

import json
from base64 import b64encode, urlsafe_b64encode
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

from actors.core.calls import Connector
from daemon.connectors.credentials import Masker, StreamMasker, excerpt, secrets_of
from tests.effort import Effort

SECRET = 'k\u00e4y-"7f/+ ?Zz9\\x'
RAW = SECRET.encode()
ECHOES = [
    SECRET,
    json.dumps(SECRET),
    b64encode(RAW).decode(),
    urlsafe_b64encode(RAW).decode().rstrip("="),
    RAW.hex(),
    RAW.hex().upper(),
    quote(SECRET),
    quote(SECRET, safe="").lower(),
    quote_plus(SECRET),
]


@pytest.mark.parametrize("echo", ECHOES)
def test_an_echoed_secret_is_masked(echo: str) -> None:
    masked = Masker([SECRET]).mask(f"before {echo} after")
    assert echo.strip('"') not in masked
    assert "***" in masked


@pytest.mark.parametrize("before", range(4))
@pytest.mark.parametrize("after", range(4))
def test_a_secret_inside_longer_base64_is_masked(before: int, after: int) -> None:
    whole = b64encode(b"x" * before + RAW + b"y" * after).decode()
    assert len(Masker([SECRET]).mask(whole).replace("***", "")) <= before * 2 + after * 2 + 8


def test_names_and_strings_of_json_are_masked_and_numbers_stay() -> None:
    value: Any = {"a": [f"Bearer {SECRET}", 1, None, True], SECRET: {"b": SECRET}}
    assert Masker([SECRET]).value(value) == {"a": ["Bearer ***", 1, None, True], "***": {"b": "***"}}


def test_without_a_secret_nothing_changes() -> None:
    value = {"a": ["b"]}
    assert Masker([]).value(value) is value
    assert Masker(["abc"]).mask("abc") == "abc"


def test_the_password_of_a_basic_secret_is_masked_by_itself() -> None:
    connector = Connector("lab", 1, "http://x.test", "GET", "", auth_type="basic")
    assert Masker(secrets_of(connector, "user:hunter22")).mask("user hunter22") == "user ***"


def test_an_excerpt_is_masked_before_it_is_cut() -> None:
    text = excerpt("x" * 495 + "secret-canary", ["secret-canary"])
    assert text == "x" * 495 + "***"
    assert len(excerpt({"a": "y" * 9_000}, []) or "") == 500
    assert excerpt(None, []) is None


def test_each_form_of_a_secret_is_sought_once_in_a_text_that_has_it_nowhere() -> None:
    """In a text of almost nothing but its beginnings; `str.find` itself is linear."""
    secret, text = "a" * 7_999 + "b", "a" * 262_144
    with Effort() as effort:
        assert Masker([secret, secret.encode().hex()]).value([text, text.encode().hex()])[0] == text
    assert effort.calls("str.find") < 100
    assert effort.steps < 2_000


@pytest.mark.parametrize("before", ["", "\u0130\u0130", "\u212a\u1e9e\ufb01"])
def test_what_stands_beside_a_masked_secret_stays_as_it_was(before: str) -> None:
    assert Masker([SECRET]).mask(f"{before}{RAW.hex().upper()}\u0130") == f"{before}***\u0130"


def test_places_that_overlap_become_one_mask() -> None:
    assert Masker(["abcd1", "cd1ef"]).mask("-abcd1ef-") == "-***-"


@pytest.mark.parametrize("size", [1, 2, 7, 1_000])
def test_a_secret_is_masked_in_what_comes_in_pieces(size: int) -> None:
    masker = StreamMasker(Connector("t", 1, "http://t.test", "POST", "", auth_type="bearer"), SECRET)
    whole = f"before {SECRET} between {SECRET.encode().hex()} after".encode()
    pieces = [whole[at : at + size] for at in range(0, len(whole), size)]
    assert b"".join([*map(masker.feed, pieces), masker.flush()]) == b"before *** between *** after"


def test_the_end_of_an_event_keeps_nothing_back() -> None:
    masker = StreamMasker(Connector("t", 1, "http://t.test", "POST", "", auth_type="bearer"), SECRET)
    assert masker.feed(b"data: 1\n\n") == b"data: 1\n\n"
    assert StreamMasker(Connector("t", 1, "http://t.test", "POST", ""), None).feed(b"as it is") == b"as it is"
