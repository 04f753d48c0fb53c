"""Commits, accounts and receipts in a few words, for whatever keeps them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from actors.core.actions.deciding import SCALE, ActionFacts, RuleReference
from actors.core.calls import CallRequest, Connector
from actors.core.messages import (
    CallSettled,
    Event,
    Failure,
    GateOpened,
    RunEnded,
    RunStarted,
    StepCleared,
    StepEntered,
    VerdictGiven,
)
from actors.ports import Commit, Journal, Receipt
from daemon.identity.accounts import first_member
from daemon.model import StoredAccount, StoredCompany, StoredConnector, StoredConnectorChange, StoredUser
from daemon.stores.codec import fold

if TYPE_CHECKING:
    from actors.core.run import Run
    from daemon.stores.store import Store

NOON = datetime(2026, 3, 2, 12, 0, 0, 250_001, tzinfo=UTC)
ACME = "company-acme"
OTHER = "company-other"


@dataclass
class Clock:
    """A clock that goes only when told to."""

    now: datetime = NOON

    def __call__(self) -> datetime:
        return self.now

    def forward(self, **by: float) -> None:
        self.now += timedelta(**by)


def commit(run: Run | None, *events: Event, resting: bool = True, receipt: Receipt | None = None) -> Commit:
    """These events on top of a run."""
    return Commit(fold(events, run), events, resting, receipt)


async def append(store: Journal, commit: Commit) -> None:
    """Append a commit behind what is stored of its run."""
    found = await store.load_committed(commit.run.company_id, commit.run.id) if commit.expected_version else None
    await store.append(commit if found is None else replace(commit, follows=found.head))


def start(
    run_id: str = "run-1",
    company_id: str = ACME,
    *,
    vertical: str = "prior-auth",
    gates: tuple[str, ...] = ("signoff",),
    inputs: dict[str, Any] | None = None,
    receipt: Receipt | None = None,
    digest: str = "sha256:" + "a" * 64,
) -> Commit:
    """A run that began and parked at these gates; one that executes when there are none."""
    events: list[Event] = [
        RunStarted(
            at=NOON,
            run_id=run_id,
            company_id=company_id,
            by="ann",
            vertical=vertical,
            template_version=1,
            template_digest=digest,
            inputs=inputs or {"n": 1},
            auto_resolve=True,
        )
    ]
    if not gates:
        events.append(StepEntered(at=NOON, step_id="work", visit=1, kind="task", tier="low"))
    for gate in gates:
        events.append(StepEntered(at=NOON, step_id=gate, visit=1, kind="gate", tier="high"))
        events.append(
            GateOpened(
                at=NOON,
                step_id=gate,
                visit=1,
                label=gate.title(),
                reason="a human decides",
                decisions=("approved", "denied"),
                digest=digest,
            )
        )
    return commit(None, *events, resting=bool(gates), receipt=receipt)


def facts(**said: Any) -> ActionFacts:
    """What is known of an action that a rule allowed."""
    known: dict[str, Any] = {
        "tool": "stripe.refund",
        "server": "stripe",
        "agent": "refunds-bot",
        "agent_id": "key-1",
        "model": "gpt-9",
        "context": {"thread": "t", "call_id": "c1"},
        "rule": RuleReference("refunds", 3, "sha256:" + "0" * 64),
        "decision": "allow",
        "amount": 10 * SCALE,
        "fingerprint": "print",
    }
    return ActionFacts(**{**known, **said})


def action(run_id: str, company_id: str = ACME, *, gates: tuple[str, ...] = (), **said: Any) -> Commit:
    """A run that is an action and began."""
    began, *others = start(run_id, company_id, vertical="action", gates=gates).events
    assert isinstance(began, RunStarted)
    calls = [replace(one, kind="task") if isinstance(one, StepEntered) else one for one in others]
    return commit(None, replace(began, action=facts(**said)), *calls, resting=bool(gates))


def failed(run_id: str, *, gates: tuple[str, ...]) -> Commit:
    """A run that parked at these gates while another branch of it failed."""
    begun = start(run_id, gates=gates)
    error = Failure(code="connector_failed", detail="The far side answered 500.", step_id="call")
    work: tuple[Event, ...] = (
        StepEntered(at=NOON, step_id="call", visit=1, kind="task", tier="low"),
        CallSettled(at=NOON, step_id="call", visit=1, error=error, by="autopilot", reason="tier low is cleared"),
    )
    rest = () if gates else (CallSettled(at=NOON, step_id="work", visit=1, output={}),)
    return commit(None, *begun.events, *rest, *work)


def decide(run: Run, gate: str = "signoff", receipt: Receipt | None = None) -> Commit:
    """The run after a verdict, which ends it."""
    verdict = VerdictGiven(at=NOON, step_id=gate, visit=run.visits[gate], decision="approved", by="bob", comment="fine")
    return commit(run, verdict, RunEnded(at=NOON, status="completed", outcome="done"), receipt=receipt)


def work(run: Run, size: int = 10) -> Commit:
    """The run after one more task with an output of that many characters."""
    visit = run.visits.get("task", 0) + 1
    request = CallRequest(tool="tool", mode="shadow", body={"inputs": run.inputs, "facts": {}})
    return commit(
        run,
        StepEntered(at=NOON, step_id="task", visit=visit, kind="task", tier="low"),
        StepCleared(at=NOON, step_id="task", visit=visit, reason="tier low runs on its own", request=request),
        CallSettled(at=NOON, step_id="task", visit=visit, output={"text": "x" * size}),
    )


def called(run: Run) -> Commit:
    """The run after one more task whose call failed, and was sent again."""
    visit, request = (
        run.visits.get("task", 0) + 1,
        CallRequest(tool="tool", mode="live", method="GET", url="https://a.test/"),
    )
    error = Failure(code="connector_failed", detail="The far side answered 500.", step_id="task", status_code=500)
    cleared: dict[str, Any] = {"step_id": "task", "reason": "tier low runs on its own", "request": request}
    return commit(
        run,
        StepEntered(at=NOON, step_id="task", visit=visit, kind="task", tier="low"),
        StepCleared(at=NOON, visit=visit, **cleared),
        CallSettled(at=NOON, step_id="task", visit=visit, error=error, attempts=4),
        StepEntered(at=NOON, step_id="task", visit=visit + 1, kind="task", tier="low"),
        StepCleared(at=NOON, visit=visit + 1, **cleared),
        CallSettled(at=NOON, step_id="task", visit=visit + 1, output={"ok": True}),
    )


def receipt(
    key: str = "key-1", company_id: str = ACME, *, run_id: str | None = None, status: int | None = None
) -> Receipt:
    """What is kept of a request; without a status it is not answered yet."""
    body = b"" if status is None else b'{"status": "parked"}'
    return Receipt(company_id, "/process-runs/", key, b"\x00fingerprint\xff", run_id, status, '{"ETag": "1"}', body)


def account(name: str = "ann", company_id: str = ACME, email: str = "Ann@Example.test") -> StoredAccount:
    """A company with one user."""
    user = StoredUser(f"user-{name}", company_id, email, name.title(), "$argon2id$hash", NOON)
    return StoredAccount(user, StoredCompany(company_id, "Ünïted Ltd.", NOON), first_member(user, "manager"))


def stored_connector(tool_id: str = "chart-fetch", company_id: str = ACME, version: int = 1) -> StoredConnector:
    """A connector with a sealed secret."""
    connector = Connector(
        tool_id, version, "https://api.test", "POST", "/charts", "bearer", body_map={"id": "member_id"}
    )
    made, changed = NOON + timedelta(minutes=1), NOON + timedelta(minutes=version)
    return StoredConnector(company_id, connector, b"\x00sealed\xff", made, changed, "ann@ann.test")


def change(
    number: int = 1, tool_id: str = "chart-fetch", company_id: str = ACME, *, gone: bool = False
) -> StoredConnectorChange:
    """The change that made a connector, or that deleted it."""
    before = None if number == 1 else stored_connector(tool_id, company_id, number - 1).connector
    after = None if gone else stored_connector(tool_id, company_id, number).connector
    at = NOON + timedelta(minutes=number)
    return StoredConnectorChange(company_id, tool_id, number, number, at, "ann@ann.test", "kept", before, after)


async def count_as_before(store: Store) -> None:
    """Count calls of a tool as a daemon of 0.1.0 does, without their template."""
    row = (ACME, "2026-03-02", "lookup", 2, 1, NOON.isoformat(), "timeout")
    columns = "company_id, day, tool_id, calls, failed, last_at, last_error"
    await store._write(ACME, lambda db: db.insert(f"report_calls ({columns})", [row]))
