"""Section 6: the OpenAPI document describes every route, and the answers are as it says."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from typing import Any, get_args

import jsonschema_rs
from pydantic import BaseModel, TypeAdapter

from actors.core.messages import LaterEvent, RunStarted
from daemon import __version__
from daemon.contract.events import EVENT_TYPES, Event, EventType
from daemon.contract.runs import Run, RunSummary
from daemon.contract.templates import Canvas
from daemon.web.openapi.document import document as made
from daemon.web.routes import ROUTES
from tests.web.answers import document, judged_by
from tests.web.contract_file import CONTRACT, written
from tests.web.support import House, Person


def described(name: str, *, many: bool = False) -> jsonschema_rs.Draft202012Validator:
    ref = {"$ref": f"#/components/schemas/{name}"}
    schema = {"type": "array", "items": ref} if many else ref
    return judged_by(schema)


OPERATIONS = [one for methods in document()["paths"].values() for one in methods.values()]
HOOKS = [hook["post"] for hook in document()["webhooks"].values()]


def test_every_route_is_described_and_nothing_else() -> None:
    described_ = {(method.upper(), path) for path, methods in document()["paths"].items() for method in methods}
    assert described_ == {(method, path) for method, path, _ in ROUTES}


def test_every_operation_has_an_id_of_its_own_a_description_and_a_tag_with_a_text() -> None:
    ids = [one["operationId"] for one in OPERATIONS + HOOKS]
    assert len(set(ids)) == len(ids)
    assert all(one["summary"] and one["description"] for one in OPERATIONS + HOOKS)
    tags = {tag["name"]: tag["description"] for tag in document()["tags"]}
    assert all(tags[tag] for one in OPERATIONS + HOOKS for tag in one["tags"])


def contents() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every body of every operation, and of every refusal."""
    components = document()["components"]
    for one in OPERATIONS + HOOKS:
        bodies = [one["requestBody"]] if "requestBody" in one else []
        bodies += [body for body in one["responses"].values() if "content" in body]
        for body in bodies:
            yield from ((one["operationId"], content) for content in body["content"].values())
    for name, refused in components["responses"].items():
        yield from ((name, content) for content in refused["content"].values())


def test_every_body_has_an_example_that_is_valid() -> None:
    components = document()["components"]
    for where, content in contents():
        found = list(content.get("examples", {}).values())
        found = [components["examples"][one["$ref"].rsplit("/", 1)[1]] if "$ref" in one else one for one in found]
        values = [content["example"]] if "example" in content else [one["value"] for one in found]
        assert values, where
        for value in values:
            judged_by(content["schema"]).validate(value)


def test_an_event_has_the_members_of_all_types_and_no_others() -> None:
    types = (RunStarted, *get_args(LaterEvent))
    members = {name for one in types for name in one.__struct_fields__}
    assert members | {"seq", "type"} == set(Event.model_fields)


def test_every_request_refuses_unknown_fields() -> None:
    """But what a tool answers later is its own, and functions stand under ids of the company's."""
    schemas = {**document()["components"]["schemas"], "LaterAnswer": {"additionalProperties": False}}
    functions = schemas["FunctionsChange"]["additionalProperties"]
    schemas["FunctionsChange"] = schemas[functions["$ref"].rsplit("/", 1)[1]]
    bodies = [one["requestBody"]["content"]["application/json"]["schema"] for one in OPERATIONS if "requestBody" in one]
    assert all(schemas[body["$ref"].rsplit("/", 1)[1]]["additionalProperties"] is False for body in bodies)


def test_every_type_of_event_has_a_webhook() -> None:
    assert (
        set(EVENT_TYPES)
        == set(get_args(EventType))
        == set(document()["webhooks"]) - {"history_rewound", "webhook.test"}
    )


def test_every_reference_leads_somewhere() -> None:
    found = document()
    for kind, name in re.findall(r'"\$ref": "#/components/(\w+)/([\w.-]+)"', json.dumps(found)):
        assert name in found["components"][kind]
    assert json.dumps(found).count('"$ref": "#/components/') == json.dumps(found).count('"$ref"')
    assert "$defs" not in json.dumps(found)


def test_every_schema_is_one() -> None:
    for name in document()["components"]["schemas"]:
        described(name)


def test_the_contract_in_the_tree_is_the_one_that_is_served() -> None:
    """A change of the contract that is meant: `make openapi`, and its lines are seen in review."""
    assert CONTRACT.read_text(encoding="utf-8") == written(made(__version__))


async def test_the_document_is_served_to_everybody(house: House) -> None:
    answer = await house.send("GET", "/openapi.json")
    assert (answer.status, answer.json["openapi"]) == (200, "3.1.0")
    assert answer.json["paths"]["/process-runs/"]["post"]["requestBody"]["required"]


async def test_the_page_asks_nothing_of_anybody_else(house: House) -> None:
    page = await house.send("GET", "/docs")
    assert page.status == 200
    text = page.raw.decode()
    assert "/process-runs/{run_id}/resume" in text
    assert "<script" not in text
    assert not re.search(r"(?:src|href)='?https?:", text)
    policy = page.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    assert base64.b64encode(hashlib.sha256(style.encode()).digest()).decode() in policy
    assert " style=" not in text


async def test_the_page_says_all_that_the_document_does(house: House) -> None:
    text = (await house.send("GET", "/docs")).raw.decode()
    found = document()
    for path, methods in found["paths"].items():
        for method, one in methods.items():
            assert f"<span class=verb>{method.upper()}</span> <code>{path}</code>" in text
            assert all(f"<code>{given['name']}</code>" in text for given in one["parameters"])
    for name, model in found["components"]["schemas"].items():
        assert f"<h3 id='{name}'>" in text
        assert all(f"<code>{field}</code>" in text for field in model.get("properties", ()))
    anchors = set(re.findall(r" id='([^']+)'", text))
    assert set(re.findall(r"href='#([^']+)'", text)) <= anchors


def extras(value: object) -> list[str]:
    """The members that no model knows, at any depth."""
    if isinstance(value, BaseModel):
        return [*(value.model_extra or ()), *extras([one for _, one in value])]
    return [name for one in value for name in extras(one)] if isinstance(value, list | tuple) else []


async def test_a_run_and_a_canvas_have_no_members_that_the_contract_does_not_have(ann: Person) -> None:
    run = await ann.start("line", {"amount": 1})
    assert extras(Run.model_validate(run)) == []
    assert extras(Run.model_validate((await ann.resume(run, "signoff")).json)) == []
    assert extras(Canvas.model_validate((await ann.get("/process-templates/line/canvas")).json)) == []
    assert (
        extras(TypeAdapter(list[RunSummary]).validate_python((await ann.get("/process-runs?view=summary")).json)) == []
    )


async def test_answers_have_the_shapes_that_the_document_gives_them(ann: Person) -> None:
    run = await ann.start("line", {"amount": 1})
    ended = (await ann.resume(run, "signoff")).json
    put: dict[str, Any] = {"base_url": "https://api.example.com", "auth_type": "bearer", "auth_token": "secret"}
    answers = {
        "Session": ann.session,
        "OwnAccount": (await ann.get("/auth/me")).json,
        "TemplateDetail": (await ann.get("/process-templates/line")).json,
        "Canvas": (await ann.get("/process-templates/line/canvas")).json,
        "Connector": (await ann.put("/connectors/tool", put)).json,
        "Health": (await ann.get("/health")).json,
        "ProblemDetails": (await ann.get("/process-runs/none")).json,
    }
    for name, answer in answers.items():
        described(name).validate(answer)
    for one in (run, ended, await ann.run(run)):
        described("Run").validate(one)
    changes = (await ann.get("/connectors/tool/changes")).json
    described("ConnectorChange", many=True).validate(changes)
    described("Event", many=True).validate((await ann.get(f"/process-runs/{run['id']}/events")).json)
    described("Template", many=True).validate((await ann.get("/process-templates/")).json)
    described("RunAudit").validate((await ann.get(f"/process-runs/{run['id']}/audit")).json)
    described("ChainedEvent", many=True).validate((await ann.get("/audit/log")).json)
    (checkpoint, *_) = (await ann.get("/audit/checkpoints")).json
    described("Checkpoint").validate(checkpoint)
    described("Run", many=True).validate((await ann.get("/process-runs/")).json)
