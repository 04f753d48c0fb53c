"""Canonical JSON against the tables of RFC 8785."""

from __future__ import annotations

import struct
from decimal import Decimal
from hashlib import sha256
from typing import Any

import pytest

from actors.core.canonical import PIECES_BYTES, REMEMBERED_FROM, canonical, digest
from tests.effort import Effort

APPENDIX_B = [
    ("0000000000000000", "0"),
    ("8000000000000000", "0"),
    ("0000000000000001", "5e-324"),
    ("8000000000000001", "-5e-324"),
    ("7fefffffffffffff", "1.7976931348623157e+308"),
    ("ffefffffffffffff", "-1.7976931348623157e+308"),
    ("4340000000000000", "9007199254740992"),
    ("c340000000000000", "-9007199254740992"),
    ("4430000000000000", "295147905179352830000"),
    ("44b52d02c7e14af5", "9.999999999999997e+22"),
    ("44b52d02c7e14af6", "1e+23"),
    ("44b52d02c7e14af7", "1.0000000000000001e+23"),
    ("444b1ae4d6e2ef4e", "999999999999999700000"),
    ("444b1ae4d6e2ef4f", "999999999999999900000"),
    ("444b1ae4d6e2ef50", "1e+21"),
    ("3eb0c6f7a0b5ed8c", "9.999999999999997e-7"),
    ("3eb0c6f7a0b5ed8d", "0.000001"),
    ("41b3de4355555553", "333333333.3333332"),
    ("41b3de4355555554", "333333333.33333325"),
    ("41b3de4355555555", "333333333.3333333"),
    ("41b3de4355555556", "333333333.3333334"),
    ("41b3de4355555557", "333333333.33333343"),
    ("becbf647612f3696", "-0.0000033333333333333333"),
    ("43143ff3c1cb0959", "1424953923781206.2"),
]


@pytest.mark.parametrize(("bits", "text"), APPENDIX_B)
def test_a_number_is_written_as_the_rfc_lists_it(bits: str, text: str) -> None:
    (value,) = struct.unpack(">d", bytes.fromhex(bits))
    assert canonical(value) == text


@pytest.mark.parametrize("bits", ["7fffffffffffffff", "7ff0000000000000", "fff0000000000000"])
def test_what_is_no_number_in_json_is_refused(bits: str) -> None:
    (value,) = struct.unpack(">d", bytes.fromhex(bits))
    with pytest.raises(ValueError, match="no such number"):
        canonical({"deep": [value]})


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (False, "false"),
        (0, "0"),
        (-1, "-1"),
        (1.0, "1"),
        (-2.5e-05, "-0.000025"),
        (1e16, "10000000000000000"),
        (2**53 + 1, "9007199254740993"),
        ("", '""'),
        ([], "[]"),
        ((1, "a"), '[1,"a"]'),
        ({}, "{}"),
        ({"b": [1, {"d": None, "c": True}], "a": 0.5}, '{"a":0.5,"b":[1,{"c":true,"d":null}]}'),
    ],
)
def test_a_value_has_one_text_without_a_space(value: Any, text: str) -> None:
    assert canonical(value) == text


def test_a_string_is_escaped_only_where_it_must_be() -> None:
    given = "\u20ac$\u000f\u000aA'\u0042\u0022\u005c\\\"/\b\t\f\r\u007f\u2028é"
    assert canonical(given) == '"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/\\b\\t\\f\\r\u007f\u2028é"'


def test_the_members_of_an_object_are_sorted_by_their_utf_16_units() -> None:
    given = {"\u20ac": 0, "\r": 1, "\ufb33": 2, "1": 3, "\U0001f600": 4, "\u0080": 5, "\u00f6": 6}
    assert canonical(given) == '{"\\r":1,"1":3,"\u0080":5,"ö":6,"€":0,"😀":4,"\ufb33":2}'


@pytest.mark.parametrize("value", [Decimal(1), b"bytes", {1}, object(), {"deep": [Decimal(1)]}])
def test_what_is_no_json_value_is_refused(value: Any) -> None:
    with pytest.raises(TypeError, match="is no JSON value"):
        canonical(value)


def test_a_digest_is_the_sha256_of_the_canonical_text() -> None:
    assert digest({}) == "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
    assert digest({"a": 1, "b": 1.0}) == digest({"b": 1, "a": 1.0})
    assert digest({"a": "1"}) != digest({"a": 1})


@pytest.mark.parametrize("value", ["\ud800", {"\ud800": 1}])
def test_text_that_is_no_unicode_has_no_digest(value: Any) -> None:
    with pytest.raises(ValueError, match="surrogates not allowed"):
        digest(value)


@pytest.mark.parametrize("depth", [1, 2, 9])
def test_members_written_one_by_one_make_the_same_text(depth: int) -> None:
    value = {
        "b": {"\N{GRINNING FACE}": 1.0, "\ufb33": [1, {"d": 0, "c": {}}]},
        "a": {"x": {"z": 1e30, "y": "é"}},
        "": 3,
    }
    assert canonical(value, depth) == canonical(value)


def test_a_digest_does_not_depend_on_the_size() -> None:
    value = {"b": {"d": [1.0], "c": "é"}, "a": 1}
    assert digest(value, 2 * PIECES_BYTES) == digest(value)


LARGE: dict[str, Any] = {f"m{number}": [1.0, {"é": "x" * 8}] for number in range(2_000)}


@pytest.mark.parametrize("value", [{}, {"a": LARGE}, {"b": LARGE, "a": [LARGE], "\U0001f600": LARGE, "\uffff": 1}])
@pytest.mark.parametrize("size", [0, REMEMBERED_FROM + 1, PIECES_BYTES + 1])
def test_a_digest_is_that_of_the_canonical_json_however_large(value: dict[str, Any], size: int) -> None:
    assert digest(value, size) == "sha256:" + sha256(canonical(value).encode()).hexdigest()


def test_what_many_digests_have_in_common_is_written_once() -> None:
    def effort(count: int, members: dict[str, Any]) -> int:
        with Effort() as done:
            for number in range(count):
                digest({"gate": number, "inputs": members}, REMEMBERED_FROM + 1)
        return done.steps

    assert effort(100, {**LARGE}) < 2 * effort(1, {**LARGE})
