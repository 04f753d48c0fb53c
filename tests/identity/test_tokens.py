"""Tokens: whatever one holds, it is verified or refused."""

from __future__ import annotations

import base64
import hmac
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from daemon.identity.tokens import CACHE_MAX, NotAuthenticated, Tokens
from daemon.keys.keyring import KeyRing, read_ring, write_ring
from daemon.runtime.clock import utc_now

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.just("9" * 1_000),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
CLAIMS = ("iss", "aud", "sub", "company", "role", "email", "jti", "iat", "exp", "nbf", "sid", "epoch")
HEADERS = ("alg", "typ", "kid", "crit", "b64", "cty", "jwk")
many = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> Tokens:
    path: Path = tmp_path_factory.mktemp("keys") / "jwt.keys"
    write_ring(path, KeyRing("", {}).rotated())
    return Tokens(path, timedelta(days=1), utc_now)


def sealed(tokens: Tokens, header: Any, claims: Any) -> str:
    """A token of any two parts, rightly signed; bytes are taken as they are."""
    ring = read_ring(tokens._keys)
    parts = [part if isinstance(part, bytes) else json.dumps(part).encode() for part in (header, claims)]
    signed = ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts)
    signature = hmac.new(ring.keys[ring.current], signed.encode(), "sha256").digest()
    return f"{signed}.{base64.urlsafe_b64encode(signature).decode().rstrip('=')}"


def right(tokens: Tokens) -> tuple[dict[str, Any], dict[str, Any]]:
    now = int(utc_now().timestamp())
    header = {"alg": "HS256", "typ": "JWT", "kid": read_ring(tokens._keys).current}
    texts = dict.fromkeys(("iss", "aud"), "penstock") | dict.fromkeys(("sub", "company", "role", "email", "jti"), "x")
    return header, {**texts, "iat": now, "exp": now + 60, "nbf": now, "sid": "s", "epoch": 0}


def assert_verified_or_refused(tokens: Tokens, token: str) -> None:
    try:
        found = tokens.verified(token)
    except NotAuthenticated:
        return
    assert all(isinstance(one, str) for one in (found.user_id, found.company_id, found.role, found.session_id))
    assert type(found.epoch) is int


def test_what_is_right_is_verified(tokens: Tokens) -> None:
    header, claims = right(tokens)
    found = tokens.verified(sealed(tokens, header, claims))
    assert (found.user_id, found.session_id, found.epoch) == ("x", "s", 0)
    assert len(tokens._known) <= CACHE_MAX


@pytest.mark.parametrize("life_s", [-1, 0])
def test_the_leeway_for_the_clock_of_another_daemon_prolongs_no_token(tokens: Tokens, life_s: int) -> None:
    header, claims = right(tokens)
    past = {"iat": claims["iat"] - 60, "nbf": claims["iat"] - 60, "exp": claims["iat"] + life_s}
    with pytest.raises(NotAuthenticated):
        tokens.verified(sealed(tokens, header, {**claims, **past}))


@many
@given(claims=st.dictionaries(st.sampled_from(CLAIMS), VALUES, min_size=1, max_size=3))
def test_claims_of_any_value_are_taken_or_refused(tokens: Tokens, claims: dict[str, Any]) -> None:
    header, fitting = right(tokens)
    assert_verified_or_refused(tokens, sealed(tokens, header, {**fitting, **claims}))


@many
@given(headers=st.dictionaries(st.sampled_from(HEADERS), VALUES, min_size=1, max_size=3))
def test_headers_of_any_value_are_taken_or_refused(tokens: Tokens, headers: dict[str, Any]) -> None:
    header, claims = right(tokens)
    assert_verified_or_refused(tokens, sealed(tokens, {**header, **headers}, claims))


@many
@given(part=st.binary(max_size=60) | VALUES, first=st.booleans())
def test_parts_of_any_bytes_are_refused(tokens: Tokens, part: Any, *, first: bool) -> None:
    header, claims = right(tokens)
    assert_verified_or_refused(tokens, sealed(tokens, part if first else header, claims if first else part))


@many
@given(token=st.text(max_size=200) | st.lists(st.binary(max_size=30), max_size=4).map(repr))
def test_text_of_any_kind_is_refused(tokens: Tokens, token: str) -> None:
    with pytest.raises(NotAuthenticated):
        tokens.verified(token)
