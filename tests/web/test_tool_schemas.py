"""What a template says of a tool, and connectors whose mappings do or do not fit it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.web.support import FarSide, Person, assert_invalid
from tests.web.test_own_templates import PETTY, document, publish

NUMBER = {"type": "number"}
CASH_BOX: dict[str, Any] = {
    "input": {
        "type": "object",
        "properties": {"amount": NUMBER, "account": {"type": "string"}, "member_id": {"type": "string"}},
        "required": ["amount", "member_id"],
        "additionalProperties": False,
    },
    "output": {"type": "object", "properties": {"paid": NUMBER}, "required": ["paid"], "additionalProperties": False},
}
INPUTS = {"type": "object", "properties": {"amount": NUMBER, "count": {"type": "integer"}, "iban": {"type": "string"}}}
FITS: dict[str, Any] = {
    "path": "/members/{inputs.member_id}",
    "body_map": {"amount": "inputs.amount", "account": "facts.check.iban"},
    "response_map": {"paid": "payment.amount"},
}


def described(**tools: Any) -> dict[str, Any]:
    return {**document(), "inputs_schema": INPUTS, "tools": {"cash-box": CASH_BOX, **tools}}


async def connect(person: Person, url: str = "https://api.example.com", **how: Any) -> Any:
    return await person.put("/connectors/cash-box", {"base_url": url, "method": "POST", **FITS, **how})


async def test_a_connector_that_fits_is_stored_and_the_schemas_are_published(ann: Person) -> None:
    version = await publish(ann, described())
    shown = (await ann.get(f"{PETTY}/versions/{version['version']}")).json
    assert shown["document"]["tools"] == {"cash-box": CASH_BOX}
    assert (await connect(ann)).status == 201
    assert (await connect(ann, body_map={"amount": "count"})).status == 200


@pytest.mark.parametrize(
    ("how", "pointers"),
    [
        ({"path": "/pay"}, ["/body_map/member_id"]),
        ({"body_map": None}, ["/body_map/amount"]),
        ({"body_map": {"amount": "iban"}}, ["/body_map/amount"]),
        ({"body_map": {"amount": "amount"}, "query_map": {"odd": "amount"}}, ["/query_map/odd"]),
        ({"response_map": {"sum": "a"}}, ["/response_map/paid", "/response_map/sum"]),
    ],
)
async def test_a_connector_that_does_not_fit_is_refused_where_it_does_not(
    ann: Person, how: dict[str, Any], pointers: list[str]
) -> None:
    await publish(ann, described())
    assert_invalid(await connect(ann, **how), *pointers)


async def test_the_templates_of_another_company_bind_nobody(ann: Person, eve: Person) -> None:
    await publish(eve, described())
    assert (await connect(ann, body_map=None, path="")).status == 201


async def test_a_test_names_what_does_not_fit_in_what_is_sent_and_in_what_comes_back(ann: Person, far: FarSide) -> None:
    await publish(ann, described())
    far.answer = {"payment": {"amount": "twelve"}}
    trial = {"base_url": far.url, "method": "POST", **FITS, "query_map": {"odd": "amount"}, "send": True}
    samples = {"inputs": {"member_id": "M/1", "amount": 12}, "facts": {"check": {"iban": "DE"}}}
    answer = (await ann.post("/connectors/cash-box/test", {**trial, **samples})).json
    assert (answer["ok"], answer["output"]) == (True, {"paid": "twelve"})
    assert [one["pointer"] for one in answer["findings"]] == ["/query_map/odd", "/output/paid"]
    assert far.seen[0].target == "/members/M%2F1?odd=12"


@pytest.mark.parametrize(
    ("tools", "why"),
    [
        ({"nobody": {"input": {"type": "object"}}}, "Tools names nobody, which no step calls"),
        ({"receipt-check": {"input": {"type": "array"}}}, "The input of receipt-check is of type object"),
        ({"receipt-check": {"output": {"type": "object", "required": 1}}}, "The output of receipt-check: "),
        (
            {"receipt-check": {"output": {"type": "object", "properties": {"a": {"pattern": "(?=a)"}}}}},
            "The output of receipt-check: a pattern looks around or back",
        ),
        (
            {"receipt-check": {"output": {"type": "object", "properties": {"a": {"x-shown": 1}}}}},
            "The output of receipt-check: x-shown is true or left out",
        ),
    ],
)
async def test_a_schema_that_cannot_be_used_is_a_violation(ann: Person, tools: dict[str, Any], why: str) -> None:
    found = (await ann.post("/process-templates/validate", described(**tools))).json["violations"]
    assert [one["rule"] for one in found] == ["schema_refused"]
    assert found[0]["detail"].startswith(why)


@pytest.mark.parametrize(
    ("how", "pointer"),
    [
        ({"body_map": {"amount": "inputs.amuont"}}, "/body_map/amount"),
        ({"body_map": {"amount": "amount", "account": "accounts"}}, "/body_map/account"),
        ({"body_map": {"amount": "amount", "account": "facts.chekc.iban"}}, "/body_map/account"),
        ({"body_map": {"amount": "amount", "account": "inputs.amount.value"}}, "/body_map/account"),
        ({"body_map": {"amount": "amount", "account": "approved"}}, "/body_map/account"),
        ({"body_map": {"amount": "amount"}, "path": "/members/{inputs.member_id}/{inputs.ibna}"}, "/path"),
        ({"body_map": {"amount": {"value": "twelve"}}}, "/body_map/amount"),
        ({"body_map": {"amount": {"value": 12}, "account": {"value": "DE"}}}, ""),
        ({"body_map": {"amount": "inputs.amount", "account": "facts.cashbox.paid"}}, "/body_map/account"),
    ],
)
async def test_what_no_process_that_calls_the_tool_has_is_refused(
    ann: Person, how: dict[str, Any], pointer: str
) -> None:
    await publish(ann, described())
    answer = await connect(ann, **how)
    if pointer:
        assert_invalid(answer, pointer)
    else:
        assert answer.status == 201


async def test_without_a_process_that_calls_the_tool_any_key_is_taken(ann: Person) -> None:
    assert (await connect(ann, body_map={"amount": "inputs.amuont"})).status == 201


async def test_what_is_nested_and_constant_is_shown_at_the_gate_and_sent_as_it_was_shown(
    ann: Person, far: FarSide
) -> None:
    body = {"review.state": {"value": "approved"}, "review.sum": "inputs.amount"}
    await ann.connect("payment", far.url, body_map=body)
    gate = await ann.start("line", {"amount": 5})
    shown = [one["call"] for one in gate["gate"]["effects"]]
    assert [one["body"] for one in shown if one is not None] == [{"review": {"state": "approved", "sum": 5}}]
    assert (await ann.resume(gate, "signoff")).status == 200
    assert [one.body for one in far.seen] == [{"review": {"state": "approved", "sum": 5}}]
