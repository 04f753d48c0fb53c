"""Redaction in both databases: what goes, what still verifies, and what is found."""

from __future__ import annotations

import json
import secrets
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from actors.ports import Receipt
from daemon.audit import evidence
from daemon.audit.evidence import run_evidence
from daemon.audit.sealer import Signer, read_public
from daemon.keys.keyring import KeyRing, write_ring
from daemon.model.chain import HistoryBroken
from daemon.model.commitments.salted import plain
from daemon.model.event_log import BEGINNING
from daemon.model.retention.records import NotRedactable, StoredRedaction
from daemon.model.retention.redaction import NoSuchValue, NotSalted, StoredLines, redacted
from daemon.stores.store import Store
from daemon.stores.tables.retention import redactions
from daemon.verification.exports import verify_export
from daemon.verification.runs import verify_run
from tests.histories import ACME, NOON, append, decide, start

if TYPE_CHECKING:
    from pathlib import Path

    from daemon.model.retention.records import RedactionMade

NAME = "Zora Quendolin"
KEY = (ACME, "run-1")
TABLES = ("commits", "snapshots", "runs", "receipts", "run_redactions", "run_words")
COMMITS = "SELECT version, first_seq, events, exact FROM commits WHERE company_id = $1 AND run_id = $2 ORDER BY version"
UPDATE = "UPDATE commits SET events = $4, exact = $5 WHERE company_id = $1 AND run_id = $2 AND version = $3"


@pytest.fixture
def signer(tmp_path: Path) -> Signer:
    write_ring(tmp_path / "audit.keys", KeyRing("one", {"one": secrets.token_bytes(32)}))
    return Signer(tmp_path / "audit.keys", tmp_path / "audit.pub", lambda: NOON)


async def ended(store: Store) -> None:
    """A run with a value in its inputs, a call and a stored response."""
    receipt = Receipt(ACME, "/process-runs", "key", b"fingerprint", "run-1", 201, "{}", NAME.encode())
    await store.append(start(inputs={"member": NAME, "amount": 1.0, "vip": True}, receipt=receipt))
    run = await store.load(*KEY)
    assert run is not None
    await append(store, decide(run))
    assert await store.load(*KEY) is not None


async def redact(store: Store, signer: Signer, *pointers: str, minutes: int = 0) -> RedactionMade:
    at = NOON + timedelta(minutes=minutes)
    return await store.redact(StoredRedaction(*KEY, 0, "request 31", at, "ann", pointers), "session", signer.sign)


async def exported(store: Store) -> list[bytes]:
    [top, *_] = found = await store.checkpoints(ACME, None, 100)
    entries = await store.entries(ACME, 0, top.size)
    return [
        evidence.manifest(ACME, top.size),
        *map(evidence.entry_line, entries),
        *map(evidence.checkpoint_line, found),
    ]


async def stored(store: Any) -> str:
    """All that the tables of runs hold, as text."""

    async def every(db: Any) -> str:
        return repr([await db.rows(f"SELECT * FROM {table}") for table in TABLES])  # noqa: S608

    text: str = await store._read(every)
    return text


async def test_a_redacted_value_is_in_no_table_and_evidence_and_export_verify(
    store: Store, signer: Signer, tmp_path: Path
) -> None:
    await ended(store)
    assert NAME in await stored(store)
    made = await redact(store, signer, "/inputs/member")
    assert NAME not in await stored(store)
    run, keys = await store.load(*KEY), read_public(tmp_path / "audit.pub")
    assert run is not None
    assert run.inputs == {"member": made.redaction.placeholder, "amount": 1.0, "vip": True}
    assert type(run.inputs["amount"]) is float
    again = await redact(store, signer, "/inputs/member", minutes=1)
    assert (again.redaction, again.places) == (made.redaction, ())
    second = await redact(store, signer, "/inputs/vip", minutes=2)
    assert [one.path for one in second.places] == ["/inputs/vip"]
    assert [one.number for one in (await store.retained(*KEY)).redactions] == [1, 2]
    proven = await store.proven(*KEY)
    assert proven is not None
    written = run_evidence("run-1", proven).serialize()
    assert list(verify_run(written, keys)) == []
    lines = await exported(store)
    assert list(verify_export(lines, keys)) == []
    assert [one.event.type for one in await store.read_after(ACME, BEGINNING, 1)] == ["run_started"]
    await _wrong(lines, written, keys)


async def test_the_writer_works_a_redaction_out_only_where_the_run_has_changed_since_it_was_planned(
    store: Any, signer: Signer, monkeypatch: pytest.MonkeyPatch
) -> None:
    await ended(store)

    def asked(name: str) -> StoredRedaction:
        return StoredRedaction(*KEY, 0, "request 31", NOON, "ann", (f"/inputs/{name}",))

    async def write(name: str, planned: Any) -> RedactionMade:
        known: dict[str, Any] = {"asked": asked(name), "via": "session", "sign": signer.sign, "receipt": lambda _: None}
        made: RedactionMade = await store._write(ACME, partial(redactions.redact, planned=planned, **known))
        return made

    first, second = [await store._read(partial(redactions.plan, asked=asked(name))) for name in ("vip", "member")]
    with monkeypatch.context() as patch:
        patch.delattr(redactions, "redacted")
        assert (await write("vip", first)).redaction.number == 1
    assert (await write("member", second)).redaction.number == 2
    assert NAME not in await stored(store)
    assert all(isinstance(one, str) for name, one in (await store.load(*KEY)).inputs.items() if name != "amount")


async def _wrong(lines: list[bytes], written: bytes, keys: Any) -> None:
    """What is found where a record is missing, or a value is not the one of its record."""
    for change in (_unrecorded, _other_text, _other_value, _forged, _invented, _unproven):
        document = json.loads(written)
        change(document, document["events"][0]["event"])
        kinds = {one.kind for one in verify_run(json.dumps(document).encode(), keys)}
        assert kinds & {"redaction", "chain", "proof"}, (change, kinds)
    unsaid = [line for line in lines if b'"run_redacted"' not in line]
    assert "redaction" in {one.kind for one in verify_export(unsaid, keys)}


def _unrecorded(document: Any, _: Any) -> None:
    del document["redactions"][0]


def _other_text(_: Any, first: Any) -> None:
    first["inputs"]["member"] = "redacted on another day"


def _other_value(_: Any, first: Any) -> None:
    first["inputs"]["amount"] = 2


def _forged(_: Any, first: Any) -> None:
    first["$redacted"]["/inputs/amount"] = first["$redacted"]["/inputs/member"]


def _invented(_: Any, first: Any) -> None:
    first["$redacted"]["/inputs/nobody"] = first["$redacted"]["/inputs/member"]


def _unproven(document: Any, _: Any) -> None:
    document["redactions"][0]["number"] -= 1


async def test_who_can_write_to_the_database_cannot_redact(store: Any, signer: Signer) -> None:
    await ended(store)

    async def forge(db: Any) -> None:
        rows = [StoredLines(*row) for row in await db.rows(COMMITS, *KEY)]
        for one in redacted(rows, ["/inputs/member"], "", "another value", frozenset()).commits:
            await db.execute(UPDATE, *KEY, one.version, one.events, one.exact)

    await store._write(ACME, forge)
    with pytest.raises(HistoryBroken, match="the service did not redact them"):
        await store.history(*KEY, 0, 100)


async def test_a_live_run_an_unknown_value_and_a_commit_from_before_are_refused(store: Any, signer: Signer) -> None:
    await store.append(start(inputs={"member": NAME}))
    with pytest.raises(NotRedactable, match="has not ended"):
        await redact(store, signer, "/inputs/member")
    run = await store.load(*KEY)
    await append(store, decide(run))
    with pytest.raises(NoSuchValue):
        await redact(store, signer, "/inputs/other")

    async def as_before(db: Any) -> list[StoredLines]:
        """The commits as an earlier version wrote them."""
        rows = await db.rows(COMMITS, *KEY)
        return [StoredLines(row[0], row[1], b"\n".join(map(plain, row[2].split(b"\n"))), None) for row in rows]

    earlier = await store._read(as_before)
    with pytest.raises(NotSalted):
        redacted(earlier, ["/inputs/member"], "", "gone", frozenset())
