"""Bodies that nobody should send: bombs, depths, numbers and texts that are no JSON of ours."""

from __future__ import annotations

import gzip
import json
import zlib
from functools import cache
from random import Random
from typing import Any

from tests.attack.made import GETS, POSTS, START, UNKNOWN, head, post

BOMB_BYTES = 4_000_000


@cache
def _bombs() -> tuple[tuple[bytes, bytes], ...]:
    plain = (b" " * BOMB_BYTES, b"[" * BOMB_BYTES, b"\x00" * BOMB_BYTES, b'{"a":"' + b"x" * BOMB_BYTES + b'"}')
    return tuple(
        (name, pack(text)) for text in plain for name, pack in ((b"gzip", gzip.compress), (b"deflate", zlib.compress))
    )


def bomb(chance: Random, token: str) -> bytes:
    """A small body that is a large one when it is decompressed; or none that could be."""
    name, packed = chance.choice(_bombs())
    match chance.randrange(4):
        case 0:
            packed = packed[: len(packed) // 2]
        case 1:
            name = chance.choice((b"br", b"zstd", b"gzip, gzip", b"identity, gzip", b"compress", b"x" * 300, b""))
        case _:
            pass
    return post(chance, token, packed, b"Content-Encoding: " + name)


def deep(chance: Random, token: str) -> bytes:
    """JSON that is nested ten thousand deep."""
    depth = chance.choice((65, 1_000, 10_000, 100_000))
    opening, closing = chance.choice(((b"[", b"]"), (b'{"a":', b"}")))
    inner = opening * depth + b"1" + closing * chance.choice((depth, depth - 1, 0))
    return post(chance, token, chance.choice((inner, b'{"vertical":"prior-auth","inputs":{"x":' + inner + b"}}")))


def _value(chance: Random) -> str:
    digits = "9" * chance.choice((20, 400, 5_000))
    surrogates = ('"\\ud800"', '"\\udfff\\ud800"', '"\\ud83d"', '{"\\udc00":1}')
    return chance.choice(
        (
            "NaN",
            "Infinity",
            "-Infinity",
            digits,
            f"-{digits}",
            f"1e{digits}",
            "1e400",
            "-0",
            "0" * 50,
            "01",
            *surrogates,
        )
    )


def odd_json(chance: Random, token: str) -> bytes:
    """Values that JSON does not have, or that two readers would read in two ways."""
    value = _value(chance)
    forms = (
        f'{{"vertical":"prior-auth","vertical":{value}}}',
        f'{{"vertical":"prior-auth","inputs":{{"member_id":{value}}}}}',
        f'{{"email":{value},"password":"correct horse"}}',
        f'{{"gate":"signoff","decision":{value}}}',
        f'{{"vertical":"prior-auth","inputs":{{"a":1,"a":{value}}}}}',
        value,
        f"{value} {value}",
        f'{{"a":{value},}}',
        f"/* */{value}",
    )
    return post(chance, token, chance.choice(forms).encode())


def odd_text(chance: Random, token: str) -> bytes:
    """Bodies in other encodings, or in none."""
    text = json.dumps(START)
    bodies = (
        b"\xef\xbb\xbf" + text.encode(),
        text.encode("utf-16"),
        text.encode("utf-32"),
        text.encode()[:-5] + b"\xff\xfe",
        b'{"vertical":"\xc0\xaf"}',
        b'{"vertical":"\xed\xa0\x80"}',
        b'{"email":"a\x00@b.test","password":"correct horse"}',
        b'{"email":"a\\u0000@b.test","password":"\\u0000\\u0000\\u0000\\u0000\\u0000\\u0000\\u0000\\u0000"}',
        chance.randbytes(chance.randint(1, 2_000)),
    )
    media = (
        b"application/json",
        b"application/json; charset=utf-7",
        b"text/plain",
        b"",
        b"a",
        b"/",
        b"application/json" * 40,
    )
    return post(chance, token, chance.choice(bodies), b"Content-Type: " + chance.choice(media))


def _any(chance: Random, depth: int = 3) -> Any:
    match chance.randrange(9 if depth else 7):
        case 0 | 1:
            return chance.choice(
                ("", "x", "prior-auth", "signoff", "approved", "\x00", "x" * 1_000, "🐙", "../..", "{}")
            )
        case 2:
            return chance.choice((0, 1, -1, 2**31, 2**53, 2**63 - 1, -(2**63)))
        case 3:
            return chance.choice((0.0, -0.0, 1e308, 5e-324, 1.5))
        case 4:
            return chance.choice((True, False))
        case 5 | 6:
            return None
        case 7:
            return [_any(chance, depth - 1) for _ in range(chance.randrange(4))]
        case _:
            names = (
                "vertical",
                "inputs",
                "auto_resolve",
                "email",
                "password",
                "company_name",
                "gate",
                "decision",
                "digest",
                "base_url",
                "x",
            )
            return {chance.choice(names): _any(chance, depth - 1) for _ in range(chance.randrange(6))}


def odd_body(chance: Random, token: str) -> bytes:
    """JSON of any shape, sent to any address by any method."""
    value = _any(chance)
    while not isinstance(value, dict) and chance.random() < 0.8:
        value = _any(chance)
    raw = json.dumps(value).encode()
    path = chance.choice((*POSTS, *GETS, "/connectors/x", f"/process-runs/{UNKNOWN}/cancel"))
    method = chance.choice(("POST", "PUT", "PATCH", "DELETE", "GET"))
    return head(method, path, token, b"Content-Type: application/json", b"Content-Length: %d" % len(raw)) + raw
