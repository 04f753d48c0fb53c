"""The parameters of requests and the headers of answers, as the OpenAPI document describes them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from daemon.contract.runs import STATUSES

KEY_CHARS_MAX = 255
LIMIT_DEFAULT = 50
LIMIT_MAX = 200
ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""The id of a run or a webhook."""
TOOL_ID = r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}"
DIGEST = r"sha256:[0-9a-f]{64}"
NUMBER_MAX = 10**18 - 1
STRING = {"type": "string"}

PATH: Mapping[str, Any] = {
    "run_id": {"type": "string", "format": "uuid", "description": "The id of a run"},
    "tool_id": {"type": "string", "pattern": f"^{TOOL_ID}$", "description": "The tool that a template names"},
    "vertical": {"type": "string", "minLength": 1, "description": "The name of a template"},
    "webhook_id": {"type": "string", "format": "uuid", "description": "The id of a webhook"},
    "delivery_id": {"type": "string", "format": "uuid", "description": "The id of a delivery"},
}
QUERY: Mapping[str, Any] = {
    "after": {
        "type": "integer",
        "minimum": 0,
        "maximum": NUMBER_MAX,
        "default": 0,
        "description": "The number of the event that was seen last",
    },
    "after /events/": {
        "type": "string",
        "pattern": "^(0|[0-9]{1,18}-[0-9]{1,9})$",
        "description": "The id of the event that was seen last; 0 for the beginning",
    },
    "cursor": {"type": "string", "description": "From the Link header of the page before"},
    "digest": {
        "type": "string",
        "pattern": f"^{DIGEST}$",
        "description": "Of the version that a run is pinned to; the current one without it",
    },
    "limit": {
        "type": "integer",
        "minimum": 1,
        "maximum": LIMIT_MAX,
        "default": LIMIT_DEFAULT,
        "description": "How many entries a page has at most",
    },
    "parked_at": {**STRING, "description": "Only runs parked at this step"},
    "status": {**STRING, "enum": list(STATUSES), "description": "Only runs with this status"},
    "vertical": {**STRING, "description": "Only runs of this template"},
    "view": {"type": "string", "enum": ["summary"], "description": "summary leaves inputs, facts and trace out"},
}
HEADERS: Mapping[str, Any] = {
    "Idempotency-Key": {
        "type": "string",
        "minLength": 1,
        "maxLength": KEY_CHARS_MAX,
        "pattern": "^[!-~]([ -~]*[!-~])?$",
        "description": "Requests with the same key count once and get the same response",
    },
    "If-Match": {"type": "string", "description": "The ETag of the run that was seen"},
    "If-None-Match": {"type": "string", "description": "The ETag of the run that is known already"},
    "Last-Event-ID": {"type": "string", "description": "The id of the event that was received last; for a stream"},
    "Prefer": {"type": "string", "description": "respond-async, or wait=N seconds for the run to rest"},
    "traceparent": {"type": "string", "description": "W3C trace context, passed on to connectors"},
}
RESPONSE_HEADERS: Mapping[str, Any] = {
    "ETag": {"description": "The version of the run", "required": True, "schema": STRING},
    "Link": {"description": 'The next page, where there is one: <…>; rel="next"', "schema": STRING},
    "Location": {"description": "The address of what was created", "schema": STRING},
    "Retry-After": {"description": "Seconds to wait before the next attempt", "schema": {"type": "integer"}},
    "WWW-Authenticate": {"description": "How to authenticate: Bearer", "schema": STRING},
    "X-Request-ID": {"description": "The id of the request", "required": True, "schema": STRING},
}
PROBLEM_HEADERS: Mapping[int, tuple[str, ...]] = {
    401: ("WWW-Authenticate",),
    429: ("Retry-After",),
    503: ("Retry-After",),
}
WEBHOOK_HEADERS: Mapping[str, Any] = {
    "webhook-id": {**STRING, "description": "The id of the message, the same each time that it is sent"},
    "webhook-timestamp": {**STRING, "description": "When it was sent, in seconds since 1970"},
    "webhook-signature": {**STRING, "description": "v1 and the HMAC-SHA256 of id, timestamp and body in Base64"},
}
