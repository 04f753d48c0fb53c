"""What the hash chain covers of an event, written from the guide alone."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import rfc8785

NAMED = ("form", "forms", "inputs", "output", "payload")
WHOLE = (
    "business_key",
    "calls",
    "comment",
    "differences",
    "digest",
    "effects",
    "error",
    "question",
    "recorded",
    "signal",
    "vote",
    "votes",
)
ENDS = ("run_ended", "compensation_began")


def covered(event: dict[str, Any]) -> bytes:
    """The bytes that are hashed behind the hash of the event before."""
    if "$salt" not in event:
        return rfc8785.dumps(event)
    salts = _salts(bytes.fromhex(event["$salt"]))
    event = {name: value for name, value in event.items() if name != "$salt"}
    for name in sorted(event):
        event[name] = _committed(event, name, salts)
    return b"\x02" + rfc8785.dumps(event)


def _salts(salt: bytes) -> Iterator[bytes]:
    for begins in (0, *range(80, 4096, 64)):
        block = hashlib.sha512(salt + (begins.to_bytes(4, "big") if begins else b"")).digest()
        yield from (block[at : at + 16] for at in range(0, 64, 16))


def _committed(event: dict[str, Any], name: str, salts: Iterator[bytes]) -> Any:
    value = event[name]

    def commitment(one: Any) -> str:
        return hashlib.sha256(next(salts) + rfc8785.dumps(one)).hexdigest()

    if value in (None, {}) or isinstance(value, bool):
        return value
    if name in NAMED and isinstance(value, dict):
        return {one: commitment(value[one]) for one in sorted(value, key=lambda one: one.encode("utf-16-be"))}
    if name == "request":
        return {
            one: commitment(value[one]) if one in ("body", "url") and value[one] is not None else value[one]
            for one in sorted(value)
        }
    if name == "effects" and all(one["request"] is None for one in value):
        return value
    if name in (*NAMED, *WHOLE) or (name == "reason" and event["type"] in ENDS):
        return commitment(value)
    return value
