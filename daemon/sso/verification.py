"""Tokens of the provider, those of its logout too: signed for this service, and not expired."""

from __future__ import annotations

import base64
import unicodedata
import warnings
from datetime import datetime
from hmac import compare_digest
from typing import Annotated, Any, NamedTuple

import msgspec
import structlog

from daemon.sso.provider import ALGORITHMS, Provider, VerifyKey

LEEWAY_S = 60
TOKEN_CHARS_MAX = 16_384
SUBJECT_CHARS_MAX = 255
EMAIL_CHARS_MAX = 320
GROUPS_MAX = 1_000
MOMENT_MAX = 253_402_300_799
"""The last second that has a date."""
EMAIL, ACCESS_TOKEN = "email", "at+jwt"
KINDS = frozenset({"jwt", ACCESS_TOKEN})
_log = structlog.get_logger("penstock")


class TokenRefused(Exception):
    """The token does not count; the text says why, for the log."""


class AlgorithmRefused(TokenRefused):
    """The provider signs by an algorithm that does not count."""


Moment = Annotated[float, msgspec.Meta(ge=0, le=MOMENT_MAX)]


class Claims(msgspec.Struct, frozen=True):
    """The claims that are read, each of one of these types and within these bounds."""

    iss: str
    aud: str | list[str]
    exp: Moment
    sub: str = ""
    iat: Moment = 0
    nbf: Moment = 0
    nonce: str | None = None
    azp: str | None = None
    typ: str | None = None
    name: str | None = None
    sid: str = ""
    jti: str = ""
    at_hash: str | None = None
    events: Any = None


class Address(NamedTuple):
    """An e-mail address, and whether the provider says that it is verified."""

    email: str
    verified: bool | None


class Identified(NamedTuple):
    """A person as the provider names them."""

    issuer: str
    subject: str
    email: str
    email_verified: bool | None
    name: str | None
    groups: frozenset[str] | None
    expires_at: float
    sid: str = ""


class TokenHeader(msgspec.Struct, frozen=True):
    alg: str
    kid: str | None = None
    typ: str = "JWT"

    @property
    def kind(self) -> str:
        """The type without the prefix that it may have (RFC 7515, 4.1.9)."""
        return self.typ.lower().removeprefix("application/")


class Names(NamedTuple):
    """The claims that name a person's address and groups."""

    email: str = "email"
    groups: str = ""


class Expected(NamedTuple):
    """What a token has to say: for whom it is, and in which log-in; how its claims are called.

    Without a log-in it is a bearer token, and an ID token counts only if `id_tokens` says so.
    """

    client_id: str
    audience: str
    names: Names
    nonce: str | None = None
    id_tokens: bool = False


class VerifiedToken(NamedTuple):
    """A token whose signature, issuer and times count."""

    header: TokenHeader
    claims: Claims
    decoded: dict[str, Any]


async def verified(provider: Provider, token: str, expected: Expected, now: datetime) -> Identified:
    """Who a token names; TokenRefused when it does not count."""
    one = await checked(provider, token, now, fetch=expected.nonce is not None)
    _check(one, expected)
    claims, (email, is_verified) = one.claims, address(one.decoded, expected.names.email)
    who = (claims.iss, claims.sub, email, is_verified, claims.name)
    return Identified(*who, groups_of(one.decoded, expected.names.groups), float(claims.exp), claims.sid)


async def completed(provider: Provider, identified: Identified, access_token: str, names: Names) -> Identified:
    """With what the userinfo endpoint says of what the ID token leaves out (OIDC Core 5.4)."""
    found = await provider.userinfo(access_token)
    if found.get("sub") != identified.subject:
        if found:
            _log.warning("sso_userinfo_unread", reason="it is of another subject")
        return identified
    email, is_verified = address(found, names.email)
    told = identified
    if not told.email:
        told = told._replace(email=email, email_verified=is_verified)
    elif told.email_verified is None and email == told.email:
        told = told._replace(email_verified=is_verified)
    name = found.get("name")
    if told.name is None and isinstance(name, str):
        told = told._replace(name=name)
    if len(told.email) > EMAIL_CHARS_MAX:
        return identified
    return told if told.groups is not None else told._replace(groups=groups_of(found, names.groups))


async def checked(provider: Provider, token: str, now: datetime, *, fetch: bool) -> VerifiedToken:
    """A token by one of the provider's keys and of its issuer, within its times."""
    header = _header(token)
    algorithms = (await provider.metadata()).algorithms
    if header.alg not in algorithms:
        told = "".join(filter(str.isprintable, header.alg))[:20]
        raise AlgorithmRefused(f"it is signed by {told}; these count: {', '.join(sorted(algorithms))}")
    kind, curve = ALGORITHMS[header.alg]
    key = await provider.key(header.kid, fetch=fetch)
    if key is None or key.key_type != kind or (curve is not None and key.as_dict(private=False)["crv"] != curve):
        raise TokenRefused("it is signed by an unknown key")
    decoded = _decoded(token, key, header.alg)
    try:
        claims = msgspec.convert(decoded, Claims)
    except (msgspec.ValidationError, ValueError, RecursionError, OverflowError) as error:
        raise TokenRefused(f"it cannot be read: {type(error).__name__}") from error
    _check_times(claims, now.timestamp())
    if claims.iss != provider.client.issuer:
        raise TokenRefused("it is of another issuer")
    if len(claims.sub) > SUBJECT_CHARS_MAX or len(claims.sid) > SUBJECT_CHARS_MAX:
        raise TokenRefused("its subject or session has not the length of one")
    return VerifiedToken(header, claims, decoded)


def _decoded(token: str, key: VerifyKey, algorithm: str) -> dict[str, Any]:
    from joserfc import jwt  # noqa: PLC0415 - most do without single sign-on
    from joserfc.errors import JoseError  # noqa: PLC0415

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the name EdDSA is old, and what providers say
            found: dict[str, Any] = jwt.decode(token, key, [algorithm]).claims
    except (JoseError, ValueError, TypeError, RecursionError, OverflowError) as error:
        raise TokenRefused(f"it cannot be read: {type(error).__name__}") from error
    return found


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


def _header(token: str) -> TokenHeader:
    head, dot, _ = token.partition(".")
    if len(token) > TOKEN_CHARS_MAX or not dot or not token.isascii():
        raise TokenRefused("it is no token")
    try:
        return msgspec.json.decode(_bytes(head), type=TokenHeader)
    except (ValueError, RecursionError) as error:
        raise TokenRefused("its header cannot be read") from error


def _bytes(part: str) -> bytes:
    return base64.b64decode(part.encode() + b"=" * (-len(part) % 4), b"-_", validate=True)


def _check(one: VerifiedToken, expected: Expected) -> None:
    claims, kind, client_id = one.claims, one.header.kind, expected.client_id
    audiences = {claims.aud} if isinstance(claims.aud, str) else set(claims.aud)
    if claims.events is not None or kind not in KINDS:
        raise TokenRefused("it is neither an ID token nor an access token")
    if not claims.sub:
        raise TokenRefused("it has no subject")
    if expected.nonce is not None:
        if kind == ACCESS_TOKEN:
            raise TokenRefused("it is an access token")
        _check_id_token(claims, audiences, client_id, expected.nonce)
        return
    if claims.azp not in (None, client_id, expected.audience or client_id):
        raise TokenRefused("it was given to another client")
    if claims.typ not in (None, "Bearer", "JWT", "ID"):
        raise TokenRefused("it is no access token")
    of_client = {expected.audience, client_id} if expected.id_tokens or kind == ACCESS_TOKEN else {expected.audience}
    if audiences.isdisjoint(of_client - {""}):
        raise TokenRefused("it is for another audience, or an ID token")
    is_id_token = claims.typ == "ID" or claims.nonce is not None or claims.at_hash is not None
    if is_id_token and not expected.id_tokens:
        raise TokenRefused("it is an ID token")


def _check_id_token(claims: Claims, audiences: set[str], client_id: str, nonce: str) -> None:
    if client_id not in audiences:
        raise TokenRefused("it is for another audience")
    if claims.azp not in (None, client_id) or (len(audiences) > 1 and claims.azp is None):
        raise TokenRefused("it was given to another client")
    if not compare_digest((claims.nonce or "").encode(), nonce.encode()):
        raise TokenRefused("it is of another log-in")


def _check_times(claims: Claims, now: float) -> None:
    if not claims.exp > now - LEEWAY_S:
        raise TokenRefused("it has expired")
    if max(claims.iat, claims.nbf) > now + LEEWAY_S:
        raise TokenRefused("it does not count yet")


def address(claims: dict[str, Any], name: str) -> Address:
    """The address by the claim of that name; `email_verified` speaks of the claim `email` alone."""
    email, said = _named(claims, name), claims.get("email_verified") if name == EMAIL else None
    if not isinstance(email, str) or len(email) > EMAIL_CHARS_MAX:
        return Address("", None)
    email = unicodedata.normalize("NFC", email)
    return Address(email, said in (True, "true") if said in (True, False, "true", "false") else None)


def groups_of(claims: dict[str, Any], name: str) -> frozenset[str] | None:
    """The groups that a claim names; None without such a claim."""
    given = _named(claims, name) if name else None
    if isinstance(given, str):
        given = [given]
    if not isinstance(given, list):
        return None
    return frozenset(one for one in given[:GROUPS_MAX] if isinstance(one, str))


def _named(claims: dict[str, Any], name: str) -> Any:
    """A claim by its name, or by the way to it, such as `realm_access.roles`."""
    if name in claims:
        return claims[name]
    found: Any = claims
    for part in name.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return found


EVENT = "http://schemas.openid.net/event/backchannel-logout"
LOGOUT_KINDS = frozenset({"logout+jwt", "jwt"})
AGE_MAX_S = 600
JTI_CHARS_MAX = 255


class LogoutToken(NamedTuple):
    """Whose sessions end: those of a subject, of a session of the provider, or both."""

    subject: str
    sid: str
    jti: str


async def logged_out(provider: Provider, token: str, now: datetime) -> LogoutToken:
    """What a logout token says; TokenRefused when it does not count."""
    header, claims, _ = await checked(provider, token, now, fetch=False)
    audiences = {claims.aud} if isinstance(claims.aud, str) else set(claims.aud)
    if header.kind not in LOGOUT_KINDS:
        raise TokenRefused("it is no logout token")
    if provider.client.client_id not in audiences:
        raise TokenRefused("it is for another audience")
    if not isinstance(claims.events, dict) or not isinstance(claims.events.get(EVENT), dict):
        raise TokenRefused("it tells of no such event")
    if claims.nonce is not None:
        raise TokenRefused("it has a nonce, as an ID token has")
    if not claims.iat > now.timestamp() - AGE_MAX_S:
        raise TokenRefused("it is old, or does not say when it was issued")
    if not 0 < len(claims.jti) <= JTI_CHARS_MAX:
        raise TokenRefused("it has no id of its own")
    if not (claims.sub or claims.sid):
        raise TokenRefused("it names neither a subject nor a session")
    return LogoutToken(claims.sub, claims.sid, claims.jti)
