"""The evidence: checkpoints, keys, a run's chain with its proof, and the export of everything."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from aiohttp import web

from actors.core.people import ADMIN, rank
from actors.core.run import Run
from actors.ports import StoreFailed
from daemon.audit import evidence
from daemon.audit.evidence import VerdictReader, run_evidence
from daemon.contract import audit as contract
from daemon.model.chain import ChainWalk, hashes
from daemon.model.evidence import Proof, SealedCommit, StoredCheckpoint
from daemon.web.bodies import page_limit
from daemon.web.middleware.admission import slot_released
from daemon.web.middleware.auth import principal_of
from daemon.web.operations import PAGED, Operation
from daemon.web.problems import not_found
from daemon.web.resources.events import entry_about
from daemon.web.resources.pages import in_turn, page_response
from daemon.web.resources.run_commands import sight_of
from daemon.web.resources.runs import find
from daemon.web.responses import JSON, from_number, json_response, next_page, to_cursor
from daemon.web.services import SERVICES

PAGE = 32
TRIES = 5


@Operation("List checkpoints", "read", list[contract.Checkpoint], query=PAGED, problems=(403,))
async def list_checkpoints(request: web.Request) -> web.Response:
    """The signed checkpoints of the company's Merkle tree, newest first."""
    company_id = principal_of(request).company_id
    limit, before = page_limit(request), from_number(request, "checkpoints")
    found = await request.app[SERVICES].store.checkpoints(company_id, before, limit + 1)
    return await page_response(
        request, found, limit, "checkpoints", name=lambda last: last.size, show=StoredCheckpoint.document
    )


@Operation("Get the public keys", "read", dict[str, str])
async def get_audit_keys(request: web.Request) -> web.Response:
    """The public keys of checkpoints by id (Ed25519, Base64)."""
    return json_response(request.app[SERVICES].sealer.keys())


@Operation("Get the evidence of a run", "read", contract.RunAudit, query=PAGED, problems=(410,))
async def get_run_audit(request: web.Request) -> web.Response:
    """The hash chain of a run, and the proof that a checkpoint covers it.

    Without `limit` and `cursor` it is not paged.
    """
    async with in_turn(request):
        found = await find(request)
        after, limit = _page(request, found.id)
        proven = await _proven(request, found, after, limit)
        body = await asyncio.to_thread(lambda: run_evidence(found.id, proven, after, limit).serialize())
    until = proven.last.version if limit is None else min(after + limit, _last(proven))
    more = next_page(request, to_cursor(f"audit-{found.id}", str(until))) if until < proven.last.version else {}
    return web.Response(body=body, headers={**more, "Content-Type": JSON})


@Operation("Get the receipt of a verdict", "read", contract.VerdictReceipt, problems=(404, 410))
async def get_verdict_receipt(request: web.Request) -> web.Response:
    """Who decided what, for whom, when, and on what, with its place in the run's hash chain.

    `penstock verify --receipt` accepts it against an export. It stays true of a verdict that was
    withdrawn later.
    """
    async with in_turn(request):
        found, verdict_id = await find(request), request.match_info["verdict_id"]
        proven = await _proven(request, found, 0, None)
        receipt = await asyncio.to_thread(_receipt, found, verdict_id, proven)
    if receipt is None:
        raise not_found("This run has no such verdict.")
    return json_response(receipt)


def _receipt(run: Run, verdict_id: str, proven: Proof) -> dict[str, Any] | None:
    reader, walk = VerdictReader(run.company_id, run.id, verdict_id), ChainWalk(run.id, proven.before)
    for one in proven.commits:
        previous, lines = walk.head, walk.read_commit(one.first_seq, one.version, one.head, one.events)
        for seq, (line, digest) in enumerate(zip(lines, hashes(previous, lines), strict=True), one.first_seq):
            reader.read_event(seq, json.loads(line), previous, digest)
            previous = digest
    return reader.receipt


@Operation("Export all evidence", "read", dict[str, Any], problems=(403,), media="application/x-ndjson")
async def export_audit(request: web.Request) -> web.StreamResponse:
    """A manifest, all commits and all checkpoints as JSON Lines, for `penstock verify`.

    Commits of runs that are closed to the caller are `withheld`: their hashes alone are there, and
    which runs they are of for admins.
    """
    services, company_id = request.app[SERVICES], principal_of(request).company_id
    async with services.archiver.paused(company_id):
        await services.sealer.seal(company_id)
        last = await services.store.checkpoints(company_id, None, 1)
        size = last[0].size if last else 0
        response = web.StreamResponse(headers={"Content-Type": "application/x-ndjson", "Cache-Control": "no-store"})
        await response.prepare(request)
        await response.write(evidence.manifest(company_id, size))
        try:
            await _write(request, response, company_id, size)
        except StoreFailed as failed:  # half an export must not look like a whole one: the connection breaks
            raise ConnectionAbortedError(str(failed)) from failed
        return response


async def _write(request: web.Request, response: web.StreamResponse, company_id: str, size: int) -> None:
    """All commits below a size, then all checkpoints up to it, a bounded number at a time."""
    store, archives = request.app[SERVICES].store, evidence.ArchivesNamed(company_id)
    first = 0
    while first < size and (found := await store.entries(company_id, first, min(first + PAGE, size))):
        first = found[-1].number + 1
        archives.read_commits(found)
        show = await _lines_for(request, found)
        with slot_released():
            await response.write(await _joined(request, found, show))
    if not archives.complete:  # a run was archived or redacted behind the last checkpoint
        raise ConnectionAbortedError("A run was archived or redacted meanwhile.")
    before = size + 1
    while page := await store.checkpoints(company_id, before, PAGE):
        with slot_released():
            await response.write(b"".join(map(evidence.checkpoint_line, page)))
        before = page[-1].size


async def _lines_for(request: web.Request, found: Sequence[SealedCommit]) -> Callable[[SealedCommit], bytes]:
    """Writes the lines of commits, without the content of what is closed to the caller."""
    sight, company_id = await sight_of(request), principal_of(request).company_id
    if sight is None:
        return evidence.entry_line
    about = {one.number: entry_about(company_id, one) for one in found}
    runs = {run_id for run_id in about.values() if run_id is not None}
    seen = await request.app[SERVICES].store.visible_among(company_id, runs, sight)
    hidden = frozenset(number for number, run_id in about.items() if run_id is not None and run_id not in seen)
    unnamed = rank(principal_of(request).role) < rank(ADMIN)

    def line(one: SealedCommit) -> bytes:
        withheld = one.number in hidden
        return evidence.entry_line(one, withheld=withheld, unnamed=withheld and unnamed and one.stream != company_id)

    return line


async def _joined(request: web.Request, found: Sequence[SealedCommit], show: Callable[[SealedCommit], bytes]) -> bytes:
    size = sum(len(one.events) for one in found)
    work = partial(b"".join, map(show, found))
    return await request.app[SERVICES].offload.run_by_size(principal_of(request).company_id, size, work)


def _page(request: web.Request, run_id: str) -> tuple[int, int | None]:
    """After which event the page begins, and its limit; everything without `limit` and `cursor`."""
    if request.query.keys().isdisjoint({"limit", "cursor"}):
        return 0, None
    return from_number(request, f"audit-{run_id}") or 0, page_limit(request)


def _last(proven: Proof) -> int:
    """The last event among the commits that were read; a page may end early."""
    return proven.commits[-1].version if proven.commits else proven.last.version


async def _proven(request: web.Request, run: Run, after: int, limit: int | None) -> Proof:
    """The chain of a run under a checkpoint; sealed anew as long as the run moves on meanwhile."""
    services = request.app[SERVICES]
    for _ in range(TRIES):
        await services.sealer.seal(run.company_id)
        proven = await services.store.proven(run.company_id, run.id, after, limit)
        if proven is not None:
            return proven
    raise StoreFailed("The run moves faster than it can be sealed.", "not_applied")
