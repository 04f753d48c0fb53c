"""The parameters of requests and the headers of answers, as the OpenAPI document describes them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from daemon.contract.runs import STATUSES
from daemon.web.bodies import KEY_CHARS_MAX, LIMIT_DEFAULT, LIMIT_MAX

ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""The id of a run or a webhook."""


TOOL_ID = r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}"
DIGEST = r"sha256:[0-9a-f]{64}"
NUMBER_MAX = 10**18 - 1
STRING = {"type": "string"}

PATH: Mapping[str, Any] = {
    "run_id": {"type": "string", "format": "uuid"},
    "tool_id": {"type": "string", "pattern": f"^{TOOL_ID}$"},
    "vertical": {"type": "string", "minLength": 1},
    "webhook_id": {"type": "string", "format": "uuid"},
    "delivery_id": {"type": "string", "format": "uuid"},
}
QUERY: Mapping[str, Any] = {
    "after": {"type": "integer", "minimum": 0, "maximum": NUMBER_MAX, "default": 0},
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
    "limit": {"type": "integer", "minimum": 1, "maximum": LIMIT_MAX, "default": LIMIT_DEFAULT},
    "parked_at": STRING,
    "status": {"type": "string", "enum": list(STATUSES)},
    "vertical": STRING,
    "view": {"type": "string", "enum": ["summary"], "description": "summary leaves inputs, facts and trace out"},
}
HEADERS: Mapping[str, Any] = {
    "Idempotency-Key": {
        "type": "string",
        "minLength": 1,
        "maxLength": KEY_CHARS_MAX,
        "pattern": "^[!-~]([ -~]*[!-~])?$",
    },
    "If-Match": {"type": "string", "description": "The ETag of the run that was seen"},
    "If-None-Match": {"type": "string", "description": "The ETag of the run that is known already"},
    "Last-Event-ID": {"type": "string", "description": "The id of the event that was received last; for a stream"},
    "Prefer": {"type": "string", "description": "respond-async, or wait=N seconds for the run to rest"},
    "traceparent": {"type": "string", "description": "W3C trace context, passed on to connectors"},
}
ANSWERED: Mapping[str, Any] = {
    "ETag": {"description": "The version of the run", "required": True, "schema": STRING},
    "Link": {"description": 'The next page, where there is one: <…>; rel="next"', "schema": STRING},
    "Location": {"description": "The address of the run", "schema": STRING},
    "X-Request-ID": {"description": "The id of the request", "required": True, "schema": STRING},
}
