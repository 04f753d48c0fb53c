"""Section 1: what is refused about a body before anybody acts on it, and how the refusal says
so.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import zlib
from typing import Any

import pytest

from daemon.settings import Settings
from daemon.web.middleware.in_flight import IN_FLIGHT
from tests.web.support import PASSWORD, House, Person, assert_invalid, assert_problem
from tests.web.test_connections import LOGIN, code_of, entrance, until

QUICK = {"vertical": "quick"}


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"body_bytes_max": 4096, "body_timeout_s": 0.2})


def padded(length: int) -> bytes:
    """A request for a run, exactly that long."""
    empty = json.dumps({**QUICK, "inputs": {"text": ""}})
    return json.dumps({**QUICK, "inputs": {"text": "x" * (length - len(empty))}}).encode()


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"[]",
        b"[{}]",
        b"null",
        b'"text"',
        b"1",
        b"{'vertical': 'quick'}",
        b'{"vertical": "quick",}',
        b'{"vertical": "quick"} {}',
        b'{"vertical": "line", "vertical": "quick"}',
        b'{"vertical": "quick", "inputs": {"a": {"b": 1, "b": 2}}}',
        b'{"vertical": "quick", "inputs": {"a": NaN}}',
        b'{"vertical": "quick", "inputs": {"a": Infinity}}',
        b'{"vertical": "quick", "inputs": {"a": -Infinity}}',
        b'{"vertical": "quick", "inputs": {"a": 1e999}}',
        b'{"vertical": "quick", "inputs": {"a": %s}}' % (b"9" * 2000),
        b'{"vertical": "quick", "inputs": {"a": -%s}}' % (b"9" * 20),
        b'{"vertical": "quick", "inputs": {"a": 9223372036854775808}}',
        b'{"vertical": "quick", "inputs": {"a": "\\ud800"}}',
        b'{"vertical": "quick", "inputs": {"\\udfff": 1}}',
        b'{"vertical": "quick", "inputs": {"a": "\xff"}}',
        b'\xef\xbb\xbf{"vertical": "quick"}',
        '{"vertical": "quick"}'.encode("utf-16"),
        b'{"vertical": "quick", "inputs": {"a": "\x00"}}',
        b'{"vertical": "quick", "inputs": {"a": %s1%s}}' % (b"[" * 100, b"]" * 100),
        b'{"vertical": "quick", "inputs": %s1%s}' % (b'{"a":' * 100, b"}" * 100),
        b"[" * 4000,
        b'{"a":' * 800,
    ],
)
async def test_what_is_no_json_object_is_400(ann: Person, raw: bytes) -> None:
    assert_problem(await ann.send("POST", "/process-runs/", data=raw), 400, "malformed_json", retryable=False)


async def test_a_missing_body_is_400_and_not_a_wrong_media_type(ann: Person) -> None:
    headers = {**ann.bearer, "Content-Length": "0"}
    response = await ann.house.client.post("/process-runs/", headers=headers, skip_auto_headers=["Content-Type"])
    assert (response.status, (await response.json(content_type=None))["code"]) == (400, "malformed_json")


async def test_nesting_that_is_taken_comes_back_as_it_was_sent(ann: Person) -> None:
    nested: Any = 1
    for _ in range(61):
        nested = [nested]
    run = await ann.start("line", {"amount": 1, "deep": nested, "wide": [[]] * 100})
    assert run["inputs"]["deep"] == nested
    assert (await ann.resume(run, "signoff")).json["inputs"]["deep"] == nested


@pytest.mark.parametrize(
    "value",
    [
        9223372036854775807,
        -9223372036854775808,
        2**53 + 1,
        1e308,
        5e-324,
        -0.0,
        1.0,
        0.1,
        "\u0000\u001f\u2028😀",
        "",
        {"": {"": None}},
        {"a.b/c~d": [True, False, None]},
    ],
)
async def test_values_at_the_edge_come_back_exactly(ann: Person, value: Any) -> None:
    run = await ann.start("line", {"amount": 1, "value": value})
    assert repr(run["inputs"]["value"]) == repr(value)
    await ann.house.restart()
    assert repr((await ann.run(run))["inputs"]["value"]) == repr(value)


@pytest.mark.parametrize("amount", ["12345678901234567.89", "-9007199254740993.5", "99999999999999.99"])
async def test_an_amount_whose_last_digits_would_be_lost_is_refused(ann: Person, amount: str) -> None:
    raw = f'{{"vertical": "line", "inputs": {{"amount": [{amount}]}}}}'.encode()
    answer = await ann.send("POST", "/process-runs/", data=raw)
    refused = assert_problem(answer, 400, "malformed_json", retryable=False)
    assert "more digits than can be kept" in refused["detail"]


@pytest.mark.parametrize(
    "amount", ["999999999999.99", "9007199254740992.0", "0.1000000000000000055", "1764331200123.456789"]
)
async def test_an_amount_that_is_kept_and_a_smaller_number_of_any_digits_are_taken(ann: Person, amount: str) -> None:
    raw = f'{{"vertical": "line", "inputs": {{"amount": 1, "value": {amount}, "text": "12345678901234567.89"}}}}'
    assert (await ann.send("POST", "/process-runs/", data=raw.encode())).json["inputs"]["value"] == float(amount)


@pytest.mark.parametrize(
    "kind",
    [
        *("text/plain", "application/x-www-form-urlencoded", "application/xml", "application/jsonl", "nonsense"),
        pytest.param("application/" + "(" * 8_000, id="one that takes long to read"),
    ],
)
async def test_another_media_type_is_415(ann: Person, kind: str) -> None:
    answer = await ann.send("POST", "/process-runs/", data=json.dumps(QUICK).encode(), Content_Type=kind)
    assert_problem(answer, 415, "unsupported_media_type", retryable=False)


async def test_parameters_and_case_of_the_media_type_do_not_matter(ann: Person) -> None:
    for kind in ("application/json; charset=utf-8", "Application/JSON", "application/json;" + "(" * 8_000):
        answer = await ann.send("POST", "/process-runs/", data=json.dumps(QUICK).encode(), Content_Type=kind)
        assert answer.status == 201


async def test_a_body_at_the_limit_is_taken_and_one_beyond_it_is_413(ann: Person) -> None:
    assert (await ann.send("POST", "/process-runs/", data=padded(4096))).status == 201
    answer = await ann.send("POST", "/process-runs/", data=padded(4097))
    assert_problem(answer, 413, "too_large", limit=4096, retryable=False)


async def test_a_body_is_counted_after_decompression(ann: Person) -> None:
    for compress, name in ((gzip.compress, "gzip"), (zlib.compress, "deflate")):
        taken = await ann.send("POST", "/process-runs/", data=compress(padded(4096)), Content_Encoding=name)
        assert taken.status == 201
        bomb = compress(b" " * 3_000_000)
        assert len(bomb) < 4096
        answer = await ann.send("POST", "/process-runs/", data=bomb, Content_Encoding=name)
        assert_problem(answer, 413, "too_large", limit=4096)


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
async def test_a_body_that_is_not_compressed_as_it_says_is_400(ann: Person, encoding: str) -> None:
    answer = await ann.send("POST", "/process-runs/", data=b"not compressed at all", Content_Encoding=encoding)
    assert_problem(answer, 400, "malformed_json")


BAD_BODIES = {
    "not compressed": (b"gzip", b"not compressed at all"),
    "cut off": (b"gzip", gzip.compress(b"{}" * 500)[:-12]),
    "garbage behind the header": (b"gzip", gzip.compress(b"{}")[:10] + b"\xff" * 40),
    "deflate that is none": (b"deflate", b"\x78\x9c" + b"\xff" * 40),
}


@pytest.mark.parametrize(("encoding", "body"), BAD_BODIES.values(), ids=BAD_BODIES.keys())
@pytest.mark.parametrize("pieces", [1, 2], ids=["at once", "head first"])
async def test_a_badly_compressed_body_is_400_and_leaves_nothing_in_the_log(
    settings: Settings, caplog: pytest.LogCaptureFixture, encoding: bytes, body: bytes, pieces: int
) -> None:
    head = b"POST /auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Encoding: %b\r\n"
    head = head % encoding + b"Content-Length: %d\r\n\r\n" % len(body)
    async with entrance(settings) as here:
        line = await here.line(head + body if pieces == 1 else head)
        if pieces == 2:
            await until(lambda: here.server.runner.app[IN_FLIGHT].count == 1)
            line.writer.write(body)
        answer = await line.read()
        assert code_of(answer) == (400, "malformed_json")
    assert [record for record in caplog.records if record.exc_info or record.levelname == "ERROR"] == []


@pytest.mark.parametrize("encoding", [b"lzma", b"x-gzip", b"gzip, gzip", b"br", b"zstd"])
async def test_a_body_in_an_unknown_encoding_is_refused(settings: Settings, encoding: bytes) -> None:
    async with entrance(settings) as here:
        (answer,) = await (await here.line()).ask(LOGIN.replace(b"\r\n", b"\r\nContent-Encoding: %b\r\n" % encoding, 1))
        assert code_of(answer) == (415, "unsupported_media_type")
        assert answer.json["detail"] == "A body can be encoded as one of: identity, gzip, deflate."


async def test_the_limit_is_one_mebibyte_unless_it_is_set() -> None:
    assert Settings().body_bytes_max == 1024 * 1024


@pytest.mark.parametrize(("length", "status"), [(100, 408), (4096, 408), (4097, 413), (10**12, 413)])
async def test_a_body_that_does_not_arrive_is_408_or_413_where_it_would_be_too_large(
    house: House, ann: Person, length: int, status: int
) -> None:
    host, port = house.client.host, house.client.port
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(
        b"POST /process-runs/ HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n"
        b"Authorization: Bearer %b\r\nX-Request-ID: slow\r\n\r\n" % (length, ann.token.encode()) + b'{"vertical": '
    )
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    assert head.startswith(f"HTTP/1.1 {status} ")
    assert "X-Request-ID: slow" in head
    assert "Content-Type: application/problem+json" in head
    writer.close()


async def test_an_unknown_field_is_refused_and_nothing_happens(ann: Person) -> None:
    answer = await ann.post("/process-runs/", {**QUICK, "auto_resolv": False})
    assert_invalid(answer, "/auto_resolv")
    assert (await ann.get("/process-runs/")).json == []


@pytest.mark.parametrize(
    ("body", "pointers"),
    [
        ({}, ["/vertical"]),
        ({"vertical": None}, ["/vertical"]),
        ({"vertical": 1}, ["/vertical"]),
        ({"vertical": ["quick"]}, ["/vertical"]),
        ({"vertical": "x" * 201}, ["/vertical"]),
        ({"vertical": "quick", "inputs": None}, ["/inputs"]),
        ({"vertical": "quick", "inputs": []}, ["/inputs"]),
        ({"vertical": "quick", "inputs": "{}"}, ["/inputs"]),
        ({"vertical": "quick", "auto_resolve": None}, ["/auto_resolve"]),
        ({"vertical": "quick", "auto_resolve": "false"}, ["/auto_resolve"]),
        ({"vertical": "quick", "auto_resolve": 0}, ["/auto_resolve"]),
        ({"vertical": 1, "auto_resolve": 1, "a/b~c": 1}, ["/vertical", "/auto_resolve", "/a~1b~0c"]),
    ],
)
async def test_a_field_of_the_wrong_kind_is_422_with_a_pointer(ann: Person, body: Any, pointers: list[str]) -> None:
    assert_invalid(await ann.post("/process-runs/", body), *pointers)


@pytest.mark.parametrize(
    ("inputs", "pointers"),
    [({"amount": "10"}, ["/inputs/amount"]), ({"amount": -1}, ["/inputs/amount"])],
)
async def test_inputs_that_break_the_schema_are_422(ann: Person, inputs: Any, pointers: list[str]) -> None:
    answer = await ann.post("/process-runs/", {"vertical": "line", "inputs": inputs})
    assert_invalid(answer, *pointers)


async def test_a_refusal_says_in_the_words_of_json_what_a_field_has_to_be(ann: Person) -> None:
    wrong = {"base_url": 5, "reversible": "yes", "retries": 1.5, "timeout_s": "10", "query_map": [], "retires": 3}
    refused = await ann.put("/connectors/x", wrong)
    assert {error["pointer"]: error["detail"] for error in refused.json["errors"]} == {
        "/base_url": "has to be a string",
        "/reversible": "has to be true or false",
        "/retries": "has to be a whole number",
        "/timeout_s": "has to be a number",
        "/query_map": "has to be an object",
        "/retires": "is not a field of this body",
    }
    assert_problem(await ann.put("/connectors/x", {}), 422, "invalid", detail="Not valid at /base_url: is required.")
    both = {"email": "a@b.test", "password": PASSWORD, "company_name": "B", "invitation": "i"}
    refused = await ann.house.send("POST", "/auth/register", both)
    assert_problem(refused, 422, "invalid", detail="Not valid at /company_name: has to be left out.")
    refused = await ann.post("/process-templates/validate", {"nodes": []})
    assert_problem(refused, 422, "invalid", detail="Not valid at /nodes: has to have at least 1 item.")
    refused = await ann.post("/process-templates/validate", {"nodes": 5})
    assert_problem(refused, 422, "invalid", detail="Not valid at /nodes: has to be an array.")


async def test_a_refusal_never_repeats_the_value_that_it_refuses(ann: Person) -> None:
    canary = "s3cret-canary-value"
    answers = [
        await ann.post("/process-runs/", {"vertical": "line", "inputs": {"amount": canary}}),
        await ann.post("/process-runs/", {"vertical": "line", "auto_resolve": canary}),
        await ann.put("/connectors/x", {"base_url": "http://a.test", "auth_token": [canary]}),
        await ann.put("/connectors/x", {"base_url": f"http://u:{canary}@a.test"}),
        await ann.put("/connectors/x", {"base_url": "http://a.test", "auth_type": "basic", "auth_token": canary}),
        await ann.house.send("POST", "/auth/register", {"email": "a@b.test", "password": canary, "company_name": 1}),
        await ann.house.send("POST", "/auth/login", {"email": "a@b.test", "password": {"is": canary}}),
    ]
    assert [answer.status for answer in answers] == [422] * 7
    assert not [answer.raw for answer in answers if canary.encode() in answer.raw]
