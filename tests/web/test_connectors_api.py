"""Section 5: connectors are kept, read, forgotten and tried."""

from __future__ import annotations

from typing import Any

import pytest

from daemon.contract.connectors import masked_query
from daemon.settings import Settings
from tests.web.support import FarSide, House, Person, assert_invalid, assert_problem

URL = "https://api.example.test"
SECRET = "s3cret-canary"
DEFAULTS = {
    "method": "GET",
    "path": "",
    "auth_type": "none",
    "auth_token_set": False,
    "auth_header": None,
    "query_map": None,
    "body_map": None,
    "signal_rule": None,
    "reversible": False,
    "idempotent": False,
    "timeout_s": 10.0,
    "retries": 3,
}
RESULT = {"ok", "status_code", "latency_ms", "body", "error", "sent", "request", "output", "findings", "missing"}


async def put(person: Person, tool_id: str = "tool", **how: Any) -> Any:
    answer = await person.put(f"/connectors/{tool_id}", {"base_url": URL, **how})
    assert answer.status in {200, 201}, answer.raw
    return answer.json


async def test_a_new_connector_is_201_and_a_changed_one_200(ann: Person) -> None:
    created = await ann.put("/connectors/tool", {"base_url": URL})
    changed = await ann.put("/connectors/tool", {"base_url": URL, "method": "POST"})
    assert (created.status, changed.status) == (201, 200)
    assert (created.json["version"], changed.json["version"]) == (1, 2)
    assert created.json["created_at"] == changed.json["created_at"]


async def test_what_is_left_out_has_the_defaults_of_the_contract(ann: Person) -> None:
    stored = await put(ann)
    assert stored.items() >= {**DEFAULTS, "tool_id": "tool", "base_url": URL}.items()
    assert stored["updated_by"] == ann.email


async def test_a_connector_is_read_as_it_was_stored(ann: Person) -> None:
    how: dict[str, Any] = {
        "method": "PATCH",
        "path": "/v1/things",
        "auth_type": "header",
        "auth_header": "X-Api-Key",
        "query_map": {"q": "facts.look.found"},
        "body_map": {"amount": "amount", "a b": "inputs.x", "review.state": {"value": "approved"}},
        "signal_rule": "response.status == 409",
        "reversible": True,
        "idempotent": True,
        "timeout_s": 2.5,
        "retries": 0,
    }
    stored = await put(ann, **how, auth_token=SECRET)
    assert stored.items() >= {**how, "auth_token_set": True}.items()
    assert (await ann.get("/connectors/tool")).json == stored
    assert (await ann.get("/connectors/")).json == [stored]
    await ann.house.restart()
    assert (await ann.get("/connectors/tool")).json == stored


async def test_a_put_replaces_the_whole_connector(ann: Person) -> None:
    await put(ann, method="POST", reversible=True, query_map={"q": "x"})
    assert (await put(ann)).items() >= DEFAULTS.items()


async def test_a_connector_is_forgotten_by_delete(ann: Person) -> None:
    await put(ann, auth_type="bearer", auth_token=SECRET)
    answer = await ann.delete("/connectors/tool")
    assert (answer.status, answer.raw) == (204, b"")
    assert_problem(await ann.get("/connectors/tool"), 404, "not_found")
    assert_problem(await ann.delete("/connectors/tool"), 404, "not_found")
    again = await ann.put("/connectors/tool", {"base_url": URL})
    assert (again.status, again.json["auth_token_set"]) == (201, False)


async def test_a_secret_is_written_and_never_read_back(ann: Person) -> None:
    await put(ann, auth_type="bearer", auth_token=SECRET)
    answers = [await ann.get(path) for path in ("/connectors/tool", "/connectors/")]
    answers.append(await ann.put("/connectors/tool", {"base_url": URL, "auth_token": SECRET}))
    assert not [answer for answer in answers if SECRET.encode() in answer.raw or b'"auth_token"' in answer.raw]
    await ann.house.close()
    files = [file.read_bytes() for file in ann.house.settings.data_dir.iterdir() if file.is_file()]
    await ann.house.open()
    assert not [content for content in files if SECRET.encode() in content]


@pytest.mark.parametrize(
    ("base_url", "kept"),
    [
        (f"{URL}/other", True),
        (f"{URL}:443/", True),
        ("https://API.example.test", True),
        ("http://api.example.test", False),
        (f"{URL}:8443", False),
        ("https://api.example.test.evil.test", False),
        ("https://other.example.test", False),
    ],
)
async def test_a_secret_is_kept_while_the_origin_stays_the_same(ann: Person, base_url: str, kept: bool) -> None:
    await put(ann, auth_type="bearer", auth_token=SECRET)
    changed = await ann.put("/connectors/tool", {"base_url": base_url, "auth_type": "bearer"})
    assert changed.json["auth_token_set"] is kept
    back = await ann.put("/connectors/tool", {"base_url": URL, "auth_type": "bearer"})
    assert (back.status, back.json.get("auth_token_set")) == ((200, True) if kept else (422, None))


@pytest.mark.parametrize(
    "change",
    [
        {"scope": "read write"},
        {"scope": None},
        {"client_id": "other"},
        {"audience": "b"},
        {"token_url": f"{URL}/admin/token"},
        {"base_url": "https://other.example.test"},
        {},
    ],
)
async def test_a_client_secret_is_kept_while_its_tokens_stay_the_same(ann: Person, change: Any) -> None:
    client = {"token_url": f"{URL}/token", "client_id": "c", "scope": "read", "audience": "a"}
    await put(ann, auth_type="oauth2", auth_token=SECRET, **client)
    changed = await put(ann, **{"auth_type": "oauth2", **client, "path": "/other", **change})
    assert changed["auth_token_set"] is not bool(change)


@pytest.mark.parametrize("auth_type", ["bearer", "header", "basic"])
async def test_a_secret_goes_with_what_uses_it_and_with_nothing_else(ann: Person, auth_type: str) -> None:
    how = {"base_url": URL, "auth_type": auth_type, "auth_header": "X-Key"}
    without = await ann.put("/connectors/tool", how)
    assert without.json["errors"] == [
        {"pointer": "/auth_token", "detail": f"is required by auth_type {auth_type}, and none is stored"}
    ]
    assert (await ann.get("/connectors/tool")).status == 404
    for path, send in (("/connectors/tool", ann.put), ("/connectors/tool/test", ann.post)):
        unused = await send(path, {"base_url": URL, "auth_token": SECRET})
        assert (unused.status, unused.json["errors"][0]["pointer"]) == (422, "/auth_token")
        assert SECRET not in unused.raw.decode()


@pytest.mark.parametrize(
    ("how", "pointer"),
    [
        ({"base_url": None}, "/base_url"),
        ({"base_url": ""}, "/base_url"),
        ({"base_url": "api.test"}, "/base_url"),
        ({"base_url": "ftp://api.test"}, "/base_url"),
        ({"base_url": "file:///etc/passwd"}, "/base_url"),
        ({"base_url": "https://"}, "/base_url"),
        ({"base_url": "https://u:p@api.test"}, "/base_url"),
        ({"base_url": "https://u@api.test"}, "/base_url"),
        ({"base_url": "https://api.test#x"}, "/base_url"),
        ({"base_url": "https://api.test:99999"}, "/base_url"),
        ({"base_url": "https://a b.test"}, "/base_url"),
        ({"base_url": "https://api.test\r\nX: y"}, "/base_url"),
        ({"base_url": "http://2130706433"}, "/base_url"),
        ({"base_url": "http://127.1"}, "/base_url"),
        ({"base_url": "http://api.test\\@evil.test"}, "/base_url"),
        ({"base_url": "http://%61pi.test"}, "/base_url"),
        ({"base_url": "http://[fe80::1%25eth0]"}, "/base_url"),
        ({"path": "/a\\b"}, "/path"),
        ({"path": "/a|b"}, "/path"),
        ({"method": "get"}, "/method"),
        ({"method": "TRACE"}, "/method"),
        ({"path": "/things/{}"}, "/path"),
        ({"path": "/things/{a b}"}, "/path"),
        ({"path": "/things/{a"}, "/path"),
        ({"path": "/things/a}"}, "/path"),
        ({"path": "/things?q={id}"}, "/path"),
        ({"headers": {"Authorization": "Bearer x"}}, "/headers"),
        ({"headers": {"Host": "x"}}, "/headers"),
        ({"headers": {"Content-Type": "text/xml"}}, "/headers"),
        ({"headers": {"X-A": "b", "x-a": "c"}}, "/headers"),
        ({"headers": {"X-A": "b\nc"}}, "/headers"),
        ({"headers": {"X A": "b"}}, "/headers"),
        ({"response_map": {"a": "b["}}, "/response_map/a"),
        ({"response_map": {"a": "items[0:2].lenght(@)"}}, "/response_map/a"),
        ({"response_map": {"a": "{n: first(items)}"}}, "/response_map/a"),
        ({"response_map": {f"m{n}": "a" * 1_024 for n in range(200)}}, "/response_map"),
        ({"response_map": {}}, "/response_map"),
        ({"auth_type": "oauth2", "auth_token": "s"}, ""),
        ({"client_id": "c"}, ""),
        ({"auth_type": "oauth2", "client_id": "c", "token_url": "ftp://a"}, "/token_url"),
        ({"base_url": "http://api.example.com", "auth_type": "mtls", "auth_token": "s"}, ""),
        ({"base_url": "https://api.example.com", "auth_type": "mtls", "auth_token": "s"}, "/auth_token"),
        ({"path": "/a#b"}, "/path"),
        ({"path": "/a b"}, "/path"),
        ({"path": None}, "/path"),
        ({"auth_type": "oauth"}, "/auth_type"),
        ({"auth_token": ""}, "/auth_token"),
        ({"auth_token": "a\nb"}, "/auth_token"),
        ({"auth_token": 1}, "/auth_token"),
        ({"query_map": {"q": ""}}, "/query_map/q"),
        ({"query_map": {"q": "a b"}}, "/query_map/q"),
        ({"query_map": {"q": "a..b"}}, "/query_map/q"),
        ({"body_map": {"a/b": 1}}, "/body_map/a~1b"),
        ({"body_map": []}, "/body_map"),
        ({"signal_rule": "response."}, "/signal_rule"),
        ({"signal_rule": "response.statuss == 200"}, "/signal_rule"),
        ({"signal_rule": "inputs.x"}, "/signal_rule"),
        ({"signal_rule": ""}, "/signal_rule"),
        ({"body_map": {"state": "'approved'"}}, "/body_map/state"),
        ({"body_map": {"state": '"approved"'}}, "/body_map/state"),
        ({"query_map": {"state": "'approved'"}}, "/query_map/state"),
        ({"body_map": {"state": 5}}, "/body_map/state"),
        ({"body_map": {"state": {"values": 5}}}, "/body_map/state"),
        ({"body_map": {"state": {"value": 5, "key": "a"}}}, "/body_map/state"),
        ({"body_map": {"state": {"value": "x" * 5_000}}}, "/body_map/state"),
        ({"body_map": {"a": "b", "a.c": "d"}}, "/body_map"),
        ({"body_map": {"a..c": "d"}}, "/body_map"),
        ({"body_map": {".a": "d"}}, "/body_map"),
        ({"path": "/x?api_key=s3cret"}, "/path"),
        ({"path": "/x?a=1&access_token=s3cret"}, "/path"),
        ({"base_url": "https://api.example.test/?sig=s3cret"}, "/base_url"),
        ({"query_map": {"X-Api-Key": {"value": "s3cret"}}}, "/query_map"),
        ({"signal_rule": "1 + 1"}, "/signal_rule"),
        ({"signal_rule": '"yes"'}, "/signal_rule"),
        ({"signal_rule": "response.status"}, "/signal_rule"),
        ({"signal_rule": "size(response)"}, "/signal_rule"),
        ({"signal_rule": "[true]"}, "/signal_rule"),
        ({"signal_rule": "response.status == 200 ? response.body.hit : true"}, "/signal_rule"),
        ({"signal_rule": "{{1: 2}: 3}"}, "/signal_rule"),
        ({"reversible": "true"}, "/reversible"),
        ({"reversible": 1}, "/reversible"),
        ({"idempotent": None}, "/idempotent"),
        ({"timeout_s": 0}, "/timeout_s"),
        ({"timeout_s": True}, "/timeout_s"),
        ({"timeout_s": 301}, "/timeout_s"),
        ({"retries": -1}, "/retries"),
        ({"retries": 1.5}, "/retries"),
        ({"retries": 11}, "/retries"),
        ({"reversibel": True}, "/reversibel"),
        ({"auth_type": "header"}, "/auth_header"),
        ({"auth_type": "header", "auth_header": "a b"}, "/auth_header"),
        ({"auth_type": "header", "auth_header": "Idempotency-Key"}, "/auth_header"),
        ({"auth_type": "header", "auth_header": "x-penstock-run"}, "/auth_header"),
        ({"auth_header": "a\r\nb: c"}, "/auth_header"),
        ({"auth_type": "basic", "auth_token": "no-colon"}, "/auth_token"),
    ],
)
async def test_a_connector_that_does_not_hold_is_422(ann: Person, how: Any, pointer: str) -> None:
    assert_invalid(await ann.put("/connectors/tool", {"base_url": URL, **how}), pointer)
    assert (await ann.get("/connectors/")).json == []


@pytest.mark.parametrize("tool_id", ["%00", "a%20b", ".hidden", "a%2Fb", "x" * 129, "%C3%BC"])
async def test_a_tool_id_that_is_none_is_422(ann: Person, tool_id: str) -> None:
    assert_invalid(await ann.put(f"/connectors/{tool_id}", {"base_url": URL}), "/tool_id")
    assert_invalid(await ann.post(f"/connectors/{tool_id}/test", {"base_url": URL}), "/tool_id")


async def test_another_companys_connector_looks_like_none_to_the_byte(ann: Person, eve: Person) -> None:
    await put(ann, auth_type="bearer", auth_token=SECRET)
    assert (await eve.get("/connectors/")).json == []
    for method in ("GET", "DELETE"):
        theirs = await eve.send(method, "/connectors/tool", X_Request_ID="same")
        none = await eve.send(method, "/connectors/none", X_Request_ID="same")
        assert_problem(theirs, 404, "not_found")
        assert theirs.raw == none.raw
    refused = await eve.put("/connectors/tool", {"base_url": URL, "auth_type": "bearer"})
    assert refused.json["errors"][0]["pointer"] == "/auth_token"
    mine = await eve.put("/connectors/tool", {"base_url": URL})
    assert (mine.status, mine.json["auth_token_set"], mine.json["version"]) == (201, False, 1)
    await eve.delete("/connectors/tool")
    assert (await ann.get("/connectors/tool")).json["auth_token_set"] is True


async def test_a_test_says_how_the_far_side_answered_and_touches_no_run(ann: Person, far: FarSide) -> None:
    answer = await ann.post("/connectors/tool/test", {"base_url": far.url, "method": "GET", "path": "/ping"})
    assert answer.status == 200
    assert set(answer.json) == RESULT
    assert answer.json["latency_ms"] >= 0
    assert answer.json.items() >= {"ok": True, "status_code": 200, "body": {"ok": True}, "error": None}.items()
    assert [(seen.method, seen.target) for seen in far.seen] == [("GET", "/ping")]
    assert (await ann.get("/process-runs/")).json == []
    assert (await ann.get("/connectors/")).json == []


async def test_a_test_of_a_far_side_that_fails_is_an_answer_all_the_same(ann: Person, far: FarSide) -> None:
    far.status = 503
    answer = await ann.post("/connectors/tool/test", {"base_url": far.url})
    assert (answer.status, answer.json["ok"], answer.json["status_code"]) == (200, False, 503)
    assert "503" in answer.json["error"]


async def test_a_test_of_an_unreachable_target_is_an_answer_all_the_same(ann: Person, unused_tcp_port: int) -> None:
    for url in (f"http://127.0.0.1:{unused_tcp_port}", "http://nobody.invalid"):
        answer = await ann.post("/connectors/tool/test", {"base_url": url, "timeout_s": 5})
        assert (answer.status, answer.json["ok"], answer.json["status_code"]) == (200, False, None), answer.raw
        assert answer.json["error"].endswith(".")


@pytest.mark.parametrize(
    "base_url",
    [
        "http://10.0.0.1",
        "http://192.168.1.1:8080/x",
        "http://169.254.169.254/latest/meta-data",
        "http://[::1]:80",
        "http://[::ffff:10.0.0.1]",
        "http://0.0.0.0",
        "http://0x7f.1",
        "http://2130706433",
    ],
)
async def test_a_test_of_a_target_that_may_not_be_called_is_422(ann: Person, base_url: str) -> None:
    assert_invalid(await ann.post("/connectors/tool/test", {"base_url": base_url}), "/base_url")


class TestWithoutPermission:
    """The operator allows nothing."""

    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.model_copy(update={"egress_allow": ""})

    @pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
    async def test_the_loopback_address_is_refused_for_tests_and_calls(
        self, house: House, ann: Person, far: FarSide, host: str
    ) -> None:
        url = f"http://{host}:{far.server.port}"
        assert_invalid(await ann.post("/connectors/answers/test", {"base_url": url}), "/base_url")
        await ann.connect("answers", url)
        run = await ann.start("quick")
        assert (run["status"], run["error"]["code"]) == ("failed", "egress_refused")
        assert far.seen == []


class TestWithAListOfHosts:
    """The operator names the hosts that may be called."""

    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.model_copy(update={"egress_hosts": "127.0.0.1, *.example.test"})

    async def test_another_host_is_refused_for_tests_and_calls(self, ann: Person, far: FarSide) -> None:
        for url in (far.url.replace("127.0.0.1", "127.0.0.2"), "http://localhost", "http://example.test"):
            answer = await ann.post("/connectors/answers/test", {"base_url": url})
            assert_invalid(answer, "/base_url")
            assert "is not among the hosts" in answer.json["errors"][0]["detail"]
            await ann.connect("answers", url)
            run = await ann.start("quick")
            assert (run["status"], run["error"]["code"]) == ("failed", "egress_refused")
            assert "is not among the hosts" in run["error"]["detail"]
        assert far.seen == []

    async def test_a_listed_host_is_called(self, ann: Person, far: FarSide) -> None:
        assert (await ann.post("/connectors/answers/test", {"base_url": far.url})).json["ok"] is True
        await ann.connect("answers", far.url)
        assert (await ann.start("quick"))["status"] == "completed"


class TestWithABoundOfAnswers:
    """The operator wants short answers."""

    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.model_copy(update={"response_bytes_max": 1024})

    async def test_an_answer_over_the_bound_fails_the_step_and_says_so(self, ann: Person, far: FarSide) -> None:
        far.answer = "x" * 1024
        await ann.connect("answers", far.url)
        run = await ann.start("quick")
        assert (run["status"], run["error"]["code"]) == ("failed", "too_large")
        assert run["error"]["detail"] == "The answer is larger than 1024 bytes."


async def test_a_redirect_is_not_followed(ann: Person, far: FarSide) -> None:
    far.status = 302
    answer = await ann.post("/connectors/tool/test", {"base_url": far.url})
    assert (answer.json["ok"], answer.json["status_code"]) == (False, 302)
    assert len(far.seen) == 1


async def test_the_stored_secret_goes_to_the_stored_origin_only(ann: Person, far: FarSide) -> None:
    await put(ann, base_url=far.url, auth_type="bearer", auth_token=SECRET)
    same = await ann.post("/connectors/tool/test", {"base_url": f"{far.url}/x", "auth_type": "bearer"})
    assert same.json["ok"] is True
    assert far.seen[-1].headers["Authorization"] == f"Bearer {SECRET}"
    elsewhere = far.url.replace("127.0.0.1", "127.0.0.2")
    await put(ann, base_url=elsewhere, auth_type="bearer", auth_token=SECRET)
    await ann.post("/connectors/tool/test", {"base_url": far.url, "auth_type": "bearer"})
    await ann.post("/connectors/other/test", {"base_url": elsewhere, "auth_type": "bearer"})
    await ann.post("/connectors/tool/test", {"base_url": far.url})
    assert not [seen for seen in far.seen[1:] if "Authorization" in seen.headers]


async def test_a_test_that_names_no_auth_type_identifies_itself_as_the_stored_connector_does(
    ann: Person, far: FarSide
) -> None:
    await put(ann, base_url=far.url, auth_type="header", auth_header="X-Key", auth_token=SECRET)
    target = {"base_url": far.url, "method": "GET", "path": "/ping"}
    await ann.post("/connectors/tool/test", target)
    await ann.post("/connectors/tool/test", {**target, "auth_type": "none"})
    await ann.post("/connectors/other/test", target)
    await put(ann, base_url=far.url.replace("127.0.0.1", "127.0.0.2"), auth_type="bearer", auth_token=SECRET)
    await ann.post("/connectors/tool/test", target)
    assert [seen.headers.get("X-Key") for seen in far.seen] == [SECRET, None, None, None]
    assert not [seen for seen in far.seen if "Authorization" in seen.headers]


async def test_a_test_never_shows_the_secret_that_comes_back(ann: Person, far: FarSide) -> None:
    far.answer = {"you sent": f"Bearer {SECRET}"}
    body = {"base_url": far.url, "auth_type": "bearer", "auth_token": SECRET}
    answer = await ann.post("/connectors/tool/test", body)
    assert SECRET.encode() not in answer.raw


async def test_the_stored_secret_goes_into_its_stored_header_only(ann: Person, far: FarSide) -> None:
    await put(ann, base_url=far.url, auth_type="header", auth_header="X-Key", auth_token=SECRET)
    for other in ({"auth_type": "bearer"}, {"auth_type": "header", "auth_header": "X-Echo"}):
        await ann.post("/connectors/tool/test", {"base_url": far.url, **other})
        assert SECRET not in str(dict(far.seen[-1].headers))
    await ann.post("/connectors/tool/test", {"base_url": far.url, "auth_type": "header", "auth_header": "x-key"})
    assert far.seen[-1].headers["X-Key"] == SECRET


async def test_a_query_without_credentials_is_stored_and_shown(ann: Person) -> None:
    stored = await put(ann, path="/x?version=2&sort_key=&monkey=1", query_map={"token": "inputs.token"})
    assert stored["path"] == "/x?version=2&sort_key=&monkey=1"


async def test_a_credential_that_a_query_held_before_is_not_shown() -> None:
    assert masked_query("https://a.test/x?api_key=s3cret&v=2&Token=t") == "https://a.test/x?api_key=***&v=2&Token=***"
    assert masked_query("/plain") == "/plain"
