"""Changes that another person approves before they are done: what loosens, by two people."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import UNSET

from actors.core.canonical import canonical
from actors.core.messages import kept_kind
from actors.core.people import ADMIN, Company, Person, ReaderRule, rank
from actors.ports import Receipt
from daemon.identity.company.companies import Companies
from daemon.identity.company.settings import Policies
from daemon.identity.tokens import Principal
from daemon.model.audit_events import Caller, Logged
from daemon.model.chain import digest
from daemon.model.events.company import (
    ChangeAct,
    ChangeApproved,
    ChangeDenied,
    ChangeGates,
    ChangeRequested,
    CompanyPolicy,
)
from daemon.model.people.changes import ChangeDecision, ChangeStale, ChangeStatus, StoredChange
from daemon.runtime.clock import new_id
from daemon.stores.store import Store

LIFETIME = timedelta(days=7)
ACTION_RULE = "action_rule"
ADMINS_MIN = 2
"""A company with fewer active admins changes what it wants at once."""
Refusal = Literal["asked", "not_entitled"]


class PolicyGated(Exception):
    """A change of the policy turns off something that protects, which another person approves."""

    def __init__(self, after: CompanyPolicy, stands_on: int) -> None:
        super().__init__("the change waits for approval")
        self.after = after
        self.stands_on = stands_on


class MayNotDecide(Exception):
    """Who asked for a change, made the key that asked, or is not entitled to decide."""

    def __init__(self, reason: Refusal) -> None:
        super().__init__(reason)
        self.reason: Refusal = reason


class ChangeForm(NamedTuple):
    """What is asked for: exactly what would be done, and the number that it follows on."""

    act: ChangeAct
    what: str
    body: dict[str, Any]
    stands_on: int
    sealed_secret: bytes | None = None


class Changes:
    """Asks for changes, and decides them; what a change does is done by its own service."""

    def __init__(self, store: Store, now: Callable[[], datetime], companies: Companies, policies: Policies) -> None:
        self._store = store
        self._now = now
        self._companies = companies
        self._policies = policies

    async def gated(self, company_id: str, act: ChangeAct) -> bool:
        """Whether another person approves such an act; nothing is read where none is gated."""
        gates = self._policies.change_gates(company_id)
        return gates is not None and act in gates.acts and await self.has_two(company_id)

    async def has_two(self, company_id: str) -> bool:
        """Whether a company has another admin who could approve."""
        people = (await self._companies.load(company_id)).people.values()
        return sum(rank(one.role) >= rank(ADMIN) for one in people) >= ADMINS_MIN

    async def request(
        self, principal: Principal, form: ChangeForm, receipt: Callable[[StoredChange], Receipt | None]
    ) -> StoredChange:
        """Keep what is asked for until it is decided; TooManyChanges where so many are open."""
        at, secret = self._now(), form.sealed_secret
        asked = {"act": form.act, "what": form.what, "stands_on": form.stands_on, **form.body}
        if form.act == "go_live":
            asked["secret"] = None if secret is None else digest(secret)
        body = canonical(asked)
        machine = principal.kind != "person"
        one = StoredChange(
            *(principal.company_id, new_id(), form.act, form.what, digest(body.encode()), body, form.stands_on, secret),
            requested_by=principal.email,
            by_kind=principal.kind,
            by_id=principal.user_id if machine else principal.member_id,
            made_by=principal.made_by,
            via=principal.via,
            requested_at=at,
            expires_at=at + LIFETIME,
        )
        await self._store.add_gated_change(
            one, Logged(one.company_id, _requested(one), None, principal.caller), receipt(one)
        )
        return one

    async def decided(
        self,
        principal: Principal,
        one: StoredChange,
        comment: str | None,
        receipt: Callable[[StoredChange], Receipt | None] = lambda _: None,
        *,
        approved: bool = False,
        stale: bool = False,
    ) -> ChangeDecision:
        """A change as this person decides it; MayNotDecide for who may not."""
        company = await self._companies.load(principal.company_id)
        if (reason := why_not(company, one, principal, self._policies.change_gates(one.company_id))) is not None:
            raise MayNotDecide(reason)
        at = self._now()
        status: ChangeStatus = "approved" if approved else "stale" if stale else "denied"
        after = replace(one, status=status, decided_at=at, decided_by=principal.email, comment=comment)
        logged = Logged(one.company_id, _decided(after, at, principal), None, principal.caller)
        return ChangeDecision(after, logged, receipt(after))

    async def asker(self, one: StoredChange) -> Caller | None:
        """Who asked, as an admin of now; None for a key that counts; ChangeStale for others."""
        if one.by_kind != "person":
            keys = await self._store.api_keys_of(one.company_id)
            if any(key.id == one.by_id and rank(key.role) >= rank(ADMIN) and self._lives(key) for key in keys):
                return None
            raise ChangeStale
        person = (await self._companies.load(one.company_id)).member(one.by_id)
        if person is None or rank(person.role) < rank(ADMIN):
            raise ChangeStale
        return Caller(person.member_id, person.role)

    def _lives(self, key: Any) -> bool:
        return key.deleted_at is None and (key.expires_at is None or key.expires_at > self._now())


def _requested(one: StoredChange) -> ChangeRequested:
    return ChangeRequested(
        at=one.requested_at,
        act=one.act,
        by=one.requested_by,
        by_id=one.by_id,
        by_kind=kept_kind(one.by_kind),
        change=one.id,
        digest=one.digest,
        expires_at=one.expires_at,
        made_by=UNSET if one.made_by is None else one.made_by,
        secret_digest=UNSET if one.sealed_secret is None else digest(one.sealed_secret),
        stands_on=one.stands_on,
        via=one.via,
        what=one.what,
    )


def _decided(one: StoredChange, at: datetime, principal: Principal) -> ChangeApproved | ChangeDenied:
    said: dict[str, Any] = {"at": at, "act": one.act, "asked_by": one.requested_by, "by": principal.email}
    said |= {"change": one.id, "comment": one.comment, "digest": one.digest}
    said |= {"via": principal.via, "what": one.what}
    if one.status == "approved":
        return ChangeApproved(**said)
    return ChangeDenied(**said, reason="stale" if one.status == "stale" else "denied")


def why_not(company: Company, one: StoredChange, principal: Principal, gates: ChangeGates | None) -> Refusal | None:
    """Why a person may not decide a change: they asked for it, or are not entitled.

    Rules for actions are an admin's, who may change them at any time.
    """
    if one.act == ACTION_RULE:
        known = company.people.get(principal.email)
        admin = principal.kind == "person" and known is not None and rank(known.role) >= rank(ADMIN)
        return None if admin else "not_entitled"
    if principal.kind != "person" or principal.email in _askers(company, one):
        return "asked"
    return None if any(each.email == principal.email for each in deciders(company, one, gates)) else "not_entitled"


def deciders(company: Company, one: StoredChange, gates: ChangeGates | None) -> list[Person]:
    """Who may decide a change: never who asked, nor who made the key that asked.

    Those others who fill the function of the gate decide, and admins where there are none. A rule
    for actions is accepted by admins.
    """
    if one.act == ACTION_RULE:
        return [each for each in company.people.values() if rank(each.role) >= rank(ADMIN)]
    askers = _askers(company, one)
    others = [each for each in company.people.values() if each.email not in askers]
    binding = company.binding(None if gates is None else gates.function)
    filling = [each for each in others if binding.filled_by(each)]
    return filling or [each for each in others if rank(each.role) >= rank(ADMIN)]


def _askers(company: Company, one: StoredChange) -> set[str]:
    """The addresses of who asked: a member's address of now, too, and that of a key's maker."""
    names = {*company.made({one.requested_by})} if one.by_kind != "person" else {one.requested_by}
    if one.made_by is not None:
        names.add(one.made_by)
    member = company.member(one.by_id)
    return names if member is None else {*names, member.email}


def loosens(before: CompanyPolicy, after: CompanyPolicy) -> bool:
    """Whether a policy turns off something that protects."""
    least, now = before.second_factor_from, after.second_factor_from
    return (
        (after.solo and not before.solo)
        or (before.requires_functions and not after.requires_functions)
        or (least is not None and (now is None or rank(now) > rank(least)))
        or (after.takes_passwords and not before.takes_passwords)
        or any(_widens(rule, after.narrowed.get(vertical)) for vertical, rule in before.narrowed.items())
        or _opens(before.change_gates or None, after.change_gates or None)
    )


def _widens(before: ReaderRule, after: ReaderRule | None) -> bool:
    """Whether a rule lets others read than the one before; without one all do."""
    if after is None:
        return True
    by_role = after.role is not None and (before.role is None or rank(after.role) < rank(before.role))
    others = not {*after.functions} <= {*before.functions} or not {*after.groups} <= {*before.groups}
    return by_role or others or (after.starter and not before.starter)


def _opens(before: ChangeGates | None, after: ChangeGates | None) -> bool:
    """Whether fewer acts are gated, or others approve them."""
    if before is None:
        return False
    return after is None or not {*before.acts} <= {*after.acts} or before.function != after.function


def refuse_looser(before: CompanyPolicy, after: CompanyPolicy, number: int) -> None:
    """PolicyGated where a policy turns off something that protects.

    What the gate itself asks is kept by it, whatever acts it names.
    """
    gates = before.change_gates or None
    opens = _opens(gates, after.change_gates or None)
    if opens or (gates is not None and "policy_off" in gates.acts and loosens(before, after)):
        raise PolicyGated(after, number)


def policy_form(policy: CompanyPolicy, stands_on: int) -> ChangeForm:
    """A policy that is asked for."""
    return ChangeForm("policy_off", "policy", {"policy": msgspec.to_builtins(policy)}, stands_on)
