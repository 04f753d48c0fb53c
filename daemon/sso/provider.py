"""The OpenID provider: its metadata, its keys, and codes exchanged for tokens."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias
from urllib.parse import quote_plus

import aiohttp
import msgspec
import structlog
from yarl import URL

from daemon.connectors.egress import (
    BadUrl,
    DnsResolver,
    EgressGuard,
    EgressRefused,
    guarded_connector,
    is_address,
    parse_url,
)

if TYPE_CHECKING:
    from joserfc.jwk import ECKey, OKPKey, RSAKey

DISCOVERY = "/.well-known/openid-configuration"
TIMEOUT = aiohttp.ClientTimeout(total=10.0, sock_connect=5.0)
ANSWER_BYTES_MAX = 262_144
AT_ONCE_MAX = 8
KEYS_MAX = 64
RSA_BITS_MIN = 2_048
FRESH_S = 600.0
REFETCH_S = 30.0
OK, REFUSED, NOT_FOUND = 200, 400, 404
# Providers read this alike; of a name and secret in a header some decode the escapes, some do not.
IN_BODY = "client_secret_post"
ALGORITHMS = {
    **{f"{kind}{bits}": ("RSA", None) for kind in ("RS", "PS") for bits in (256, 384, 512)},
    "ES256": ("EC", "P-256"),
    "ES384": ("EC", "P-384"),
    "ES512": ("EC", "P-521"),
    "EdDSA": ("OKP", "Ed25519"),
}
"""Those that count where the provider lists them, with the kind and the curve of their keys."""
CURVES = {"P-256", "P-384", "P-521"}
REASON_CHARS_MAX = 300
CLIENT_FAULTS = frozenset({"invalid_client", "unauthorized_client", "unsupported_grant_type", "invalid_scope"})
"""Errors of RFC 6749 by which a provider refuses the service, and not one log-in."""
VerifyKey: TypeAlias = "RSAKey | ECKey | OKPKey"
_log = structlog.get_logger("penstock")


class ProviderUnavailable(Exception):
    """The provider does not answer, or not as a provider does; the text says why."""


class ProviderUnfit(ProviderUnavailable):
    """The provider and the settings do not fit; the text says why, and waiting does not help."""


class CodeRefused(Exception):
    """The provider takes the code for no token: it was used, has expired or is another's."""


class Metadata(msgspec.Struct, frozen=True):
    """What the provider says of itself."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)
    userinfo_endpoint: str | None = None
    id_token_signing_alg_values_supported: tuple[str, ...] = tuple(ALGORITHMS)

    @property
    def algorithms(self) -> frozenset[str]:
        """Those of its algorithms that count."""
        return frozenset(ALGORITHMS).intersection(self.id_token_signing_alg_values_supported)


class _KeySet(msgspec.Struct, frozen=True):
    keys: list[dict[str, Any]]


class TokenAnswer(msgspec.Struct, frozen=True):
    """What the provider gives for a code."""

    id_token: str
    access_token: str = ""


class _TokenError(msgspec.Struct, frozen=True):
    error: str = ""


class Client(NamedTuple):
    """What the provider knows the service by."""

    issuer: str
    client_id: str
    client_secret: str
    redirect_uri: str


class Provider:
    """Speaks to one provider; what it says of itself and its keys are kept for a while."""

    def __init__(
        self, client: Client, session: aiohttp.ClientSession, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self.client = client
        self._session = session
        self._monotonic = monotonic
        self._metadata: Metadata | None = None
        self._metadata_at = 0.0
        self._keys: Mapping[str, VerifyKey] = {}
        self._keys_at: float | None = None
        self._under_way: dict[str, asyncio.Task[None]] = {}
        self._slots = asyncio.Semaphore(AT_ONCE_MAX)

    async def metadata(self) -> Metadata:
        """What the provider says of itself; its issuer has to be the one that is configured."""
        if self._metadata is None or self._monotonic() >= self._metadata_at + FRESH_S:
            await self._joined("metadata", self._fetch_metadata)
        assert self._metadata is not None  # noqa: S101 - where there is none, the fetch has raised
        return self._metadata

    async def key(self, key_id: str | None, *, fetch: bool) -> VerifyKey | None:
        """The key of that id; the only one when a token names none.

        Keys are fetched again for an unknown id: at once with `fetch`, otherwise once in a while,
        since anybody may send a token that names any id.
        """
        at, found = self.keys_at, self._known(key_id)
        if at is None or (found is None and (fetch or self._monotonic() - at >= REFETCH_S)):
            try:
                await self._joined("keys", self._fetch_keys)
            except ProviderUnavailable as unavailable:
                if found is None:
                    raise
                _log.warning("sso_keys_kept", reason=str(unavailable))
                self._keys_at = self._monotonic()
            return self._known(key_id)
        return found

    async def _joined(self, what: str, fetch: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Fetch, or wait for the fetch that is under way: a provider that hangs is asked once."""
        task = self._under_way.get(what)
        if task is None:
            task = self._under_way[what] = asyncio.get_running_loop().create_task(fetch())
            task.add_done_callback(partial(self._fetched, what))
        await asyncio.shield(task)

    async def stop(self) -> None:
        """End the fetches that are under way."""
        tasks = [*self._under_way.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _fetched(self, what: str, task: asyncio.Task[None]) -> None:
        del self._under_way[what]
        if not task.cancelled():
            task.exception()  # told to who waits; where all have gone nobody asks for it

    @property
    def keys_at(self) -> float | None:
        """When the keys were fetched; None when they have to be fetched again."""
        if self._keys_at is None or self._monotonic() - self._keys_at >= FRESH_S:
            return None
        return self._keys_at

    async def exchange(self, code: str, verifier: str) -> TokenAnswer:
        """The tokens for a code; CodeRefused when the provider refuses it."""
        metadata, client = await self.metadata(), self.client
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": client.redirect_uri,
            "code_verifier": verifier,
        }
        how: dict[str, Any] = {"data": form}
        if not client.client_secret:
            form["client_id"] = client.client_id
        elif IN_BODY in metadata.token_endpoint_auth_methods_supported:
            form |= {"client_id": client.client_id, "client_secret": client.client_secret}
        else:
            credentials = aiohttp.encode_basic_auth(_quoted(client.client_id), _quoted(client.client_secret))
            how["headers"] = {"Authorization": credentials}
        raw = await self._fetch("POST", metadata.token_endpoint, **how)
        answer: TokenAnswer = _decoded(raw, TokenAnswer)
        return answer

    async def userinfo(self, access_token: str) -> dict[str, Any]:
        """What the provider says of a person beside the ID token; nothing where it does not."""
        url = (await self.metadata()).userinfo_endpoint
        if not url or not access_token:
            return {}
        try:
            raw = await self._fetch("GET", url, headers={"Authorization": f"Bearer {access_token}"})
            found: dict[str, Any] = _decoded(raw, dict[str, Any])
        except ProviderUnavailable as unavailable:
            _log.warning("sso_userinfo_unread", reason=str(unavailable))
            return {}
        return found

    def _known(self, key_id: str | None) -> VerifyKey | None:
        if key_id is None:
            return next(iter(self._keys.values())) if len(self._keys) == 1 else None
        return self._keys.get(key_id)

    async def _fetch_metadata(self) -> None:
        url = self.client.issuer.rstrip("/") + DISCOVERY
        try:
            found = _decoded(await self._fetch("GET", url), Metadata)
            self._check(found)
        except ProviderUnavailable as unavailable:
            if self._metadata is None:
                raise
            _log.warning("sso_metadata_kept", reason=str(unavailable))
        else:
            self._metadata = found
        self._metadata_at = self._monotonic()

    async def _fetch_keys(self) -> None:
        metadata = await self.metadata()
        self._keys = verify_keys(_decoded(await self._fetch("GET", metadata.jwks_uri), _KeySet).keys)
        self._keys_at = self._monotonic()

    def _check(self, found: Metadata) -> None:
        if found.issuer != self.client.issuer:
            told = found.issuer[:REASON_CHARS_MAX]
            raise _unfit(f"it calls itself {told}, and PENSTOCK_OIDC_ISSUER is {self.client.issuer}")
        for url in (found.authorization_endpoint, found.token_endpoint, found.jwks_uri, found.userinfo_endpoint):
            if url is not None and (reason := insecure(url)) is not None:
                raise _unfit(f"{reason}: {url[:REASON_CHARS_MAX]}")
        if not found.algorithms:
            listed = ", ".join(found.id_token_signing_alg_values_supported)[:REASON_CHARS_MAX]
            raise _unfit(f"it signs by {listed or 'nothing'}, and these count: {', '.join(ALGORITHMS)}")

    async def _fetch(self, method: str, url: str, **how: Any) -> bytes:
        """A whole answer of the provider; only for a code it may say no."""
        try:
            async with (
                self._slots,
                self._session.request(method, URL(url, encoded=True), allow_redirects=False, **how) as response,
            ):
                raw = await _whole(response)
                status = response.status
        except aiohttp.ClientConnectorCertificateError as error:
            raise _unfit(f"its certificate does not count: {error}") from error
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            if (refused := _egress_refused(error)) is not None:
                raise _unfit(str(refused)) from error
            reason = f"{type(error).__name__}: {error}"[:REASON_CHARS_MAX]
            _log.warning("sso_provider_unavailable", url=url, reason=reason)
            raise ProviderUnavailable("the provider does not answer") from error
        if method == "POST" and status in (REFUSED, 401, 403):
            raise _refusal(raw, status)
        if status == NOT_FOUND:
            raise _unfit(f"there is nothing at {url}")
        if status != OK:
            _log.warning("sso_provider_unavailable", url=url, reason=f"status {status}")
            raise ProviderUnavailable(f"the provider answers {status}")
        return raw


@asynccontextmanager
async def open_session(guard: EgressGuard) -> AsyncIterator[aiohttp.ClientSession]:
    """The client that speaks to the provider, through the egress guard."""
    resolver = DnsResolver()
    session = aiohttp.ClientSession(
        connector=guarded_connector(guard, resolver), timeout=TIMEOUT, cookie_jar=aiohttp.DummyCookieJar()
    )
    try:
        async with session:
            yield session
    finally:
        await resolver.close()


def insecure(text: str) -> str | None:
    """Why a URL of a provider is refused: only over loopback it may be without TLS."""
    try:
        url = parse_url(text)
    except BadUrl as bad:
        return str(bad)
    host = (url.raw_host or "").lower()
    if url.scheme == "https" or host == "localhost" or (is_address(host) and host in ("127.0.0.1", "::1")):
        return None
    return "the provider has an address without TLS"


def verify_keys(given: list[dict[str, Any]]) -> dict[str, VerifyKey]:
    """The public keys by id that may verify a signature; all others are left out."""
    found: dict[str, VerifyKey] = {}
    for one in given[:KEYS_MAX]:
        if one.get("use", "sig") != "sig":
            continue
        key = _key(one)
        if key is not None:
            key_id = one.get("kid")
            found[key_id if isinstance(key_id, str) else key.thumbprint()] = key
    return found


def _key(given: dict[str, Any]) -> VerifyKey | None:
    from joserfc.jwk import ECKey, OKPKey, RSAKey  # noqa: PLC0415 - most do without single sign-on

    try:
        match given.get("kty"):
            case "RSA":
                rsa = RSAKey.import_key(given)
                return rsa if rsa.public_key.key_size >= RSA_BITS_MIN else None
            case "EC" if given.get("crv") in CURVES:
                return ECKey.import_key(given)
            case "OKP" if given.get("crv") == "Ed25519":
                return OKPKey.import_key(given)
    except Exception:  # noqa: BLE001 - a key of any form: one that cannot be read is none
        _log.warning("sso_key_unreadable")
    return None


async def _whole(response: aiohttp.ClientResponse) -> bytes:
    raw = bytearray()
    async for chunk in response.content.iter_any():
        raw += chunk
        if len(raw) > ANSWER_BYTES_MAX:
            raise ValueError("the answer is too large")
    return bytes(raw)


def _unfit(reason: str) -> ProviderUnfit:
    _log.error("sso_provider_unfit", reason=reason)
    return ProviderUnfit(reason)


def _refusal(raw: bytes, status: int) -> Exception:
    """Whether the provider refuses the code, or the service whatever the code."""
    try:
        error = msgspec.json.decode(raw, type=_TokenError).error
    except (msgspec.DecodeError, RecursionError):
        error = ""
    if error in CLIENT_FAULTS or (not error and status != REFUSED):
        return _unfit(f"it refuses the client: {error or status}; PENSTOCK_OIDC_CLIENT_ID and its secret have to fit")
    return CodeRefused(f"the provider refuses the code: {''.join(filter(str.isprintable, error))[:100] or status}")


def _egress_refused(error: BaseException | None) -> EgressRefused | None:
    """The refusal of the egress guard behind an error, if there is one."""
    while error is not None:
        if isinstance(error, EgressRefused):
            return error
        found = getattr(error, "os_error", None)
        error = found if isinstance(found, EgressRefused) else error.__cause__ or error.__context__
    return None


def _quoted(text: str) -> str:
    """As RFC 6749 2.3.1 has the name and the secret of a client in a header."""
    return quote_plus(text)


def _decoded(raw: bytes, form: type[Any]) -> Any:
    try:
        return msgspec.json.decode(raw, type=form)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ProviderUnavailable("the provider answers in a form that is not its own") from error
