"""Legal holds on runs, and what was archived of them."""

from __future__ import annotations

from aiohttp import web

from daemon.contract.audit import RunAudit
from daemon.contract.retention import holds as contract
from daemon.model.audit_events import Logged
from daemon.model.events.retention import HoldChanged, HoldForm
from daemon.model.retention.records import Hold
from daemon.retention import ArchiveLost
from daemon.web.bodies import read
from daemon.web.middleware.auth import principal_of
from daemon.web.operations import Operation
from daemon.web.problems import archived, not_found
from daemon.web.resources.runs import find
from daemon.web.responses import JSON, json_response
from daemon.web.services import SERVICES


@Operation("Put a run under legal hold", "retain", contract.Hold, request=contract.HoldRun, problems=(403, 409))
async def hold_run(request: web.Request) -> web.Response:
    """A held run is not archived, whatever the policy says; another reason replaces it."""
    body = await read(request, contract.HoldRun)
    run, principal, services = await find(request), principal_of(request), request.app[SERVICES]
    before = (await services.store.retained(run.company_id, run.id)).hold
    hold = Hold(run.company_id, run.id, body.reason, services.now(), principal.email)
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
