"""What would be sent, what a shadowed tool answers, and where a key is looked up."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from actors.core.calls import MASK, CallRequest, Missing, dry_run, look_up, mapped_keys, plan, prepare, sendable, shown
from actors.core.template import DryRun
from tests.processes import ALWAYS, NEVER, UNCLEAR, When, above, connector, task

INPUTS = {"amount": 12, "patient": {"id": "p-1", "name": "Ada"}, "score": "from the inputs"}
FACTS = {"score": {"value": 0.5}, "check": {"hit": True}}
PAY = task("pay")
WHOLE = {"inputs": INPUTS, "facts": FACTS}


def prepared(**how: Any) -> CallRequest:
    request = prepare(PAY, {"pay": connector("pay", **how)}, INPUTS, FACTS)
    assert isinstance(request, CallRequest)
    return request


def test_a_tool_without_a_connector_is_shadowed_and_nobody_knows_what_it_would_send() -> None:
    assert prepare(PAY, {}, INPUTS, FACTS) == CallRequest(tool="pay", mode="shadow")


def test_a_task_that_names_no_tool_is_its_own_tool() -> None:
    assert prepare(replace(PAY, tool=None), {"pay": connector("pay", 7)}, {}, {}) == CallRequest(
        tool="pay",
        mode="live",
        method="POST",
        url="https://api.test/pay",
        headers={},
        body={"inputs": {}, "facts": {}},
        connector_version=7,
    )


@pytest.mark.parametrize(("reversible", "mode"), [(True, "live"), (False, "shadow")])
def test_a_connector_is_live_only_when_it_is_said_to_be_reversible(reversible: bool, mode: str) -> None:
    request = prepared(reversible=reversible)
    assert request.mode == mode
    assert request.url == "https://api.test/pay"


@pytest.mark.parametrize(
    ("reversible", "effect", "mode"),
    [
        (True, "irreversible", "live"),
        (False, "irreversible", "shadow"),
        (False, "read", "live"),
        (True, "read", "live"),
    ],
)
def test_a_tool_of_a_server_is_called_if_it_is_live_or_only_reads(reversible: bool, effect: Any, mode: str) -> None:
    node = replace(PAY, tool="stripe/pay", effect=effect)
    one = replace(connector("stripe/pay", reversible=reversible), protocol="mcp")
    request = prepare(node, {"stripe/pay": one}, INPUTS, FACTS)
    assert isinstance(request, CallRequest)
    assert (request.mode, request.body) == (mode, {"name": "pay", "arguments": INPUTS})
    assert plan(node, (), {"stripe/pay": one}).mode == mode


def test_another_connector_that_is_not_live_is_not_called_though_it_only_reads() -> None:
    node = replace(PAY, effect="read")
    assert prepare(node, {"pay": connector("pay", reversible=False)}, {}, {}).mode == "shadow"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("method", "maps", "body"),
    [
        ("POST", {}, WHOLE),
        ("PUT", {}, WHOLE),
        ("PATCH", {}, WHOLE),
        ("GET", {}, None),
        ("DELETE", {}, None),
        ("POST", {"query_map": {"a": "amount"}}, None),
        ("POST", {"body_map": {"a": "amount"}}, {"a": 12}),
        ("POST", {"body_map": {}}, {}),
        ("GET", {"body_map": {"a": "amount"}}, None),
        ("DELETE", {"body_map": {"a": "amount"}}, None),
        ("POST", {"body_map": {"a": "amount"}, "query_map": {"b": "score"}}, {"a": 12}),
    ],
)
def test_the_body_is_what_is_mapped_or_else_everything(method: str, maps: dict[str, Any], body: Any) -> None:
    request = prepared(method=method, **maps)
    assert request.method == method
    assert request.body == body


@pytest.mark.parametrize("name", ["query_map", "body_map"])
def test_a_mapped_key_that_is_nowhere_is_missing(name: str) -> None:
    keys = {"a": "amount", "b": "patient.age", "c": "nowhere"}
    bound = replace(connector("pay"), **{name: keys})
    missing = prepare(PAY, {"pay": bound}, INPUTS, FACTS)
    assert isinstance(missing, Missing)
    assert missing.keys == ("patient.age", "nowhere")
    assert sendable(missing) is None


def test_in_shadow_a_call_is_made_of_what_there_is() -> None:
    bound = connector("pay", reversible=False, body_map={"a": "amount", "b": "nowhere"})
    shadow = sendable(prepare(PAY, {"pay": bound}, INPUTS, FACTS))
    assert shadow is not None
    assert (shadow.mode, shadow.body) == ("shadow", {"a": 12})


@pytest.mark.parametrize(
    ("base_url", "path", "url"),
    [
        ("https://api.test", "", "https://api.test"),
        ("https://api.test/", "", "https://api.test/"),
        ("https://api.test", "pay", "https://api.test/pay"),
        ("https://api.test/v1/", "/pay/", "https://api.test/v1/pay/"),
        ("https://api.test/v1", "pay/now", "https://api.test/v1/pay/now"),
        ("https://api.test/v1", "?fixed=1", "https://api.test/v1?fixed=1"),
        ("https://api.test", "größe/%2F?a=%20", "https://api.test/gr%C3%B6%C3%9Fe/%2F?a=%20"),
        ("https://api.test/v1?fixed=1", "", "https://api.test/v1?fixed=1"),
        ("https://api.test/v1/?fixed=1", "/pay", "https://api.test/v1/pay?fixed=1"),
        ("https://api.test?fixed=größe", "pay?own=2", "https://api.test/pay?own=2&fixed=gr%C3%B6%C3%9Fe"),
    ],
)
def test_a_path_is_joined_to_the_base_with_one_slash(base_url: str, path: str, url: str) -> None:
    assert prepared(base_url=base_url, path=path).url == url


@pytest.mark.parametrize(
    ("value", "segment"),
    [
        ("M-1", "M-1"),
        ("a/b?c#d%2F é", "a%2Fb%3Fc%23d%252F%20%C3%A9"),
        ("...", "..."),
        (12, "12"),
        ("{inputs.id}", "%7Binputs.id%7D"),
    ],
)
def test_a_value_in_a_path_stays_within_its_segment(value: Any, segment: str) -> None:
    bound = connector("pay", path="/members/{inputs.id}/v{facts.check.n}")
    request = prepare(PAY, {"pay": bound}, {"id": value}, {"check": {"n": 2}})
    assert isinstance(request, CallRequest)
    assert request.url == f"https://api.test/members/{segment}/v2"


@pytest.mark.parametrize("value", ["", ".", "..", None, True, {}, ["a"]])
def test_what_fits_into_no_segment_counts_as_missing(value: Any) -> None:
    bound = connector("pay", path="members/{id}/{nowhere}")
    missing = prepare(PAY, {"pay": bound}, {"id": value}, {})
    assert isinstance(missing, Missing)
    assert missing.keys == ("id", "nowhere")
    assert missing.partial is not None
    assert missing.partial.url == "https://api.test/members/{id}/{nowhere}"


@pytest.mark.parametrize("path", ["/m/{a}?full=1", "/m/{a}?x=/..", "/m/{a};v=1/b", "/m/%2e{b}", "/m/{b}%2E;v/c"])
def test_dots_in_front_of_a_query_or_of_parameters_are_no_segment_either(path: str) -> None:
    bound = {"pay": connector("pay", path=path)}
    missing = prepare(PAY, bound, {"a": "..", "b": "."}, {})
    assert isinstance(missing, Missing)
    request = prepare(PAY, bound, {"a": "x/y", "b": "z"}, {})
    assert isinstance(request, CallRequest)
    assert request.url == "https://api.test" + path.replace("{a}", "x%2Fy").replace("{b}", "z")


def test_dots_that_several_keys_make_are_no_segment_either() -> None:
    missing = prepare(PAY, {"pay": connector("pay", path="{a}{a}")}, {"a": "."}, {})
    assert isinstance(missing, Missing)


def test_fixed_headers_are_shown_as_they_are_sent_and_credentials_are_not() -> None:
    fixed = {"Accept": "application/fhir+json"}
    assert prepared(headers=fixed, auth_type="oauth2").headers == {**fixed, "Authorization": "***"}
    assert prepared(headers=fixed, auth_type="mtls").headers == fixed
    assert prepared(headers=fixed, auth_type="header", auth_header="X-Key").headers == {**fixed, "X-Key": "***"}


@pytest.mark.parametrize(
    ("value", "sent"),
    [
        ("plain", "plain"),
        ("a b&c=d/é", "a%20b%26c%3Dd%2F%C3%A9"),
        (True, "true"),
        (False, "false"),
        (None, "null"),
        (1.0, "1"),
        (10**20, "100000000000000000000"),
        (["x", 1], "%5B%22x%22%2C1%5D"),
        ({"b": 1, "a": 2}, "%7B%22a%22%3A2%2C%22b%22%3A1%7D"),
        ("", ""),
    ],
)
def test_a_query_value_is_text_or_canonical_json_percent_encoded(value: Any, sent: str) -> None:
    bound = connector("pay", query_map={"q": "value"})
    request = prepare(PAY, {"pay": bound}, {"value": value}, {})
    assert isinstance(request, CallRequest)
    assert request.url == f"https://api.test/pay?q={sent}"


def test_a_query_goes_behind_one_that_the_path_has_already() -> None:
    query_map = {"how much": "amount", "who": "patient.id"}
    request = prepared(path="/pay?fixed=1", query_map=query_map)
    assert request.url == "https://api.test/pay?fixed=1&how%20much=12&who=p-1"
    request = prepared(base_url="https://api.test?fixed=1", path="/pay", query_map=query_map)
    assert request.url == "https://api.test/pay?fixed=1&how%20much=12&who=p-1"


@pytest.mark.parametrize(
    ("auth_type", "auth_header", "headers"),
    [
        ("none", None, {}),
        ("bearer", None, {"Authorization": MASK}),
        ("basic", None, {"Authorization": MASK}),
        ("header", "X-Api-Key", {"X-Api-Key": MASK}),
        ("header", None, {"Authorization": MASK}),
    ],
)
def test_a_credential_is_never_more_than_a_mask(auth_type: str, auth_header: str | None, headers: Any) -> None:
    assert prepared(auth_type=auth_type, auth_header=auth_header).headers == headers


def test_what_is_shown_is_everything_that_is_sent_and_the_version_of_the_connector() -> None:
    assert shown(None) is None
    assert shown(prepared(auth_type="bearer", version=3, idempotent=True)) == {
        "tool": "pay",
        "mode": "live",
        "method": "POST",
        "url": "https://api.test/pay",
        "headers": {"Authorization": MASK},
        "body": WHOLE,
        "connector_version": 3,
    }


BIG, SMALL = DryRun({"is": "big"}, when=above("amount", 10)), DryRun({"is": "small"})
HIT = DryRun({"is": "a hit"}, signal=True)


@pytest.mark.parametrize(
    ("cases", "answer"),
    [
        ((), ({}, False)),
        ((SMALL,), ({"is": "small"}, False)),
        ((HIT,), ({"is": "a hit"}, True)),
        ((BIG, SMALL), ({"is": "big"}, False)),
        ((DryRun({}, when=NEVER), SMALL), ({"is": "small"}, False)),
        ((DryRun({}, when=NEVER),), ({}, False)),
        ((DryRun({"is": "first"}, when=ALWAYS), HIT), ({"is": "first"}, False)),
        ((DryRun({}, when=UNCLEAR), SMALL), ({"is": "small"}, True)),
        ((DryRun({}, when=UNCLEAR),), ({}, True)),
        ((SMALL, DryRun({}, when=UNCLEAR)), ({"is": "small"}, False)),
        ((DryRun({}, when=When("inputs.amount", lambda i, _f: i["amount"])), BIG), ({"is": "big"}, True)),
    ],
)
def test_a_dry_run_is_the_first_that_holds_and_doubt_is_a_hit(cases: tuple[DryRun, ...], answer: Any) -> None:
    assert dry_run(task("pay", dry_run=cases), INPUTS, FACTS) == answer


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("amount", 12),
        ("patient.id", "p-1"),
        ("score", {"value": 0.5}),
        ("score.value", 0.5),
        ("inputs.score", "from the inputs"),
        ("facts.score.value", 0.5),
        ("facts.amount", Missing(("facts.amount",))),
        ("inputs.check", Missing(("inputs.check",))),
        ("patient.id.digits", Missing(("patient.id.digits",))),
        ("patient.", Missing(("patient.",))),
        ("", Missing(("",))),
        ("facts", Missing(("facts",))),
    ],
)
def test_a_key_is_looked_up_in_the_facts_then_in_the_inputs(key: str, value: Any) -> None:
    assert look_up(key, INPUTS, FACTS) == value


def test_an_input_of_null_is_there_and_one_that_is_called_inputs_can_be_reached() -> None:
    assert look_up("nothing", {"nothing": None}, {}) is None
    assert look_up("inputs", {"inputs": 1}, {}) == 1


def test_a_map_sends_constants_and_nests_by_dots() -> None:
    body = {
        "state": {"value": "approved"},
        "review.who.id": "patient.id",
        "review.final": {"value": True},
        "review.who.tags": {"value": ["a", None, {"b.c": 1}]},
        "amount": "amount",
    }
    sent = {
        "state": "approved",
        "review": {"who": {"id": "p-1", "tags": ["a", None, {"b.c": 1}]}, "final": True},
        "amount": 12,
    }
    assert prepared(body_map=body).body == sent


def test_a_name_within_a_value_that_was_stored_before_stays_flat_and_changes_no_input() -> None:
    given = {"patient": "patient", "patient.id": {"value": "other"}}
    assert prepared(body_map=given).body == {"patient": INPUTS["patient"], "patient.id": "other"}
    assert INPUTS["patient"] == {"id": "p-1", "name": "Ada"}


def test_a_query_sends_constants_under_the_names_as_they_stand() -> None:
    query = {"filter.state": {"value": "open"}, "n": {"value": 2}, "none": {"value": None}, "list": {"value": [1]}}
    request = prepared(method="GET", query_map=query)
    assert request.url == "https://api.test/pay?filter.state=open&n=2&none=null&list=%5B1%5D"


def test_a_constant_is_never_missing_and_its_neighbour_is() -> None:
    request = prepare(PAY, {"pay": connector("pay", body_map={"a.b": {"value": 1}, "a.c": "nowhere"})}, INPUTS, FACTS)
    assert isinstance(request, Missing)
    assert request.keys == ("nowhere",)
    assert request.partial is not None
    assert request.partial.body == {"a": {"b": 1}}


def test_the_keys_of_a_connector_are_those_of_its_maps_and_of_its_path() -> None:
    one = connector("pay", path="/a/{facts.x.y}", body_map={"a": "b", "c": {"value": "d"}}, query_map={"q": "e"})
    assert mapped_keys(one) == ("b", "e", "facts.x.y")
