"""Single sign-on: from the page or a command to the provider, back, and into a session."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import os
import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hmac import compare_digest
from typing import NamedTuple, TypeVar

import msgspec
import structlog
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from yarl import URL

from actors.ports import Receipt, ReceiptTaken
from daemon.connectors.egress import EgressGuard
from daemon.identity.accounts import Identity
from daemon.identity.sessions import BegunSession, ClientInfo, SessionProof
from daemon.identity.tokens import SSO_PREFIX, NotAuthenticated, Principal
from daemon.model import StoredAccount
from daemon.runtime.clock import new_id
from daemon.settings import Settings
from daemon.sso.arrivals import SSO, Arrivals, GroupSync, LogInNeeded, Trust, parse_domains
from daemon.sso.provider import (
    Client,
    CodeRefused,
    Provider,
    ProviderUnavailable,
    ProviderUnfit,
    insecure,
    open_session,
)
from daemon.sso.verification import (
    AlgorithmRefused,
    Expected,
    Identified,
    Names,
    TokenRefused,
    completed,
    logged_out,
    names_issuer,
    verified,
)
from daemon.stores.store import Store

NONCE_BYTES = 12
CHARS_MAX = 4_000
T = TypeVar("T", bound=msgspec.Struct)


class Sealed:
    """Seals by the first of the keys for a purpose, and opens by any of them."""

    def __init__(self, keys: Callable[[bytes], Sequence[bytes]], now: Callable[[], datetime]) -> None:
        self._keys = keys
        self._now = now

    def seal(self, value: msgspec.Struct, until: datetime) -> str:
        purpose, nonce = _purpose(type(value)), os.urandom(NONCE_BYTES)
        plain = msgspec.json.encode((until.timestamp(), value))
        raw = nonce + AESGCM(self._keys(purpose)[0]).encrypt(nonce, plain, purpose)
        return base64.urlsafe_b64encode(raw).decode().rstrip("=")

    def open(self, text: str, form: type[T]) -> T | None:
        """What was sealed; None when it was not sealed here, for something else, or is too old."""
        if not text.isascii() or len(text) > CHARS_MAX:
            return None
        try:
            raw = base64.b64decode(text.encode() + b"=" * (-len(text) % 4), b"-_", validate=True)
        except ValueError:
            return None
        purpose = _purpose(form)
        for key in self._keys(purpose):
            try:
                plain = AESGCM(key).decrypt(raw[:NONCE_BYTES], raw[NONCE_BYTES:], purpose)
            except (InvalidTag, ValueError):
                continue
            until, value = msgspec.json.decode(plain, type=tuple[float, form])  # type: ignore[valid-type]
            return value if self._now().timestamp() < until else None
        return None


def _purpose(form: type[msgspec.Struct]) -> bytes:
    return b"single sign-on " + form.__name__.encode() + b"\x00"


CALLBACK, BACK_CHANNEL = "/auth/sso/callback", "/auth/sso/backchannel-logout"
OK, NOBODY = 200, "nobody"
SCOPE = "openid email profile"
LOGIN_LIFE = timedelta(minutes=10)
CODE_LIFE = timedelta(seconds=60)
KNOWN_MAX = 10_000
SECRET_BYTES, TOLD_CHARS_MAX = 32, 100
_log = structlog.get_logger("penstock")


class SignInFailed(Exception):
    """The log-in cannot go on: mixed up, too late, refused by the provider, or used before."""


class CommandLine(msgspec.Struct, frozen=True):
    """A command that waits on a port of its own machine, with the digest of its secret."""

    port: int
    challenge: str


class PendingLogin(msgspec.Struct, frozen=True):
    """A log-in that a browser has begun."""

    state: str
    nonce: str
    verifier: str
    return_to: str
    command: CommandLine | None


class PendingLink(msgspec.Struct, frozen=True):
    """A log-in of a person whose account has to sign in by itself, too."""

    user_id: str
    email: str
    identified: Identified
    return_to: str
    command: CommandLine | None


class PendingCommand(msgspec.Struct, frozen=True):
    """A log-in for a command, of which the person is asked whether it is theirs."""

    session_id: str
    user_id: str
    company_id: str
    epoch: int
    proof: SessionProof
    command: CommandLine


class CommandCode(msgspec.Struct, frozen=True):
    """A code that a command exchanges for a session, once: the session has its id."""

    session_id: str
    user_id: str
    company_id: str
    epoch: int
    challenge: str
    proof: SessionProof


class Arrived(NamedTuple):
    """Somebody whom the provider names, and what proved it."""

    account: StoredAccount
    proof: SessionProof


class Started(NamedTuple):
    """Where the browser goes, and what it keeps meanwhile."""

    url: str
    kept: str
    state: str


class Callback(NamedTuple):
    """What the provider sends the browser back with."""

    code: str
    state: str
    error: str


class KnownToken(NamedTuple):
    """The holder of a token, and when the keys were fetched by which it counts."""

    principal: Principal
    keys_at: float | None


@dataclass(slots=True)
class SingleSignOn:
    """Log-ins by the provider, and its tokens as callers of the API."""

    store: Store
    identity: Identity
    provider: Provider
    arrivals: Arrivals
    groups: GroupSync
    sealed: Sealed
    expected: Expected
    now: Callable[[], datetime]
    _known: dict[str, KnownToken]

    async def start(self, return_to: str, command: CommandLine | None) -> Started:
        """Begin a log-in; ProviderUnavailable when the provider does not answer."""
        metadata, client = await self.provider.metadata(), self.provider.client
        state, nonce, verifier = (secrets.token_urlsafe(SECRET_BYTES) for _ in range(3))
        query = {
            "response_type": "code",
            "client_id": client.client_id,
            "redirect_uri": client.redirect_uri,
            "scope": SCOPE,
            "state": state,
            "nonce": nonce,
            "code_challenge": challenge_of(verifier),
            "code_challenge_method": "S256",
        }
        pending = PendingLogin(state, nonce, verifier, return_to, command)
        kept = self.sealed.seal(pending, self.now() + LOGIN_LIFE)
        return Started(str(URL(metadata.authorization_endpoint).update_query(query)), kept, state)

    def pending(self, kept: str, state: str) -> PendingLogin:
        """The log-in that this browser has begun; SignInFailed for another's."""
        pending = self.sealed.open(kept, PendingLogin)
        if pending is None or not compare_digest(pending.state.encode(), state.encode()):
            raise SignInFailed("it was not begun by this browser, or is too old")
        return pending

    async def finish(self, pending: PendingLogin, callback: Callback) -> Arrived:
        """Who the provider says it is.

        SignInFailed, NoCompany or NotVerified when it is nobody, and LogInNeeded where the account
        has to sign in by itself first.
        """
        if callback.error or not callback.code:
            told = "".join(filter(str.isprintable, callback.error))[:TOLD_CHARS_MAX]
            _log.warning("sso_refused", reason=f"the provider answers {told or 'without a code'}")
            raise SignInFailed("the provider refuses it")
        expected = self.expected._replace(nonce=pending.nonce)
        try:
            answer = await self.provider.exchange(callback.code, pending.verifier)
            identified = await verified(self.provider, answer.id_token, expected, self.now())
        except AlgorithmRefused as refused:
            _log.error("sso_provider_unfit", reason=str(refused))
            raise ProviderUnfit(str(refused)) from refused
        except (CodeRefused, TokenRefused) as refused:
            _log.warning("sso_refused", reason=str(refused))
            raise SignInFailed("the provider's answer does not count") from refused
        if self._lacks(identified):
            identified = await completed(self.provider, identified, answer.access_token, expected.names)
        return await self._arrived(identified)

    def _lacks(self, identified: Identified) -> bool:
        """Whether the ID token leaves out what the userinfo endpoint may say."""
        unproven = identified.email_verified is None and not self.arrivals.email_trusted
        return not identified.email or unproven or (identified.groups is None and bool(self.expected.names.groups))

    async def _arrived(self, identified: Identified, own: tuple[str, ...] = (), user_id: str = "") -> Arrived:
        account = await self.arrivals.account(identified, user_id)
        await self.groups.apply(account, identified)
        return Arrived(account, SessionProof((f"{SSO_PREFIX}{identified.issuer}", *own), identified.sid))

    def link_for(self, needed: LogInNeeded, pending: PendingLogin) -> str:
        """What the browser keeps while the person gives the password of the account."""
        user = needed.account.user
        identified = self.groups.relevant(needed.identified)
        link = PendingLink(user.id, user.email, identified, pending.return_to, pending.command)
        return self.sealed.seal(link, self.now() + LOGIN_LIFE)

    def link(self, kept: str) -> PendingLink:
        """The link that this browser keeps; SignInFailed without one."""
        link = self.sealed.open(kept, PendingLink)
        if link is None:
            raise SignInFailed("it was not begun by this browser, or is too old")
        return link

    async def linked(self, link: PendingLink, password: str, code: str | None) -> Arrived:
        """Link the provider's subject to the account, whose password and code are right."""
        user, amr = await self.identity.proven(link.email, password, code)
        return await self._arrived(link.identified, amr, user.id)

    async def begin_session(self, arrived: Arrived, client: ClientInfo, session_id: str = "") -> BegunSession:
        """Begin a session; SignInFailed when one of this id was begun before."""
        account, proof = arrived
        session, entered = self.identity.sessions.begin(account, client, proof, SSO, session_id)
        if not await self.store.begin_session(session.record, account.user.epoch, entered):
            raise SignInFailed("it was used before, or all sessions were ended meanwhile")
        return session

    def question_for(self, arrived: Arrived, command: CommandLine) -> str:
        """What the browser sends back when the person says that the command is theirs."""
        account, proof = arrived
        where = (new_id(), account.user.id, account.company.id, account.user.epoch)
        return self.sealed.seal(PendingCommand(*where, proof, command), self.now() + LOGIN_LIFE)

    def code_for(self, text: str) -> tuple[CommandLine, str]:
        """The command that the person was asked about, and a code for it: once and for a minute."""
        asked = self.sealed.open(text, PendingCommand)
        if asked is None:
            raise SignInFailed("it was not asked here, or is too old")
        who = (asked.session_id, asked.user_id, asked.company_id, asked.epoch)
        code = CommandCode(*who, asked.command.challenge, asked.proof)
        return asked.command, self.sealed.seal(code, self.now() + CODE_LIFE)

    async def swap(self, text: str, verifier: str, client: ClientInfo) -> BegunSession:
        """The session for a code and the secret of the command that asked for it."""
        code = self.sealed.open(text, CommandCode)
        if code is None or not compare_digest(code.challenge, challenge_of(verifier)):
            raise SignInFailed("the code does not count")
        account = await self.store.account(code.user_id, code.company_id)
        if account is None or account.user.epoch != code.epoch:
            raise SignInFailed("the code does not count any more")
        return await self.begin_session(Arrived(account, code.proof), client, code.session_id)

    async def log_out(self, token: str) -> None:
        """End the sessions that a logout token names; TokenRefused when it does not count."""
        named = await logged_out(self.provider, token, self.now())
        used = Receipt("", BACK_CHANNEL, named.jti, hashlib.sha256(token.encode()).digest(), status=OK)
        if await self.store.receipt(used.company_id, used.path, used.key) is not None:
            raise TokenRefused("it was used before")
        user_id = ""
        if named.subject:
            subject = await self.store.subject(self.provider.client.issuer, named.subject)
            user_id = NOBODY if subject is None else subject.user_id
        for record in await self.store.provider_sessions(user_id, named.sid, self.now()):
            await self.identity.sessions.end_by_provider(record)
        with suppress(ReceiptTaken):
            await self.store.keep_receipt(used)

    def recognises(self, token: str) -> bool:
        """Whether a bearer token says that it is of the provider."""
        return token in self._known or names_issuer(token, self.provider.client.issuer)

    async def principal(self, token: str) -> Principal:
        """The holder of a token of the provider; NotAuthenticated when it does not count."""
        known = self._known.get(token)
        if known is None or known.keys_at is None or known.keys_at != self.provider.keys_at:
            known = self._known[token] = await self._looked_at(token)
        if known.principal.expires_at <= self.now():
            self._known.pop(token, None)
            raise NotAuthenticated
        return self.identity.sessions.standings.with_present_role(known.principal)

    async def _looked_at(self, token: str) -> KnownToken:
        """The token, verified by the keys as they are now."""
        try:
            identified = await verified(self.provider, token, self.expected, self.now())
        except TokenRefused as refused:
            _log.debug("sso_token_refused", reason=str(refused))
            self._known.pop(token, None)
            raise NotAuthenticated from refused
        account = await self.arrivals.present(identified.issuer, identified.subject)
        if account is None:
            raise NotAuthenticated
        if len(self._known) >= KNOWN_MAX:
            del self._known[next(iter(self._known))]
        return KnownToken(_principal(account, identified), self.provider.keys_at)


@asynccontextmanager
async def open_single_sign_on(
    settings: Settings, guard: EgressGuard, store: Store, identity: Identity, now: Callable[[], datetime]
) -> AsyncIterator[SingleSignOn | None]:
    """Single sign-on by the provider of the settings; None without one. ValueError if invalid."""
    if not settings.oidc_issuer:
        yield None
        return
    if (reason := insecure(settings.oidc_issuer)) is not None:
        raise ValueError(f"PENSTOCK_OIDC_ISSUER: {reason}")
    client = Client(
        settings.oidc_issuer, settings.oidc_client_id, client_secret(settings), settings.public_url + CALLBACK
    )
    trust = Trust(parse_domains(settings.oidc_domains), settings.oidc_email_trusted)
    names = Names(settings.oidc_email_claim, settings.oidc_groups_claim)
    identity.sessions.proofs.mapped = trust.company_of
    async with open_session(guard) as session, looked_at(Provider(client, session)) as provider:
        yield SingleSignOn(
            store=store,
            identity=identity,
            provider=provider,
            arrivals=Arrivals(store, identity.sessions, trust, now),
            groups=GroupSync(store, identity.people, settings.oidc_groups, now),
            sealed=Sealed(identity.derived, now),
            expected=Expected(client.client_id, settings.oidc_audience, names, id_tokens=settings.oidc_id_tokens),
            now=now,
            _known={},
        )


@asynccontextmanager
async def looked_at(provider: Provider) -> AsyncIterator[Provider]:
    """The provider, whose metadata is asked for at once: what does not fit is in the log."""

    async def look() -> None:
        with suppress(ProviderUnavailable):
            await provider.metadata()

    looking = asyncio.create_task(look())
    try:
        yield provider
    finally:
        looking.cancel()
        await asyncio.gather(looking, provider.stop(), return_exceptions=True)


def client_secret(settings: Settings) -> str:
    """The secret of the service at the provider; OSError when its file cannot be read."""
    if settings.oidc_client_secret_file is not None:
        return settings.oidc_client_secret_file.read_text(encoding="utf-8").strip()
    given = settings.oidc_client_secret
    return "" if given is None else given.get_secret_value()


def challenge_of(verifier: str) -> str:
    """The S256 challenge of a secret (RFC 7636)."""
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")


def _principal(account: StoredAccount, identified: Identified) -> Principal:
    return Principal(
        user_id=account.user.id,
        company_id=account.company.id,
        role=account.member.role,
        email=account.user.email,
        token_id=f"sso {identified.subject}"[:64],
        expires_at=datetime.fromtimestamp(identified.expires_at, UTC),
        via=SSO,
        member_id=account.member.id,
        amr=(f"{SSO_PREFIX}{identified.issuer}",),
    )
