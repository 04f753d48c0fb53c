"""Every refusal of the service in the form of the protocol."""

from __future__ import annotations

import json
import re
import uuid

import pytest

from daemon.web.problems import HttpProblem, aap_error, codes, invalid, unforeseen
from tests.aap.support import SENT, Agent, assert_error

TYPES = {
    400: "invalid_request", 401: "authentication", 403: "authorization", 404: "not_found", 409: "conflict",
    422: "invalid_request", 429: "rate_limit", 500: "internal", 503: "dependency",
}  # fmt: skip


@pytest.mark.parametrize(("code", "status"), [(code, status) for code, status, _ in codes()])
def test_each_problem_is_an_error_of_the_protocol(code: str, status: int) -> None:
    found, body = aap_error(HttpProblem(code, "It is so.", other_status=status), str(uuid.uuid4()))
    error = json.loads(body)["error"]
    assert set(error) == {"type", "code", "message", "request_id"}
    assert re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", error["code"])
    assert error["type"] == TYPES.get(found, "internal" if found > 500 else "invalid_request")
    assert found == {"invalid": 400, "idempotency_key_reused": 409}.get(code, 429 if status == 507 else status)


def test_a_problem_names_the_parameter_and_nothing_of_what_broke() -> None:
    status, body = aap_error(invalid(("/waits", "is no parameter")), "id")
    assert (status, json.loads(body)["error"]["param"]) == (400, "waits")
    status, body = aap_error(unforeseen(), "id")
    assert (status, json.loads(body)["error"]["code"]) == (500, "internal_error")


@pytest.mark.one_daemon
async def test_what_breaks_inside_is_an_internal_error(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent.boss.house.services.deciding, "decide", None)
    refused = await agent.send("POST", "/v1/requests", SENT, Idempotency_Key="k")
    assert_error(refused, 500, "internal_error")
    monkeypatch.undo()
    assert (await agent.send("POST", "/v1/requests", SENT, Idempotency_Key="k")).status == 201
