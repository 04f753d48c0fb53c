"""Legal holds on runs, what was archived of them, and redaction of values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aiohttp import web

from actors.core.run import Run
from actors.ports import Receipt
from daemon.contract import runs as contract
from daemon.contract.audit import RunAudit
from daemon.model.audit_events import Logged
from daemon.model.events.company import HoldChanged, HoldForm
from daemon.model.retention.records import LegalHold, NotRedactable, RedactionMade, StoredRedaction
from daemon.model.retention.redaction import NoSuchValue, NotSalted, ReasonContainsValue
from daemon.retention import ArchiveLost
from daemon.runtime.json_codec import dumps
from daemon.web.bodies import parse, read
from daemon.web.idempotency import IdempotencyKey, idempotent, receipt_maker
from daemon.web.middleware.auth import principal_of
from daemon.web.operations import KEYED, Operation
from daemon.web.problems import HttpProblem, archived, invalid, not_found
from daemon.web.resources.run_commands import repeat_seen
from daemon.web.resources.run_json import RESPONSE_CACHE
from daemon.web.resources.runs import find
from daemon.web.responses import JSON, StoredResponse, json_response
from daemon.web.services import SERVICES


@Operation("Put a run under legal hold", "retain", contract.Hold, request=contract.HoldRun, problems=(403, 409))
async def hold_run(request: web.Request) -> web.Response:
    """A held run is not archived, whatever the policy says; another reason replaces it."""
    body = await read(request, contract.HoldRun)
    run, principal, services = await find(request), principal_of(request), request.app[SERVICES]
    before = (await services.store.retained(run.company_id, run.id)).hold
    hold = LegalHold(run.company_id, run.id, body.reason, services.now(), principal.email)
    event = HoldChanged(
        at=hold.held_at,
        after=HoldForm(reason=hold.reason),
        before=None if before is None else HoldForm(reason=before.reason),
        by=principal.email,
        run_id=run.id,
        via=principal.via,
    )
    if await services.store.put_hold(hold, Logged(run.company_id, event, caller=principal.caller)) or before is None:
        before = hold
    return json_response(contract.Hold.view(before))


@Operation("Release a run from legal hold", "retain", status=204, problems=(403, 409))
async def release_run(request: web.Request) -> web.Response:
    """It counts for the company's policy again; a run that is not held stays as it is."""
    run, principal, services = await find(request), principal_of(request), request.app[SERVICES]
    before = (await services.store.retained(run.company_id, run.id)).hold
    if before is not None:
        event = HoldChanged(
            at=services.now(),
            after=None,
            before=HoldForm(reason=before.reason),
            by=principal.email,
            run_id=run.id,
            via=principal.via,
        )
        await services.store.drop_hold(run.company_id, run.id, Logged(run.company_id, event, caller=principal.caller))
    return web.Response(status=204)


@Operation("Get the archive of a run", "retain", RunAudit, problems=(403, 410))
async def get_archive(request: web.Request) -> web.Response:
    """The file that a run was archived to: its evidence, for `penstock verify`.

    404 while it is not archived; 410 when the file is not there any more, or was changed.
    """
    run, services = await find(request), request.app[SERVICES]
    kept = (await services.store.retained(run.company_id, run.id)).archived
    if kept is None:
        raise not_found("This run is not archived.")
    try:
        content = await services.archiver.content(kept)
    except ArchiveLost:
        raise archived(kept, "The file of this archive is not there any more, or was changed.") from None
    return web.Response(body=content, headers={"Content-Type": JSON, "Cache-Control": "no-store"})


@Operation(
    "Redact values of a run",
    "retain",
    contract.MadeRedaction,
    request=contract.RedactRun,
    headers=KEYED,
    problems=(403, 404, 409, 410),
)
@idempotent(seen=repeat_seen)
async def redact_run(request: web.Request, raw: dict[str, Any], key: IdempotencyKey | None) -> StoredResponse:
    """Removes values of a run that has ended, and their copies in its events, for good.

    What stays verifies as before: the hash chain has salted hashes of the values. Values that were
    redacted before stay so. 409 `not_redactable` while the run goes on or is under legal hold.
    With `preview` the answer tells the places, and nothing is redacted.
    """
    body = await parse(request, contract.RedactRun, raw)
    run = await find(request)
    return _answer(await _redacted(request, run, body, receipt_maker(key, _answer)))


async def _redacted(
    request: web.Request, run: Run, body: contract.RedactRun, receipt: Callable[[RedactionMade], Receipt | None]
) -> RedactionMade:
    services, principal = request.app[SERVICES], principal_of(request)
    pointers = tuple(dict.fromkeys(body.pointers))
    at = services.now().replace(microsecond=0)
    asked = StoredRedaction(run.company_id, run.id, 0, body.reason, at, principal.email, pointers)
    try:
        if body.preview:
            return await services.store.redact(asked, principal.via, None)
        made = await services.store.redact(asked, principal.via, services.sealer.sign, receipt)
    except NoSuchValue as nothing:
        place = f"/pointers/{pointers.index(nothing.pointer)}"
        raise invalid((place, str(nothing))) from None
    except ReasonContainsValue:
        raise invalid(("/reason", "The reason says a value that is to be redacted.")) from None
    except NotSalted:
        detail = "This run was written by an earlier version, whose hash chain covers the values themselves."
        raise HttpProblem("not_redactable", detail) from None
    except NotRedactable as refused:
        raise HttpProblem("not_redactable", str(refused)) from None
    services.directory.forget((run.company_id, run.id))
    request.app[RESPONSE_CACHE].forget((run.company_id, run.id))
    return made


def _answer(made: RedactionMade) -> StoredResponse:
    places = tuple(f"/events/{one.seq}{one.path}" for one in made.places)
    shown = contract.MadeRedaction.view(made.redaction, places=places, left=made.left)
    return StoredResponse(200, dumps(shown), {"Content-Type": JSON})
