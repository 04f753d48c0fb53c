"""Single sign-on: from the page or a command to the provider, back, and into a session."""

from __future__ import annotations

import base64
import hashlib
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hmac import compare_digest
from typing import NamedTuple

import msgspec
import structlog
from yarl import URL

from daemon.connectors.egress import EgressGuard
from daemon.identity.accounts import Identity
from daemon.identity.sessions import ClientInfo, Session
from daemon.identity.tokens import NotAuthenticated, Principal
from daemon.model import Account, Store
from daemon.runtime.ids import new_id
from daemon.settings import Settings
from daemon.sso.arrivals import SSO, Arrivals, Trust
from daemon.sso.groups import GroupSync
from daemon.sso.mapping import parse_domains
from daemon.sso.provider import Client, CodeRefused, Provider, insecure, open_session
from daemon.sso.sealed import Sealed
from daemon.sso.verification import Expected, Identified, TokenRefused, names_issuer, verified

CALLBACK = "/auth/sso/callback"
SCOPE = "openid email profile"
LOGIN_LIFE = timedelta(minutes=10)
CODE_LIFE = timedelta(seconds=60)
KNOWN_MAX = 10_000
SECRET_BYTES = 32
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


class CommandCode(msgspec.Struct, frozen=True):
    """A code that a command exchanges for a session, once: the session has its id."""

    session_id: str
    user_id: str
    company_id: str
    epoch: int
    challenge: str


class Started(NamedTuple):
    """Where the browser goes, and what it keeps meanwhile."""

    url: str
    kept: str


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
        return Started(str(URL(metadata.authorization_endpoint).update_query(query)), kept)

    def pending(self, kept: str, state: str) -> PendingLogin:
        """The log-in that this browser has begun; SignInFailed for another's."""
        pending = self.sealed.open(kept, PendingLogin)
        if pending is None or not compare_digest(pending.state.encode(), state.encode()):
            raise SignInFailed("it was not begun by this browser, or is too old")
        return pending

    async def finish(self, pending: PendingLogin, callback: Callback) -> Account:
        """Who the provider says it is; SignInFailed, NoCompany or NotVerified when it is nobody."""
        if callback.error or not callback.code:
            raise SignInFailed("the provider refuses it")
        client_id = self.provider.client.client_id
        expected = self.expected._replace(audiences=(client_id,), nonce=pending.nonce)
        try:
            token = await self.provider.exchange(callback.code, pending.verifier)
            identified = await verified(self.provider, token, expected, self.now())
        except (CodeRefused, TokenRefused) as refused:
            _log.warning("sso_refused", reason=str(refused) or "the provider refuses the code")
            raise SignInFailed("the provider's answer does not count") from refused
        account = await self.arrivals.account(identified)
        await self.groups.apply(account, identified)
        return account

    async def enter(self, account: Account, client: ClientInfo, session_id: str = "") -> Session:
        """Begin a session; SignInFailed when one of this id was begun before."""
        session, entered = self.identity.sessions.begin(account, client, SSO, session_id)
        if not await self.store.begin_session(session.record, account.user.epoch, entered):
            raise SignInFailed("it was used before, or all sessions were ended meanwhile")
        return session

    def code_for(self, account: Account, command: CommandLine) -> str:
        """A code for a command, which counts once and for a minute."""
        where = (new_id(), account.user.id, account.company.id, account.user.epoch)
        return self.sealed.seal(CommandCode(*where, command.challenge), self.now() + CODE_LIFE)

    async def swap(self, text: str, verifier: str, client: ClientInfo) -> Session:
        """The session for a code and the secret of the command that asked for it."""
        code = self.sealed.open(text, CommandCode)
        if code is None or not compare_digest(code.challenge, challenge_of(verifier)):
            raise SignInFailed("the code does not count")
        account = await self.store.account(code.user_id, code.company_id)
        if account is None or account.user.epoch != code.epoch:
            raise SignInFailed("the code does not count any more")
        return await self.enter(account, client, code.session_id)

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
        return self.identity.sessions.standings.of(known.principal)

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
    audiences = tuple(filter(None, (settings.oidc_client_id, settings.oidc_audience)))
    trust = Trust(parse_domains(settings.oidc_domains), settings.oidc_email_trusted)
    async with open_session(guard) as session:
        yield SingleSignOn(
            store=store,
            identity=identity,
            provider=Provider(client, session),
            arrivals=Arrivals(store, identity.sessions, trust, now),
            groups=GroupSync(store, identity.people, settings.oidc_groups, now),
            sealed=Sealed(identity.derived, now),
            expected=Expected(audiences, None, settings.oidc_groups_claim),
            now=now,
            _known={},
        )


def client_secret(settings: Settings) -> str:
    """The secret of the service at the provider; OSError when its file cannot be read."""
    if settings.oidc_client_secret_file is not None:
        return settings.oidc_client_secret_file.read_text(encoding="utf-8").strip()
    given = settings.oidc_client_secret
    return "" if given is None else given.get_secret_value()


def challenge_of(verifier: str) -> str:
    """The S256 challenge of a secret (RFC 7636)."""
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")


def _principal(account: Account, identified: Identified) -> Principal:
    return Principal(
        user_id=account.user.id,
        company_id=account.company.id,
        role=account.member.role,
        email=account.user.email,
        token_id=f"sso {identified.subject}"[:64],
        expires_at=datetime.fromtimestamp(identified.expires_at, UTC),
        via=SSO,
        member_id=account.member.id,
    )
