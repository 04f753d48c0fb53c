"""JSON of strangers: what is taken, what is refused, and that neither takes long."""

from __future__ import annotations

import gc
import json
import sys
from decimal import Decimal
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.ports import LIGHT_BYTES_MAX
from daemon.runtime.json_codec import DEPTH_MAX, INTEGER_MAX, NotJson, loads

REFUSED = "refused"


def real(digits: str) -> float:
    """The number, unless it is infinite, or an amount whose end a double loses."""
    whole, _, decimals = digits.removeprefix("-").partition(".")
    amount = len(whole) >= 13 and decimals.isdigit() and len(decimals) <= 4
    if float(digits) in (float("inf"), float("-inf")):
        raise ValueError
    if amount and Decimal(digits) != Decimal(repr(float(digits))):
        raise ValueError
    return float(digits)


def of_the_standard_library(raw: bytes) -> Any:
    """The same verdict and value by the reader of the standard library, one callback per number."""

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) < len(pairs):
            raise ValueError
        return dict(pairs)

    def integer(digits: str) -> int:
        if len(digits) > 20 or not -INTEGER_MAX - 1 <= int(digits) <= INTEGER_MAX:
            raise ValueError
        return int(digits)

    def constant(_: str) -> None:
        raise ValueError

    def depth(value: Any) -> int:
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        return isinstance(value, dict | list) + max(map(depth, inner), default=0)

    try:
        reader = json.JSONDecoder(
            object_pairs_hook=members, parse_int=integer, parse_float=real, parse_constant=constant
        )
        value = reader.decode(raw.decode())
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return REFUSED
    return REFUSED if depth(value) > DEPTH_MAX else value


def of_the_service(raw: bytes) -> Any:
    try:
        return loads(raw)
    except NotJson:
        return REFUSED


NUMBERS = st.from_regex(rb"-?(0|[1-9][0-9]{0,21})(\.[0-9]{1,25})?([eE][-+]?[0-9]{1,3})?", fullmatch=True)
# A character of a string: as it is, escaped, or half of a pair.
LETTERS = st.sampled_from([*'a:",{}[]\\/', "é", "😀", "\\\\", '\\"', "\\n", "\\u003a", "\\ud83d\\ude00", "\\ud800"])
STRINGS = st.lists(LETTERS, max_size=6).map(lambda letters: f'"{"".join(letters)}"'.encode())
LEAVES = NUMBERS | STRINGS | st.sampled_from([b"null", b"true", b"false", b"NaN", b"-Infinity", b" ", b"nul"])
SPACE = st.sampled_from([b"", b" ", b"\n\t"])


def lists(inner: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
    return st.lists(inner, max_size=4).map(lambda items: b"[%s]" % b",".join(items))


def objects(inner: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
    member = st.tuples(st.sampled_from([b'"a"', b'":"', b'"\\u0061"', b'"b"']), SPACE, inner, SPACE).map(
        lambda parts: parts[0] + parts[1] + b":" + parts[2] + parts[3]
    )
    return st.lists(member, max_size=4).map(lambda members: b"{%s}" % b",".join(members))


DOCUMENTS = st.recursive(LEAVES, lambda inner: lists(inner) | objects(inner), max_leaves=12)


@given(DOCUMENTS)
def test_what_is_written_like_json_is_read_as_by_the_standard_library(raw: bytes) -> None:
    assert repr(of_the_service(raw)) == repr(of_the_standard_library(raw))


@given(DOCUMENTS, st.data())
def test_json_with_one_byte_changed_is_read_as_by_the_standard_library(raw: bytes, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(raw)))
    changed = raw[:at] + data.draw(st.binary(max_size=2)) + raw[at + 1 :]
    assert repr(of_the_service(changed)) == repr(of_the_standard_library(changed))


@given(st.binary(max_size=40))
def test_any_bytes_are_read_as_by_the_standard_library(raw: bytes) -> None:
    assert repr(of_the_service(raw)) == repr(of_the_standard_library(raw))


@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        (b'{"a": 1, "\\u0061": 2}', "A member is named twice."),
        (b'{":": {"a": 1, "a": ":"}}', "A member is named twice."),
        (b"[9223372036854775808]", "An integer is beyond 64 bits; send it as a string."),
        (b"[-9223372036854775809]", "An integer is beyond 64 bits; send it as a string."),
        (b"9" * 10_000, "An integer is beyond 64 bits; send it as a string."),
        (b"[1e999]", "A number is beyond what JSON can carry."),
        (b'["\\ud800", 1, 2, 3, 4]', "A string holds half a surrogate pair."),
        (b'["\xff"]', "The body is not UTF-8."),
        (b"[" * 65 + b"]" * 65, "The body is nested more than 64 deep."),
        (b"[" * 1_000_000, "The body is nested more than 64 deep."),
        (b"[%s{}]" % (b"[]," * 131_071), "The body holds more than 131,072 lists and objects."),
        (b'{"a": nothing}', "The body is no JSON: invalid character (byte 10)."),
    ],
)
def test_a_refusal_says_why(raw: bytes, sentence: str) -> None:
    with pytest.raises(NotJson) as refused:
        loads(raw)
    assert str(refused.value) == sentence


def test_brackets_in_strings_are_no_lists() -> None:
    lists, texts = b"[]," * 131_071, b'"[{",' * 20_000
    assert len(loads(b"[%s%s]" % (lists, texts[:-1]))) == 151_071


def test_a_kind_of_number_stays_what_it_was() -> None:
    assert repr(loads(b"[1, 1.0, -0, -0.0, 1e2]")) == "[1, 1.0, 0, -0.0, 100.0]"


WORST = {
    "small numbers": b"[%s1]" % (b"1," * 16_000),
    "objects of one member": b"[%s{}]" % (b'{":":1},' * 4_000),
    "empty lists": b"[%s[]]" % (b"[]," * 10_000),
    "narrow and deep": b"[%s[]]" % ((b"[" * 60 + b"]" * 60 + b",") * 270),
    "numbers of many digits": b"[%s1]" % ((b"1" * 4_290 + b",") * 7),
}


@pytest.mark.parametrize("raw", WORST.values(), ids=WORST.keys())
def test_no_number_and_no_member_costs_a_call_of_a_function(raw: bytes) -> None:
    assert len(raw) <= LIGHT_BYTES_MAX
    calls = 0

    def count(_: FrameType, event: str, __: Any) -> None:
        nonlocal calls
        calls += event == "call"

    gc.disable()  # Hypothesis calls functions of its own at each collection of garbage
    sys.setprofile(count)
    try:
        of_the_service(raw)
    finally:
        sys.setprofile(None)
        gc.enable()
    assert calls < 200
