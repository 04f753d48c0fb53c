"""One call over the wire: what arrives byte for byte, and how each way to fail is told."""

from __future__ import annotations

import asyncio
import gzip
import ssl
from base64 import b64encode
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from email.utils import format_datetime
from ipaddress import ip_address
from typing import Any, TypeVar

import pytest
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from actors.core.calls import CallRequest, Connector
from daemon.connectors.egress import EgressGuard
from daemon.connectors.http import HttpConnector, HttpResponse, SendFailed, retry_after_s
from daemon.runtime.json_codec import dumps
from daemon.runtime.offload import Offload
from tests.connectors.conftest import LOOPBACK, NOW, FarSide, hang, hang_up
from tests.connectors.test_egress import Stub

T = TypeVar("T")
BODY = {"b": 1, "a": "\u00e4", "c": [1.5, 1e21, True, None]}


def connector(**fields: Any) -> Connector:
    whole = {"tool_id": "lab", "version": 1, "base_url": "http://x.test", "method": "POST", "path": ""}
    return Connector(**{**whole, **fields})


async def send(
    http: HttpConnector,
    url: str,
    method: str = "POST",
    *,
    secret: str | None = None,
    body: dict[str, Any] | None = None,
    timeout_s: float = 5.0,
    **fields: Any,
) -> HttpResponse:
    request = CallRequest(tool="lab", mode="live", method=method, url=url, body=body)
    return await http.send(
        request, secret=secret, connector=connector(**fields), headers={"X-Penstock-Run": "run-1"}, timeout_s=timeout_s
    )


async def failure(http: HttpConnector, url: str, method: str = "POST", **more: Any) -> SendFailed:
    with pytest.raises(SendFailed) as failed:
        await send(http, url, method, **more)
    assert failed.value.__cause__ is None
    assert failed.value.detail.endswith(".")
    return failed.value


async def test_the_body_arrives_in_its_canonical_form(far: FarSide, http: HttpConnector) -> None:
    await send(http, f"{far.url}/do", body=BODY)
    (seen,) = far.seen
    assert seen.body == '{"a":"\u00e4","b":1,"c":[1.5,1e+21,true,null]}'.encode()
    assert seen.headers["Content-Type"] == "application/json"
    assert seen.headers["Content-Length"] == str(len(seen.body))
    assert seen.headers["X-Penstock-Run"] == "run-1"


@pytest.mark.parametrize("method", ["GET", "DELETE"])
async def test_a_bodiless_method_sends_no_body(far: FarSide, http: HttpConnector, method: str) -> None:
    await send(http, far.url, method, body=BODY)
    assert (far.seen[0].method, far.seen[0].body) == (method, b"")
    assert "Content-Type" not in far.seen[0].headers


async def test_a_post_without_a_body_names_no_content_type(far: FarSide, http: HttpConnector) -> None:
    await send(http, far.url)
    assert far.seen[0].body == b""
    assert "Content-Type" not in far.seen[0].headers


async def test_the_target_arrives_exactly_as_shown(far: FarSide, http: HttpConnector) -> None:
    await send(http, f"{far.url}/a%2fb//c/../d?q=%20x&r=a+b%2B", "GET")
    assert far.seen[0].target == "/a%2fb//c/../d?q=%20x&r=a+b%2B"


AUTHS = [
    ({"auth_type": "none"}, "Authorization", None),
    ({"auth_type": "bearer"}, "Authorization", "Bearer user:p\u00e4ss"),
    ({"auth_type": "header", "auth_header": "X-Api-Key"}, "X-Api-Key", "user:p\u00e4ss"),
    ({"auth_type": "basic"}, "Authorization", "Basic " + b64encode("user:p\u00e4ss".encode()).decode()),
]


@pytest.mark.parametrize(("fields", "header", "value"), AUTHS)
async def test_each_auth_type_sends_its_own_header(
    far: FarSide, http: HttpConnector, fields: dict[str, Any], header: str, value: str | None
) -> None:
    await send(http, far.url, secret="user:p\u00e4ss", **fields)
    assert far.seen[0].headers.get(header) == value


async def test_without_a_secret_no_credential_is_sent(far: FarSide, http: HttpConnector) -> None:
    await send(http, far.url, auth_type="bearer")
    assert "Authorization" not in far.seen[0].headers


async def test_a_secret_that_fits_into_no_header_is_not_sent(far: FarSide, http: HttpConnector) -> None:
    failed = await failure(http, far.url, secret="canary\r\nX-Evil: 1", auth_type="bearer")
    assert (failed.code, failed.maybe_sent) == ("bad_request", False)
    assert "canary" not in failed.detail
    assert far.seen == []


async def test_cookies_are_not_kept_between_calls(far: FarSide) -> None:
    async def baker(_: web.Request) -> web.Response:
        answer = web.Response()
        answer.set_cookie("session", "1")
        return answer

    far.answers = [baker, 200]
    async with HttpConnector(EgressGuard(LOOPBACK), resolver=Stub(NAMES)) as http:
        await send(http, f"http://far.test:{far.server.port}/")
        await send(http, f"http://far.test:{far.server.port}/")
    assert "Cookie" not in far.seen[1].headers


async def test_proxies_of_the_environment_are_not_used(
    far: FarSide, http: HttpConnector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert (await send(http, far.url)).status == 200


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_answered_and_not_followed(far: FarSide, http: HttpConnector, status: int) -> None:
    async def redirect(_: web.Request) -> web.Response:
        return web.Response(status=status, headers={"Location": f"{far.url}/elsewhere"})

    far.answers = [redirect]
    assert (await send(http, far.url)).status == status
    assert len(far.seen) == 1


def answering(body: bytes, **headers: str) -> Any:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(body=body, headers={name.replace("_", "-"): value for name, value in headers.items()})

    return answer


JSON = "application/json"
BODIES = [
    (b'{"a": 1}', JSON, {"a": 1}),
    (b'"text"', JSON, "text"),
    (b'{"a": 1}', "text/plain", {"a": 1}),
    (b"[1]", "application/problem+json", [1]),
    (b"17", "text/plain", "17"),
    (b"", JSON, None),
    (b'{"a": NaN}', JSON, '{"a": NaN}'),
    (b'{"a": 1e999}', JSON, '{"a": 1e999}'),
    (b'{"a": "\\ud800"}', JSON, '{"a": "\\ud800"}'),
    (b"[" * 100 + b"]" * 100, JSON, "[" * 100 + "]" * 100),
    (b"[" * 100_000, JSON, "[" * 100_000),
    (b"{broken", JSON, "{broken"),
    (b"\xff\x00", "text/plain", "\ufffd\ufffd"),
    ("\u00e4".encode("latin-1"), "text/plain; charset=latin-1", "\u00e4"),
    (b"x", "text/plain; charset=nonsense", "x"),
    pytest.param(b"\xe4", f'text/plain; charset="LATIN1";{"(" * 8_000}', "\u00e4", id="a type that takes long to read"),
]


@pytest.mark.parametrize(("raw", "kind", "body"), BODIES)
async def test_an_answer_is_json_only_where_it_is_sound(
    far: FarSide, http: HttpConnector, raw: bytes, kind: str, body: Any
) -> None:
    far.answers = [answering(raw, Content_Type=kind)]
    assert (await send(http, far.url)).body == body


async def test_an_answer_at_the_bound_is_taken_whole(far: FarSide, http: HttpConnector) -> None:
    far.answers = [answering(b"x" * 256 * 1024)]
    assert len((await send(http, far.url)).body) == 256 * 1024


@pytest.mark.parametrize("packed", [False, True])
async def test_an_answer_over_the_bound_is_refused_also_when_packed(
    far: FarSide, http: HttpConnector, packed: bool
) -> None:
    body = b"x" * (50 * 1024 * 1024 if packed else 256 * 1024 + 1)
    far.answers = [answering(gzip.compress(body), Content_Encoding="gzip") if packed else answering(body)]
    failed = await failure(http, far.url)
    assert (failed.code, failed.maybe_sent, failed.status_code) == ("too_large", True, 200)


def crumbling(piece: bytes) -> Any:
    async def answer(request: web.Request) -> web.StreamResponse:
        crumbs = web.StreamResponse()
        crumbs.enable_chunked_encoding()
        await crumbs.prepare(request)
        with suppress(ConnectionError):
            for _ in range(3_000):
                await crumbs.write(piece)
        return crumbs

    return answer


async def test_an_answer_in_many_pieces_is_taken_unless_they_are_small(far: FarSide, http: HttpConnector) -> None:
    far.answers = [crumbling(b"x" * 16), crumbling(b"x")]
    assert len((await send(http, far.url)).body) == 48_000
    failed = await failure(http, far.url)
    assert (failed.code, failed.maybe_sent, failed.status_code) == ("too_large", True, 200)
    assert failed.detail == "The answer comes in too many small pieces."


async def test_the_bound_of_an_answer_can_be_set(far: FarSide) -> None:
    far.answers = [answering(b"x" * 1024), answering(b"x" * 1025)]
    async with HttpConnector(EgressGuard(LOOPBACK), body_bytes_max=1024) as http:
        assert len((await send(http, far.url)).body) == 1024
        assert (await failure(http, far.url)).detail == "The answer is larger than 1024 bytes."


async def test_a_packed_answer_is_unpacked(far: FarSide, http: HttpConnector) -> None:
    far.answers = [answering(gzip.compress(b'{"a": 1}'), Content_Encoding="gzip", Content_Type=JSON)]
    assert (await send(http, far.url)).body == {"a": 1}


async def test_a_timeout_after_sending_may_have_been_sent(far: FarSide, http: HttpConnector) -> None:
    far.answers = [hang]
    failed = await failure(http, far.url, timeout_s=0.2)
    assert (failed.code, failed.maybe_sent) == ("timeout", True)


async def test_a_timeout_while_resolving_was_not_sent() -> None:
    class Slow(Stub):
        async def resolve(self, *args: Any, **more: Any) -> Any:
            await asyncio.Event().wait()

    async with HttpConnector(EgressGuard(LOOPBACK), resolver=Slow({})) as http:
        failed = await failure(http, "http://slow.test/", timeout_s=0.05)
    assert (failed.code, failed.maybe_sent) == ("timeout", False)


async def test_a_refused_connection_was_not_sent(http: HttpConnector, unused_tcp_port: int) -> None:
    failed = await failure(http, f"http://127.0.0.1:{unused_tcp_port}/", body=BODY)
    assert (failed.code, failed.maybe_sent) == ("connect_failed", False)
    assert "refused the connection" in failed.detail


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
async def test_a_lost_connection_may_have_been_sent_and_is_not_repeated(
    far: FarSide, http: HttpConnector, method: str
) -> None:
    far.answers = [hang_up]
    failed = await failure(http, far.url, method, body=BODY)
    assert (failed.code, failed.maybe_sent) == ("connection_lost", True)
    assert len(far.seen) == 1


RAW_ANSWERS = [
    b"",
    b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc",
    b"no http at all\r\n\r\n",
    b"HTTP/1.1 200 OK\r\n",
]


@pytest.mark.parametrize("raw", RAW_ANSWERS)
async def test_an_answer_that_is_cut_off_or_garbled_counts_as_lost(http: HttpConnector, raw: bytes) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(raw)
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        failed = await failure(http, f"http://127.0.0.1:{port}/", "PUT")
    assert (failed.code, failed.maybe_sent) == ("connection_lost", True)


@asynccontextmanager
async def untrusted_server(tmp_path: Any) -> AsyncIterator[int]:
    key = generate_private_key(SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "far.test")])
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), 1, NOW, NOW + timedelta(days=36_500))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, SHA256())
    )
    file = tmp_path / "far.pem"
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    file.write_bytes(private + certificate.public_bytes(Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)

    async def ignore(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with await asyncio.start_server(ignore, "127.0.0.1", 0, ssl=context) as server:
        yield server.sockets[0].getsockname()[1]


async def test_an_untrusted_certificate_stops_the_call_before_it_is_sent(http: HttpConnector, tmp_path: Any) -> None:
    async with untrusted_server(tmp_path) as port:
        failed = await failure(http, f"https://127.0.0.1:{port}/", secret="canary", auth_type="bearer")
    assert (failed.code, failed.maybe_sent) == ("connect_failed", False)
    assert "certificate" in failed.detail


async def test_https_to_a_plain_server_stops_before_the_request(far: FarSide, http: HttpConnector) -> None:
    failed = await failure(http, far.url.replace("http:", "https:"))
    assert (failed.code, failed.maybe_sent) == ("connect_failed", False)


NAMES = {
    "far.test": ["127.0.0.1"],
    "mixed.test": ["8.8.8.8", "127.0.0.1"],
    "0x7f.test": ["127.0.0.1"],
    "localhost": ["127.0.0.1", "::1"],
}


@pytest.mark.parametrize("host", ["127.0.0.1", "[::ffff:127.0.0.1]", *NAMES, "unknown.test"])
async def test_with_nothing_allowed_the_loopback_is_never_reached(far: FarSide, host: str) -> None:
    async with HttpConnector(EgressGuard(), resolver=Stub(NAMES)) as http:
        failed = await failure(http, f"http://{host}:{far.server.port}/")
    assert (failed.code, failed.maybe_sent) == ("egress_refused", False)
    assert far.seen == []


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]"])
async def test_a_literal_is_stopped_at_the_socket_even_without_the_earlier_check(
    far: FarSide, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(EgressGuard, "check_url", lambda _, text: __import__("yarl").URL(text))
    async with HttpConnector(EgressGuard()) as http:
        failed = await failure(http, f"http://{host}:{far.server.port}/")
    assert (failed.code, failed.maybe_sent) == ("egress_refused", False)
    assert far.seen == []


async def test_a_name_that_changes_its_mind_is_stopped_at_the_socket(
    far: FarSide, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(EgressGuard, "check_name", lambda *_: None)
    async with HttpConnector(EgressGuard(), resolver=Stub(NAMES)) as http:
        for host in ("far.test", "localhost"):
            failed = await failure(http, f"http://{host}:{far.server.port}/")
            assert not failed.maybe_sent
    assert far.seen == []


async def test_an_allowed_name_is_called_under_its_own_name(far: FarSide) -> None:
    async with HttpConnector(EgressGuard(LOOPBACK), resolver=Stub(NAMES)) as http:
        assert (await send(http, f"http://far.test:{far.server.port}/")).status == 200
    assert far.seen[0].headers["Host"] == f"far.test:{far.server.port}"


@pytest.mark.parametrize("url", ["http://user:x@127.0.0.1/", "ftp://127.0.0.1/", "http://2130706433/", ""])
async def test_a_url_that_may_never_be_called_is_told_apart(http: HttpConnector, url: str) -> None:
    assert (await failure(http, url)).code == "bad_url"


async def test_many_calls_run_at_the_same_time(far: FarSide, http: HttpConnector) -> None:
    answers = await asyncio.gather(*(send(http, far.url) for _ in range(150)))
    assert {answer.status for answer in answers} == {200}


PAUSES = [
    (None, None),
    ("17", 17.0),
    (format_datetime(NOW + timedelta(seconds=90), usegmt=True), 90.0),
    (format_datetime(NOW - timedelta(seconds=90), usegmt=True), 0.0),
    ("soon", None),
    ("-1", None),
    ("\u0663", None),
]


@pytest.mark.parametrize(("text", "seconds"), PAUSES)
def test_retry_after_is_read_in_seconds_and_as_a_date(text: str | None, seconds: float | None) -> None:
    assert retry_after_s(text, NOW) == seconds


@pytest.mark.parametrize("charset", ["unicode_escape", "raw_unicode_escape", "idna", "punycode", "utf-16", "utf-7"])
async def test_an_encoding_beside_the_plain_ones_counts_as_utf_8(
    far: FarSide, http: HttpConnector, charset: str
) -> None:
    body = rb"\ud800 +2AA- xn--a" + b"\xff" + b"-" * 9_000
    far.answers = [answering(body, Content_Type=f"text/plain; charset={charset}")]
    assert (await send(http, far.url)).body == body.decode(errors="replace")


@pytest.mark.parametrize(("charset", "text"), [("latin_1", "\u00e9"), ("ISO-8859-1", "\u00e9"), ("us-ascii", "\ufffd")])
async def test_latin_and_ascii_are_read_as_such(far: FarSide, http: HttpConnector, charset: str, text: str) -> None:
    far.answers = [answering(b"\xe9", Content_Type=f"text/plain; charset={charset}")]
    assert (await send(http, far.url)).body == text


class Noted(Offload):
    """Counts what it is given to do in its thread."""

    def __init__(self) -> None:
        super().__init__()
        self.ran = 0

    async def run(self, company_id: str, work: Callable[[], T], *, bounded: bool = True) -> T:
        self.ran += 1
        return await super().run(company_id, work, bounded=bounded)


async def test_a_long_answer_is_parsed_beside_the_event_loop(far: FarSide) -> None:
    long, offload = [0] * 20_000, Noted()
    far.answers = [answering(b"[1]"), answering(dumps(long))]
    async with HttpConnector(EgressGuard(LOOPBACK), offload=offload) as http:
        assert ((await send(http, far.url)).body, offload.ran) == ([1], 0)
        answer = await send(http, far.url)
    assert (answer.body, answer.size, offload.ran) == (long, 40_001, 1)
    offload.close()


async def test_a_long_body_is_written_beside_the_event_loop(far: FarSide) -> None:
    offload = Noted()
    async with HttpConnector(EgressGuard(LOOPBACK), offload=offload) as http:
        await send(http, far.url, body={"a": [1.0] * 5_000})
        assert offload.ran == 0
        await send(http, far.url, body={"a": [1.0] * 20_000})
    assert (offload.ran, len(far.seen[1].body)) == (1, 40_007)
    offload.close()


ODD_PAUSES = [
    "9" * 400,
    "1e400",
    "-1",
    "inf",
    "Mon, 01 Jan 99999999999999999999 00:00:00 GMT",
    "Sun, 31 Dec 9999 23:59:59 -9999",
]


@pytest.mark.parametrize(
    "text", [*ODD_PAUSES, "Mon, 01 Jan 0001 00:00:00 +9999", "0000000", "99999999999999999999", "9" * 60]
)
def test_an_odd_retry_after_is_no_pause_or_one_of_a_day_at_most(text: str) -> None:
    assert 0.0 <= (retry_after_s(text, NOW) or 0.0) <= 86_400.0
