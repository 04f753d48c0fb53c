"""Accounts and their sessions: register, log in, log out, change the password, who am I."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from aiohttp import web

from actors.ports import Receipt
from daemon.contract import accounts as contract
from daemon.contract import people
from daemon.contract.base import Empty, email_key
from daemon.identity.accounts import BegunSession, InvalidCredentials, NewOwner, NotAuthenticated
from daemon.identity.invitations import InvitationEnded, Prover, UnknownInvitation
from daemon.identity.passwords import weakness
from daemon.identity.people import LastOwner, NotPermitted, TooMany, UnknownGroup, UnknownMember
from daemon.identity.proofs import merged
from daemon.identity.second_factors import OTP, WrongCode
from daemon.identity.sessions import ClientInfo, SessionProof
from daemon.identity.tokens import Principal
from daemon.model import AlreadyMember, EmailTaken, SessionKind, StoredAccount, UserSession
from daemon.model.budgets import BudgetExceeded
from daemon.runtime.json_codec import dumps, loads
from daemon.web import cookies
from daemon.web.bodies import idempotency_key, page_limit, parse, read, read_object
from daemon.web.clients import CLIENTS
from daemon.web.idempotency import IDEMPOTENCY, IdempotencyKey, fingerprint, key_reused
from daemon.web.middleware.auth import principal_of
from daemon.web.middleware.request_id import request_id_of
from daemon.web.operations import KEYED, PAGED, PUBLIC, Operation
from daemon.web.problems import HttpProblem, email_taken, existing, invalid, not_authenticated, not_found
from daemon.web.rate_limits import RATE_LIMITS
from daemon.web.resources.pages import page_response
from daemon.web.responses import JSON, StoredResponse, from_cursor, json_response, problem_response, replayed
from daemon.web.services import SERVICES


@contextmanager
def refusing() -> Iterator[None]:
    """Turn refusals of what concerns people into problems."""
    try:
        yield
    except (UnknownMember, UnknownGroup, UnknownInvitation):
        raise not_found() from None
    except InvitationEnded:
        detail = "The invitation was used, replaced or withdrawn, or has expired: ask for another."
        raise HttpProblem("invitation_expired", detail) from None
    except AlreadyMember:
        raise HttpProblem("already_member", "The person is a member of the company.") from None
    except LastOwner:
        detail = "A company has one owner, who stays until the company is handed over."
        raise HttpProblem("last_owner", detail) from None
    except NotPermitted as refused:
        raise _forbidden(refused) from None
    except TooMany as refused:
        detail = f"A company has at most {refused.limit} {refused.what}."
        raise BudgetExceeded(f"company_{refused.what}", refused.limit, detail) from None


def _forbidden(refused: NotPermitted) -> HttpProblem:
    if refused.reason == "email":
        return HttpProblem("forbidden", "The invitation is for another e-mail address.", {"reason": "email"})
    more = {"required": refused.required, "reason": "role"}
    return HttpProblem("forbidden", f"This needs the role {refused.required}.", more)


PATH = "/auth/register"
USER_AGENT_CHARS_MAX = 200


@Operation(
    "Register a company",
    PUBLIC,
    contract.Session,
    201,
    contract.Registration,
    headers=KEYED,
    problems=(401, 403, 404, 409, 410, 429),
)
async def register(request: web.Request) -> web.Response:
    """Makes a company and its owner, and logs the owner in. An e-mail address has one account.

    With an `invitation` in place of `company_name` the account joins the company that invited it;
    one that exists is proven by its password, and by a `code` where it has a second factor.
    """
    of_page = cookies.of_page(request)
    await request.app[RATE_LIMITS].registration(request)
    raw = await read_object(request)
    if request.app[SERVICES].settings.registration == "invited" and raw.get("invitation") is None:
        raise HttpProblem("forbidden", "Only who is invited may register here.", {"reason": "invited"})
    kind = contract.Founding if raw.get("invitation") is None else contract.Newcomer
    body: contract.Registration = await parse(request, kind, raw)
    text = idempotency_key(request)
    if of_page:
        return granted(request, await _register(request, body, None), 201)
    if text is None:
        return _registered(session_json(await _register(request, body, None))).response()
    public = {name: value for name, value in raw.items() if name not in {"password", "code"}}
    return await _register_once(request, body, text, fingerprint(public))


@Operation("Log in", PUBLIC, contract.Session, request=contract.Login, problems=(401, 403, 429))
async def log_in(request: web.Request) -> web.Response:
    """Gives a token for an e-mail address and its password.

    An unknown address and a wrong password look the same. A person with a second factor sends a
    `code`, too: without one, and only after the right password, the answer is 401 with the member
    `second_factor` that says `required`.
    """
    services, of_page = request.app[SERVICES], cookies.of_page(request)
    limits = request.app[RATE_LIMITS]
    await limits.network(request)
    body = await read(request, contract.Login)
    async with limits.password(request, body.email), limits.code(body.email):
        session = await services.identity.log_in(
            body.email, body.password, client_of(request), company_id=body.company_id, code=body.code
        )
    return granted(request, session, 200) if of_page else json_response(session_json(session))


@Operation("Log out", "account", status=204, request=Empty)
async def log_out(request: web.Request) -> web.Response:
    """Ends the session at once and for good: its tokens no longer count."""
    services = request.app[SERVICES]
    await read(request, Empty)
    await services.identity.sessions.log_out(principal_of(request))
    gone = web.Response(status=204)
    return cookies.closed(request, gone) if cookies.token_of(request) else gone


@Operation("Change the password", "account", status=204, request=contract.NewPassword, problems=(401, 429))
async def change_password(request: web.Request) -> web.Response:
    """Replaces the caller's own password, and ends all other sessions of the caller."""
    services, principal = request.app[SERVICES], principal_of(request)
    body = await read(request, contract.NewPassword)
    account = await services.identity.account(principal)
    check_strength("/new", body.new, account.user.email, account.company.name)
    async with request.app[RATE_LIMITS].password(request, account.user.email):
        await services.identity.change_password(principal, body.current, body.new)
    return web.Response(status=204)


@Operation("Get the account", "read", contract.OwnAccount)
async def get_account(request: web.Request) -> web.Response:
    """The user, company and role that the token stands for, and the companies to switch to."""
    principal = principal_of(request)
    if principal.kind != "person":
        return json_response(await _machine_json(request, principal))
    return json_response(await _own_json(request, await _account(request)))


@Operation("Change one's name", "account", contract.OwnAccount, request=people.DisplayName)
async def rename_account(request: web.Request) -> web.Response:
    """Changes the name that others are shown of the caller."""
    body = await read(request, people.DisplayName)
    renamed = await request.app[SERVICES].identity.rename(principal_of(request), body.name)
    return json_response(await _own_json(request, renamed))


def granted(request: web.Request, session: BegunSession, status: int) -> web.Response:
    """The session for the page, its tokens in cookies."""
    shown = {name: value for name, value in session_json(session).items() if name not in {"token", "token_type"}}
    return cookies.opened(request, shown, status, grant_of(request, session))


def grant_of(request: web.Request, session: BegunSession) -> cookies.Grant:
    settings = request.app[SERVICES].settings
    return cookies.Grant(session.token, settings.page_token_ttl_s, session.refresh, settings.page_idle_s)


def client_of(request: web.Request, kind: SessionKind | None = None) -> ClientInfo:
    """Who asks for a session; the name that the client gives itself is cut."""
    agent = "".join(filter(str.isprintable, request.headers.get("User-Agent", "")))[:USER_AGENT_CHARS_MAX]
    found = kind or ("page" if cookies.of_page(request) else "api")
    return ClientInfo(found, request.app[CLIENTS].address(request), agent)


def session_json(session: BegunSession) -> dict[str, Any]:
    return {
        "token": session.token,
        "token_type": "bearer",
        "expires_at": session.expires_at,
        **_account_json(session.account),
    }


async def _register_once(request: web.Request, body: contract.Registration, text: str, digest: bytes) -> web.Response:
    """Registers under an Idempotency-Key; a key belongs to an e-mail address."""
    store = request.app[IDEMPOTENCY]
    key = IdempotencyKey("", f"{PATH}/{email_key(body.email)}", text, digest)
    earlier = IdempotencyKey("", PATH, text, digest)  # as versions before kept it
    if await store.holds(earlier):
        key = earlier

    async def execute() -> StoredResponse:
        try:
            return _registered(session_json(await _register(request, body, key)))
        except EmailTaken:
            refusal = problem_response(email_taken(), request_id_of(request))
            await store.keep(key.receipt(refusal))
            return refusal

    return (await store.answer(key, execute, partial(_replay_registration, request, body))).response()


async def _register(request: web.Request, body: contract.Registration, key: IdempotencyKey | None) -> BegunSession:
    identity = request.app[SERVICES].identity
    check_strength("/password", body.password, body.email, body.company_name or "")
    receipt = partial(session_receipt, request, key)
    if body.invitation is not None:
        return await _join(request, body, body.invitation, receipt)
    owner = NewOwner(body.company_name or "", body.email, body.password, body.name)
    async with request.app[RATE_LIMITS].hashing(request):
        return await identity.register(owner, client_of(request), receipt)


async def _join(
    request: web.Request, body: contract.Registration, token: str, receipt: Callable[[BegunSession], Receipt | None]
) -> BegunSession:
    """Joins the company of an invitation; who has an account proves it as for a log-in."""
    services, limits = request.app[SERVICES], request.app[RATE_LIMITS]
    with refusing():
        invited = await services.identity.invitations.describe(token)
        if email_key(invited.member.email) != email_key(body.email):
            raise NotPermitted("email")  # before anything depends on whether there is an account
        if await services.identity.has_account(body.email):
            try:
                async with limits.password(request, body.email), limits.code(body.email):
                    user, amr = await services.identity.proven(body.email, body.password, body.code)
            except WrongCode:
                raise  # it comes behind the right password
            except InvalidCredentials:
                raise EmailTaken from None
            prover = Prover(user, SessionProof(amr))
            return await services.identity.invitations.admit(prover, token, client_of(request), receipt)
        async with limits.hashing(request):
            newcomer = await services.identity.newcomer(body.email, body.password, body.name)
        return await services.identity.invitations.join(newcomer, token, client_of(request), receipt)


async def _replay_registration(request: web.Request, body: contract.Registration, receipt: Receipt) -> StoredResponse:
    """The response of an earlier registration, byte for byte, if the password is right.

    A wrong one counts as one of a log-in does.
    """
    if receipt.status is not None:
        return replayed(receipt)
    identity = request.app[SERVICES].identity
    try:
        async with request.app[RATE_LIMITS].password(request, body.email):
            await identity.confirm(body.email, body.password)
    except InvalidCredentials:
        raise key_reused() from None
    kept: dict[str, Any] = loads(receipt.body)
    if identity.second_factors.counts(kept["session"]["user"]["id"]):
        raise key_reused()  # the password alone gives no token any more
    session = {**kept["session"], "token": identity.signed(kept["claims"], kept["key_id"])}
    return _registered(session).as_replay()


def session_receipt(request: web.Request, key: IdempotencyKey | None, session: BegunSession) -> Receipt | None:
    """Keeps all of a session but its token, which is signed again from its claims."""
    if key is None:
        return None
    claims, key_id = request.app[SERVICES].identity.claims(session.token)
    return key.sealed_receipt(
        dumps({"claims": claims, "key_id": key_id, "session": {**session_json(session), "token": None}})
    )


def check_strength(where: str, password: str, *own_names: str) -> None:
    """422 for a password that is guessed at once."""
    why = weakness(password, *own_names)
    if why is not None:
        raise invalid((where, why))


def _registered(session: dict[str, Any]) -> StoredResponse:
    return StoredResponse(201, dumps(session), {"Content-Type": JSON})


async def _account(request: web.Request) -> StoredAccount:
    return await request.app[SERVICES].identity.account(principal_of(request))


async def _machine_json(request: web.Request, principal: Principal) -> dict[str, Any]:
    """An API key in the place of a user, under its name."""
    company = existing(await request.app[SERVICES].store.company(principal.company_id))
    where = contract.Company.view(company)
    user = {"id": principal.user_id, "email": principal.email, "name": principal.email}
    proven = {"amr": (), "has_password": False, "second_factor": False}
    mine = {"role": principal.role, "member_id": None, "kind": principal.kind, **proven}
    return {"user": user, "company": where, **mine, "companies": [{**where, "role": principal.role}]}


async def _own_json(request: web.Request, one: StoredAccount) -> dict[str, Any]:
    principal, identity = principal_of(request), request.app[SERVICES].identity
    companies = await identity.memberships(principal)
    listed = [{"id": each.company_id, "name": each.name, "role": each.role} for each in companies]
    mine = {"member_id": one.member.id, "kind": principal.kind, "companies": listed}
    proven = {"amr": identity.sessions.proofs.amr(principal), "has_password": bool(one.user.password_hash)}
    return {**_account_json(one), **mine, **proven, "second_factor": identity.second_factors.counts(one.user.id)}


def _account_json(one: StoredAccount) -> dict[str, Any]:
    return {
        "user": contract.User.view(one.user),
        "company": contract.Company.view(one.company),
        "role": one.member.role,
    }


@Operation("Renew the page's session", PUBLIC, contract.PageSession, request=Empty, problems=(401, 403))
async def refresh_session(request: web.Request) -> web.Response:
    """Gives the page a new token for the refresh token in its cookie, which is replaced.

    A refresh token counts once: when one is used again later, its session ends.
    """
    services, of_page = request.app[SERVICES], cookies.of_page(request)
    await read(request, Empty)
    given = cookies.refresh_token_of(request)
    if not of_page or not given:
        raise not_authenticated(sent=False)
    try:
        session = await services.identity.sessions.refresh(given)
    except NotAuthenticated:
        refusal = problem_response(not_authenticated(sent=True), request_id_of(request)).response()
        return cookies.closed(request, refusal)
    return granted(request, session, 200)


@Operation("List the sessions", "account", list[contract.ActiveSession], query=PAGED)
async def list_sessions(request: web.Request) -> web.Response:
    """The caller's sessions that count, newest first. Use is recorded once a minute."""
    principal = principal_of(request)
    limit, before = page_limit(request), from_cursor(request, "sessions")
    found = await request.app[SERVICES].identity.sessions.live(principal, before, limit + 1)
    second_factors = request.app[SERVICES].identity.second_factors

    def show(one: UserSession) -> dict[str, Any]:
        proven = one.proofs
        if second_factors.confirmed_in(one.user_id, one.id):
            proven = merged(proven, (OTP,))
        return contract.ActiveSession.view(one, current=one.id == principal.session_id, amr=proven)

    return await page_response(request, found, limit, "sessions", name=lambda last: last.id, show=show)


@Operation("End a session", "account", status=204, problems=(404,))
async def end_session(request: web.Request) -> web.Response:
    """Ends a session of the caller: its tokens count nowhere from this answer on."""
    sessions, principal = request.app[SERVICES].identity.sessions, principal_of(request)
    if not await sessions.end(principal, request.match_info["session_id"]):
        raise not_found()
    return web.Response(status=204)


@Operation("End all other sessions", "account", status=204)
async def end_other_sessions(request: web.Request) -> web.Response:
    """Ends all sessions of the caller but that of this request."""
    await request.app[SERVICES].identity.sessions.end_others(principal_of(request))
    return web.Response(status=204)
