"""What all requests that nobody should send are made of."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

UNKNOWN = "01990000-0000-7000-8000-000000000000"
POSTS = ("/auth/login", "/auth/register", "/process-runs/", f"/process-runs/{UNKNOWN}/resume", "/connectors/x/test")
GETS = ("/auth/me", "/process-runs/", "/process-templates/", "/connectors/", f"/process-runs/{UNKNOWN}", "/health")
START = {"vertical": "prior-auth", "inputs": {"member_id": "M-1", "procedure_code": "70551", "diagnosis": "G43.909"}}
Kind = Callable[[Random, str], bytes]


def head(method: str, path: str, token: str, *lines: bytes) -> bytes:
    """A request's head with further lines as they are."""
    first = f"{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n".encode()
    return first + b"".join(line + b"\r\n" for line in lines) + b"\r\n"


def post(chance: Random, token: str, body: bytes, *lines: bytes, path: str | None = None) -> bytes:
    """A POST whose framing is right."""
    length = b"Content-Length: %d" % len(body)
    own = (
        lines
        if any(line.lower().startswith(b"content-type") for line in lines)
        else (b"Content-Type: application/json", *lines)
    )
    return head("POST", path or chance.choice(POSTS), token, length, *own) + body
