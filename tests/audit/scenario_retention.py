"""Runs of the past that are held, and one that was archived."""

from __future__ import annotations

from typing import TYPE_CHECKING

from daemon.audit.evidence import run_evidence
from daemon.audit.sealer import Sealer
from daemon.model.audit_events import Logged
from daemon.model.chain import digest, text_of_hash
from daemon.model.events.company import HoldChanged, HoldForm, RunArchived
from daemon.model.retention.records import LegalHold, StoredRedaction, archive_form
from daemon.stores.store import Store
from tests.histories import NOON, append, decide, start

if TYPE_CHECKING:
    from daemon.audit.sealer import Signer


async def retention(store: Store, signer: Signer, company_id: str, name: str) -> None:
    """Two runs are held and a third one was; a fourth is archived, and a fifth is redacted."""
    await _redacted(store, signer, company_id, f"redacted-{name}")
    await _archived(store, signer, company_id, f"old-{name}")
    form = HoldForm(reason="litigation")
    for run_id in (f"run-{name}-0", f"run-{name}-1", f"busy-{name}-0"):
        form = HoldForm(reason=f"{form.reason}, again")
        event = HoldChanged(at=NOON, after=form, before=None, by=name, run_id=run_id, via="session")
        assert await store.put_hold(LegalHold(company_id, run_id, form.reason, NOON, name), Logged(company_id, event))
    event = HoldChanged(at=NOON, after=None, before=form, by=name, run_id=run_id, via="session")
    assert await store.drop_hold(company_id, run_id, Logged(company_id, event))


async def _redacted(store: Store, signer: Signer, company_id: str, run_id: str) -> None:
    begun = start(run_id, company_id, inputs={"member": "Grace", "amount": 3})
    await store.append(begun)
    await append(store, decide(begun.run))
    for number, name in enumerate(("member", "amount")):
        asked = StoredRedaction(company_id, run_id, 0, f"request {number}", NOON, "ann", (f"/inputs/{name}",))
        assert (await store.redact(asked, "session", signer.sign)).redaction.number == number + 1


async def _archived(store: Store, signer: Signer, company_id: str, run_id: str) -> None:
    begun = start(run_id, company_id)
    await store.append(begun)
    await append(store, decide(begun.run))
    await Sealer(store, signer).seal()
    run, proven = await store.load(company_id, run_id), await store.proven(company_id, run_id)
    assert run is not None
    assert proven is not None
    content = run_evidence(run_id, proven).serialize()
    form = archive_form(run, text_of_hash(proven.last.head), digest(content), len(content))
    assert await store.claim_archiving(company_id)
    event = RunArchived(at=NOON, after_days=30, form=form)
    assert await store.keep_archives(company_id, [event], signer.sign) == {run_id}
