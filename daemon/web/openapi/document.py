"""The contract as OpenAPI 3.1, made from the routes and the models of the contract."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from http import HTTPStatus
from importlib import resources
from typing import Any, get_args

from pydantic import TypeAdapter

from actors.core.people import ACTIONS, ANYBODY
from daemon.contract.actions import ActionRules
from daemon.contract.base import Request
from daemon.contract.events import (
    EVENT_TYPES,
    GateChanged,
    HistoryRewoundNotification,
    Notification,
    WebhookTestNotification,
)
from daemon.contract.runs import RetainedRun, Run
from daemon.contract.service import ProblemDetails
from daemon.contract.templates import DraftDocument
from daemon.contract.webhooks import NewNotificationRule, NewWebhook
from daemon.runtime.json_codec import dumps
from daemon.web.csv_lists import columns, serialize
from daemon.web.operations import Endpoint, Operation
from daemon.web.parameters import HEADERS, PATH, PROBLEM_HEADERS, QUERY, REQUIRED, RESPONSE_HEADERS, WEBHOOK_HEADERS
from daemon.web.problems import HttpProblem, codes
from daemon.web.routes import ROUTES

REF = "#/components/schemas/{model}"
REQUEST_ID = "0199c1f0-5a2b-7c3d-8e4f-9a0b1c2d3e4f"
DESCRIPTION = "Governed process runs: what is safe flows, everything else waits for a human."
TAGS = {
    "auth": "Companies, users and sessions.",
    "api-keys": "Keys of services and agents, which never decide at a gate.",
    "companies": "The people of a company: members, groups, and what is asked of them.",
    "invitations": "Join a company.",
    "delegations": "Who may decide as another member for a time.",
    "process-templates": "The processes that can be run.",
    "template-drafts": "Templates that are being written.",
    "process-runs": "Start runs, read them, and decide at their gates.",
    "audit": "Evidence that verifies offline: hash chains, signed checkpoints, the company's log.",
    "reports": "How people, the autopilot and connectors did over some days, and the rows behind each number.",
    "gates": "The inbox: open gates of all runs, and verdicts at several of them",
    "callbacks": "Take what tools answer later.",
    "actions": "Calls that agents want to make: asked for, decided by rules or people, and made once.",
    "connectors": "Bind the tools of templates to HTTP APIs.",
    "mcp-servers": "Servers of tools that agents reach through this service, and that only it may call.",
    "events": "The events of all runs, as a list or as a stream.",
    "notifications": "Tell people and groups of gates and runs by e-mail, Slack, Teams or webhooks.",
    "webhooks": "Have events sent to a URL, signed as Standard Webhooks has it.",
    "saved-views": "Searches and filters that a person keeps.",
    "health": "Whether the service can serve.",
}
"""What stands first in a path names the group."""


@cache
def document(version: str) -> dict[str, Any]:
    schemas: dict[str, Any] = {}
    paths: dict[str, dict[str, Any]] = {}
    for method, path, endpoint in ROUTES:
        paths.setdefault(path, {})[method.lower()] = _operation(path, endpoint, schemas)
    webhooks = _webhooks(schemas)
    _schema(GateChanged, schemas)  # stands on streams alone
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Penstock",
            "version": version,
            "description": DESCRIPTION,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "tags": [{"name": name, "description": text} for name, text in TAGS.items()],
        "paths": paths,
        "webhooks": webhooks,
        "components": {
            "examples": {
                name: {"value": _whole(one, schemas[name])} for name, one in _examples().items() if name in schemas
            },
            "headers": RESPONSE_HEADERS,
            "responses": _problems(schemas),
            "schemas": dict(sorted(schemas.items())),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}},
        },
        "security": [{"token": []}],
    }


def _described(endpoint: Endpoint) -> str:
    """The description with who may do it, as the table of authority has it."""
    operation = endpoint.operation
    if operation.public:
        return endpoint.description
    action = ACTIONS[operation.action]
    who = "Needs the role" if action.kinds == ANYBODY else "For people, not API keys; needs the role"
    return f"{endpoint.description}\n\n{who} `{action.role}`."


def _parameter(place: str, described: Mapping[str, Any], name: str, path: str = "") -> dict[str, Any]:
    schema = described.get(f"{name} {path}", described.get(name))
    if schema is None:
        raise LookupError(f"daemon/web/parameters.py does not describe the parameter {name!r}")
    needed = place == "path" or not REQUIRED.isdisjoint({name, f"{name} {path}"})
    required = {"required": True} if needed else {}
    return {"name": name, "in": place, **required, "schema": schema}


def _operation(path: str, endpoint: Endpoint, schemas: dict[str, Any]) -> dict[str, Any]:
    operation = endpoint.operation
    names = [part[1:-1] for part in path.split("/") if part.startswith("{")]
    described: dict[str, Any] = {
        "operationId": endpoint.id,
        "summary": operation.summary,
        "description": _described(endpoint),
        "tags": [path.split("/")[1]],
        "parameters": [
            *(_parameter("path", PATH, name) for name in names),
            *(_parameter("query", QUERY, name, path) for name in operation.query),
            *(_parameter("header", HEADERS, name, path) for name in operation.headers),
        ],
        "responses": _responses(path, endpoint, schemas),
    }
    if operation.request is not None:
        described["requestBody"] = {
            "required": not operation.request.is_optional(),
            "content": {"application/json": _content(operation.request, schemas)},
        }
    if operation.public:
        described["security"] = []
    else:
        action = ACTIONS[operation.action]
        described["x-authority"] = {"action": action.name, "role": action.role, "kinds": sorted(action.kinds)}
    return described


def _responses(path: str, endpoint: Endpoint, schemas: dict[str, Any]) -> dict[str, Any]:
    operation = endpoint.operation
    good = _good_response(endpoint, schemas)
    accepted = (202,) if "Prefer" in operation.headers else ()
    responses = {
        **{status: {"$ref": f"#/components/responses/Problem{status}"} for status in _refusals(path, operation)},
        **dict.fromkeys((operation.status, *accepted, *operation.also), good),
    }
    if operation.pending is not None:
        content = {operation.media: _content(operation.pending, schemas)}
        responses[202] = {
            "description": "It waits for another person's approval",
            "headers": _headers("X-Request-ID"),
            "content": content,
        }
    if operation.stream and "cursor" in operation.query:
        responses[204] = {"description": "The run has ended, and so has the stream"}
    if "If-None-Match" in operation.headers and operation.request is None:
        responses[304] = {"description": "Nothing has changed since", "headers": _headers("ETag", "X-Request-ID")}
    return {str(status): response for status, response in responses.items()}


def _refusals(path: str, operation: Operation) -> list[int]:
    found = {422, 503, *operation.problems}  # 422: an unknown parameter
    if not operation.public:
        found |= {401, 403, 429}
    if "{" in path:
        found.add(404)
    if operation.query:
        found.add(400)
    if operation.request is not None:
        found |= {400, 408, 413, 415}
    return sorted(found)


def _good_response(endpoint: Endpoint, schemas: dict[str, Any]) -> dict[str, Any]:
    operation = endpoint.operation
    headers = ["X-Request-ID"]
    if operation.response in (Run, RetainedRun, DraftDocument, ActionRules):
        headers.append("ETag")
    if operation.response in (Run, NewWebhook, NewNotificationRule) and operation.status == HTTPStatus.CREATED:
        headers.append("Location")
    if "cursor" in operation.query:
        headers.append("Link")
    response: dict[str, Any] = {"description": operation.summary, "headers": _headers(*headers)}
    if operation.response is not None:
        response["content"] = {operation.media: _content(operation.response, schemas, endpoint.id)}
    if "format" in operation.query:
        example = response["content"][operation.media]["example"]
        response["content"]["text/csv"] = {"schema": {"type": "string"}, "example": _as_csv(operation, example)}
    if operation.stream:
        response["content"]["text/event-stream"] = {"schema": {"type": "string"}, "example": _examples()["stream"]}
    return response


def _content(model: Any, schemas: dict[str, Any], operation_id: str = "") -> dict[str, Any]:
    """A body with an example of it: its model's, or where it is none the operation's own."""
    schema = _schema(model, schemas)
    if schema.get("type") == "array":
        item = schema["items"].get("anyOf", [schema["items"]])[0]
        return {"schema": schema, "example": [_example(item, schemas)]}
    if "$ref" not in schema:
        return {"schema": schema, "example": _examples()[operation_id]}
    name = schema["$ref"].rsplit("/", 1)[1]
    if name in _examples():
        return {"schema": schema, "examples": {name: {"$ref": f"#/components/examples/{name}"}}}
    return {"schema": schema, "example": _example(schema, schemas)}


def _as_csv(operation: Operation, example: Any) -> str:
    """The example of a list as CSV."""
    (listed,) = get_args(operation.response)
    model = (get_args(listed) or (listed,))[0]
    return serialize(tuple(columns(model)), dumps(example), header=True).decode()


def _example(schema: dict[str, Any], schemas: dict[str, Any]) -> Any:
    name = schema["$ref"].rsplit("/", 1)[1]
    return _whole(_examples()[name], schemas[name]) if name in _examples() else schemas[name]["examples"][0]


def _problems(schemas: dict[str, Any]) -> dict[str, Any]:
    """One response for each status of a refusal, with an example for each of its codes."""
    schema = _schema(ProblemDetails, schemas)
    examples: dict[int, dict[str, Any]] = {}
    for code, status, _ in codes():
        example = json.loads(HttpProblem(code, "", other_status=status).body(REQUEST_ID))
        examples.setdefault(status, {})[code] = {"value": {**example, "detail": f"{example['title']}."}}
    return {
        f"Problem{status}": {
            "description": f"Refused: {', '.join(f'`{code}`' for code in found)}",
            "headers": _headers("X-Request-ID", *PROBLEM_HEADERS.get(status, ())),
            "content": {"application/problem+json": {"schema": schema, "examples": found}},
        }
        for status, found in examples.items()
    }


def _webhooks(schemas: dict[str, Any]) -> dict[str, Any]:
    events = {name: _webhook(name, text, Notification, schemas) for name, text in EVENT_TYPES.items()}
    test = _webhook("webhook.test", "A test was asked for", WebhookTestNotification, schemas)
    lost = _webhook("history_rewound", "The database has lost history", HistoryRewoundNotification, schemas)
    return {**events, "history_rewound": lost, "webhook.test": test}


def _webhook(name: str, text: str, model: Any, schemas: dict[str, Any]) -> dict[str, Any]:
    content = {"schema": _schema(model, schemas), "example": _notification(name)}
    return {
        "post": {
            "operationId": f"on_{name.replace('.', '_')}",
            "summary": text,
            "description": "Sent to each webhook that has subscribed to it, at least once, in no order.",
            "tags": ["webhooks"],
            "parameters": [
                {"name": header, "in": "header", "required": True, "schema": schema}
                for header, schema in WEBHOOK_HEADERS.items()
            ],
            "requestBody": {"required": True, "content": {"application/json": content}},
            "responses": {
                "2XX": {"description": "Received"},
                "410": {"description": "Not wanted any more; the webhook is disabled"},
                "default": {"description": "Not received; it is sent again later"},
            },
            "security": [],
        }
    }


def _headers(*names: str) -> dict[str, Any]:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


def _schema(model: Any, schemas: dict[str, Any]) -> dict[str, Any]:
    """A reference to the schema of a model, which is added to `schemas` with all it refers to."""
    is_request = isinstance(model, type) and issubclass(model, Request)
    schema = TypeAdapter(model).json_schema(ref_template=REF, mode="validation" if is_request else "serialization")
    found = schema.pop("$defs", {})
    if "title" in schema:
        found[schema["title"]] = schema
        schema = {"$ref": REF.format(model=schema["title"])}
    for one in found.values():
        if one.get("additionalProperties") is True:  # clients accept new members, none are promised
            del one["additionalProperties"]
        for member in one.get("properties", {}).values():
            member.pop("title", None)
            if not is_request:
                member.pop("default", None)
    schemas.update(found)
    return schema


def _notification(event_type: str) -> dict[str, Any]:
    examples = _examples()
    if event_type not in EVENT_TYPES:
        name = "WebhookTestNotification" if event_type == "webhook.test" else "HistoryRewoundNotification"
        return dict(examples[name])
    data = {**examples["CompanyEvent"], "event": examples["events"][event_type]}
    return {**examples["Notification"], "type": event_type, "data": data}


def _whole(example: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """An example, with null for each member that it leaves out."""
    return {**example, **{name: None for name in schema.get("required", ()) if name not in example}}


@cache
def _examples() -> dict[str, Any]:
    """Examples of bodies, by the name of the model or else the id of the operation."""
    found: dict[str, Any] = json.loads((resources.files("daemon.contract") / "examples.json").read_bytes())
    return found
