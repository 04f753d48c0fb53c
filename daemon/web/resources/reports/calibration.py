"""Calibration: what people's decisions tell of the steps that panels hear."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aiohttp import web

from actors.core.autonomy import CASES_MIN, Autonomy, PanelVerdict, Record, decide_clearance
from actors.core.autonomy.calibration import WINDOW
from daemon.contract.autonomy import calibration as contract
from daemon.model.reports.judged import STEPS_MAX, JudgedCase, JudgedStep, record_of, reliability
from daemon.web.operations import Operation
from daemon.web.resources.pages import REPORTS_IN_TURN, in_turn
from daemon.web.resources.people.policies import member_of
from daemon.web.resources.reports.asked import caught_up
from daemon.web.responses import json_response
from daemon.web.services import SERVICES, Services

DISAGREEMENTS_MAX = 20


@Operation("Get the calibration", "read", contract.Calibration)
async def get_calibration(request: web.Request) -> web.Response:
    """How often people approve what panels would clear, by step and version of its template.

    Everything committed before the request is counted.
    """
    services, company_id = request.app[SERVICES], member_of(request).company_id
    async with in_turn(request, REPORTS_IN_TURN):
        await caught_up(request)
        autonomy = await services.identity.autonomies.autonomy(company_id)
        found = await services.store.judged_steps(company_id, STEPS_MAX)
        steps = [await _step(services, company_id, step, cleared, autonomy) for step, cleared in found]
    return json_response({"cases_min": CASES_MIN, "steps": steps})


async def _step(
    services: Services, company_id: str, step: JudgedStep, cleared: int, autonomy: Autonomy
) -> dict[str, Any]:
    cases = await services.store.judged_cases(company_id, step, WINDOW)
    known = await services.catalog.version(company_id, step.vertical, step.template_version)
    has = known is not None and known.template.has(step.step_id)
    effect = known.template.node(step.step_id).effect if known is not None and has else "irreversible"
    return await services.offload.run(company_id, lambda: _shown(step, cases, cleared, autonomy, effect))


def _shown(
    step: JudgedStep, cases: Sequence[JudgedCase], cleared: int, autonomy: Autonomy, effect: str | None
) -> dict[str, Any]:
    record, found = record_of(cases), reliability(cases)
    return {
        **step._asdict(),
        "cases": record.cases,
        "agreed": record.agreed,
        "agreement": record.agreement,
        "cleared": cleared,
        "would_clear": sum(_would_clear(step, one, record, autonomy, effect) for one in cases),
        "floor": autonomy.floor(effect),
        "curve": [{"raw": one.raw, "estimate": one.estimate, "lower": one.lower} for one in record.curve],
        "bins": [] if found is None else [one._asdict() for one in found.bins],
        "calibration_error": None if found is None else found.calibration_error,
        "brier": None if found is None else found.brier,
        "disagreements": [
            {"run_id": one.run_id, "visit": one.visit, "raw": one.raw, "at": one.at}
            for one in reversed(cases)
            if not one.approved
        ][:DISAGREEMENTS_MAX],
    }


def _would_clear(step: JudgedStep, one: JudgedCase, record: Record, autonomy: Autonomy, effect: str | None) -> bool:
    heard = PanelVerdict(one.run_id, step.vertical, step.step_id, one.visit, effect, one.raw, step.template_version)
    return decide_clearance(autonomy, record, heard).why in ("calibrated", "learned", "sampled")
