"""What companies asked of their people in the past that is tampered with, and who enrolled."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from msgspec import UNSET

from actors.core.autonomy import CompanyAutonomy
from actors.core.canonical import canonical
from actors.core.canonical import digest as digest_of
from actors.core.messages import kept_kind
from daemon.model.audit_events import Logged, SecondFactorChange, SecondFactorChanged
from daemon.model.chain import digest
from daemon.model.events.company import (
    AutonomyChanged,
    BindingForm,
    CalendarChanged,
    CalendarForm,
    ChangeDenied,
    ChangeRequested,
    CompanyPolicy,
    DelegationEnded,
    DelegationMade,
    FunctionBindings,
    FunctionsChanged,
    PolicyChanged,
    SubjectLinked,
    TemplatePublished,
    TemplateRetired,
)
from daemon.model.own_templates import Draft, OwnVersion
from daemon.model.people.changes import ChangeDecision, StoredChange
from daemon.model.people.companies import AUTONOMY, CALENDAR, FUNCTIONS, POLICY, StoredDelegation
from daemon.model.people.credentials import StoredSecondFactor, Subject
from daemon.stores.store import Store
from tests.histories import NOON


async def policies(store: Store, company_id: str, name: str) -> None:
    """A company changes its policy twice, and its first person enrols a second factor."""
    before, by = CompanyPolicy(), f"{name}@{name}.test"
    for number, role in ((1, "owner"), (2, {"ann": "viewer"}.get(name, "admin"))):
        after = CompanyPolicy(second_factor_from=role)
        changed = PolicyChanged(at=NOON, by=by, before=before, after=after, number=number, via="session")
        assert await store.put_setting(POLICY, Logged(company_id, changed))
        before = after
    await _calendars(store, company_id, by)
    await _autonomies(store, company_id, by)
    await _functions(store, company_id, by)
    await _gated_changes(store, company_id, by)
    await _templates(store, company_id, by)
    await _delegations(store, company_id, name)
    await _enrolled(store, company_id, f"user-{name}", 1, "begun")
    await _linked(store, company_id, name)
    await _enrolled(store, company_id, f"user-{name}", 2, "confirmed")


async def _calendars(store: Store, company_id: str, by: str) -> None:
    before = CalendarForm()
    for number, zone in ((1, "Europe/Vienna"), (2, f"Etc/{company_id}")):
        after = CalendarForm(timezone=zone, weekend=("sunday",), holidays=("2026-12-25",))
        changed = CalendarChanged(at=NOON, by=by, before=before, after=after, number=number, via="session")
        assert await store.put_setting(CALENDAR, Logged(company_id, changed))
        before = after


async def _autonomies(store: Store, company_id: str, by: str) -> None:
    before = CompanyAutonomy()
    for number, floor in ((1, 0.8), (2, 0.9)):
        after = CompanyAutonomy(auto_resolve=len(company_id) % 2 == 0, confidence_floor=floor)
        changed = AutonomyChanged(at=NOON, by=by, before=before, after=after, number=number, via="session")
        assert await store.put_setting(AUTONOMY, Logged(company_id, changed))
        before = after


async def _functions(store: Store, company_id: str, by: str) -> None:
    before = FunctionBindings()
    for number, group in ((1, "board"), (2, f"board-{company_id}")):
        after = FunctionBindings(functions={"director": BindingForm(groups=(group,), members=("m1",))})
        changed = FunctionsChanged(at=NOON, by=by, before=before, after=after, number=number, via="session")
        assert await store.put_setting(FUNCTIONS, Logged(company_id, changed))
        before = after


async def _gated_changes(store: Store, company_id: str, by: str) -> None:
    """Three are asked for: one is denied, one is stale, and one has a secret and is open."""
    for number, status in enumerate(("denied", "stale", "open")):
        sealed = f"\x02sealed {company_id}".encode() if status == "open" else None
        one = gated_change(company_id, f"change-{company_id}-{number}", by, sealed)
        await store.add_gated_change(one, Logged(company_id, requested(one)), None)
        if status != "open":
            await store.decide_change(denied(one, f"other-{by}", status))


def gated_change(company_id: str, change_id: str, by: str, sealed: bytes | None = None) -> StoredChange:
    """An open change of a connector."""
    body = canonical({"act": "go_live", "what": "pay", "of": change_id})
    who: dict[str, Any] = {"requested_by": by, "by_kind": "service", "by_id": f"key-{company_id}"}
    until = NOON + timedelta(days=7)
    when: dict[str, Any] = {"via": "api_key", "requested_at": NOON, "expires_at": until, "made_by": f"maker-{by}"}
    asked: dict[str, Any] = {"act": "go_live", "what": "pay", "digest": digest(body.encode()), "body": body}
    return StoredChange(company_id, change_id, stands_on=3, sealed_secret=sealed, **asked, **who, **when)


def requested(one: StoredChange) -> ChangeRequested:
    return ChangeRequested(
        at=one.requested_at,
        act=one.act,
        by=one.requested_by,
        by_id=one.by_id,
        by_kind=kept_kind(one.by_kind),
        change=one.id,
        digest=one.digest,
        expires_at=one.expires_at,
        made_by=one.made_by or UNSET,
        secret_digest=UNSET if one.sealed_secret is None else digest(one.sealed_secret),
        stands_on=one.stands_on,
        via=one.via,
        what=one.what,
    )


def denied(one: StoredChange, by: str, status: str = "denied") -> ChangeDecision:
    reason: Any = status
    after = replace(one, status=reason, decided_at=NOON, decided_by=by, comment="why")
    said: dict[str, Any] = {"act": one.act, "change": one.id, "digest": one.digest, "what": one.what}
    event = ChangeDenied(at=NOON, asked_by=one.requested_by, by=by, comment="why", reason=reason, via="session", **said)
    return ChangeDecision(after, Logged(one.company_id, event))


async def _templates(store: Store, company_id: str, by: str) -> None:
    """Two versions are published, of which one is retired, and a draft is left."""
    draft = Draft(company_id, "petty-cash", "{}", "sha256:drafted", "Petty cash", NOON, by)
    for number in (1, 2):
        await store.put_draft(draft, None)
        document = {"vertical": "petty-cash", "version": number, "of": company_id}
        named: dict[str, Any] = {"vertical": "petty-cash", "digest": digest_of(document)}
        version = OwnVersion(
            company_id, version=number, title="Petty cash", published_at=NOON, published_by=by, **named
        )
        told: dict[str, Any] = {"at": NOON, "by": by, "template_version": number, "via": "session", **named}
        published = Logged(company_id, TemplatePublished(**told, title=version.title))
        await store.publish(version, canonical(document), draft.digest, published, None)
        if number == 1:
            gone = replace(version, retired_at=NOON, retired_by=by)
            assert await store.retire(gone, Logged(company_id, TemplateRetired(**told)), None)
    await store.put_draft(draft, None)


async def _delegations(store: Store, company_id: str, name: str) -> None:
    """Two are made, of which one is ended before its time."""
    giver, to, by = f"user-{name}", f"member-{name}-0", f"{name}@{name}.test"
    for number in range(2):
        verticals = ("prior-auth",) * number
        who = (company_id, f"delegation-{name}-{number}", giver, to)
        one = StoredDelegation(*who, NOON, NOON + timedelta(days=number + 1), verticals, NOON)
        made = DelegationMade(
            at=NOON,
            begins=NOON,
            by=by,
            delegation=one.id,
            ends=one.ends_at,
            giver=giver,
            to=to,
            verticals=verticals,
            via="session",
        )
        await store.add_delegation(one, Logged(company_id, made), None)
        if number == 0:
            ended = DelegationEnded(
                at=NOON, by=by, delegation=one.id, giver=giver, reason="ended", to=to, via="session"
            )
            assert await store.end_delegation(one, NOON, Logged(company_id, ended))


async def _enrolled(store: Store, company_id: str, user_id: str, number: int, change: SecondFactorChange) -> None:
    sealed = f"\x02{change} {user_id}".encode()
    confirmed_at = NOON if change == "confirmed" else None
    factor = StoredSecondFactor(company_id, user_id, number, sealed, NOON, confirmed_at, last_step=number)
    changed = SecondFactorChanged(
        at=NOON, by=user_id, change=change, number=number, secret_digest=digest(sealed), user=user_id, via="session"
    )
    assert await store.put_second_factor(factor, Logged(company_id, changed))


async def _linked(store: Store, company_id: str, name: str) -> None:
    issuer, user_id = "https://login.example", f"user-{name}"
    event = SubjectLinked(at=NOON, by=f"{name}@{name}.test", issuer=issuer, subject=name, user=user_id, via="sso")
    assert await store.link_subject(Subject(issuer, name, company_id, user_id, NOON), Logged(company_id, event))
