"""The contract as OpenAPI 3.1, from the models that check requests and the shapes of the answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from typing import Any

from pydantic import TypeAdapter

from daemon.contract import accounts, audit, connectors, events, runs, service, templates, webhooks
from daemon.contract.base import Empty, Request
from daemon.web.parameters import ANSWERED, HEADERS, PATH, QUERY

REF = "#/components/schemas/{model}"
REFUSED = "#/components/responses/Refused"
PAGED = ("limit", "cursor")
KEYED = ("Idempotency-Key",)


@dataclass(frozen=True, slots=True)
class Operation:
    """What is said of one method of one path: what it takes, what it answers, how it can refuse."""

    summary: str
    answer: Any
    status: int = 200
    body: Any = None
    query: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    problems: tuple[int, ...] = ()
    open: bool = False
    media: str = "application/json"
    live: bool = False
    told: Any = None


Run = runs.Run
DECIDE = (400, 403, 404, 408, 409, 412, 413, 415, 422, 503)
SEND = (400, 404, 408, 413, 415, 422, 503)
OPERATIONS: Mapping[tuple[str, str], Operation] = {
    ("POST", "/auth/register"): Operation(
        "Make a company and its first user",
        accounts.Session,
        201,
        accounts.Registration,
        (),
        KEYED,
        (400, 408, 409, 413, 415, 422, 429, 503),
        open=True,
    ),
    ("POST", "/auth/login"): Operation(
        "A token for who knows the password",
        accounts.Session,
        200,
        accounts.Login,
        problems=(400, 401, 408, 413, 415, 422, 429, 503),
        open=True,
    ),
    ("POST", "/auth/logout"): Operation(
        "Revoke the token at once and for good", None, 204, Empty, problems=(400, 408, 413, 415, 422, 503)
    ),
    ("GET", "/auth/me"): Operation("Who the token stands for", accounts.Account),
    ("GET", "/process-templates/"): Operation(
        "The templates", list[templates.Template], query=PAGED, problems=(400, 422)
    ),
    ("GET", "/process-templates/{vertical}"): Operation(
        "A template with its inputs", templates.TemplateDetail, problems=(404,)
    ),
    ("GET", "/process-templates/{vertical}/canvas"): Operation(
        "A template as a graph", templates.Canvas, query=("digest",), problems=(404, 422, 503)
    ),
    ("POST", "/process-runs/"): Operation(
        "Start a run", Run, 201, runs.StartRun, (), (*KEYED, "Prefer", "traceparent"), SEND
    ),
    ("GET", "/process-runs/"): Operation(
        "The runs, newest first; with view=summary without inputs, facts and trace",
        list[runs.Run | runs.RunSummary],
        query=("status", "vertical", "parked_at", "view", *PAGED),
        problems=(400, 422, 503),
    ),
    ("GET", "/process-runs/{run_id}"): Operation("A run", Run, headers=("If-None-Match",), problems=(404, 503)),
    ("POST", "/process-runs/{run_id}/resume"): Operation(
        "Decide at a gate", Run, 200, runs.ResumeRun, (), (*KEYED, "If-Match", "Prefer", "traceparent"), DECIDE
    ),
    ("POST", "/process-runs/{run_id}/cancel"): Operation(
        "End a run where it stands", Run, 200, runs.CancelRun, (), (*KEYED, "If-Match"), (*SEND, 409, 412)
    ),
    ("POST", "/process-runs/{run_id}/retry"): Operation(
        "Go on from the failed step", Run, 200, Empty, (), (*KEYED, "If-Match", "Prefer"), (*SEND, 409, 412)
    ),
    ("GET", "/process-runs/{run_id}/events"): Operation(
        "The history; with Accept: text/event-stream live",
        list[events.Event],
        query=("after", *PAGED),
        headers=("Last-Event-ID",),
        problems=(400, 404, 422, 503),
        live=True,
        told=events.GateChanged,
    ),
    ("GET", "/process-runs/{run_id}/audit"): Operation(
        "A run's hash chain, with the proof that a checkpoint covers it; all of it without limit and cursor",
        audit.RunAudit,
        query=PAGED,
        problems=(400, 404, 422, 503),
    ),
    ("GET", "/audit/checkpoints"): Operation(
        "The signed checkpoints of the company's tree, newest first",
        list[audit.Checkpoint],
        query=PAGED,
        problems=(400, 403, 422, 503),
    ),
    ("GET", "/audit/keys"): Operation("The public keys by id (Ed25519, base64)", dict[str, str]),
    ("GET", "/audit/export"): Operation(
        "Everything as JSON Lines: a manifest, the commits, the checkpoints",
        dict[str, Any],
        problems=(403, 503),
        media="application/x-ndjson",
    ),
    ("GET", "/audit/log"): Operation(
        "The company's own log, newest first: log-ins, changes of connectors and webhooks, each in its hash chain",
        list[audit.ChainedEvent],
        query=PAGED,
        problems=(400, 403, 422, 503),
    ),
    ("GET", "/connectors/"): Operation("The connectors", list[connectors.Connector], query=PAGED, problems=(400, 422)),
    ("GET", "/connectors/{tool_id}"): Operation("A connector", connectors.Connector, problems=(404,)),
    ("PUT", "/connectors/{tool_id}"): Operation(
        "Bind a tool; 201 when it is new", connectors.Connector, 200, connectors.ConnectorDefinition, problems=SEND
    ),
    ("DELETE", "/connectors/{tool_id}"): Operation("Unbind a tool", None, 204, problems=(404, 503)),
    ("GET", "/connectors/{tool_id}/changes"): Operation(
        "Who changed a connector, when, from what, to what",
        list[connectors.ConnectorChange],
        query=PAGED,
        problems=(400, 404, 422, 503),
    ),
    ("POST", "/connectors/{tool_id}/test"): Operation(
        "Try a connector; touches no run",
        connectors.ConnectorTestResult,
        200,
        connectors.ConnectorDefinition,
        problems=SEND,
    ),
    ("GET", "/events/"): Operation(
        "What happens in all runs; with Accept: text/event-stream live",
        list[events.CompanyEvent],
        query=("after", "limit"),
        headers=("Last-Event-ID",),
        problems=(422, 503),
        live=True,
    ),
    ("POST", "/webhooks/"): Operation(
        "Have events sent to a URL; answers the secret, this once",
        webhooks.NewWebhook,
        201,
        webhooks.WebhookDefinition,
        (),
        KEYED,
        (400, 408, 413, 415, 422, 503),
    ),
    ("GET", "/webhooks/"): Operation("The webhooks", list[webhooks.Webhook], query=PAGED, problems=(400, 422, 503)),
    ("GET", "/webhooks/{webhook_id}"): Operation("A webhook", webhooks.Webhook, problems=(404, 503)),
    ("PUT", "/webhooks/{webhook_id}"): Operation(
        "Change a webhook, and enable it", webhooks.Webhook, 200, webhooks.WebhookDefinition, problems=SEND
    ),
    ("DELETE", "/webhooks/{webhook_id}"): Operation("Forget a webhook", None, 204, problems=(404, 503)),
    ("POST", "/webhooks/{webhook_id}/test"): Operation(
        "Send a signed test, once and now", webhooks.WebhookTestResult, 200, Empty, problems=SEND
    ),
    ("GET", "/webhooks/{webhook_id}/deliveries"): Operation(
        "What is sent to a webhook, newest first",
        list[webhooks.Delivery],
        query=PAGED,
        problems=(400, 404, 422, 503),
    ),
    ("POST", "/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver"): Operation(
        "Have an event sent again", webhooks.Delivery, 202, Empty, (), KEYED, SEND
    ),
    ("GET", "/health"): Operation("How the service is; 503 when it cannot serve", service.Health, open=True),
}


@cache
def document(version: str) -> dict[str, Any]:
    """The OpenAPI document; it is made once."""
    models: dict[str, Any] = {}
    paths: dict[str, dict[str, Any]] = {}
    for (method, path), operation in OPERATIONS.items():
        paths.setdefault(path, {})[method.lower()] = _operation(path, operation, models)
    problem = {"application/problem+json": {"schema": _schema(service.ProblemDetails, models)}}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Penstock",
            "version": version,
            "description": "Governed process runs: what is safe flows, everything else waits for a human.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "headers": ANSWERED,
            "responses": {
                "Refused": {"description": "Refused", "headers": _headers("X-Request-ID"), "content": problem}
            },
            "schemas": dict(sorted(models.items())),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}},
        },
        "security": [{"token": []}],
    }


def _operation(path: str, operation: Operation, models: dict[str, Any]) -> dict[str, Any]:
    names = [part[1:-1] for part in path.split("/") if part.startswith("{")]
    described: dict[str, Any] = {
        "summary": operation.summary,
        "tags": [path.split("/")[1]],
        "parameters": [
            *({"name": name, "in": "path", "required": True, "schema": PATH[name]} for name in names),
            *(
                {"name": name, "in": "query", "schema": QUERY.get(f"{name} {path}", QUERY.get(name))}
                for name in operation.query
            ),
            *({"name": name, "in": "header", "schema": HEADERS[name]} for name in operation.headers),
        ],
        "responses": _responses(operation, models),
    }
    if operation.body is not None:
        content = {"application/json": {"schema": _schema(operation.body, models)}}
        described["requestBody"] = {
            "required": bool(operation.body.model_json_schema().get("required")),
            "content": content,
        }
    if operation.open:
        described["security"] = []
    return described


def _responses(operation: Operation, models: dict[str, Any]) -> dict[str, Any]:
    answer = _answer(operation, models)
    anywhere = () if operation.answer is service.Health else (503,)
    statuses = sorted({*operation.problems, *anywhere, *(() if operation.open else (401,))})
    return {
        **{str(status): {"$ref": REFUSED} for status in statuses},
        str(operation.status): answer,
        **({"202": answer} if "Prefer" in operation.headers else {}),
        **(
            {"201": answer}
            if operation.body is connectors.ConnectorDefinition and operation.answer is connectors.Connector
            else {}
        ),
        **({"204": {"description": "The run has ended, and so has the stream"}} if operation.live else {}),
        **({"304": _unchanged()} if "If-None-Match" in operation.headers else {}),
        **({"503": answer} if operation.answer is service.Health else {}),
    }


def _answer(operation: Operation, models: dict[str, Any]) -> dict[str, Any]:
    """What is answered when all is well."""
    headers = ["X-Request-ID"]
    if operation.answer is Run:
        headers += ["ETag", *(["Location"] if operation.status == HTTPStatus.CREATED else [])]
    if "cursor" in operation.query:
        headers.append("Link")
    answer: dict[str, Any] = {"description": operation.summary, "headers": _headers(*headers)}
    if operation.answer is not None:
        answer["content"] = {operation.media: {"schema": _schema(operation.answer, models)}}
    if operation.live:
        answer["content"]["text/event-stream"] = {"schema": {"type": "string"}}
    if operation.told is not None:
        _schema(operation.told, models)
    return answer


def _unchanged() -> dict[str, Any]:
    """What is answered to who has it already."""
    return {"description": "Nothing has changed since", "headers": _headers("ETag", "X-Request-ID")}


def _headers(*names: str) -> dict[str, Any]:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


def _schema(model: Any, models: dict[str, Any]) -> dict[str, Any]:
    """A reference to the schema of a model; the schema, and what that refers to, go among the models."""
    is_request = isinstance(model, type) and issubclass(model, Request)
    schema = TypeAdapter(model).json_schema(ref_template=REF, mode="validation" if is_request else "serialization")
    found = schema.pop("$defs", {})
    if "title" in schema:
        found[schema["title"]] = schema
        schema = {"$ref": REF.format(model=schema["title"])}
    for one in found.values():
        for member in one.get("properties", {}).values():
            member.pop("title", None)
            if not is_request:
                member.pop("default", None)
    models.update(found)
    return schema
