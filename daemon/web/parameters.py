"""The parameters of requests and the headers of answers, as the OpenAPI document describes them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from actors.core.people import GATE_ROLES, GROUP_NAME
from daemon.contract.company import COUNTRY, SUBDIVISION, YEAR_MAX, YEAR_MIN
from daemon.contract.lists import LISTS, NAME_CHARS_MAX
from daemon.contract.runs import STATUSES
from daemon.contract.templates import TIERS
from daemon.model.inbox import GATE_ORDERS

KEY_CHARS_MAX = 255
LIMIT_DEFAULT = 50
LIMIT_MAX = 200
ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""The id of a run or a webhook."""
TOOL_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
SERVER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""The name of a server of agents."""
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
NUMBER_MAX = 10**18 - 1
STRING = {"type": "string"}


def _string(description: str, **limits: Any) -> dict[str, Any]:
    return {"type": "string", **limits, "description": description}


def _integer(description: str, least: int, most: int, default: int) -> dict[str, Any]:
    return {"type": "integer", "minimum": least, "maximum": most, "default": default, "description": description}


PATH: Mapping[str, Any] = {
    "company_id": _string("The id of the caller's company", format="uuid"),
    "member_id": _string("The id of a member", format="uuid"),
    "key_id": _string("The id of an API key", format="uuid"),
    "change_id": _string("The id of a change that waits for approval", format="uuid"),
    "delegation_id": _string("The id of a delegation", format="uuid"),
    "run_id": _string("The id of a run", format="uuid"),
    "action_id": _string("The id of an action, which is that of its run", format="uuid"),
    "name": _string("The name of a group", pattern=f"^{GROUP_NAME}$"),
    "step_id": _string("The step at which a run is parked", minLength=1),
    "question_id": _string("The id of a question at a gate", format="uuid"),
    "server": _string("The name of an MCP server", pattern=f"^{SERVER.pattern}$"),
    "session_id": _string("The id of a session", format="uuid"),
    "tool_id": _string("The tool that a template names", pattern=f"^{TOOL_ID.pattern}$"),
    "vertical": _string("The name of a template", minLength=1),
    "list": _string("The list that a view is of", enum=list(LISTS)),
    "view": _string("The name of a saved view", minLength=1, maxLength=NAME_CHARS_MAX),
    "version": _string("The number of a version", pattern="^[1-9][0-9]{0,8}$"),
    "webhook_id": _string("The id of a webhook", format="uuid"),
    "notification_id": _string("The id of a notification", format="uuid"),
    "verdict_id": _string("The id of a verdict", format="uuid"),
    "token": _string("The token of a call, as its URL has it", minLength=1, maxLength=1_000),
    "delivery_id": _string("The id of a delivery", format="uuid"),
}
QUERY: Mapping[str, Any] = {
    "after": _integer("The number of the event that was seen last", 0, NUMBER_MAX, 0),
    "after /events/": _string(
        "The id of the event that was seen last; 0 for the beginning",
        pattern="^(0|[A-Za-z0-9_-]{38}|[0-9]{1,18}-[0-9]{1,9})$",
    ),
    "before": _string(
        "The id of the event that the page ends before, the newest first",
        pattern="^([A-Za-z0-9_-]{38}|[0-9]{1,18}-[0-9]{1,9})$",
    ),
    "by_kind": _string("Only decisions of people, or of deadlines", enum=["person", "deadline"]),
    "closed": _string("true: only decisions that closed their gate", enum=["true", "false"]),
    "country": _string("The ISO 3166-1 code of a country", pattern=f"^{COUNTRY}$"),
    "cursor": _string("From the Link header of the page before"),
    "digest": _string(
        "Of the version that a run is pinned to; the current one without it", pattern=f"^{DIGEST.pattern}$"
    ),
    "decision": _string("Only this decision"),
    "first_day": _string("The first day, of UTC; 30 days up to the last one without it", format="date"),
    "bom": _string("true begins a CSV with a byte order mark, by which Excel knows UTF-8", enum=["true", "false"]),
    "sep": _string("What separates the cells of a CSV; Excel in German and Spanish takes ;", enum=[",", ";"]),
    "format": _string("csv answers the list as CSV, whole unless a page is asked for", enum=["json", "csv"]),
    "last_day": _string("The last day, of UTC; today without it", format="date"),
    "limit": _integer("How many entries a page has at most", 1, LIMIT_MAX, LIMIT_DEFAULT),
    "business_key": _string("Only runs with this business key"),
    "due_before": _string("Only gates that are due before this time, by deadline or clock", format="date-time"),
    "clock_due_before": _string("Only runs of which a clock is due before this time, or was", format="date-time"),
    "created_after": _string("Only runs that started at this time or later", format="date-time"),
    "created_before": _string("Only runs that started before this time", format="date-time"),
    "created_by": _string("Only runs that this person, or this machine, started: an e-mail address or a key's name"),
    "group": _string("Only gates for this group"),
    "id": _string("Only runs whose id begins like this", pattern="^[0-9a-f-]{1,36}$"),
    "list": _string("Only views of this list", enum=list(LISTS)),
    "opened_before": _string("Only gates that opened before this time", format="date-time"),
    "order": _string("urgency: by due time, risk and age; risk: by risk and age; or by age", enum=list(GATE_ORDERS)),
    "role": _string("Only gates that ask for this role", enum=list(GATE_ROLES)),
    "run_id": _string("Only gates of this run"),
    "by": _string("Only what this person or machine did: an e-mail address or a key's name"),
    "since": _string("Only what happened at this time or later", format="date-time"),
    "until": _string("Only what happened before this time", format="date-time"),
    "type": _string("Only events of these types, with commas between", pattern="^[a-z_]+(,[a-z_]+)*$"),
    "q /events/": _string("Only events whose JSON holds this text; A to Z count as small letters"),
    "q /audit/log": _string("Only events whose JSON holds this text; A to Z count as small letters"),
    "q /process-runs/": _string("Words of ids, templates, business keys, people and input values of runs"),
    "agent": _string("The name of one agent"),
    "tool": _string("Only actions of this tool"),
    "server": _string("Only actions of tools of this server"),
    "outcome": _string("Only actions that came to this; `unknown` are those in doubt"),
    "rule": _string("Only actions about which the rule of this id decided"),
    "mine": _string("true: only gates at which the caller may decide", enum=["true", "false"]),
    "opened_from": _string("Only gates that opened at this time or later", format="date-time"),
    "overdue": _string("true: only gates whose deadline has passed", enum=["true", "false"]),
    "parked_at": _string("Only runs parked at this step"),
    "q": _string("Words of labels, business keys and input values; each may be the beginning of one"),
    "tier": _string("Only gates of this tier", enum=list(TIERS)),
    "step_id": _string("Only this step"),
    "tool_id": _string("Only calls of this tool"),
    "status": _string("Only runs with this status", enum=list(STATUSES)),
    "vertical": _string("Only runs of this template"),
    "subdivision": _string("The code of a part of the country, such as a state", pattern=f"^{SUBDIVISION}$"),
    "view": _string("summary leaves inputs, facts and trace out; row has what a list shows", enum=["summary", "row"]),
    "view /actions/": _string("summary leaves inputs, facts and trace out", enum=["summary"]),
    "view /gates/": _string("row has what a list shows", enum=["row"]),
    "year": {"type": "integer", "minimum": YEAR_MIN, "maximum": YEAR_MAX, "description": "A year"},
}
REQUIRED = frozenset({"country", "year", "Idempotency-Key /actions/"})
"""The parameters of queries and headers that cannot be left out, some at one path alone."""
HEADERS: Mapping[str, Any] = {
    "Idempotency-Key": _string(
        "Requests of a caller with the same key count once and get the same response",
        minLength=1,
        maxLength=KEY_CHARS_MAX,
        pattern="^[!-~]([ -~]*[!-~])?$",
    ),
    "If-Match": _string("The ETag of the run, the draft or the rules that were seen"),
    "If-None-Match": _string("The ETag of the run or draft that is known already; * where none is to be replaced"),
    "Last-Event-ID": _string("The id of the event that was received last; for a stream"),
    "Prefer": _string("respond-async, or wait=N seconds for the run to rest"),
    "traceparent": _string("W3C trace context, passed on to connectors"),
}
RESPONSE_HEADERS: Mapping[str, Any] = {
    "ETag": {
        "description": "The version of the run or of the rules, or the digest of the draft",
        "required": True,
        "schema": STRING,
    },
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
    "webhook-id": _string("The id of the message, the same each time that it is sent"),
    "webhook-timestamp": _string("When it was sent, in seconds since 1970"),
    "webhook-signature": _string("v1 and the HMAC-SHA256 of id, timestamp and body in Base64"),
}
