"""Section 2: which tokens count, and which do not."""

from __future__ import annotations

import asyncio
import base64
import hmac
import json
import time
from datetime import timedelta
from typing import Any

import jwt
import pytest

from daemon.keys.keyring import KeyRing, read_ring, write_ring
from tests.web.support import PASSWORD, PATIENCE_S, CompanyStream, EventStream, House, Person, assert_problem

KEYS = "jwt.keys"
HOUR_S = 3600


def ring_of(house: House) -> KeyRing:
    return read_ring(house.settings.data_dir / KEYS)


def claims_of(person: Person) -> dict[str, Any]:
    claims: dict[str, Any] = jwt.decode(person.token, options={"verify_signature": False})
    return claims


def forged(person: Person, *, key: bytes | None = None, headers: dict[str, Any] | None = None, **claims: Any) -> str:
    """The person's token with other claims (None leaves one out), signed with the service's own
    key.
    """
    ring = ring_of(person.house)
    merged = {name: value for name, value in {**claims_of(person), **claims}.items() if value is not None}
    header = {"kid": ring.current, **(headers or {})}
    if header["kid"] is None:
        del header["kid"]
    return jwt.encode(merged, key or ring.keys[ring.current], "HS256", headers=header)


def unsigned(header: dict[str, Any], claims: dict[str, Any], signature: str = "") -> str:
    parts = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in (header, claims)]
    return ".".join([*parts, signature])


async def assert_counts_not(house: House, token: str) -> None:
    answer = await house.send("GET", "/auth/me", headers={"Authorization": f"Bearer {token}"})
    assert_problem(answer, 401, "not_authenticated", retryable=False)
    assert answer.headers["WWW-Authenticate"] == 'Bearer error="invalid_token"'


async def test_a_token_that_is_forged_with_all_the_right_claims_counts(ann: Person) -> None:
    """The tests below change one thing each in what this one sends."""
    assert (await ann.house.send("GET", "/auth/me", headers={"Authorization": f"Bearer {forged(ann)}"})).status == 200


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
async def test_the_scheme_compares_without_case(ann: Person, scheme: str) -> None:
    assert (await ann.house.send("GET", "/auth/me", headers={"Authorization": f"{scheme} {ann.token}"})).status == 200


@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer ", "Basic YTpi", "Token x"])
async def test_without_a_token_the_challenge_names_no_error(ann: Person, header: str | None) -> None:
    answer = await ann.house.send("GET", "/auth/me", headers={} if header is None else {"Authorization": header})
    assert_problem(answer, 401, "not_authenticated")
    assert answer.headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize("token", ["x", "a.b.c", "..", "a b", "é", "x" * 5000, "e30.e30.e30"])
async def test_a_malformed_token_is_refused(house: House, token: str) -> None:
    await assert_counts_not(house, token)


@pytest.mark.parametrize(
    "claims",
    [
        {"exp": int(time.time()) - 1, "iat": int(time.time()) - HOUR_S},
        {"exp": int(time.time()) - 1, "iat": int(time.time()) - 2},
        {"iat": int(time.time()) + HOUR_S},
        {"exp": int(time.time()) + 25 * HOUR_S},
        {"exp": "tomorrow"},
        {"exp": None},
        {"iat": None},
        {"jti": None},
        {"sub": None},
        {"sub": 1},
        {"company": None},
        {"role": None},
        {"iss": None},
        {"iss": "somebody"},
        {"aud": None},
        {"aud": "somebody"},
        {"nbf": int(time.time()) + HOUR_S},
    ],
)
async def test_a_token_with_other_claims_is_refused(ann: Person, claims: dict[str, Any]) -> None:
    await assert_counts_not(ann.house, forged(ann, **claims))


async def test_a_token_counts_at_once_where_the_clock_of_its_issuer_is_ahead(ann: Person) -> None:
    soon = int(time.time()) + 25
    ahead: tuple[dict[str, Any], ...] = ({"iat": soon}, {"iat": soon, "nbf": soon})
    for claims in ahead:
        bearer = {"Authorization": f"Bearer {forged(ann, **claims)}"}
        assert (await ann.house.send("GET", "/auth/me", headers=bearer)).status == 200


@pytest.mark.parametrize("headers", [{"typ": "at+jwt"}, {"typ": None}, {"kid": "unknown"}, {"kid": None}, {"kid": ""}])
async def test_a_token_with_another_header_is_refused(ann: Person, headers: dict[str, Any]) -> None:
    await assert_counts_not(ann.house, forged(ann, headers=headers))


async def test_a_token_signed_with_another_key_is_refused(ann: Person) -> None:
    await assert_counts_not(ann.house, forged(ann, key=b"k" * 32))
    await assert_counts_not(ann.house, ann.token[:-4] + ("AAAA" if ann.token[-4:] != "AAAA" else "BBBB"))


async def test_a_token_never_chooses_its_algorithm(ann: Person) -> None:
    ring = ring_of(ann.house)
    key, header = ring.keys[ring.current], {"typ": "JWT", "kid": ring.current}
    for algorithm in ("none", "None", "NONE"):
        await assert_counts_not(ann.house, unsigned({**header, "alg": algorithm}, claims_of(ann)))
    for algorithm in ("HS384", "HS512"):
        await assert_counts_not(ann.house, jwt.encode(claims_of(ann), key * 2, algorithm, headers=header))
    await assert_counts_not(ann.house, unsigned({**header, "alg": "HS256"}, claims_of(ann)))


async def test_a_rotation_logs_nobody_out_and_needs_no_restart(ann: Person) -> None:
    path = ann.house.settings.data_dir / KEYS
    before = ring_of(ann.house)
    write_ring(path, before.rotated())
    assert (await ann.get("/auth/me")).status == 200
    login = {"email": ann.email, "password": PASSWORD}
    newer = Person(ann.house, (await ann.house.send("POST", "/auth/login", login)).json)
    assert jwt.get_unverified_header(newer.token)["kid"] == ring_of(ann.house).current != before.current
    await ann.house.restart()
    assert [(await one.get("/auth/me")).status for one in (ann, newer)] == [200, 200]


async def test_a_stream_ends_with_the_token_that_it_was_opened_with(ann: Person) -> None:
    login = {"email": ann.email, "password": PASSWORD}
    newer = Person(ann.house, (await ann.house.send("POST", "/auth/login", login)).json)
    run = await newer.start("line", {"amount": 5})
    seen = str(run["version"])
    async with CompanyStream(ann, "") as all_, EventStream(ann, run["id"], Last_Event_ID=seen) as one:
        assert (await ann.post("/auth/logout")).status == 204
        assert (await newer.resume(run, "signoff")).status == 200
        assert [[event async for event in stream] for stream in (all_, one)] == [[], []]
    async with EventStream(newer, run["id"], Last_Event_ID=seen) as again:
        assert (await anext(again))["event"] == "verdict_given"


@pytest.mark.one_daemon
async def test_a_token_whose_key_was_removed_counts_no_more(ann: Person) -> None:
    path = ann.house.settings.data_dir / KEYS
    assert (await ann.get("/auth/me")).status == 200
    rotated = ring_of(ann.house).rotated()
    write_ring(path, KeyRing(rotated.current, {rotated.current: rotated.keys[rotated.current]}))
    async with asyncio.timeout(PATIENCE_S):
        while (await ann.get("/auth/me")).status == 200:
            pass
    await assert_counts_not(ann.house, ann.token)


async def test_a_key_file_that_is_broken_meanwhile_changes_nothing(ann: Person) -> None:
    path = ann.house.settings.data_dir / KEYS
    kept = path.read_bytes()
    for content in (b"", b"{}", b'{"current": "x", "keys": {}}'):
        path.write_bytes(content)
        assert (await ann.get("/auth/me")).status == 200
    path.unlink()
    assert (await ann.get("/auth/me")).status == 200
    path.write_bytes(kept)
    path.chmod(0o600)
    assert (await ann.get("/auth/me")).status == 200


async def test_the_key_file_is_for_its_owner_only(ann: Person) -> None:
    assert (ann.house.settings.data_dir / KEYS).stat().st_mode & 0o077 == 0


async def test_a_role_that_may_not_decide_is_403_with_what_is_required(ann: Person) -> None:
    run = await ann.start("line", {"amount": 1})
    member = Person(ann.house, {**ann.session, "token": forged(ann, role="member")})
    answer = await member.resume(run, "signoff")
    assert_problem(answer, 403, "forbidden", required="manager", retryable=False)
    assert (await ann.run(run))["parked_at"] == "signoff"
    manager = Person(ann.house, {**ann.session, "token": forged(ann, role="manager")})
    assert (await manager.resume(run, "signoff")).status == 200


@pytest.mark.one_daemon
async def test_what_is_revoked_is_remembered_until_it_expires_and_no_longer_though_others_revoked_it(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    sessions, now = house.services.identity.sessions, house.services.now()
    for minutes in range(100):
        heard = {f"token-{minutes}": now + timedelta(minutes=minutes, seconds=30)}
        sessions.apply(heard, {}, {})
        sessions.apply(heard, {}, {})
    assert len(sessions._revoked) == 100
    monkeypatch.setattr(sessions, "_now", lambda: now + timedelta(minutes=90))
    sessions.apply({}, {}, {})
    assert len(sessions._revoked) == 10
    assert "token-90" in sessions._revoked
    assert "token-89" not in sessions._revoked


def sealed(person: Person, header: Any, claims: Any) -> str:
    """A token of any parts, rightly signed; bytes are taken as they are."""
    parts = [part if isinstance(part, bytes) else json.dumps(part).encode() for part in (header, claims)]
    signed = ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts)
    ring = ring_of(person.house)
    signature = hmac.new(ring.keys[ring.current], signed.encode(), "sha256").digest()
    return f"{signed}.{base64.urlsafe_b64encode(signature).decode().rstrip('=')}"


ODD: tuple[Any, ...] = (
    *("tomorrow", "", "{now}", "NaN", True, False, None, [], [1], {}, {"at": 1}, -1, 0, 0.5),
    *(10**30, -(10**30), 1e300, float("inf"), float("nan"), "\ud800", "\x00", "9" * 1_500),
)


@pytest.mark.parametrize("claim", ["exp", "iat", "nbf"])
async def test_a_time_that_is_none_is_refused_and_never_a_fault(ann: Person, claim: str) -> None:
    now = int(time.time())
    header = {"alg": "HS256", "typ": "JWT", "kid": ring_of(ann.house).current}
    as_text = {"exp": str(now + HOUR_S), "iat": str(now), "nbf": str(now)}[claim]
    fitting = {"exp": now + HOUR_S + 0.5, "iat": now - 0.5, "nbf": now - 0.5}[claim]
    counts = {"nbf": (-1, 0, -(10**30)), "iat": (), "exp": ()}[claim]
    for value in (*ODD, as_text, fitting, [now + HOUR_S], {"exp": now}):
        if isinstance(value, bool) or value not in counts:
            await assert_counts_not(ann.house, sealed(ann, header, {**claims_of(ann), claim: value}))


@pytest.mark.parametrize("claim", ["iss", "aud", "sub", "company", "role", "email", "jti", "sid", "epoch"])
async def test_a_claim_of_another_type_is_refused_and_never_a_fault(ann: Person, claim: str) -> None:
    header = {"alg": "HS256", "typ": "JWT", "kid": ring_of(ann.house).current}
    for value in ODD:
        if claim == "epoch" and type(value) is int:
            continue
        if isinstance(value, str) and claim not in {"iss", "aud", "epoch"}:
            continue  # whose it is, is not for a token's form to say
        await assert_counts_not(ann.house, sealed(ann, header, {**claims_of(ann), claim: value}))


@pytest.mark.parametrize("name", ["alg", "typ", "kid", "crit", "b64", "zip"])
async def test_a_header_of_another_type_is_refused_and_never_a_fault(ann: Person, name: str) -> None:
    header = {"alg": "HS256", "typ": "JWT", "kid": ring_of(ann.house).current}
    for value in ODD:
        token = sealed(ann, {**header, name: value}, claims_of(ann))
        answer = await ann.house.send("GET", "/auth/me", headers={"Authorization": f"Bearer {token}"})
        assert answer.status in ({401} if name in header else {200, 401}), (value, answer.raw)


@pytest.mark.parametrize("part", ["header", "claims"])
@pytest.mark.parametrize("raw", [b"[" * 1_500, b'{"a":' * 300, b"", b"\xff\xfe", b"null", b"[]", b'"x"', b"1", b"{"])
async def test_a_part_that_is_no_object_is_refused_and_never_a_fault(ann: Person, part: str, raw: bytes) -> None:
    header = {"alg": "HS256", "typ": "JWT", "kid": ring_of(ann.house).current}
    parts = {"header": header, "claims": claims_of(ann), part: raw}
    await assert_counts_not(ann.house, sealed(ann, parts["header"], parts["claims"]))
