"""Canonical JSON against another implementation of RFC 8785."""

from __future__ import annotations

import json
from typing import Any

import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from actors.core.canonical import canonical, digest

EXACT = 2**53 - 1

text = st.text(st.characters(exclude_categories=["Cs"]))
floats = st.floats(allow_nan=False, allow_infinity=False)
integers = st.integers(min_value=-EXACT, max_value=EXACT)
scalars = st.none() | st.booleans() | integers | floats | text
values = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(text, inner), max_leaves=20)


@given(values)
def test_canonical_json_is_what_the_rfc_says(value: Any) -> None:
    assert canonical(value).encode() == rfc8785.dumps(value)


@given(floats)
def test_every_number_is_written_as_the_rfc_says(value: float) -> None:
    assert canonical(value).encode() == rfc8785.dumps(value)


@given(values | st.integers())
def test_canonical_json_stays_the_same_when_it_is_read_and_written_again(value: Any) -> None:
    again = json.loads(canonical(value))
    assert canonical(again) == canonical(value)
    assert digest(again) == digest(value)
