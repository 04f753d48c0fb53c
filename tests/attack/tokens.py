"""Forged tokens: each is refused alike, with the challenge that the contract names."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Iterator
from typing import Any

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from daemon.keys.keyring import KeyRing, read_ring
from tests.attack.report import Report
from tests.attack.service import Target
from tests.attack.wire import ask
from tests.load.pump import wire

HOUR_S = 3_600
CHALLENGE = 'Bearer error="invalid_token"'
FORGED_LEAST = 40
Claims = dict[str, Any]


def _part(value: Any) -> str:
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _sealed(header: Any, claims: Any, key: bytes, digest: str = "sha256") -> str:
    """A token of whatever parts, with a right signature."""
    signed = f"{_part(header)}.{_part(claims)}"
    return f"{signed}.{_part(hmac.new(key, signed.encode(), digest).digest())}"


def _by_header(ring: KeyRing, claims: Claims) -> Iterator[tuple[str, str]]:
    key, header = ring.keys[ring.current], {"alg": "HS256", "typ": "JWT", "kid": ring.current}
    for algorithm in ("none", "None", "NONE", "nOnE", "", "HS256 ", "hs256"):
        yield f"alg {algorithm!r}, unsigned", f"{_part({**header, 'alg': algorithm})}.{_part(claims)}."
        yield f"alg {algorithm!r}, signed", _sealed({**header, "alg": algorithm}, claims, key)
    yield "HS256, unsigned", f"{_part(header)}.{_part(claims)}."
    yield "HS384", _sealed({**header, "alg": "HS384"}, claims, key, "sha384")
    yield "HS512", _sealed({**header, "alg": "HS512"}, claims, key, "sha512")
    yield "no alg", _sealed({"typ": "JWT", "kid": ring.current}, claims, key)
    yield "alg is a list", _sealed({**header, "alg": ["HS256"]}, claims, key)
    for typ in ("at+jwt", "JWE", "", None, 1):
        yield f"typ {typ!r}", _sealed({**header, "typ": typ}, claims, key)
    kids = (
        "unknown",
        "",
        None,
        0,
        ["x"],
        "../../dev/null",
        "/etc/passwd",
        "' OR 1=1 --",
        "\x00",
        ring.current + "\x00",
    )
    for kid in kids:
        yield f"kid {kid!r}", _sealed({**header, "kid": kid}, claims, key)
    yield "kid of nothing, key of nothing", _sealed({**header, "kid": "../../dev/null"}, claims, b"")
    yield "critical header", _sealed({**header, "crit": ["exp"], "b64": False}, claims, key)


def _by_claims(ring: KeyRing, claims: Claims) -> Iterator[tuple[str, str]]:
    now = int(time.time())
    key, header = ring.keys[ring.current], {"alg": "HS256", "typ": "JWT", "kid": ring.current}
    wrong: tuple[Claims, ...] = (
        {"iat": now - 2 * HOUR_S, "exp": now - HOUR_S},
        {"iat": now + HOUR_S, "exp": now + 2 * HOUR_S},
        {"nbf": now + HOUR_S},
        {"exp": now + 48 * HOUR_S},
        {"exp": "never"},
        {"exp": None},
        {"exp": 1e300},
        {"exp": [now + HOUR_S]},
        {"exp": str(now + HOUR_S)},
        {"exp": now + HOUR_S + 0.5},
        {"exp": True},
        {"exp": float("inf")},
        {"exp": 10**30},
        {"iat": [now]},
        {"iat": float("nan")},
        {"nbf": {}},
        {"nbf": None},
        {"sid": 1},
        {"epoch": "1"},
        {"epoch": None},
        {"iat": "now"},
        {"iss": "somebody"},
        {"iss": ["penstock"]},
        {"aud": "somebody"},
        {"aud": []},
        {"sub": 1},
        {"sub": None},
        {"jti": 1},
        {"email": 1},
        {"company": None},
        {"role": None},
        {"company": ["x"]},
        {"role": {"is": "owner"}},
    )
    for change in wrong:
        yield f"claims {change}", _sealed(header, {**claims, **change}, key)
    for name in ("iss", "aud", "sub", "company", "role", "jti", "iat", "exp", "email"):
        yield f"without {name}", _sealed(header, {one: claims[one] for one in claims if one != name}, key)
    wholes: tuple[Any, ...] = ([], "text", 1, None, b"\xff\xfe", b'{"sub":', b"[" * 5_000)
    for whole in wholes:
        yield f"claims that are {str(whole)[:20]!r}", _sealed(header, whole, key)


def _by_key(ring: KeyRing, claims: Claims, token: str) -> Iterator[tuple[str, str]]:
    header = {"alg": "HS256", "typ": "JWT", "kid": ring.current}
    pair = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
    public = pair.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    private = pair.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    yield "RS256", jwt.encode(claims, private, "RS256", headers={"kid": ring.current})
    yield "RS256's public key as the secret", _sealed(header, claims, public)
    numbers = {"kty": "oct", "k": _part(b"k" * 32)}
    yield "a key of its own in the header", _sealed({**header, "jwk": numbers}, claims, b"k" * 32)
    yield "a key elsewhere", _sealed({**header, "jku": "http://127.0.0.1/keys", "x5u": "http://a"}, claims, b"k" * 32)
    for key in (b"", b"secret", b"penstock", ring.current.encode(), b"\x00" * 32):
        yield f"signed with {key[:10]!r}", _sealed(header, claims, key)
    head, body, signature = token.split(".")
    other = {**claims, "company": "01990000-0000-7000-8000-000000000000"}
    yield "another company under this signature", f"{head}.{_part(other)}.{signature}"
    yield "a role under this signature", f"{head}.{_part({**claims, 'role': 'admin'})}.{signature}"
    yield "half a signature", f"{head}.{body}.{signature[: len(signature) // 2]}"
    yield "no signature", f"{head}.{body}."
    yield "two parts", f"{head}.{body}"
    yield "four parts", f"{token}.{signature}"
    yield "five parts, as if sealed", f"{head}.{body}.{signature}.{body}.{signature}"
    yield "nested", _sealed({**header, "cty": "JWT"}, token.encode(), ring.keys[ring.current])
    yield "huge", _sealed(header, {**claims, "more": "x" * 4_096}, ring.keys[ring.current])
    for text in ("x", "..", "a.b.c", "e30.e30.e30", "null", hashlib.sha256(token.encode()).hexdigest(), "=" * 100):
        yield f"{text[:10]!r}", text


def forged(ring: KeyRing, token: str) -> dict[str, str]:
    """Tokens that must not count, each made of one that does, by what is wrong with it."""
    claims: Claims = jwt.decode(token, options={"verify_signature": False})
    made = [*_by_header(ring, claims), *_by_claims(ring, claims), *_by_key(ring, claims, token)]
    return dict(made)


async def tokens(target: Target, report: Report) -> None:
    """Send them all; among them a right one, made in the same way, counts."""
    token = await target.register("tokens")
    ring = read_ring(target.folder / "var" / "jwt.keys")
    claims: Claims = jwt.decode(token, options={"verify_signature": False})
    right = _sealed({"alg": "HS256", "typ": "JWT", "kid": ring.current}, claims, ring.keys[ring.current])
    assert (await target.ask("GET", "/auth/me", None, right)).status == 200
    sent, taken = forged(ring, token), list[str]()
    for what, one in sent.items():
        answer = await ask(target.port, wire("GET", "/auth/me", headers={"Authorization": f"Bearer {one}"}))
        refused = answer is not None and answer.status == 401 and answer.headers.get("www-authenticate") == CHALLENGE
        if answer is None or not refused or answer.mistake():
            taken.append(f"{what}: {answer}")
    report.least("forged tokens sent", len(sent), FORGED_LEAST)
    report.most("forged tokens not answered 401 with the challenge", len(taken), 0)
    for line in taken:
        report.told("  taken", line[:200])
