"""Tokens of the provider: signed by one of its keys, for this service, and not expired."""

from __future__ import annotations

import base64
from collections.abc import Collection
from datetime import datetime
from hmac import compare_digest
from typing import Any, Literal, NamedTuple

import msgspec
from joserfc import jwt
from joserfc.errors import JoseError

from daemon.sso.provider import Provider

ALGORITHMS = {"RS256": "RSA", "PS256": "RSA", "ES256": "EC"}
"""Those that count and the kind of key of each, whatever a token names."""
LEEWAY_S = 60
TOKEN_CHARS_MAX = 16_384
SUBJECT_CHARS_MAX = 255
EMAIL_CHARS_MAX = 320
GROUPS_MAX = 1_000


class TokenRefused(Exception):
    """The token does not count; the text says why, for the log."""


class Claims(msgspec.Struct, frozen=True):
    """The claims that are read, each of one of these types."""

    iss: str
    sub: str
    aud: str | list[str]
    exp: int | float
    iat: int | float = 0
    nbf: int | float = 0
    nonce: str = ""
    azp: str | None = None
    email: str | None = None
    email_verified: bool | Literal["true", "false"] | None = None
    name: str | None = None


class Identified(NamedTuple):
    """A person as the provider names them."""

    issuer: str
    subject: str
    email: str
    email_verified: bool | None
    name: str | None
    groups: frozenset[str] | None
    expires_at: float


class Header(msgspec.Struct, frozen=True):
    alg: str
    kid: str | None = None


class Expected(NamedTuple):
    """What a token has to say: for whom it is, and in which log-in; `groups_claim` names groups."""

    audiences: Collection[str]
    nonce: str | None
    groups_claim: str


async def verified(provider: Provider, token: str, expected: Expected, now: datetime) -> Identified:
    """Who a token names; TokenRefused when it does not count."""
    header = _header(token)
    kind = ALGORITHMS.get(header.alg)
    if kind is None:
        raise TokenRefused("its algorithm is none that counts")
    key = await provider.key(header.kid, fetch=expected.nonce is not None)
    if key is None or key.key_type != kind:
        raise TokenRefused("it is signed by an unknown key")
    try:
        decoded = jwt.decode(token, key, [header.alg]).claims
        claims = msgspec.convert(decoded, Claims)
    except (JoseError, msgspec.ValidationError, ValueError, TypeError, RecursionError) as error:
        raise TokenRefused(f"it cannot be read: {type(error).__name__}") from error
    _check(claims, provider.client.issuer, expected, now.timestamp())
    return Identified(
        claims.iss,
        claims.sub,
        claims.email or "",
        None if claims.email_verified is None else claims.email_verified in (True, "true"),
        claims.name,
        _groups(decoded, expected.groups_claim),
        float(claims.exp),
    )


def names_issuer(token: str, issuer: str) -> bool:
    """Whether a token says that it is of the issuer; nothing of it is proven."""
    parts = token.split(".")
    if len(token) > TOKEN_CHARS_MAX or len(parts) != 3:  # noqa: PLR2004 - header, claims, signature
        return False
    try:
        return bool(msgspec.json.decode(_bytes(parts[1]), type=_Issuer).iss == issuer)
    except (ValueError, RecursionError):
        return False


class _Issuer(msgspec.Struct, frozen=True):
    iss: str


def _header(token: str) -> Header:
    head, dot, _ = token.partition(".")
    if len(token) > TOKEN_CHARS_MAX or not dot or not token.isascii():
        raise TokenRefused("it is no token")
    try:
        return msgspec.json.decode(_bytes(head), type=Header)
    except (ValueError, RecursionError) as error:
        raise TokenRefused("its header cannot be read") from error


def _bytes(part: str) -> bytes:
    return base64.b64decode(part.encode() + b"=" * (-len(part) % 4), b"-_", validate=True)


def _check(claims: Claims, issuer: str, expected: Expected, now: float) -> None:
    audiences = [claims.aud] if isinstance(claims.aud, str) else claims.aud
    if claims.iss != issuer:
        raise TokenRefused("it is of another issuer")
    if set(audiences).isdisjoint(expected.audiences):
        raise TokenRefused("it is for another audience")
    if expected.nonce is not None:
        if len(audiences) > 1 and claims.azp not in expected.audiences:
            raise TokenRefused("it was given to another client")
        if not compare_digest(claims.nonce.encode(), expected.nonce.encode()):
            raise TokenRefused("it is of another log-in")
    if not claims.exp > now - LEEWAY_S:
        raise TokenRefused("it has expired")
    if max(claims.iat, claims.nbf) > now + LEEWAY_S:
        raise TokenRefused("it does not count yet")
    if not 0 < len(claims.sub) <= SUBJECT_CHARS_MAX or len(claims.email or "") > EMAIL_CHARS_MAX:
        raise TokenRefused("its subject or e-mail address has not the length of one")


def _groups(claims: dict[str, Any], name: str) -> frozenset[str] | None:
    """The groups that a claim names; None without such a claim."""
    given = claims.get(name) if name else None
    if isinstance(given, str):
        given = [given]
    if not isinstance(given, list):
        return None
    return frozenset(one for one in given[:GROUPS_MAX] if isinstance(one, str))
