"""Members of a company, invitations, and who joins or switches companies."""

from __future__ import annotations

import base64
import re
from functools import partial
from typing import Any

from aiohttp import web

from actors.core.people import GROUP_NAME
from actors.ports import Receipt
from daemon.contract import accounts
from daemon.contract import people as contract
from daemon.identity.accounts import BegunSession
from daemon.identity.invitations import Invited
from daemon.identity.people import UnknownMember
from daemon.identity.tokens import Principal
from daemon.mail.mailer import Mails
from daemon.mail.texts import InvitationMail
from daemon.model import StoredGroup, StoredMember
from daemon.runtime.json_codec import dumps, loads
from daemon.web import cookies
from daemon.web.bodies import page_limit, parse, read
from daemon.web.csv_lists import csv_list
from daemon.web.idempotency import IdempotencyKey, idempotent, receipt_maker
from daemon.web.middleware.auth import principal_of
from daemon.web.operations import KEYED, LISTED, PAGED, PUBLIC, Operation
from daemon.web.parameters import ID
from daemon.web.problems import existing, invalid, not_found, pointer
from daemon.web.rate_limits import RATE_LIMITS
from daemon.web.resources.accounts import client_of, granted, refusing, session_json, session_receipt
from daemon.web.resources.pages import page_response
from daemon.web.responses import JSON, StoredResponse, from_cursor, json_response
from daemon.web.services import SERVICES, Services

_GROUP = re.compile(GROUP_NAME)


@Operation("List the members", "read", list[contract.Member], query=LISTED)
@csv_list(contract.Member, "members")
async def list_members(request: web.Request) -> web.Response:
    """The people of the company, and those invited to it."""
    company_id = company_at(request)
    limit, after = page_limit(request), from_cursor(request, "members", ID) or ""
    found = await request.app[SERVICES].store.members(company_id, after, limit + 1)
    return await page_response(request, found, limit, "members", name=lambda last: last.id, show=member_json)


async def _replay_invitation(request: web.Request, _: IdempotencyKey, receipt: Receipt) -> StoredResponse:
    """The response of an earlier request, byte for byte."""
    kept: dict[str, Any] = loads(receipt.body)
    sealed = base64.b64decode(kept.pop("sealed"))
    token = await request.app[SERVICES].identity.invitations.open(receipt.company_id, kept["id"], sealed)
    kept["invitation"] = {"token": token, **kept["invitation"]}
    return _created(kept).as_replay()


@Operation(
    "Invite a person",
    "people",
    contract.InvitedMember,
    201,
    contract.NewMember,
    headers=KEYED,
    problems=(403, 404, 409, 507),
)
@idempotent(_replay_invitation)
async def invite_member(request: web.Request, raw: dict[str, Any], key: IdempotencyKey | None) -> StoredResponse:
    """Makes an invitation for an e-mail address. Its token is shown this once, and counts 7 days.

    A repeat for a person who has not accepted replaces the invitation.
    """
    company_at(request)
    body = await parse(request, contract.NewMember, raw)

    def receipt(invited: Invited, sealed: bytes) -> Receipt | None:
        if key is None:
            return None
        kept = {**member_json(invited.member), "invitation": {"expires_at": invited.expires_at, "mailed": mailed}}
        return key.sealed_receipt(dumps({**kept, "sealed": base64.b64encode(sealed).decode()}))

    services, principal = request.app[SERVICES], principal_of(request)
    await services.stored.store_more(principal.company_id)
    mailed = await _may_mail(request, body.email)
    with refusing():
        invited = await services.identity.invitations.invite(principal, body.email, body.role, receipt)
    if mailed and services.mails is not None:
        await _mail(services, services.mails, principal, invited)
    invitation = {"token": invited.token, "expires_at": invited.expires_at, "mailed": mailed}
    return _created({**member_json(invited.member), "invitation": invitation})


async def _may_mail(request: web.Request, email: str) -> bool:
    """Whether an invitation is mailed, too; 429 for a company that has mailed enough."""
    services, limits = request.app[SERVICES], request.app[RATE_LIMITS]
    if services.mails is None:
        return False
    company = existing(await services.store.company(principal_of(request).company_id))
    await limits.mailed_invitation(company, services.now())
    account = await services.store.account_by_email(email)
    answered = 0 if account is None else len(await services.store.memberships(account.user.id))
    return await limits.may_mail(email, answered)


async def _mail(services: Services, mails: Mails, principal: Principal, invited: Invited) -> None:
    """Mail the link; nobody waits for that."""
    company = existing(await services.store.company(principal.company_id))
    mail = InvitationMail(invited.member.email, company.id, company.name, principal.email, invited.expires_at)
    mails.invitation(mail, invited.token)


@Operation("Change a member's role", "people", contract.Member, request=contract.RoleChange, problems=(403, 404, 409))
async def change_member(request: web.Request) -> web.Response:
    """Gives a member another role, which counts everywhere from this answer on."""
    company_at(request)
    body = await read(request, contract.RoleChange)
    with refusing():
        member = await request.app[SERVICES].identity.people.change_role(
            principal_of(request), request.match_info["member_id"], body.role
        )
    return json_response(member_json(member))


@Operation("Remove a member", "leave", status=204, problems=(403, 404, 409))
async def remove_member(request: web.Request) -> web.Response:
    """Ends a membership or withdraws an invitation. All may leave but the owner."""
    company_at(request)
    with refusing():
        await request.app[SERVICES].identity.people.remove(principal_of(request), request.match_info["member_id"])
    return web.Response(status=204)


@Operation(
    "Hand the company over",
    "hand_over",
    contract.Member,
    request=contract.HandOver,
    headers=KEYED,
    problems=(403, 404, 409),
)
@idempotent()
async def hand_over(request: web.Request, raw: dict[str, Any], key: IdempotencyKey | None) -> StoredResponse:
    """Makes another member the owner. The caller becomes an admin."""
    company_at(request)
    body = await parse(request, contract.HandOver, raw)
    people, receipt = request.app[SERVICES].identity.people, receipt_maker(key, _changed)
    with refusing():
        return _changed(await people.hand_over(principal_of(request), body.member_id, receipt))


@Operation(
    "Look at an invitation",
    PUBLIC,
    contract.InvitationDetails,
    request=contract.InvitationToken,
    problems=(404, 410, 429),
)
async def look_at_invitation(request: web.Request) -> web.Response:
    """What an invitation is for. Only who has its token can ask."""
    await request.app[RATE_LIMITS].network(request)
    body = await read(request, contract.InvitationToken)
    with refusing():
        found = await request.app[SERVICES].identity.invitations.describe(body.token)
    shown = {"company": found.company, "email": found.member.email, "role": found.member.role}
    return json_response({**shown, "has_account": found.has_account, "expires_at": found.expires_at})


@Operation("List the groups", "read", list[contract.Group], query=PAGED)
async def list_groups(request: web.Request) -> web.Response:
    """The company's groups with their members."""
    company_id = company_at(request)
    limit, after = page_limit(request), from_cursor(request, "groups", _GROUP) or ""
    every = await request.app[SERVICES].store.groups(company_id)
    found = [one for one in every if one.name > after]
    return await page_response(request, found, limit, "groups", name=lambda last: last.name, show=_group_json)


@Operation("Write a group", "people", contract.Group, request=contract.GroupDefinition, problems=(403, 404, 409, 507))
async def put_group(request: web.Request) -> web.Response:
    """Creates a group or replaces its members, who have to be active members."""
    company_id, name, services = company_at(request), request.match_info["name"], request.app[SERVICES]
    if not _GROUP.fullmatch(name):
        raise not_found()
    body = await read(request, contract.GroupDefinition)
    await services.stored.store_more(company_id)
    with refusing():
        try:
            group = await services.identity.people.put_group(principal_of(request), name, body.members)
        except UnknownMember as unknown:
            where = pointer("members", body.members.index(str(unknown)))
            raise invalid((where, "is no active member of the company")) from None
    return json_response(_group_json(group))


@Operation("Delete a group", "people", status=204, problems=(403, 404, 409))
async def delete_group(request: web.Request) -> web.Response:
    """Forgets a group; its members stay."""
    company_at(request)
    with refusing():
        await request.app[SERVICES].identity.people.delete_group(principal_of(request), request.match_info["name"])
    return web.Response(status=204)


def company_at(request: web.Request) -> str:
    """The company of the path, if it is the caller's."""
    company_id = principal_of(request).company_id
    if request.match_info["company_id"] != company_id:
        raise not_found()
    return company_id


def member_json(one: StoredMember) -> dict[str, Any]:
    return contract.Member.view(one, kind="person")


def _group_json(one: StoredGroup) -> dict[str, Any]:
    return {"name": one.name, "members": list(one.members)}


def _created(shown: dict[str, Any]) -> StoredResponse:
    return StoredResponse(201, dumps(shown), {"Content-Type": JSON})


def _changed(member: StoredMember) -> StoredResponse:
    return StoredResponse(200, dumps(member_json(member)), {"Content-Type": JSON})


async def _replay(request: web.Request, _: IdempotencyKey, receipt: Receipt) -> StoredResponse:
    """The session of an earlier request, its token signed again."""
    kept: dict[str, Any] = loads(receipt.body)
    token = request.app[SERVICES].identity.signed(kept["claims"], kept["key_id"])
    return _accepted({**kept["session"], "token": token}).as_replay()


@idempotent(_replay)
async def _accept(request: web.Request, raw: dict[str, Any], key: IdempotencyKey | None) -> StoredResponse:
    body = await parse(request, contract.InvitationToken, raw)
    return _accepted(session_json(await _entered(request, body.token, key)))


@Operation(
    "Accept an invitation",
    "account",
    accounts.Session,
    request=contract.InvitationToken,
    headers=KEYED,
    problems=(403, 404, 409, 410, 429),
)
async def accept_invitation(request: web.Request) -> web.StreamResponse:
    """Joins a company, and gives a session there. The caller's address must be the invited one."""
    await request.app[RATE_LIMITS].network(request)
    if not cookies.of_page(request):
        return await _accept(request)
    body = await read(request, contract.InvitationToken)
    return granted(request, await _entered(request, body.token, None), 200)


@Operation(
    "Switch the company", "account", accounts.Session, request=contract.CompanySwitch, problems=(401, 403, 404, 429)
)
async def switch_company(request: web.Request) -> web.Response:
    """Gives a session for another company of the caller.

    What proved the caller's session has to count there: single sign-on counts in the company of its
    domain alone. Elsewhere 403 `forbidden` says what is missing, and the `password`, with a `code`
    where the person has a second factor, proves it.
    """
    body = await read(request, contract.CompanySwitch)
    with refusing():
        session = await _switched(request, body)
    return granted(request, session, 200) if cookies.of_page(request) else json_response(session_json(session))


async def _switched(request: web.Request, body: contract.CompanySwitch) -> BegunSession:
    identity, principal, limits = request.app[SERVICES].identity, principal_of(request), request.app[RATE_LIMITS]
    where = (principal, body.company_id, client_of(request), body.password, body.code)
    if body.password is None:
        return await identity.switch(*where)
    async with limits.password(request, principal.email), limits.code(principal.email):
        return await identity.switch(*where)


async def _entered(request: web.Request, token: str, key: IdempotencyKey | None) -> BegunSession:
    invitations, receipt = request.app[SERVICES].identity.invitations, partial(session_receipt, request, key)
    with refusing():
        return await invitations.accept(principal_of(request), token, client_of(request), receipt)


def _accepted(session: dict[str, Any]) -> StoredResponse:
    return StoredResponse(200, dumps(session), {"Content-Type": JSON})
