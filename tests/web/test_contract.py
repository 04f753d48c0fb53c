"""Requests near the contract, and far from it: what the document allows is taken, all else is
refused as it says.

`make schemathesis` tries many more of them, and asks the same of the running service with other
people's checks.
"""

from __future__ import annotations

import json
import os
from functools import cache
from typing import Any
from urllib.parse import quote, urlencode

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, given, strategies
from hypothesis import settings as examples
from hypothesis.strategies import DataObject, SearchStrategy

from daemon.runtime.clock import new_id
from daemon.settings import Settings
from tests.web.answers import document, judged_by
from tests.web.support import Answer, Person, assert_problem

DOCUMENT = document()
OPERATIONS = [
    (method, path)
    for path, methods in DOCUMENT["paths"].items()
    for method in methods
    if path != "/auth/logout"  # the rest needs the token
]
EXAMPLES = int(os.environ.get("TESTS_EXAMPLES", "6"))
"""Of each operation."""
SYNTAX = frozenset({400, 415, 422})
# What no schema can say: rules of URLs and CEL, the inputs of a template, integers beyond 64 bits,
# letters that only look like others, the form of a template, XML, whose cursor it is, passwords
# that are guessed at once, times, days that reports still have, in order.
STRICTER = frozenset(
    {
        "/auth/password",
        "/auth/password/forgotten",
        "/companies/{company_id}/members/",
        "/companies/{company_id}/calendar",
        "/companies/{company_id}/calendar/holidays",
        "/auth/register",
        "/connectors/{tool_id}",
        "/connectors/{tool_id}/test",
        "/process-templates/try",
        "/process-templates/validate",
        "/process-templates/import-bpmn",
        "/process-templates/{vertical}/draft",
        "/process-runs/",
        "/gates/",
        "/gates/count",
        "/audit/log",
        "/audit/agents/",
        "/events/",
        "/process-runs/{run_id}/resume",
        "/reports/summary",
        "/reports/days/",
        "/reports/gates/",
        "/reports/people/",
        "/reports/steps/",
        "/reports/connectors/",
        "/reports/clocks/",
        "/reports/promotions/",
        "/reports/decisions/",
        "/reports/cleared-steps/",
        "/reports/failed-calls/",
        "/reports/open-gates/",
        "/api-keys/",
        "/delegations/",
        "/actions/",
        "/companies/{company_id}/action-rules",
        "/mcp-servers/{server}",
        "/webhooks/",
        "/webhooks/{webhook_id}",
        "/notifications/",
        "/notifications/{notification_id}",
    }
)
JSON = strategies.recursive(
    strategies.none() | strategies.booleans() | strategies.integers() | strategies.text(max_size=5),
    lambda inner: (
        strategies.lists(inner, max_size=2) | strategies.dictionaries(strategies.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=4,
)


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """No call of a connector goes anywhere."""
    return settings.model_copy(update={"egress_hosts": "nowhere.invalid"})


OPAQUE = {"/events/": {"after", "before"}}
"""Where a query takes what was given out before."""


@pytest.fixture
async def known(ann: Person) -> dict[str, str]:
    """What is there, so that not every path leads nowhere."""
    await ann.put("/connectors/tool", {"base_url": "https://api.example.com"})
    return {"run_id": (await ann.start("line", {"amount": 1}))["id"], "tool_id": "tool", "vertical": "line"}


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in schema:
        return schema
    _, components, kind, name = schema["$ref"].split("/")
    found: dict[str, Any] = DOCUMENT[components][kind][name]
    return found


@cache
def validator(schema: str) -> jsonschema_rs.Draft202012Validator:
    return judged_by(json.loads(schema))


def holds(schema: dict[str, Any], value: Any) -> bool:
    return validator(json.dumps(schema)).is_valid(value)


def near(schema: dict[str, Any]) -> SearchStrategy[Any]:
    """Values that fit a schema, nearly always."""
    schema = resolved(schema)
    if "properties" in schema:
        fields = {name: near(one) for name, one in schema["properties"].items()}
        needed = {name: fields.pop(name) for name in schema.get("required", ())}
        examples = schema.get("examples", [{}])
        return strategies.fixed_dictionaries(needed, optional=fields) | strategies.sampled_from(examples)
    if "anyOf" in schema:
        return strategies.one_of(*map(near, schema["anyOf"]))
    if "enum" in schema:
        return strategies.sampled_from(schema["enum"])
    if "pattern" in schema:
        return strategies.from_regex(schema["pattern"].removesuffix("$") + r"\Z", fullmatch=True)
    if schema.get("format") == "uuid":
        return strategies.uuids().map(str)
    return plain(schema)


def plain(schema: dict[str, Any]) -> SearchStrategy[Any]:
    match schema.get("type"):
        case "string":
            least, most = schema.get("minLength", 0), min(schema.get("maxLength", 20), 20)
            return strategies.text(min_size=least, max_size=max(least, most))
        case "integer":
            return strategies.integers(schema.get("minimum"), schema.get("maximum"))
        case "number":
            return strategies.floats(0.5, schema.get("maximum"), allow_nan=False)
        case "boolean":
            return strategies.booleans()
        case "null":
            return strategies.none()
        case "object":
            inner = schema.get("additionalProperties")
            values = near(inner) if isinstance(inner, dict) else JSON
            return strategies.dictionaries(strategies.text(max_size=5), values, max_size=3)
        case _:
            return JSON


def bodies(schema: dict[str, Any]) -> SearchStrategy[Any]:
    """Bodies that fit, and such as have one thing wrong."""
    fitting = near(schema)
    names = [*resolved(schema).get("properties", ()), "unknown"]
    wrong = strategies.tuples(fitting, strategies.sampled_from(names), JSON).map(
        lambda made: {**made[0], made[1]: made[2]}
    )
    less = strategies.tuples(fitting, strategies.sampled_from(names)).map(
        lambda made: {name: value for name, value in made[0].items() if name != made[1]}
    )
    return fitting | wrong | less | JSON


def written(parameter: dict[str, Any]) -> SearchStrategy[str | None]:
    """A parameter as text: fitting, missing, or anything."""
    return strategies.none() | near(parameter["schema"]).map(str) | strategies.text(max_size=6)


def fits(parameter: dict[str, Any], text: str | None) -> bool:
    if text is None:
        return True
    if parameter["schema"]["type"] != "integer":
        return holds(parameter["schema"], text)
    return text.isascii() and text.isdecimal() and len(text) < 19 and holds(parameter["schema"], int(text))


def a_step(segment: str) -> bool:
    """Whether it stands for itself in a path."""
    return segment not in {".", ".."}


def check(method: str, path: str, answer: Answer) -> None:
    """The answer is one that the document has for the operation."""
    described = DOCUMENT["paths"][path][method]["responses"]
    assert str(answer.status) in described, answer.raw
    said = resolved(described[str(answer.status)])
    for name, header in said.get("headers", {}).items():
        assert name in answer.headers or not resolved(header).get("required")
    content = said.get("content", {})
    if not content:
        assert answer.raw == b""
        return
    media = answer.headers["Content-Type"].partition(";")[0]
    assert media in content
    if media == "text/csv":
        assert answer.raw.endswith(b"\r\n")
        return
    values = [json.loads(line) for line in answer.raw.splitlines()] if media.endswith("ndjson") else [answer.json]
    assert all(holds(content[media]["schema"], value) for value in values), answer.raw


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
@examples(
    max_examples=EXAMPLES,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=strategies.data())
async def test_what_the_document_allows_is_taken_and_nothing_else(
    ann: Person, known: dict[str, str], method: str, path: str, data: DataObject
) -> None:
    one = DOCUMENT["paths"][path][method]
    address, fitting, query, headers = path, True, {}, {}
    for parameter in one["parameters"]:
        if parameter["in"] == "path":
            given_value = data.draw(
                (near(parameter["schema"]) | strategies.text(min_size=1, max_size=5)).filter(a_step)
            )
            address = address.replace(f"{{{parameter['name']}}}", quote(given_value, safe=""))
            fitting &= holds(parameter["schema"], given_value)
        elif parameter["in"] == "query" and (text := data.draw(written(parameter))) is not None:
            query[parameter["name"]] = text
            fitting &= fits(parameter, text)
        elif parameter.get("required"):
            headers[parameter["name"].replace("-", "_")] = new_id()
    body = None
    if "requestBody" in one:
        schema = one["requestBody"]["content"]["application/json"]["schema"]
        body = data.draw(bodies(schema))
        fitting &= holds(schema, body)
    raw = None if body is None else json.dumps(body)
    if raw is not None:
        headers["Content_Type"] = "application/json"
    answer = await ann.send(method.upper(), f"{address}?{urlencode(query)}" if query else address, data=raw, **headers)
    check(method, path, answer)
    if not fitting:
        assert 400 <= answer.status < 500, (address, query, body)
    elif path not in STRICTER and OPAQUE.get(path, {"cursor"}).isdisjoint(query):
        assert answer.status not in SYNTAX, (address, query, body, answer.raw)


async def test_a_host_that_may_not_be_called_is_refused_in_one_sentence(ann: Person) -> None:
    answer = await ann.post("/connectors/tool/test", {"base_url": "https://api.example.com"})
    body = assert_problem(answer, 422, "invalid")
    assert body["detail"].startswith("Not valid at /base_url: api.example.com is not among the hosts")
