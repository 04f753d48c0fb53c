"""The process that evaluates signal rules and maps over responses."""

from __future__ import annotations

import msgspec

from daemon.connectors.responses.response_map import mapped
from daemon.runtime.worker_process import serve
from daemon.templates.cel import signal_of


def _answer(request: bytes) -> bytes:
    rule, status, body = msgspec.json.decode(request)
    return msgspec.json.encode(mapped(rule, body) if isinstance(rule, dict) else signal_of(rule, status, body))


if __name__ == "__main__":
    serve(_answer)
