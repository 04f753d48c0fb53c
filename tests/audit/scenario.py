"""What happened in the past that is tampered with: two companies, in either store."""

from __future__ import annotations

from dataclasses import replace as replace_fields
from datetime import UTC, datetime, timedelta
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from actors.core.autonomy import ClearanceDecision
from actors.core.canonical import canonical
from actors.core.canonical import digest as digest_of
from actors.core.messages import ClockBreached, ClockStarted, ClockWarned, GlassBroken, StepCleared
from actors.core.reading.scope import ClosedBy, Reading, guarded_rows
from daemon.audit.sealer import Sealer
from daemon.identity.people import member_changed
from daemon.model import (
    CompanyKey,
    EpochChange,
    GroupEdit,
    Joining,
    MemberEdit,
    PeopleChange,
    RefreshHashes,
    SessionEnd,
    StoredInvitation,
    StoredMember,
    StoredPasswordReset,
    StoredTemplate,
    TokenEpoch,
    UserSession,
)
from daemon.model.audit_events import (
    SERVICE,
    GroupChanged,
    Logged,
    LoggedIn,
    LoggedOut,
    LoginRefused,
    PasswordChanged,
    Registered,
    password_digest,
)
from daemon.model.chain import digest
from daemon.model.event_log import BEGINNING, Position
from daemon.model.events.company import (
    ApiKeyChanged,
    ApiKeyCreated,
    ApiKeyDeleted,
    NotificationTerms,
    PasswordResetRequested,
)
from daemon.model.inbox import Claim
from daemon.model.key_terms import KeyTerms, Scopes
from daemon.model.people.accounts import StoredView
from daemon.model.people.credentials import KeyKind, StoredApiKey
from daemon.model.webhooks import StoredWebhook, Wanted, subscription_changed
from daemon.stores.store import Store
from daemon.templates.loading import shipped
from tests.audit.scenario_actions import actions
from tests.audit.scenario_policies import policies
from tests.audit.scenario_retention import retention
from tests.histories import (
    ACME,
    NOON,
    OTHER,
    account,
    append,
    called,
    change,
    commit,
    count_as_before,
    decide,
    receipt,
    start,
    stored_connector,
    work,
)

if TYPE_CHECKING:
    from actors.core.messages import Event
    from actors.core.run import Run
    from actors.ports import Commit
    from daemon.audit.sealer import Signer
    from daemon.model import StoredAccount

RUNS = 6
PEOPLE = ((ACME, "ann"), (OTHER, "eve"))
LATER = NOON + timedelta(seconds=1)
UNTIL = datetime(2100, 1, 1, tzinfo=UTC)
"""When tokens expire that were ended: later than any clock of those who verify."""


DOCUMENT = {"vertical": "closed", "version": 1, "readers": {"role": "owner"}, "subjects": ["inputs.name"]}
CLOSED = ClosedBy(digest_of(DOCUMENT), names_readers=True, subjects=("inputs.name",))
"""A template whose runs not everybody reads."""


async def first_half(store: Store, signer: Signer, runs: int = RUNS) -> None:
    """Two companies register, connect tools and webhooks, and start runs."""
    await store.adopt()
    for entry in shipped()[:2]:
        template = entry.template
        kept = StoredTemplate(template.digest, template.vertical, template.version, entry.document)
        await store.keep_template(kept)
    await store.keep_template(StoredTemplate(CLOSED.digest, "closed", 1, canonical(DOCUMENT)))
    for company_id, name in PEOPLE:
        one = account(name, company_id, f"{name}@{name}.test")
        await store.register(one, None, [registered(one)])
        await store.add_company_key(CompanyKey(company_id, "key-1", b"\x00wrapped" + name.encode(), NOON))
        await store.put_connector(stored_connector("chart-fetch", company_id), change(1, "chart-fetch", company_id))
        for number in range(2):
            await _hook(store, f"hook-{name}-{number}", company_id)
            await _note(store, f"note-{name}-{number}", company_id)
        for number in range(runs):
            inputs = {"number": number, "share": 1.0, "name": f"Ünïted {number}"}
            begun = start(f"run-{name}-{number}", company_id, inputs=inputs, digest=CLOSED.digest)
            await store.append(replace(begun, reading=Reading(guarded_rows(begun.run, CLOSED))))
            await store.append(start(f"busy-{name}-{number}", company_id, gates=()))
            await store.claim_gate(company_id, (f"run-{name}-{number}", "approve", 1), Claim(f"user-{name}", NOON))
            business_key = ("prior-auth", f"case-{name}-{number}")
            await store.reserve_business_key(company_id, business_key, f"run-{name}-{number}", NOON)
            await store.begin_evaluation(company_id, f"run-{name}-{number}", number + 1, number + 1)
            await store.put_view(StoredView(company_id, f"user-{name}", "runs", f"view {number}", "q=case", NOON))
        await _people(store, company_id, name)
        while await store.index_runs(company_id):
            pass
        await Sealer(store, signer).seal()


async def second_half(store: Store, signer: Signer, runs: int = RUNS) -> None:
    """They log in and out, change what they had, and the runs go on."""
    await store.log(Logged(SERVICE, LoginRefused(at=NOON, by="nobody@nowhere.test")))
    for company_id, name in PEOPLE:
        await _sessions(store, company_id, name)
        await policies(store, company_id, name)
        await actions(store, company_id, name)
        await _api_keys(store, company_id, name)
        for number in range(2):
            await store.keep_receipt(receipt(f"key-{number}", company_id, status=200))
        second = stored_connector("chart-fetch", company_id, 2)
        await store.put_connector(second, change(2, "chart-fetch", company_id))
        await store.put_connector(stored_connector("kept", company_id), change(1, "kept", company_id))
        await store.put_connector(stored_connector("other", company_id), change(1, "other", company_id))
        await store.delete_connector(change(2, "other", company_id, gone=True))
        for number in range(runs):
            run = await _loaded(store, company_id, f"run-{name}-{number}")
            await append(store, decide(run) if number % 2 else clocked(run))
            busy = await _loaded(store, company_id, f"busy-{name}-{number}")
            for _ in range(number):
                turn = replace(work(busy), resting=busy.resting)
                turn = replace(turn, events=tuple(map(weighed, turn.events)))
                await append(store, turn)
                busy = turn.run
            if number:
                await append(store, replace(called(busy), resting=busy.resting))
            await Sealer(store, signer).seal()
        await _delivered(store, company_id, f"hook-{name}-0")
        await retention(store, signer, company_id, name)
    await store.count_usage([ACME, OTHER], 10_000)
    for order in await store.reports_behind():
        await store.follow_commits(order, 10_000, NOON.date())
    await count_as_before(store)
    await store.log(Logged(ACME, LoginRefused(at=NOON, by="ann@ann.test")))
    await Sealer(store, signer).seal(ACME)


def clocked(run: Run) -> Commit:
    """The run after a clock of it began, warned and was breached, and its glass was broken."""
    about: dict[str, Any] = {"clock": "notice", "at": LATER}
    begun = ClockStarted(**about, label="Notice", started_at=NOON, within="P7D", due_at=LATER, source="a law")
    broken = GlassBroken(at=LATER, by="ann", reason="why", until=UNTIL)
    moved = commit(run, begun, ClockWarned(**about, due_at=LATER), ClockBreached(**about, due_at=LATER), broken)
    return replace(moved, reading=Reading(guarded_rows(moved.run, CLOSED)))


def weighed(event: Event) -> Event:
    """A step that is cleared, as it is where a panel was heard."""
    on = ClearanceDecision(clears=True, why="calibrated", raw=0.9, floor=0.7, cases=80)
    return replace(event, weighed=on) if isinstance(event, StepCleared) else event


def registered(one: StoredAccount) -> Logged:
    """The event of a registration."""
    user = one.user
    event = Registered(
        at=user.created_at,
        by=user.email,
        company=one.company.name,
        name=user.name,
        password_digest=password_digest(user.password_hash),
        role=one.member.role,
        user=user.id,
    )
    return Logged(one.company.id, event)


async def _people(store: Store, company_id: str, name: str) -> None:
    """Two are invited, one joins with a new account, and there are groups."""
    chief = f"{name}@{name}.test"
    for number in range(2):
        email = f"guest-{number}@{name}.test"
        member = StoredMember(
            company_id, f"member-{name}-{number}", None, email, "member", "pending", NOON, chief, NOON
        )
        token_hash = bytes([number]) * 31 + name[:1].encode()
        invitation = StoredInvitation(token_hash, company_id, member.id, NOON, UNTIL)
        edit = MemberEdit(None, member)
        await store.change_people(
            PeopleChange(company_id, (edit,), (member_changed(edit, chief, "session", invitation),), invitation)
        )
        joined = replace_fields(
            member, user_id=f"guest-{name}-{number}", status="active", joined_at=LATER, changed_at=LATER
        )
        if number == 0:
            one = account(f"guest-{name}-{number}", company_id, email)
            user = replace_fields(one.user, id=f"guest-{name}-{number}")
            edit = MemberEdit(member, joined)
            event = member_changed(edit, email, "invitation", new_user=user)
            session = _session(company_id, f"guest-{name}", user.id)
            joining = Joining(replace_fields(one, user=user, member=joined), edit, invitation)
            entered = _entered(email, session.id)
            await store.join(joining, None, (event, Logged(company_id, entered)), session)
        await _forgotten(store, company_id, f"user-{name}", number)
    for group in ("physicians", "nurses"):
        members = (f"member-{name}-0", f"user-{name}")
        logged = GroupChanged(at=NOON, after=members, before=None, by=chief, group=group, via="session")
        assert await store.edit_group(
            GroupEdit(company_id, group, None, members, chief, NOON, Logged(company_id, logged))
        )


async def _forgotten(store: Store, company_id: str, user_id: str, number: int) -> None:
    """Links for a new password are asked for."""
    reset = StoredPasswordReset(bytes([number]) * 31 + user_id[-1:].encode(), company_id, user_id, NOON, UNTIL)
    asked = PasswordResetRequested(
        at=NOON, by=f"{user_id}@x.test", reset=reset.token_hash.hex(), until=UNTIL, user=user_id, via="mail"
    )
    await store.add_password_reset(reset, Logged(company_id, asked))


async def _hook(store: Store, webhook_id: str, company_id: str) -> None:
    one = StoredWebhook(
        company_id=company_id,
        id=webhook_id,
        url="https://hooks.test/in",
        events=("run_started", "run_ended"),
        description="to the desk",
        sealed_secret=b"\x00" + webhook_id.encode(),
        created_at=NOON,
        updated_at=NOON,
        updated_by="ann",
    )
    await store.add_webhook(one, Logged(company_id, subscription_changed(None, one, NOON, "ann", "session")), None)


async def _note(store: Store, name: str, company_id: str) -> None:
    one = StoredWebhook(
        company_id=company_id,
        id=name,
        url="https://chat.test/…",
        events=("gate_opened",),
        description=None,
        sealed_secret=b"\x00" + name.encode(),
        created_at=NOON,
        updated_at=NOON,
        updated_by="ann",
        kind="slack",
        terms=NotificationTerms(group="nurses", digest="PT1H"),
    )
    await store.add_webhook(one, Logged(company_id, subscription_changed(None, one, NOON, "ann", "session")), None)


def _entered(email: str, session_id: str) -> LoggedIn:
    return LoggedIn(at=NOON, by=email, kind="page", session=session_id, token=session_id, until=UNTIL)


def _session(company_id: str, session_id: str, user_id: str) -> UserSession:
    return UserSession(
        company_id=company_id,
        id=session_id,
        user_id=user_id,
        kind="page",
        created_at=NOON,
        expires_at=UNTIL,
        last_used_at=NOON,
        address="127.0.0.2",
        user_agent="Browser/1",
        refresh=RefreshHashes(b"family", b"current", b"previous", NOON),
    )


async def _sessions(store: Store, company_id: str, name: str) -> None:
    """Two sessions are ended one by one, a third by a new password, which keeps the fourth."""
    email = f"{name}@{name}.test"
    for number in range(4):
        session_id = f"session-{name}-{number}"
        session = _session(company_id, session_id, f"user-{name}")
        assert await store.begin_session(session, 0, Logged(company_id, _entered(email, session_id)))
        if number < 2:
            names: dict[str, Any] = {"by": email, "token": session_id, "session": session_id, "via": "session"}
            left = Logged(company_id, LoggedOut(at=NOON, until=UNTIL, **names))
            assert await store.end_session(SessionEnd(company_id, session_id, NOON, UNTIL, left))
    epoch = TokenEpoch(1, f"session-{name}-3", UNTIL)
    change = EpochChange(company_id, f"user-{name}", epoch, "$argon2id$other")
    begun = PasswordChanged(
        at=NOON,
        by=email,
        digest=password_digest("$argon2id$other"),
        epoch=1,
        kept=epoch.kept,
        until=UNTIL,
        user=f"user-{name}",
        via="session",
    )
    assert await store.advance_epoch(change, NOON, Logged(company_id, begun))


async def _delivered(store: Store, company_id: str, webhook_id: str) -> None:
    found = await store.read_after(company_id, BEGINNING, 4)
    webhook = await store.webhook(company_id, webhook_id)
    assert webhook is not None
    await store.enqueue(webhook, found, Position(1_000, 1), NOON)
    note = webhook_id.replace("hook", "note")
    told = [Wanted(note, one, "gate_opened", NOON, f"member-{number}") for number, one in enumerate(found)]
    await store.enqueue_notifications(company_id, told, Position(1_000, 1), NOON)


async def _loaded(store: Store, company_id: str, run_id: str) -> Run:
    run = await store.load(company_id, run_id)
    assert run is not None
    return run


KEY_TERMS = KeyTerms(model="m-1", scopes=Scopes(start=("claims*",), read="own"))


def _told(changed: Logged, _: StoredApiKey) -> Logged:
    return changed


async def _api_keys(store: Store, company_id: str, name: str) -> None:
    """Two keys are created and changed, and the first is deleted."""
    email = f"{name}@{name}.test"
    wanted: tuple[tuple[KeyKind, str], ...] = (("agent", "member"), ("service", "admin"))
    for number, (kind, role) in enumerate(wanted):
        key = StoredApiKey(
            company_id=company_id,
            id=f"api-key-{name}-{number}",
            name=f"{kind} of {name}",
            kind=kind,
            role=role,
            prefix=f"psk_{name}{number}",
            key_hash=sha256(f"{name} {number}".encode()).digest(),
            created_at=NOON,
            created_by=email,
            expires_at=UNTIL,
        ).under(KEY_TERMS)
        created = ApiKeyCreated(
            at=NOON,
            by=email,
            digest=digest(key.key_hash),
            expires_at=UNTIL,
            key_id=key.id,
            kind=kind,
            name=key.name,
            prefix=key.prefix,
            role=role,
            terms=KEY_TERMS,
            via="session",
        )
        await store.add_api_key(key, Logged(company_id, created), None)
        said: Any = {"key_id": key.id, "name": key.name, "before": KEY_TERMS, "after": KeyTerms(models=("m-*",))}
        changed = Logged(company_id, ApiKeyChanged(at=NOON, by=email, via="session", **said))
        assert await store.change_api_key(company_id, key.id, said["after"], partial(_told, changed))
    deleted = ApiKeyDeleted(at=NOON, by=email, key_id=f"api-key-{name}-0", name=f"agent of {name}", via="session")
    assert await store.delete_api_key(company_id, f"api-key-{name}-0", NOON, Logged(company_id, deleted))
