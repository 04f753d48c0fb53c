"""Heads and framings that nobody should send."""

from __future__ import annotations

import json
from random import Random

from tests.attack.made import GETS, POSTS, START, UNKNOWN, head, post
from tests.load.pump import wire


def noise(chance: Random, _token: str) -> bytes:
    """Raw bytes, with or without an end of a head."""
    return chance.randbytes(chance.randint(1, 300)) + chance.choice((b"", b"\r\n\r\n", b"\n\n", b"\x00"))


def mutated(chance: Random, token: str) -> bytes:
    """A right request with some bytes flipped, left out, doubled or put in."""
    right = wire("POST", "/process-runs/", json.dumps(START).encode(), {"Authorization": f"Bearer {token}"})
    raw = bytearray(
        chance.choice((right, wire("GET", chance.choice(GETS), headers={"Authorization": f"Bearer {token}"})))
    )
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(len(raw))
        match chance.randrange(4):
            case 0:
                raw[at] ^= 1 << chance.randrange(8)
            case 1:
                del raw[at]
            case 2:
                raw[at:at] = raw[at : at + chance.randint(1, 20)]
            case _:
                raw[at:at] = chance.randbytes(chance.randint(1, 4))
    return bytes(raw)


def framing(chance: Random, token: str) -> bytes:
    """A body whose length is said twice, wrongly, or not at all."""
    body = json.dumps(START).encode()
    right, chunked = b"Content-Length: %d" % len(body), b"Transfer-Encoding: chunked"
    forms: tuple[tuple[bytes, ...], ...] = (
        (right, chunked),
        (chunked, b"Content-Length: 0"),
        (right, right),
        (right, b"Content-Length: 1"),
        (b"Content-Length: -1",),
        (b"Content-Length: +5",),
        (b"Content-Length: 0x10",),
        (b"Content-Length: 1e3",),
        (b"Content-Length: " + b"9" * chance.choice((19, 30, 5_000)),),
        (b"Content-Length: 5, 5",),
        (b"Content-Length:",),
        (b"Content-Length : %d" % len(body),),
        (b"Transfer-Encoding: chunked, chunked",),
        (b"Transfer-Encoding: identity",),
        (b"Transfer-Encoding: gzip, chunked",),
        (b"Transfer-Encoding: chunked, gzip",),
        (b"Transfer-Encoding: xchunked",),
        (b"Transfer-Encoding: \x0bchunked",),
        (chunked, chunked),
    )
    return head("POST", "/process-runs/", token, b"Content-Type: application/json", *chance.choice(forms)) + body


def chunks(chance: Random, token: str) -> bytes:
    """Chunks that are none."""
    right = b'5\r\n{"a":\r\n2\r\n1}\r\n0\r\n\r\n'
    forms = (
        b"zz\r\n{}\r\n0\r\n\r\n",
        b"-1\r\n{}\r\n0\r\n\r\n",
        b"2\r\n{}0\r\n\r\n",
        b"1\r\n{}\r\n0\r\n\r\n",
        b"f" * chance.choice((8, 16, 17, 400)) + b"\r\n{}\r\n0\r\n\r\n",
        b"2;" + b"x" * chance.choice((10, 9_000)) + b"\r\n{}\r\n0\r\n\r\n",
        b"2\n{}\n0\n\n",
        b" 2\r\n{}\r\n0\r\n\r\n",
        b"2\r\n{}\r\n0\r\nX: " + b"x" * 9_000 + b"\r\n\r\n",
        b"2\r\n{}\r\n0\r\n" + b"X: y\r\n" * 300 + b"\r\n",
        b"\r\n\r\n",
        bytes(chance.choice((byte, byte ^ 1)) for byte in right),
    )
    lines = (b"Content-Type: application/json", b"Transfer-Encoding: chunked")
    return head("POST", chance.choice(POSTS), token, *lines) + chance.choice(forms)


def hosts(chance: Random, token: str) -> bytes:
    """No host, two of them, or none that could be one."""
    forms = (
        b"",
        b"Host: a\r\nHost: b\r\n",
        b"Host: x\r\nHost: x\r\n",
        b"Host:\r\n",
        b"Host: a b\r\n",
        b"Host: \xff\r\n",
        b"Host: " + b"a" * 9_000 + b"\r\n",
        b"Host: [::1\r\n",
        b"Host: a:99999999\r\n",
        b"Host: http://a/\r\n",
        b"Host: a@b\r\n",
    )
    return b"GET %s HTTP/1.1\r\n%sAuthorization: Bearer %s\r\n\r\n" % (
        chance.choice(GETS).encode(),
        chance.choice(forms),
        token.encode(),
    )


def large_heads(chance: Random, token: str) -> bytes:
    """Heads that are too long in one way or another."""
    size = chance.choice((8_000, 8_190, 8_191, 9_000, 65_536, 300_000))
    forms = (
        head("GET", "/health", token, b"X: " + b"x" * size),
        head("GET", "/health", token, b"x" * size + b": y"),
        head("GET", "/health", token, *[b"X-%d: y" % number for number in range(size // 100)]),
        head("GET", "/" + "x" * size, token),
        head("GET", "/process-runs/?cursor=" + "x" * size, token),
        head("x" * size, "/health", token),
        head("GET", "/health", token, b"Cookie: " + b"a=b; " * (size // 5)),
        b"GET /health HTTP/1.1\r\nHost: x\r\n" + b"Authorization: Bearer " + b"x" * size + b"\r\n\r\n",
    )
    return chance.choice(forms)


def methods(chance: Random, token: str) -> bytes:
    """Methods that an address does not take, or that are none."""
    names = (
        "get",
        "GET\t",
        "",
        "G E T",
        "CONNECT",
        "TRACE",
        "OPTIONS",
        "PRI",
        "PROPFIND",
        "BREW",
        "HEAD",
        "\x00",
        "GET/",
        "PATCH",
        "M-SEARCH",
        "SOURCE",
        "DELETE",
        "PUT",
        "é",
    )
    method, path = chance.choice(names), chance.choice((*GETS, *POSTS, "*", "/", "x:443", ""))
    return f"{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n".encode("latin-1")


def paths(chance: Random, token: str) -> bytes:
    """Addresses in odd encodings."""
    parts = (
        "%00",
        "%ff%fe",
        "%2e%2e",
        "..",
        "%2f",
        "//",
        "\\",
        "%",
        "%zz",
        "%u0041",
        ";x=y",
        "?",
        "??",
        "#",
        "é",
        "\xff",
        "%F0%9F%90%99",
        "process-runs",
        "auth/me",
        "connectors",
        "[",
        "]",
        "{run_id}",
        "@",
        ":",
        "://",
        "http://a",
        "http://[::1",
        "http://a:99999999/",
        "*",
        "a" * 300,
        "?limit=-1",
        "?cursor=%ff",
        "?limit=" + "9" * 5_000,
        "?status=\x01",
        "&",
        "=",
        "%0d%0aX: y",
    )
    chosen = "".join(chance.choice(("", "/")) + chance.choice(parts) for _ in range(chance.randint(1, 5)))
    path = chance.choice(("/", "", "/process-runs/", "/connectors/", "/process-templates/")) + chosen
    line = f"{chance.choice(('GET', 'GET', 'DELETE', 'HEAD'))} {path} HTTP/1.1\r\nHost: x\r\n"
    return f"{line}Authorization: Bearer {token}\r\n\r\n".encode("latin-1")


def fields(chance: Random, token: str) -> bytes:
    """Header lines that are none, or that say what nobody could mean."""
    forms = (
        b"Idempotency-Key: " + b"x" * chance.choice((0, 1, 255, 256, 5_000)),
        b"Idempotency-Key: \x01\x7f\xff",
        b"If-Match: " + chance.choice((b'"', b'W/"1"', b'"x"', b"*", b'"' + b"9" * 5_000 + b'"', b",,,")),
        b"Prefer: wait=" + chance.choice((b"-1", b"0", b"999999999", b"9" * 400, b"x", b'"1', b"1.5")),
        b"Prefer: respond-async, wait=0; ;,",
        b"traceparent: " + chance.choice((b"00-" + b"0" * 32 + b"-" + b"0" * 16 + b"-00", b"x" * 5_000, b"\xff")),
        b"X-Request-ID: " + chance.choice((b"", b"a b", b"\xff", b"x" * 129, b"a\tb")),
        b"Last-Event-ID: " + chance.choice((b"-1", b"x", b"9" * 300)),
        b"Accept: " + chance.choice((b"text/event-stream", b"*/*;q=x", b"\xff", b"," * 1_000)),
        b"Range: bytes=0-18446744073709551615",
        b"Expect: " + chance.choice((b"100-continue", b"x", b"")),
        b"Connection: upgrade\r\nUpgrade: " + chance.choice((b"websocket", b"h2c", b"TLS/1.3", b"")),
        b"Connection: " + chance.choice((b"close", b"keep-alive", b"host", b"x" * 1_000, b"")),
        b"HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA",
        b"X-Forwarded-For: " + b"1.1.1.1, " * 300,
        b"no colon at all",
        b": no name",
        b" folded: line",
        b"X: a\r\n folded",
        b"X\x00: y",
        b"X: \x00",
        b"X: a\rb",
        b"X: a\nY: b",
        b"\xff: \xfe",
        b"Cookie: " + chance.randbytes(40).replace(b"\n", b"").replace(b"\r", b""),
        b"Authorization: Bearer x",
        b"Content-Type: application/json",
        b"If-Modified-Since: yesterday",
    )
    line = chance.choice(forms)
    if chance.random() < 0.5:
        return head("GET", chance.choice((*GETS, f"/process-runs/{UNKNOWN}/events")), token, line)
    return post(chance, token, json.dumps(START).encode(), line, path="/process-runs/")


def versions(chance: Random, token: str) -> bytes:
    """Requests of other versions of HTTP, or of none."""
    forms = (
        "HTTP/0.9",
        "HTTP/1.0",
        "HTTP/1.2",
        "HTTP/1.10",
        "HTTP/2.0",
        "HTTP/3",
        "http/1.1",
        "HTTP/1.1 ",
        "HTTP/",
        "HTTP/1.1\x00",
        "HTTP/11",
        "HTTP/-1.1",
        "HTTP/1",
        "ICY/1.0",
        "",
    )
    return (
        f"GET {chance.choice(GETS)} {chance.choice(forms)}\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
    )
