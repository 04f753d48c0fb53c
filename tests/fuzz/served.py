"""What is fuzzed from outside: heads, bodies, paths, cursors, tokens, and answers of far sides."""

from __future__ import annotations

import base64
import gzip
import hashlib
import hmac
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jwt
from hypothesis import strategies as st

from daemon.keys.keyring import read_ring
from tests.attack.wire import Answer
from tests.fuzz.fuzzing import Broken, Target
from tests.fuzz.lines import RawFarSide, exchanged
from tests.fuzz.material import ODD_TEXTS, changed, mutated, plain_texts, texts, values
from tests.load.pump import wire

CONTRACT = Path(__file__).parents[2] / "docs" / "openapi.json"
START = {"vertical": "prior-auth", "inputs": {"member_id": "M-1", "procedure_code": "70551", "diagnosis": "G43.909"}}
ANSWERED_S, HALF_S = 30.0, 0.05
PASSWORD = "correct horse"
QUERIES = ("limit", "cursor", "after", "status", "vertical", "parked_at", "view", "digest", "odd")
SESSION_PATHS = ("/auth/logout", "/auth/password", "/auth/sessions", "/auth/refresh", "/auth/switch")
HEADERS: tuple[str, ...] = (
    "If-Match",
    "If-None-Match",
    "Idempotency-Key",
    "Prefer",
    "traceparent",
    "Last-Event-ID",
    "X-Request-ID",
    "Accept",
)
HEADERS += ("Range", "Cookie", "Origin", "X-Forwarded-For", "Forwarded", "Expect", "Content-Type", "Upgrade", "TE")


@dataclass(frozen=True, slots=True)
class Stored:
    """A service in which there is something of everything, and the ids of it."""

    port: int
    token: str
    keys: Path
    ids: dict[str, str]
    cursors: tuple[str, ...]

    def bearer(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}


def filled(port: int, keys: Path, far: RawFarSide) -> Stored:
    """Register, and store a connector, a webhook and some runs."""

    def ask(method: str, path: str, body: Any = None, token: str = "") -> Answer:
        raw = b"" if body is None else json.dumps(body).encode()
        answer = exchanged(
            port, wire(method, path, raw, {"Authorization": f"Bearer {token}"} if token else {}), ANSWERED_S
        )
        assert answer is not None
        assert answer.status < 300, answer.body
        return answer

    person = {"email": "fuzz@attack.test", "password": PASSWORD, "company_name": "Fuzz"}
    token = ask("POST", "/auth/register", person).json["token"]
    connector = {"base_url": f"http://127.0.0.1:{far.port}", "path": "/x", "signal_rule": "response.status == 200"}
    ask("PUT", "/connectors/chart-fetch", connector, token)
    ask("PUT", "/connectors/other", connector, token)
    hook = ask("POST", "/webhooks/", {"url": f"http://127.0.0.1:{far.port}/hook"}, token).json["id"]
    runs = [ask("POST", "/process-runs/", START, token).json["id"] for _ in range(3)]
    lists = (
        "/process-runs/?limit=1",
        f"/process-runs/{runs[0]}/events?limit=1",
        "/audit/log?limit=1",
        "/connectors/?limit=1",
    )
    links = (ask("GET", path, token=token).headers.get("link", "") for path in lists)
    cursors = tuple(link.partition("cursor=")[2].partition(">")[0].partition("&")[0] for link in links if link)
    ids = {"run_id": runs[0], "tool_id": "chart-fetch", "webhook_id": hook, "vertical": "prior-auth"}
    return Stored(port, token, keys, ids, cursors)


def judged(answer: Answer | None) -> None:
    """Broken when it is no answer of the contract."""
    if answer is not None and (mistake := answer.mistake()) is not None:
        raise Broken(f"{mistake}: {answer.body[:300]!r}")


class Requests:
    """Examples of requests, made from the contract."""

    def __init__(self, stored: Stored, far: RawFarSide) -> None:
        self._stored = stored
        self._far = far
        contract = json.loads(CONTRACT.read_text(encoding="utf-8"))
        self._operations = [
            (method.upper(), path, _example(operation, far.port))
            for path, operations in contract["paths"].items()
            for method, operation in operations.items()
            if method in {"get", "post", "put", "patch", "delete"} and not path.startswith(SESSION_PATHS)
        ]

    def targets(self) -> Iterator[Target]:
        yield Target("heads", self._heads(), self._half)
        yield Target("bodies", self._bodies(), self._whole)
        yield Target("paths and queries", self._paths(), self._whole)
        yield Target("headers", self._headers(), self._whole)
        yield Target("cursors", self._cursors(), self._whole)
        yield Target("event ids", self._event_ids(), self._whole)
        yield Target("tokens", self._tokens(), self._token)
        yield Target("answers of far sides", self._answers(), self._answered)

    def _half(self, request: bytes) -> None:
        judged(exchanged(self._stored.port, request, HALF_S))

    def _whole(self, request: bytes) -> None:
        judged(exchanged(self._stored.port, request, ANSWERED_S))

    def _path(self, path: str, **given: str) -> str:
        for name, one in {**self._stored.ids, "delivery_id": "x", **given}.items():
            path = path.replace(f"{{{name}}}", one)
        return path

    def _heads(self) -> st.SearchStrategy[bytes]:
        paths = ("/health", "/process-runs/", "/auth/login", "/events/")
        heads = [wire(method, path, b"", self._stored.bearer()) for method in ("GET", "POST", "HEAD") for path in paths]
        heads.append(wire("POST", "/auth/login", b"{}", {"Transfer-Encoding": "chunked"}))
        return st.one_of(st.sampled_from(heads).flatmap(mutated), st.binary(max_size=200))

    @st.composite
    @staticmethod
    def _body(draw: st.DrawFn, self: Requests) -> bytes:
        method, path, example = draw(st.sampled_from([one for one in self._operations if one[2] is not None]))
        value = draw(changed(example))
        raw = json.dumps(value, ensure_ascii=draw(st.booleans())).encode()
        headers = dict(self._stored.bearer())
        match draw(st.integers(0, 9)):
            case 0:
                raw = draw(mutated(raw))
            case 1:
                headers["Content-Encoding"], raw = "gzip", gzip.compress(raw)
            case 2:
                headers["Content-Encoding"] = draw(st.sampled_from(("gzip", "deflate", "br", "zstd", "x")))
            case 3:
                headers["Idempotency-Key"] = draw(st.sampled_from(("a", "b" * 255, "c" * 256)))
            case _:
                pass
        return wire(method, self._path(path), raw, headers)

    def _bodies(self) -> st.SearchStrategy[bytes]:
        return self._body(self)

    def _paths(self) -> st.SearchStrategy[bytes]:
        def built(operation: tuple[str, str, Any], name: str, query: str, said: str, raw: bool) -> bytes:
            method, path, example = operation
            body = b"" if example is None else json.dumps(example).encode()
            written = quote(name, safe="") if not raw else quote(name, safe="/%")
            for known in (*self._stored.ids, "delivery_id"):
                path = path.replace(f"{{{known}}}", written or "x")
            target = f"{path}?{query}={quote(said, safe='')}" if said else path
            return wire(method, target, body, self._stored.bearer())

        names = st.one_of(plain_texts, st.sampled_from(sorted(self._stored.ids.values())))
        operations = st.sampled_from(self._operations)
        return st.builds(built, operations, names, st.sampled_from(QUERIES), plain_texts, st.booleans())

    def _headers(self) -> st.SearchStrategy[bytes]:
        def built(operation: tuple[str, str, Any], name: str, said: str) -> bytes:
            method, path, example = operation
            body = b"" if example is None else json.dumps(example).encode()
            text = said.encode("utf-8", "ignore").decode("latin-1").replace("\r", "").replace("\n", "")
            head, _, rest = wire(method, self._path(path), body, self._stored.bearer()).partition(b"\r\n")
            return head + b"\r\n" + f"{name}: {text}\r\n".encode("latin-1") + rest

        kept = [one for one in self._operations if "events" not in one[1]]
        forms = (
            '"x"',
            "*",
            'W/"1"',
            "wait=1",
            "wait=1e9",
            "respond-async",
            "00-" + "0" * 32 + "-" + "0" * 16 + "-01",
            "bytes=0-",
        )
        return st.builds(
            built, st.sampled_from(kept), st.sampled_from(HEADERS), st.one_of(texts, st.sampled_from(forms))
        )

    def _cursors(self) -> st.SearchStrategy[bytes]:
        lists = [path for method, path, _ in self._operations if method == "GET" and path != "/health"]

        def built(path: str, cursor: bytes, limit: str) -> bytes:
            return wire(
                "GET", f"{self._path(path)}?limit={limit}&cursor={quote(cursor, safe='')}", b"", self._stored.bearer()
            )

        real = st.sampled_from(self._stored.cursors or ("x",))
        decoded = real.map(
            lambda cursor: base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)) if cursor.isascii() else b""
        )
        forged = decoded.flatmap(mutated).map(lambda raw: base64.urlsafe_b64encode(raw).rstrip(b"="))
        inner = values.map(lambda value: base64.urlsafe_b64encode(json.dumps(value).encode()))
        other = st.one_of(forged, inner, real.map(str.encode).flatmap(mutated), st.binary(max_size=40))
        return st.builds(built, st.sampled_from(lists), other, st.sampled_from(("1", "200", "0", "-1", "x", "9" * 30)))

    def _event_ids(self) -> st.SearchStrategy[bytes]:
        paths = ("/events/", self._path("/process-runs/{run_id}/events"))
        numbers = st.integers(-(2**70), 2**70).map(str)
        said = st.one_of(numbers, st.sampled_from(ODD_TEXTS), st.text(max_size=20))

        def built(path: str, one: str, live: bool, query: bool) -> bytes:
            text = one.encode("utf-8", "ignore").decode("latin-1").replace("\r", "").replace("\n", "")
            headers = self._stored.bearer() | ({"Accept": "text/event-stream"} if live else {})
            head, _, rest = wire(
                "GET", f"{path}?after={quote(one, safe='')}" if query else path, b"", headers
            ).partition(b"\r\n")
            return head + b"\r\n" + f"Last-Event-ID: {text}\r\n".encode("latin-1") + rest

        return st.builds(built, st.sampled_from(paths), said, st.booleans(), st.booleans())

    def _tokens(self) -> st.SearchStrategy[tuple[bool, str]]:
        ring = read_ring(self._stored.keys)
        claims = jwt.decode(self._stored.token, options={"verify_signature": False})
        header = {"alg": "HS256", "typ": "JWT", "kid": ring.current}
        extremes: st.SearchStrategy[Any] = st.sampled_from(
            (0, -1, 2**63, 1e300, time.time() + 1e9, "never", [], {}, None, True)
        )
        strange = st.builds(
            lambda name, value: {**claims, name: value}, st.sampled_from(sorted(claims)), st.one_of(extremes, values)
        )
        wrong = st.one_of(strange, changed(claims), values)
        signed = st.builds(
            _sealed, st.one_of(st.just(header), changed(header)), wrong, st.just(ring.keys[ring.current])
        )
        other = st.one_of(
            mutated(self._stored.token.encode()).map(lambda raw: raw.decode("latin-1")), st.text(max_size=60)
        )
        return st.tuples(st.booleans(), st.one_of(signed, other))

    def _token(self, example: tuple[bool, str]) -> None:
        cookie, token = example
        text = token.encode("utf-8", "ignore").decode("latin-1").replace("\r", "").replace("\n", "")
        name, said = ("Cookie", f"penstock_token={text}") if cookie else ("Authorization", f"Bearer {text}")
        head, _, rest = wire("GET", "/auth/me").partition(b"\r\n")
        request = head + b"\r\n" + f"{name}: {said}\r\n".encode("latin-1") + rest
        judged(exchanged(self._stored.port, request, ANSWERED_S))

    def _answers(self) -> st.SearchStrategy[bytes]:
        kinds = st.sampled_from(("application/json", "text/plain; charset=idna", "text/plain; charset=x", "", "a/b; c"))
        bodies = st.one_of(st.binary(max_size=80), values.map(lambda value: json.dumps(value).encode()))
        names = (
            "Retry-After",
            "Content-Encoding",
            "Transfer-Encoding",
            "Location",
            "Set-Cookie",
            "Content-Length",
            "Date",
        )

        def built(status: int, kind: str, body: bytes, name: str, said: str) -> bytes:
            text = said.encode("utf-8", "ignore").decode("latin-1").replace("\r", "").replace("\n", "")
            lines = (
                f"HTTP/1.1 {status} Said",
                f"Content-Type: {kind}",
                f"Content-Length: {len(body)}",
                f"{name}: {text}",
            )
            return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + body

        whole = st.builds(
            built,
            st.sampled_from((200, 204, 301, 404, 429, 500, 503, 999)),
            kinds,
            bodies,
            st.sampled_from(names),
            texts,
        )
        return st.one_of(whole, whole.flatmap(mutated), st.binary(max_size=60))

    def _answered(self, said: bytes) -> None:
        self._far.answer = said
        test = {"base_url": f"http://127.0.0.1:{self._far.port}", "path": "/x", "timeout_s": 2}
        request = wire("POST", "/connectors/chart-fetch/test", json.dumps(test).encode(), self._stored.bearer())
        answer = exchanged(self._stored.port, request, ANSWERED_S)
        judged(answer)
        if answer is None or answer.status not in {200, 429}:
            raise Broken(f"a test was answered {answer}")


def _example(operation: dict[str, Any], far_port: int) -> Any:
    """The example of a request's body, with URLs that name this machine."""
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("example")
    if not isinstance(body, dict):
        return body
    here = {name: f"http://127.0.0.1:{far_port}" for name in ("base_url", "url") if name in body}
    return {**body, **here}


def _sealed(header: Any, claims: Any, key: bytes) -> str:
    """A token of whatever parts, with a right signature."""

    def part(raw: bytes) -> str:
        return base64.urlsafe_b64encode(raw).decode().rstrip("=")

    signed = f"{part(json.dumps(header).encode())}.{part(json.dumps(claims).encode())}"
    return f"{signed}.{part(hmac.new(key, signed.encode(), hashlib.sha256).digest())}"
