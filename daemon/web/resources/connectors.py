"""Connectors: keep, read, forget, try."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from aiohttp import web
from msgspec import convert, to_builtins
from msgspec.structs import replace

from actors.core.calls import Connector
from actors.core.people import ACTIONS, ADMIN, rank
from actors.core.template import ConditionFailed
from actors.ports import Asker
from daemon.connectors.credentials import BadCertificate, client_context
from daemon.connectors.service import Samples
from daemon.contract import connectors as contract
from daemon.contract.company import GatedChange
from daemon.evaluation.evaluator import refused_expressions
from daemon.identity.company.changes import ChangeForm
from daemon.mail.texts import LiveMail
from daemon.model import StoredConnector, StoredConnectorChange
from daemon.model.budgets import BudgetExceeded
from daemon.model.people.changes import ChangeDecision
from daemon.templates.document_cost import costly_map
from daemon.templates.lookups import never_found
from daemon.templates.schemas import misfits, misfits_of_output
from daemon.web.bodies import page_limit, read
from daemon.web.csv_lists import csv_list
from daemon.web.middleware.admission import slot_released
from daemon.web.middleware.auth import check, principal_of
from daemon.web.operations import LISTED, PAGED, Operation
from daemon.web.parameters import TOOL_ID
from daemon.web.problems import existing, invalid, not_found, pointer
from daemon.web.rate_limits import RATE_LIMITS
from daemon.web.resources.changes import ask_for
from daemon.web.resources.pages import page_response
from daemon.web.resources.people.functions import check_bound
from daemon.web.responses import StoredResponse, from_cursor, from_number, json_response
from daemon.web.services import SERVICES, Services

AUTH = ("auth_type", "auth_header", "token_url", "client_id", "scope", "audience")
"""How a connector shows who calls."""


@Operation("List connectors", "read", list[contract.Connector], query=LISTED)
@csv_list(contract.Connector, "connectors")
async def list_connectors(request: web.Request) -> web.Response:
    """The company's connectors, by tool."""
    limit, after = page_limit(request), from_cursor(request, "connectors") or ""
    stored = await request.app[SERVICES].connector_service.all(principal_of(request).company_id)
    found = [tool_id for tool_id in sorted(stored) if tool_id > after]
    return await page_response(
        request, found, limit, "connectors", name=str, show=lambda tool_id: _connector_json(stored[tool_id])
    )


@Operation("Get a connector", "read", contract.Connector)
async def get_connector(request: web.Request) -> web.Response:
    """The connector of a tool, without its secret."""
    connector_service = request.app[SERVICES].connector_service
    one = await connector_service.stored(principal_of(request).company_id, request.match_info["tool_id"])
    return json_response(_connector_json(existing(one)))


@Operation(
    "Store a connector",
    "connect",
    contract.Connector,
    request=contract.ConnectorDefinition,
    also=(201,),
    problems=(403, 409, 507),
    pending=GatedChange,
)
async def put_connector(request: web.Request) -> web.Response:
    """Binds a tool to an HTTP API; 201 when it had no connector.

    Without `auth_token` the stored secret is kept while scheme, host and port stay the same. A
    connector that calls for real, `reversible: true`, is stored, changed and taken back by an admin
    alone, and when one begins to, the other admins are told by mail. One that is not changed keeps
    its version and its author. Where the company has `change_gates`, going live and a change of a
    live one wait for another person: 202.
    """
    services, principal = request.app[SERVICES], principal_of(request)
    tool_id = _tool_id(request)
    body = await read(request, contract.ConnectorDefinition)
    connector = await _connector(request, tool_id, body)
    _check(services, connector, body.auth_token)
    await _check_certificate(services, principal.company_id, connector, body.auth_token)
    await _check_fit(services, principal.company_id, connector)
    earlier = await services.connector_service.stored(principal.company_id, tool_id)
    if connector.auth_type != "none" and body.auth_token is None and (earlier is None or not earlier.sealed_secret):
        raise invalid(("/auth_token", f"is required by auth_type {connector.auth_type}, and none is stored"))
    if earlier is None:
        await _check_budget(services, principal.company_id)
    unbound = await check_bound(services, principal.company_id, tool_id) if connector.reversible else None

    gated = connector.reversible and await services.identity.changes.gated(principal.company_id, "go_live")

    def check_live() -> None:
        check(principal, ACTIONS["go_live"])
        if unbound is not None:
            raise unbound
        if gated:
            raise LiveGated

    try:
        stored, before = await services.connector_service.put(
            *(principal.company_id, connector, body.auth_token, principal.email),
            via=principal.via,
            kind=principal.kind,
            check_live=check_live,
            caller=principal.caller,
        )
    except LiveGated:
        return (await _ask_for(request, connector, body.auth_token)).response()
    if stored.connector.reversible and (before is None or not before.connector.reversible):
        await tell_live(request, tool_id, principal.email)
    return json_response(_connector_json(stored), 201 if before is None else 200)


class LiveGated(Exception):
    """Another person approves that a connector goes live, or that a live one is changed."""


async def _ask_for(request: web.Request, connector: Connector, secret: str | None) -> StoredResponse:
    """Let a live connector wait for approval, with its secret sealed."""
    company_id = principal_of(request).company_id
    stands_on, sealed = await request.app[SERVICES].connector_service.asked(company_id, connector.tool_id, secret)
    body = {"connector": to_builtins(connector)}
    return await ask_for(request, ChangeForm("go_live", connector.tool_id, body, stands_on, sealed))


async def approve_connector(request: web.Request, decision: ChangeDecision, asked: Mapping[str, Any]) -> None:
    """Store the live connector that was asked for; it is checked again, since templates move on."""
    services, change = request.app[SERVICES], decision.change
    company_id, connector = change.company_id, convert(asked["connector"], Connector)
    caller = await services.identity.changes.asker(change)
    await _check_fit(services, company_id, connector)
    if (unbound := await check_bound(services, company_id, change.what)) is not None:
        raise unbound
    if await services.connector_service.stored(company_id, change.what) is None:
        await _check_budget(services, company_id)
    secret = await services.connector_service.opened(company_id, change.what, change.sealed_secret)
    stored, before = await services.connector_service.put(
        *(company_id, connector, secret, change.requested_by),
        via=change.via,
        kind=change.by_kind,
        caller=caller,
        approved=decision,
    )
    if stored.connector.reversible and (before is None or not before.connector.reversible):
        await tell_live(request, change.what, change.requested_by)


async def tell_live(request: web.Request, tool_id: str, by: str) -> None:
    """Mail the company's other admins that a connector, or a server of agents, went live."""
    services, principal = request.app[SERVICES], principal_of(request)
    if services.mails is None or not await request.app[RATE_LIMITS].may_tell(principal.company_id):
        return
    name = existing(await services.store.company(principal.company_id)).name
    live = LiveMail(principal.company_id, name, tool_id, by)
    for one in (await services.identity.companies.load(principal.company_id)).people.values():
        if rank(one.role) >= rank(ADMIN) and one.email != principal.email:
            services.mails.went_live(one.email, live)


@Operation("Delete a connector", "disconnect", status=204, problems=(409,))
async def delete_connector(request: web.Request) -> web.Response:
    """Unbinds a tool; its calls are shadowed from then on."""
    connector_service, principal = request.app[SERVICES].connector_service, principal_of(request)
    if not await connector_service.delete(
        *(principal.company_id, request.match_info["tool_id"], principal.email),
        via=principal.via,
        kind=principal.kind,
        caller=principal.caller,
    ):
        raise not_found()
    return web.Response(status=204)


@Operation("List the changes of a connector", "read", list[contract.ConnectorChange], query=PAGED)
async def list_connector_changes(request: web.Request) -> web.Response:
    """Who changed a connector, when, from what and to what, newest first."""
    limit, before = page_limit(request), from_number(request, "changes")
    connector_service, company_id = request.app[SERVICES].connector_service, principal_of(request).company_id
    found = existing(await connector_service.changes(company_id, request.match_info["tool_id"], before, limit + 1))
    return await page_response(request, found, limit, "changes", name=lambda last: last.number, show=_change_json)


@Operation("Test a connector", "connect", contract.ConnectorTestResult, request=contract.ConnectorTrial)
async def test_connector(request: web.Request) -> web.Response:
    """Says what would be sent, and makes one call that touches no run.

    A GET is sent unless `send` is false, anything else only where it is true. The stored secret is
    sent only to the stored connector's own origin.
    """
    services, principal = request.app[SERVICES], principal_of(request)
    tool_id = _tool_id(request)
    body = await read(request, contract.ConnectorTrial)
    connector = await _connector(request, tool_id, body)
    if "auth_type" not in body.model_fields_set:
        stored = await services.connector_service.stored(principal.company_id, tool_id)
        if stored is not None:
            auth = stored.connector
            connector = replace(connector, **{name: getattr(auth, name) for name in AUTH})
    _check(services, connector, body.auth_token)
    for name in ("base_url", "token_url"):
        url = getattr(connector, name)
        if url is not None and (refusal := services.url_policy.refusal(url)) is not None:
            raise invalid((f"/{name}", refusal))
    await request.app[RATE_LIMITS].test(principal.company_id)
    await _check_certificate(services, principal.company_id, connector, body.auth_token)
    with slot_released():
        samples = Samples(body.inputs, body.facts, body.send)
        result = await services.dispatcher.test_connector(principal.company_id, connector, body.auth_token, samples)
    findings = await _findings(services, principal.company_id, connector, result["output"])
    return json_response({**result, "findings": findings})


async def _check_fit(services: Services, company_id: str, connector: Connector) -> None:
    """422 for mappings that do not fit what the company's templates say of the tool."""
    if wrong := await _findings(services, company_id, connector):
        raise invalid(*((one["pointer"], one["detail"]) for one in wrong))


async def _findings(
    services: Services, company_id: str, connector: Connector, output: Any = None
) -> list[dict[str, str]]:
    """Where mappings, and an output if there is one, do not fit the company's templates."""
    found: list[tuple[str, str]] = []
    policy = await services.identity.policies.for_company(company_id)
    for entry in await services.catalog.describing(company_id, connector.tool_id, policy.uses):
        schemas = entry.tools[connector.tool_id]
        fits = partial(misfits, connector, schemas, entry.inputs_schema, entry.template.vertical)
        about = await services.offload.run(company_id, lambda: [*fits()])  # noqa: B023 - it is called here
        found += [(pointer(one.field, one.name), one.detail) for one in about]
        if output is not None and schemas.output is not None:
            work = partial(misfits_of_output, output, schemas.output)
            found += await services.evaluator.beside(Asker(company_id), work)
    calling = await services.catalog.calling(company_id, connector.tool_id, policy.uses)
    for one in await services.offload.run(company_id, lambda: [*never_found(connector, calling)]):
        found.append((pointer(one.field, one.name) if one.name else pointer(one.field), one.detail))
    return [{"pointer": where, "detail": detail} for where, detail in found]


async def _check_budget(services: Services, company_id: str) -> None:
    """BudgetExceeded for a company that may not have one more connector."""
    most = services.settings.company_connectors_max
    if len(await services.connector_service.all(company_id)) >= most:
        raise BudgetExceeded("company_connectors", most, f"A company has at most {most} connectors.")
    await services.stored.store_more(company_id)


def _tool_id(request: web.Request) -> str:
    tool_id = request.match_info["tool_id"]
    if not TOOL_ID.fullmatch(tool_id):
        raise invalid(("/tool_id", "has 1 to 128 letters, digits, dots, underscores and dashes"))
    return tool_id


async def _connector(request: web.Request, tool_id: str, body: contract.ConnectorDefinition) -> Connector:
    """The connector that a body says; 422 for expressions by which no response can be read."""
    if (why := costly_map(body.response_map)) is not None:
        raise invalid(("/response_map", why))
    work = partial(refused_expressions, body.signal_rule, body.response_map or {})
    try:
        with slot_released():
            wrong = await request.app[SERVICES].evaluator.evaluated(Asker(principal_of(request).company_id), 0, work)
    except ConditionFailed as failed:
        raise invalid(("/signal_rule", str(failed))) from None
    if wrong:
        raise invalid(*wrong)
    return Connector(tool_id=tool_id, version=0, **body.model_dump(exclude={"auth_token", "inputs", "facts", "send"}))


def _check(services: Services, connector: Connector, secret: str | None) -> None:
    """422 for a URL that can never be called, and for a secret that would be sent nowhere."""
    url_policy, public = services.url_policy, services.settings.public_url
    if (mistake := url_policy.mistake(connector.base_url)) is not None:
        raise invalid(("/base_url", mistake))
    if connector.token_url is not None and (mistake := url_policy.mistake(connector.token_url)) is not None:
        raise invalid(("/token_url", mistake))
    if (
        mistake := url_policy.mistake(f"http://host.invalid/{contract.PLACEHOLDER.sub('x', connector.path)}")
    ) is not None:
        raise invalid(("/path", mistake))
    if connector.callback and not public:
        raise invalid(("/callback", "needs the service to know its own address: PENSTOCK_PUBLIC_URL"))
    if secret is not None and connector.auth_type == "none":
        raise invalid(("/auth_token", "is sent only with an auth_type: bearer, header, basic, oauth2 or mtls"))


async def _check_certificate(services: Services, company_id: str, connector: Connector, secret: str | None) -> None:
    """422 for a client's key that is none, or that takes long to sign with."""
    if secret is not None and connector.auth_type == "mtls":
        try:
            await services.offload.run(company_id, partial(client_context, secret))
        except BadCertificate as bad:
            raise invalid(("/auth_token", str(bad))) from None


def _connector_json(stored: StoredConnector) -> dict[str, Any]:
    return contract.Connector.view(
        stored.connector,
        **_urls(stored.connector),
        auth_token_set=stored.sealed_secret is not None,
        created_at=stored.created_at,
        updated_at=stored.updated_at,
        updated_by=stored.updated_by,
    )


def _change_json(change: StoredConnectorChange) -> dict[str, Any]:
    states = (change.before, change.after)
    before, after = (None if one is None else contract.Target.view(one, **_urls(one)) for one in states)
    return contract.ConnectorChange.view(change, before=before, after=after)


def _urls(one: Connector) -> dict[str, str | None]:
    return {name: contract.masked_query(getattr(one, name)) for name in ("base_url", "path", "token_url")}
