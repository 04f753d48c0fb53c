"""The process that evaluates signal rules and maps over responses."""

from __future__ import annotations

import msgspec

from daemon.connectors.responses.response_map import MAPPED_BYTES_MAX, mapped
from daemon.runtime.worker_process import serve
from daemon.templates.cel import signal_of


def _answer(request: bytes) -> bytes:
    rule, status, body = msgspec.json.decode(request)
    if not isinstance(rule, dict):
        return msgspec.json.encode(signal_of(rule, status, body))
    found = msgspec.json.encode(mapped(rule, body))
    return found if len(found) <= MAPPED_BYTES_MAX else b""


if __name__ == "__main__":
    serve(_answer)
