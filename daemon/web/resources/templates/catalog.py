"""Process templates: list, one, canvas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aiohttp import web

from actors.core.autonomy import Judge
from actors.core.template import ClockRule, Condition, Moment, Node, OutputCondition, Template
from daemon.contract import templates as contract
from daemon.templates.catalog import Retired
from daemon.templates.documents import CitedRule, JudgeSeat, RehearsalCase, RehearsedAct
from daemon.templates.loading import CatalogEntry, Header
from daemon.web.bodies import page_limit
from daemon.web.csv_lists import csv_list
from daemon.web.middleware.auth import principal_of
from daemon.web.operations import LISTED, Operation
from daemon.web.parameters import DIGEST
from daemon.web.problems import existing, invalid, not_found
from daemon.web.resources.pages import page_response
from daemon.web.responses import from_cursor, json_response
from daemon.web.services import SERVICES


@Operation("List templates", "read", list[contract.Template], query=LISTED)
@csv_list(contract.Template, "templates")
async def list_templates(request: web.Request) -> web.Response:
    """All process templates, by name."""
    limit, after = page_limit(request), from_cursor(request, "templates") or ""
    every = await request.app[SERVICES].catalog.entries(principal_of(request).company_id)
    found = [one.header for one in every if one.header.vertical > after]
    return await page_response(request, found, limit, "templates", name=lambda last: last.vertical, show=template_json)


@Operation("Get a template", "read", contract.TemplateDetail)
async def get_template(request: web.Request) -> web.Response:
    """A template with the JSON Schema of its inputs and an example of them."""
    entry = await entry_of(request)
    described = {tool: schemas.model_dump(exclude_none=True) for tool, schemas in entry.tools.items()}
    rules = [one.model_dump(mode="json") for one in entry.rules]
    return json_response(
        {
            **template_json(entry.header),
            "inputs_schema": entry.inputs_schema,
            "inputs": entry.example,
            "tools": described,
            "rules": rules,
        }
    )


@Operation("Get a template as a graph", "read", contract.Canvas, query=("digest",))
async def get_canvas(request: web.Request) -> web.Response:
    """The steps of a template, their governance and the edges between them.

    With `digest` it is the version that a run is pinned to.
    """
    digest = request.query.get("digest")
    one = (await entry_of(request)).template if digest is None else await _pinned(request, digest)
    return json_response(canvas_json(one))


@Operation("List the judges of a template", "read", list[contract.Judge])
async def list_judges(request: web.Request) -> web.Response:
    """Who judges steps of tier `medium`; a step without a judge the autopilot clears by itself."""
    entry = await entry_of(request)
    return json_response([contract.Judge.view(one, confidence=_confidence(one)) for one in entry.judges])


@Operation("List the rules of a template", "read", list[contract.RuleOfTemplate])
async def list_rules(request: web.Request) -> web.Response:
    """What laws and standards ask of the process, and the rehearsals that show what enforces it.

    `POST /process-templates/try` takes the acts of a rehearsal as they stand here.
    """
    entry = await entry_of(request)
    shown = [_rule_json(one, entry.rehearsals) for one in entry.rules]
    return json_response(shown)


def _rule_json(rule: CitedRule, rehearsals: Mapping[str, RehearsalCase]) -> dict[str, Any]:
    names = () if rule.shown_by is None else (rule.shown_by.passes, rule.shown_by.stops)
    shown = [_rehearsal_json(name, rehearsals[name]) for name in names if name in rehearsals]
    return {**rule.model_dump(mode="json"), "rehearsals": shown}


def _rehearsal_json(name: str, case: RehearsalCase) -> dict[str, Any]:
    acts = [_act_json(one) for one in case.acts]
    verdicts = [one for one in acts if one["gate"] is not None]
    return {**case.model_dump(mode="json"), "name": name, "acts": acts, "verdicts": verdicts}


def _act_json(act: RehearsedAct) -> dict[str, Any]:
    """An act; who sends a message, and lets time pass, is nobody."""
    nobody = {} if act.gate is not None else {"by": None, "role": None}
    return {**act.model_dump(mode="json"), **nobody}


def _confidence(judge: JudgeSeat) -> float | None:
    """How sure a rule is where it clears; a tool says so itself."""
    return judge.confidence if judge.tool is None else None


def canvas_json(one: Template) -> dict[str, Any]:
    """A template as a graph."""
    nodes = [_node_json(one, node) for node in one.nodes]
    edges = [contract.Edge.view(edge, when=_text(edge.when)) for edge in one.edges]
    clocks = [_clock_json(clock) for clock in one.clocks]
    return contract.Canvas.view(one, nodes=nodes, edges=edges, judges=_seats(one), clocks=clocks)


def _clock_json(one: ClockRule) -> dict[str, Any]:
    return {
        "id": one.id,
        "label": one.label,
        "from": _text(one.since),
        "from_step": one.from_step,
        "within": one.within if isinstance(one.within, str) else one.within.text,
        "stops": one.stops,
        "pauses": one.pauses,
        "extend": one.extend,
        "warn": one.warn,
        "on_breach": None if one.escalate is None else {"escalate": one.escalate},
        "source": one.source,
    }


def _seats(one: Template) -> list[dict[str, Any]]:
    """The judges of all panels, each with the steps that it sits at."""
    seats: dict[str, tuple[Judge, list[str]]] = {}
    for node in one.nodes:
        for judge in () if node.panel is None else node.panel.judges:
            seats.setdefault(judge.id, (judge, []))[1].append(node.id)
    return [
        contract.Judge.view(
            judge,
            steps=steps,
            rule=None if judge.rule is None else judge.rule.text,
            confidence=judge.confidence if judge.tool is None else None,
        )
        for judge, steps in seats.values()
    ]


async def _pinned(request: web.Request, digest: str) -> Template:
    if not DIGEST.fullmatch(digest):
        raise invalid(("/digest", "is the digest of a template, as a run names it"))
    try:
        found = await request.app[SERVICES].catalog.pinned(principal_of(request).company_id, digest)
    except KeyError:
        raise not_found() from None
    if found.vertical != request.match_info["vertical"]:
        raise not_found()
    return found


async def entry_of(request: web.Request) -> CatalogEntry:
    """The current version of the template that the path names; 404 where all are retired."""
    vertical, company_id = request.match_info["vertical"], principal_of(request).company_id
    try:
        return existing(await request.app[SERVICES].catalog.current(company_id, vertical))
    except Retired:
        raise not_found("All versions of this template are retired.") from None


def template_json(one: Header) -> dict[str, Any]:
    return contract.Template.view(one)


def _node_json(one: Template, node: Node) -> dict[str, Any]:
    decisions = one.decisions(node.id) if node.gate else []
    policy = node.policy if node.gate else None
    panel = node.panel
    quorum = None if panel is None or panel.quorum == len(panel.judges) else panel.quorum
    texts: dict[str, Any] = {
        "judges": _judges(node),
        "quorum": quorum,
        "signal_when": _text(node.signal_when),
        "wait": _wait_json(node),
    }
    return contract.Node.view(node, decisions=decisions, policy=policy, **texts)


def _judges(node: Node) -> list[str]:
    return [] if node.panel is None else [judge.id for judge in node.panel.judges]


def _wait_json(node: Node) -> dict[str, Any] | None:
    wait = node.wait
    if wait is None:
        return None
    return {"duration": wait.duration, "until": _text(wait.until), "message": wait.message, "within": wait.within}


def _text(condition: Condition | OutputCondition | Moment | None) -> str | None:
    return None if condition is None else condition.text
