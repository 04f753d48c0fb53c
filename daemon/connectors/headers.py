"""The headers of a call: its key, its run and step, and its trace."""

from __future__ import annotations

import hashlib

from actors.core.messages import Call


def headers_of(call: Call) -> dict[str, str]:
    """The headers of every call besides its credential."""
    return {
        "Idempotency-Key": call.key,
        "X-Penstock-Run": call.run_id,
        "X-Penstock-Step": call.step_id,
        "traceparent": traceparent(call),
    }


def traceparent(call: Call) -> str:
    """The W3C trace context of a call: the caller's trace, else one per run; a span per visit."""
    span = hashlib.sha256(call.key.encode()).hexdigest()[:16]
    if call.traceparent is not None:
        version, trace, _, flags = call.traceparent.split("-")
        return f"{version}-{trace}-{span}-{flags}"
    trace = hashlib.sha256(call.run_id.encode()).hexdigest()[:32]
    return f"00-{trace}-{span}-01"
