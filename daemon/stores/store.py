"""The store: each method reads or writes the tables, in SQLite or in PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import structlog

from actors.ports import INLINE, Receipt
from daemon.model import (
    CompanyKey,
    EpochChange,
    Joining,
    SessionEnd,
    StoredAccount,
    StoredConnector,
    StoredConnectorChange,
    StoredTemplate,
    UserSession,
)
from daemon.model.actions import AAP_KEPT
from daemon.model.audit_events import Logged
from daemon.model.chain import CommitForged, HistoryBroken
from daemon.model.event_log import EventIds, mark_of
from daemon.model.own_templates import OwnVersion
from daemon.model.people.changes import ChangeDecision
from daemon.model.webhooks import WEBHOOKS_MAX, EndedAttempt, StoredWebhook, Wanted, WebhookReplaced
from daemon.stores.database import read, write
from daemon.stores.group_commit import drop_all
from daemon.stores.repositories import PeopleRepositories, ReportRepositories, RetentionRepositories
from daemon.stores.rows import iso
from daemon.stores.tables import (
    adoption,
    audit,
    company_log,
    connectors,
    event_log,
    receipts,
    runs,
    templates,
    webhooks,
)
from daemon.stores.tables import open_gates as inbox
from daemon.stores.tables import usage as usage_table
from daemon.stores.tables.agents import actions as actions_table
from daemon.stores.tables.lists import matching_events, search
from daemon.stores.tables.people import accounts, sessions

if TYPE_CHECKING:
    from actors.core.run import Run
    from actors.ports import Commit, CommittedRun, Compute
    from daemon.keys.commit_keys import CommitKeys
    from daemon.model import LostHistory
    from daemon.model.actions import McpServerChange, StoredInstance, StoredMcpServer
    from daemon.model.event_log import Position
    from daemon.model.evidence import Sign
    from daemon.model.pages import Page
    from daemon.model.people.credentials import AddedKey
    from daemon.model.store import RunQuery, StoreState
    from daemon.observability.metrics import Metrics
    from daemon.stores.tables.audit import Sealing

P = ParamSpec("P")
T = TypeVar("T")
_log = structlog.get_logger()


class Store(PeopleRepositories, ReportRepositories, RetentionRepositories):
    """All that is durable, in one place and one transaction domain; the journal of the actors.

    One of SQLite or of PostgreSQL implements what stands without a body here.
    """

    shared: bool
    _keys: CommitKeys
    _metrics: Metrics | None
    _compute: Compute = INLINE
    event_ids: EventIds
    lost: LostHistory | None = None
    """What the database has lost since this store was opened, of what was acknowledged."""

    @property
    def state(self) -> StoreState:
        """Whether the store can write, as it was seen last; costs no access to it."""
        raise NotImplementedError

    @property
    def failovers(self) -> int:
        """How often the database failed over: what was read before may be lost since."""
        return 0

    @property
    def failed(self) -> bool:
        """Whether the store has failed for good, so that the process must end."""
        raise NotImplementedError

    async def ping(self) -> None:
        """Prove that the store can write; StoreFailed when it cannot."""
        raise NotImplementedError

    async def refresh_state(self) -> None:
        """Update `state` without a write of a caller; never raises StoreFailed."""
        raise NotImplementedError

    async def append(self, commit: Commit) -> bytes:
        """Make a commit durable; returns the head after it.

        Raises VersionConflict, ReceiptTaken or StoreFailed.
        """
        raise NotImplementedError

    async def load(self, company_id: str, run_id: str) -> Run | None:
        """The run as committed; None when the company has no such run."""
        found = await self.load_committed(company_id, run_id)
        return None if found is None else found.run

    async def load_committed(self, company_id: str, run_id: str) -> CommittedRun | None:
        """The run with the head of its history; None when the company has no such run."""
        raise NotImplementedError

    async def find(self, company_id: str, query: RunQuery) -> Page[Run]:
        raise NotImplementedError

    async def claim(self) -> Sequence[tuple[str, str]]:
        """Claim the runs that need recovery; returns the (company_id, run_id) of each."""
        raise NotImplementedError

    async def seal(self, sign: Sign, only: str | None = None) -> int:
        """Seal what was committed, of one company or of all; returns how many commits."""
        raise NotImplementedError

    async def _encoded(self, commit: Commit, encode: Callable[[], T]) -> T:
        """A commit as rows; one of a large run is made beside the event loop."""
        return await self._compute.run_by_size(commit.run.company_id, commit.run.size_bytes, encode)

    async def follow_keys(self) -> None:
        """Use the keys of commits as their file has them now."""
        self._keys.follow()

    def _broken(self, broken: HistoryBroken) -> None:
        """Say that a history was altered, or a commit forged."""
        if isinstance(broken, CommitForged):
            self._not_read("commit_forged", str(broken), "forged")
        else:
            self._not_read("history_broken", str(broken), "damaged")

    def _sealed(self, sealing: Sealing) -> int:
        """How many commits were sealed; says where that stopped."""
        for forged in sealing.forged:
            self._not_read("sealing_stopped", str(forged), "forged")
        return sealing.commits

    def _not_read(self, event: str, detail: str, kind: str) -> None:
        _log.error(event, detail=detail)
        if self._metrics is not None:
            self._metrics.store_failure(kind)

    # usage

    usage = read(usage_table.usage)

    async def count_usage(self, companies: Collection[str], commits_max: int) -> bool:
        """Count the next commits: in PostgreSQL of each company, in SQLite of all in one go."""
        more = False
        for company_id in companies if self.shared else ("",):
            counting = partial(usage_table.count_usage, company_id=company_id, commits_max=commits_max)
            more = await self._write(company_id, counting) or more
        return more

    # accounts

    account_by_email = read(accounts.account_by_email)
    account = read(accounts.account)
    company = read(accounts.company)
    rename = write(accounts.rename)

    async def register(
        self,
        account: StoredAccount,
        receipt: Receipt | None,
        logged: Sequence[Logged] = (),
        session: UserSession | None = None,
    ) -> None:
        """Keep a new company with its first user; EmailTaken when the address has an account."""
        at = iso(self._clock())

        async def work(db: Any) -> None:
            await accounts.register(db, account, receipt, at, logged)
            if session is not None:
                await sessions.add_session(db, session)

        await self._write(account.company.id, work)

    async def join(
        self, joining: Joining, receipt: Receipt | None, logged: Sequence[Logged], session: UserSession
    ) -> None:
        """Keep a new user as a member; EmailTaken, or MembershipConflict without an invitation."""
        at = iso(self._clock())

        async def work(db: Any) -> None:
            await accounts.join(db, joining, receipt, at, logged)
            await sessions.add_session(db, session)

        await self._write(joining.account.company.id, work)
        await self._await_peers()

    async def revoke(self, token_id: str, expires_at: datetime, logged: Logged | None = None) -> None:
        company_id = "" if logged is None else logged.company_id
        await self._write(company_id, lambda db: accounts.revoke(db, token_id, expires_at, logged))
        await self._await_peers()

    async def revoked(self) -> dict[str, datetime]:
        """The revoked tokens that have not expired yet, and when each will."""
        at = iso(self._clock())
        return await self._read(lambda db: accounts.revoked(db, at))

    account_by_reset = read(accounts.account_by_reset)
    add_password_reset = write(accounts.add_password_reset)

    async def drop_password_resets(self, before: datetime) -> None:
        """Delete the links for new passwords that expired before that time."""
        await self._write("", lambda db: accounts.drop_password_resets(db, iso(before)))

    async def drop_revocations(self, before: datetime) -> None:
        """Delete the revocations of tokens that expired before that time."""
        await self._write("", lambda db: accounts.drop_revocations(db, iso(before)))

    # sessions

    session = read(sessions.session)
    sessions_of = read(sessions.sessions_of)
    provider_sessions = read(sessions.provider_sessions)
    epochs = read(sessions.epochs)
    begin_session = write(sessions.begin_session)
    rotate_session = write(sessions.rotate_session)

    async def touch_sessions(self, session_ids: Collection[str], at: datetime) -> None:
        """Record that sessions were used at that time."""
        await self._write("", lambda db: sessions.touch_sessions(db, session_ids, at))

    async def end_session(self, end: SessionEnd) -> bool:
        """End a session; False when there is none to end.

        No daemon accepts its tokens when this returns.
        """
        ended = await self._write(end.company_id, lambda db: sessions.end_session(db, end))
        await self._await_peers()
        return ended

    async def advance_epoch(self, change: EpochChange, at: datetime, logged: Logged) -> bool:
        """End a user's other sessions; False when the user's epoch is not the one before.

        No daemon accepts their tokens when this returns.
        """
        advanced = await self._write(change.company_id, lambda db: sessions.advance_epoch(db, change, at, logged))
        await self._await_peers()
        return advanced

    async def drop_sessions(self, before: datetime) -> int:
        return await drop_all(lambda: self._write("", partial(sessions.drop_sessions, before=before)))

    # company log

    last_logged = read(company_log.last_logged)
    log = write(company_log.log)
    log_rewound = write(webhooks.log_rewound)
    log_after = write(company_log.log_after)

    # connectors

    connectors_of = read(connectors.connectors_of)
    connector_changes = read(connectors.connector_changes)
    company_key = read(connectors.company_key)
    company_keys = read(connectors.company_keys)
    add_company_key = write(connectors.add_company_key)

    async def put_connector(
        self, stored: StoredConnector, change: StoredConnectorChange, decision: ChangeDecision | None = None
    ) -> None:
        """Store a connector and its change; StoreFailed when the number is taken.

        A `decision` is kept with it, or ChangeDecided is raised.
        """
        work = partial(connectors.put_connector, stored=stored, change=change)
        await self._write(stored.company_id, self.decided(decision, work))
        await self._await_peers()

    async def delete_connector(self, change: StoredConnectorChange) -> bool:
        """Delete a connector and store the change; False, and nothing stored, without one."""
        deleted = await self._write(change.company_id, lambda db: connectors.delete_connector(db, change))
        await self._await_peers()
        return deleted

    async def put_server(
        self, stored: StoredMcpServer, change: McpServerChange, decision: ChangeDecision | None = None
    ) -> None:
        """Store a server of agents and its change; no daemon calls the one before any more.

        A `decision` is kept with it, or ChangeDecided is raised.
        """
        work = partial(actions_table.put_server, stored=stored, change=change)
        await self._write(stored.company_id, self.decided(decision, work))
        await self._await_peers()

    async def delete_server(self, change: McpServerChange) -> bool:
        """Delete a server of agents and store the change; False without one."""
        deleted = await self._write(change.company_id, lambda db: actions_table.delete_server(db, change))
        await self._await_peers()
        return deleted

    async def rewrap_company_keys(self, keys: Sequence[CompanyKey]) -> None:
        await self._write("", lambda db: connectors.rewrap_company_keys(db, keys, self._clock()))

    # receipts, templates

    receipt = read(receipts.receipt)
    template_document = read(templates.template_document)
    template_digests = read(templates.template_digests)

    async def add_receipt(self, receipt: Receipt) -> None:
        """Keep a receipt; ReceiptTaken when there is any under its key."""
        at = iso(self._clock())
        await self._write(receipt.company_id, lambda db: receipts.add_receipt(db, receipt, at))

    async def keep_receipt(self, receipt: Receipt) -> None:
        """Keep a receipt or complete an unanswered one; ReceiptTaken when it is answered."""
        at = iso(self._clock())
        await self._write(receipt.company_id, lambda db: receipts.keep_receipt(db, receipt, at))

    async def drop_receipts(self, before: datetime) -> int:
        aap_before = min(before, self._clock() - AAP_KEPT)
        drop = partial(receipts.drop_receipts, before=iso(before), aap_before=iso(aap_before))
        return await drop_all(lambda: self._write("", drop))

    async def keep_template(self, document: StoredTemplate) -> None:
        """Store a template; SchemaMismatch when its version has another digest."""
        await self._write("", lambda db: templates.keep_template(db, document, self._clock()))

    guarding_templates = read(templates.guarding_templates)
    own_versions = read(templates.own_versions)
    own_document = read(templates.own_document)
    draft = read(templates.draft)
    drafts = read(templates.drafts)
    put_draft = write(templates.put_draft)
    delete_draft = write(templates.delete_draft)

    async def publish(
        self,
        version: OwnVersion,
        document: str,
        drafted: str,
        logged: Logged,
        receipt: Receipt | None,
        *,
        decision: ChangeDecision | None = None,
    ) -> None:
        """Keep a version in place of the draft of the digest `drafted`.

        VersionTaken or DraftChanged when things have moved on. Every daemon knows it when this
        returns. A `decision` is kept with it, or ChangeDecided is raised.
        """
        known: dict[str, Any] = {"logged": logged, "receipt": receipt, "at": iso(self._clock())}
        work = partial(templates.publish, one=version, document=document, drafted=drafted, **known)
        await self._write(version.company_id, self.decided(decision, work))
        await self._await_peers()

    async def retire(self, retired: OwnVersion, logged: Logged, receipt: Receipt | None) -> bool:
        """Retire a version; False when it was before. No daemon starts it when this returns."""
        known: dict[str, Any] = {"logged": logged, "receipt": receipt, "at": iso(self._clock())}
        done = await self._write(retired.company_id, partial(templates.retire, one=retired, **known))
        await self._await_peers()
        return done

    # runs, evidence

    history = read(runs.history)
    unfinished = read(runs.unfinished)
    needs_recovery = read(runs.needs_recovery)
    parked = read(runs.parked)
    reviewed = read(runs.reviewed)
    due = read(runs.due_runs)

    async def index_runs(self, company_id: str) -> bool:
        """Let searches find the next runs that have started; returns whether more are left."""
        found = await self._read(lambda db: search.unindexed(db, company_id))
        return found is not None and await self._write(found.company_id, lambda db: search.index(db, found))

    async def index_any_runs(self) -> bool:
        """The same for runs of any company; of another one, too, more may be left."""
        found = await self._read(lambda db: search.unindexed(db, None))
        if found is not None:
            await self._write(found.company_id, lambda db: search.index(db, found))
        return found is not None

    # the inbox

    async def index_gates(self, limit: int) -> bool:
        return await self._write("", lambda db: inbox.index_gates(db, limit))

    async def unindex_gates(self, limit: int) -> bool:
        return await self._write("", lambda db: inbox.unindex_gates(db, limit))

    open_gates = read(inbox.open_gates)
    gate_groups = read(inbox.gate_groups)
    claims = read(inbox.claims)
    unlisted_gates = read(inbox.unlisted_gates)
    claim_gate = write(inbox.claim_gate)
    release_gate = write(inbox.release_gate)
    reserve_business_key = write(inbox.reserve_business_key)
    begin_evaluation = write(runs.begin_evaluation)
    end_evaluation = write(runs.end_evaluation)
    list_gates = write(inbox.list_gates)
    unsealed = read(audit.unsealed)
    checkpoints = read(audit.checkpoints)
    proven = read(audit.proven)
    entries = read(audit.entries)
    logged = read(audit.logged)
    logged_matching = read(matching_events.logged_matching)
    unrecorded = read(audit.unrecorded)

    async def record_roots(self) -> int:
        return await self._write("", lambda db: audit.record_roots(db, self._clock()))

    async def adopt(self) -> bool:
        return await self._write("", lambda db: adoption.adopt(db, self._clock()))

    # actions of agents

    action = read(actions_table.action)
    actions = read(actions_table.actions)
    joined_action = read(actions_table.joined_action)
    servers_of = read(actions_table.servers_of)
    server_changes = read(actions_table.server_changes)
    action_template = read(actions_table.action_template)
    budget_spent = read(actions_table.budget_spent)
    rule_hits = read(actions_table.rule_hits)
    hold_budget = write(actions_table.hold_budget)
    give_back = write(actions_table.give_back)
    join_action = write(actions_table.join_action)
    claim_call = write(actions_table.claim_call)
    take_action = write(actions_table.take_action)
    call_held = read(actions_table.call_held)
    hold_call = write(actions_table.hold_call)
    release_call = write(actions_table.release_call)
    keep_action_template = write(actions_table.keep_action_template)
    instance = read(actions_table.instance)

    async def add_instance(
        self,
        one: StoredInstance,
        added: AddedKey,
        webhook: WebhookReplaced | None,
        receipt: Receipt | None,
        logged: Logged,
    ) -> None:
        """Add an instance with its key and its webhook."""
        how = partial(actions_table.add_instance, logged=logged, at=iso(self._clock()))
        await self._write(one.company_id, lambda db: how(db, one, added, webhook, receipt))
        await self._await_peers()

    async def change_instance(
        self, one: StoredInstance, webhook: WebhookReplaced | None, receipt: Receipt | None, logged: Logged
    ) -> None:
        """Write an instance anew, and its webhook."""
        how = partial(actions_table.change_instance, logged=logged, at=iso(self._clock()))
        await self._write(one.company_id, lambda db: how(db, one, webhook, receipt))

    async def drop_holds(self, now: datetime) -> int:
        """Give back what is held of budgets for runs that never began; returns how many."""
        return await drop_all(lambda: self._write("", partial(actions_table.drop_holds, now=now)))

    async def drop_joins(self, now: datetime) -> int:
        """Drop what keeps others from calls that are over; returns how many."""
        return await drop_all(lambda: self._write("", partial(actions_table.drop_joins, now=now)))

    # webhooks

    log_end = read(event_log.log_end)
    head_at = read(event_log.head_at)
    read_after = read(event_log.read_after)

    async def place_id(self, company_id: str, place: Position) -> str:
        """The id of a place, which tells its history from another."""
        return self.event_ids.encode(company_id, place, mark_of(await self.head_at(company_id, place)))

    read_before = read(event_log.read_before)
    read_matching = read(matching_events.read_matching)
    webhook = read(webhooks.webhook)
    webhooks_of = read(webhooks.webhooks_of)
    notifications_of = read(webhooks.notifications_of)
    notifying_companies = read(webhooks.notifying_companies)
    notifier = read(webhooks.notifier)

    async def enqueue_notifications(
        self, company_id: str, found: Sequence[Wanted], cursor: Position, at: datetime
    ) -> None:
        """Add deliveries and move the cursor; after a kill in between those that are there stay."""
        *before, last = webhooks.in_pieces(found)
        for piece in before:
            more = partial(webhooks.enqueue_notifications, company_id=company_id, found=piece, cursor=cursor)
            await self._write(company_id, partial(more, at=at, last=False))
        done = partial(webhooks.enqueue_notifications, company_id=company_id, found=last, cursor=cursor)
        await self._write(company_id, partial(done, at=at, last=True))

    enabled_webhooks = read(webhooks.enabled_webhooks)
    webhook_queue = read(webhooks.webhook_queue)
    deliveries = read(webhooks.deliveries)
    put_webhook = write(webhooks.put_webhook)
    delete_webhook = write(webhooks.delete_webhook)
    enqueue = write(webhooks.enqueue)
    redeliver = write(webhooks.redeliver)

    async def add_webhook(
        self, webhook: StoredWebhook, logged: Logged, receipt: Receipt | None, most: int = WEBHOOKS_MAX
    ) -> None:
        at = iso(self._clock())
        await self._write(
            webhook.company_id, lambda db: webhooks.add_webhook(db, webhook, logged, receipt, at=at, most=most)
        )

    async def rotate_webhook(self, webhook: StoredWebhook, logged: Logged, receipt: Receipt | None) -> None:
        at = iso(self._clock())
        await self._write(webhook.company_id, lambda db: webhooks.rotate_webhook(db, webhook, logged, receipt, at))

    async def settle_deliveries(self, *attempts: EndedAttempt) -> None:
        """Record attempts of one webhook, in the order in which they ended."""
        company_id = attempts[0][0][0][1].company_id
        await self._write(company_id, lambda db: webhooks.settle_deliveries(db, attempts))

    async def drop_deliveries(self, before: datetime) -> int:
        """Drop settled deliveries of before a time, later those that tell of approvals."""
        aap_before = min(before, self._clock() - AAP_KEPT)
        drop = partial(webhooks.drop_deliveries, before=iso(before), aap_before=iso(aap_before))
        return await drop_all(lambda: self._write("", drop))
