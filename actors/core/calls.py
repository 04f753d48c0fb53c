"""The call that a task makes: the request, computed before anything is sent."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from string import printable
from typing import Any, Literal
from urllib.parse import quote, unquote, urlencode, urlsplit

from msgspec import Struct, field

from actors.core.canonical import canonical
from actors.core.template import ConditionFailed, Node

Mode = Literal["shadow", "live", "handed"]
"""A call that is `handed` over is made by who asked for it."""
Protocol = Literal["mcp"]
AuthType = Literal["none", "bearer", "header", "basic", "oauth2", "mtls"]
MASK = "***"
DIFFERENCES_MAX = 20
SHOWN_MAX = 200
"""Characters of a value that differs."""
BODILESS = frozenset({"GET", "DELETE"})
CONSTANT = "value"
"""The member of a map's object that is sent as it stands."""
PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


class Connector(Struct, frozen=True):
    """The binding of a tool-id to an HTTP API, without its secret; changes raise `version`.

    A path may name keys of the run, as in `/members/{inputs.member_id}`. `headers` are sent as they
    stand. `response_map` makes the output: JMESPath over the response by the name of a member. The
    answer of a `callback` comes later, at a URL of the service, within `callback_timeout_s`. What a
    map sends under a name is a key of the run, or a constant: `{"value": …}`. One with a `protocol`
    is a tool of a server, `server/tool`, which takes the run's inputs as its arguments.
    """

    tool_id: str
    version: int
    base_url: str
    method: str
    path: str
    auth_type: AuthType = "none"
    auth_header: str | None = None
    query_map: dict[str, Any] | None = None
    body_map: dict[str, Any] | None = None
    signal_rule: str | None = None
    reversible: bool = False
    idempotent: bool = False
    timeout_s: float = 10.0
    retries: int = 3
    headers: dict[str, str] | None = None
    response_map: dict[str, str] | None = None
    token_url: str | None = None
    client_id: str | None = None
    scope: str | None = None
    audience: str | None = None
    callback: bool = False
    callback_timeout_s: float = 86_400.0
    protocol: Protocol | None = None


class StoredBinding(Connector, frozen=True):
    """A connector, and who changed it last."""

    changed_by: str | None = None


Connectors = Mapping[str, Connector]


class CallRequest(Struct, frozen=True, gc=False, kw_only=True):
    """A call as it is sent, or in shadow mode would be; credentials are masked."""

    body: dict[str, Any] | None = None
    connector_version: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    idempotent: bool = False
    method: str | None = None
    mode: Mode
    tool: str
    url: str | None = None


class PlannedCall(Struct, frozen=True, gc=False, kw_only=True):
    """An irreversible call that these decisions at a gate can lead to.

    `request` is the call itself where nothing can change its content any more; the call of the
    gate's own step stands in the gate.
    """

    connector_version: int | None = None
    decisions: tuple[str, ...]
    label: str
    method: str | None = None
    mode: Mode
    origin: str | None = None
    path: str | None = None
    request: CallRequest | None = None
    step_id: str
    tool: str


class RecordedCall(Struct, frozen=True, gc=False, kw_only=True):
    """A call that a run in shadow would have sent at a step."""

    request: CallRequest
    step_id: str


class Difference(Struct, frozen=True, gc=False, kw_only=True):
    """Where a call is not the recorded one: a JSON pointer into it, and JSON of both values.

    A value that is not there has no text; the pointer of a call that was not recorded is empty.
    """

    now: str | None = None
    pointer: str
    recorded: str | None = None


class Missing(Struct, frozen=True):
    """Keys that a call needs and that are nowhere; `partial` is the call without them."""

    keys: tuple[str, ...]
    partial: CallRequest | None = None


def prepare(node: Node, connectors: Connectors, inputs: dict[str, Any], facts: dict[str, Any]) -> CallRequest | Missing:
    """The request of a task's tool; Missing when mapped keys are not there.

    Without a connector nothing says where or how it would be sent, so the request names the tool
    alone. A call that is handed over has the inputs as they are.
    """
    tool = node.tool or node.id
    connector = connectors.get(tool)
    if connector is None:
        return CallRequest(tool=tool, mode="handed", body=inputs) if node.handed else _unbound(tool)
    return _prepared(tool, connector, inputs, facts, {}, live=_live(connector, node))


def _live(connector: Connector, node: Node) -> bool:
    """Whether calls are sent: of a server those that only read are, though it is not live."""
    return connector.reversible or (connector.protocol is not None and node.effect == "read")


def _prepared(
    tool: str,
    connector: Connector,
    inputs: dict[str, Any],
    facts: dict[str, Any],
    more: dict[str, Any],
    *,
    live: bool,
) -> CallRequest | Missing:
    """The request to a connector; `more` is what its mappings know beside inputs and facts."""
    carried = {"inputs": inputs, "facts": facts, **more}
    facts = {**facts, **more} if more else facts
    absent: dict[str, None] = {}
    mapped = _nested(_mapped(connector.body_map, inputs, facts, absent))
    query = _mapped(connector.query_map, inputs, facts, absent)
    path = _path(connector.path, inputs, facts, absent)
    if mapped is None and query is None:
        mapped = carried if connector.protocol is None else {"name": tool.partition("/")[2], "arguments": inputs}
    request = CallRequest(
        tool=tool,
        mode="live" if live else "shadow",
        method=connector.method,
        url=_url(connector.base_url, path, query or {}),
        headers=_shown_headers(connector),
        body=None if connector.method in BODILESS else mapped,
        connector_version=connector.version,
        idempotent=connector.idempotent,
    )
    return Missing(tuple(absent), request) if absent else request


def prepare_judge(
    tool: str, connector: Connector, inputs: dict[str, Any], facts: dict[str, Any], call: dict[str, Any]
) -> CallRequest | Missing:
    """The request that asks a judge about a call, which its mappings know as `call`."""
    return _prepared(tool, connector, inputs, facts, {"call": call}, live=connector.reversible)


@lru_cache(maxsize=1_024)
def _unbound_plan(step_id: str, label: str, tool: str, decisions: tuple[str, ...], mode: Mode) -> PlannedCall:
    return PlannedCall(step_id=step_id, label=label, tool=tool, decisions=decisions, mode=mode)


@lru_cache
def _unbound(tool: str) -> CallRequest:
    return CallRequest(tool=tool, mode="shadow")


def sendable(request: CallRequest | Missing | None) -> CallRequest | None:
    """The request, if it is complete; in shadow mode a partial one, too."""
    if not isinstance(request, Missing):
        return request
    return request.partial if request.partial is not None and request.partial.mode == "shadow" else None


def shown(request: CallRequest | None) -> dict[str, Any] | None:
    """The request in the form in which people see it and digests cover it."""
    if request is None:
        return None
    return {
        "tool": request.tool,
        "mode": request.mode,
        "method": request.method,
        "url": request.url,
        "headers": request.headers,
        "body": request.body,
        "connector_version": request.connector_version,
    }


def plan(
    node: Node, decisions: tuple[str, ...], connectors: Connectors, request: CallRequest | None = None
) -> PlannedCall:
    """The planned call of a task; without a live connector it is shadowed."""
    tool = node.tool or node.id
    connector = connectors.get(tool)
    if connector is None:
        return _unbound_plan(node.id, node.label, tool, decisions, "handed" if node.handed else "shadow")
    return PlannedCall(
        step_id=node.id,
        label=node.label,
        tool=tool,
        decisions=decisions,
        mode="live" if _live(connector, node) else "shadow",
        connector_version=connector.version,
        origin=_origin(connector.base_url),
        method=connector.method,
        path=connector.path,
        request=request,
    )


def shown_plan(planned: PlannedCall, own: CallRequest | None = None) -> dict[str, Any]:
    """A planned call as people see it and digests cover it; `own` is the call of its step."""
    known = planned.connector_version is not None
    return {
        "step_id": planned.step_id,
        "label": planned.label,
        "tool": planned.tool,
        "decisions": planned.decisions,
        "mode": planned.mode,
        "connector": {
            "origin": planned.origin,
            "method": planned.method,
            "path": planned.path,
            "version": planned.connector_version,
        }
        if known
        else None,
        "call": shown(own or planned.request),
    }


def dry_run(node: Node, inputs: dict[str, Any], facts: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """The output of the first dry run whose condition holds, and whether it is a hit.

    A condition without a clear answer never clears anything: the output then is taken as a hit.
    """
    doubt = False
    for case in node.dry_run:
        try:
            if case.when is None or case.when.holds(inputs, facts):
                return case.output, case.signal or doubt
        except ConditionFailed:
            doubt = True
    return {}, doubt


def look_up(key: str, inputs: dict[str, Any], facts: dict[str, Any]) -> Any | Missing:
    """The value of a dotted key: of the facts, else the inputs; a prefix names one of them."""
    first, _, rest = key.partition(".")
    if first in ("inputs", "facts") and rest:
        return _walk(inputs if first == "inputs" else facts, rest, key)
    found = _walk(facts, key, key)
    return _walk(inputs, key, key) if isinstance(found, Missing) else found


def _walk(value: Any, path: str, key: str) -> Any | Missing:
    for part in path.split("."):
        if not isinstance(value, dict) or part not in value:
            return Missing((key,))
        value = value[part]
    return value


def _mapped(
    names: dict[str, Any] | None, inputs: dict[str, Any], facts: dict[str, Any], absent: dict[str, None]
) -> dict[str, Any] | None:
    """What is sent under each name; the keys that are nowhere are noted as absent."""
    if names is None:
        return None
    values: dict[str, Any] = {}
    for name, source in names.items():
        value = source[CONSTANT] if isinstance(source, dict) else look_up(source, inputs, facts)
        if isinstance(value, Missing):
            absent[source] = None
        else:
            values[name] = value
    return values


def _nested(values: dict[str, Any] | None) -> dict[str, Any] | None:
    """Objects for names with dots; a name within another's value stays as it is."""
    if values is None or not any("." in name for name in values):
        return values
    whole: dict[str, Any] = {}
    made: dict[str, dict[str, Any]] = {"": whole}
    for name, value in values.items():
        parts = name.split(".")
        above = [".".join(parts[:depth]) for depth in range(1, len(parts))]
        if any(one in values for one in above):
            whole[name] = value
            continue
        inner = whole
        for path, part in zip(above, parts, strict=False):
            if path not in made:
                made[path] = inner[part] = {}
            inner = made[path]
        inner[parts[-1]] = value
    return whole


def mapped_keys(connector: Connector) -> tuple[str, ...]:
    """The keys of a run that a connector's maps and path look up."""
    maps = (*(connector.body_map or {}).values(), *(connector.query_map or {}).values())
    return (*(one for one in maps if isinstance(one, str)), *PLACEHOLDER.findall(connector.path))


@lru_cache
def _origin(base_url: str) -> str:
    parts = urlsplit(base_url)
    return f"{parts.scheme}://{parts.netloc}"


def _path(path: str, inputs: dict[str, Any], facts: dict[str, Any], absent: dict[str, None]) -> str:
    """The path with the run's values for its keys, none of which reaches beyond its segment.

    What fits into no segment counts as absent: nothing, a dot or two, an object or a list.
    """
    if "{" not in path:
        return path
    filled: list[str] = []
    path, mark, query = path.partition("?")
    for segment in path.split("/"):
        keys: list[str] = PLACEHOLDER.findall(segment)
        values = {key: _segment(look_up(key, inputs, facts)) for key in keys}
        whole = segment
        for key, value in values.items():
            whole = whole.replace(f"{{{key}}}", value)
        lacking = keys if _climbs(whole) else [key for key in keys if not values[key]]
        absent.update(dict.fromkeys(lacking))
        filled.append(segment if lacking else whole)
    return "/".join(filled) + mark + query


def _climbs(segment: str) -> bool:
    """Whether a server may read a segment as this folder or the one above; some drop parameters."""
    return unquote(segment.partition(";")[0]) in (".", "..")


def _segment(value: Any) -> str:
    """A value as a part of a path; empty if it cannot be one."""
    fits = isinstance(value, str | int | float) and not isinstance(value, bool)
    return quote(_text(value), safe="") if fits else ""


def _url(base_url: str, path: str, query: dict[str, Any]) -> str:
    """The URL as it stands on the wire, so that what is shown is what is sent."""
    base, _, fixed = base_url.partition("?")
    path = path if not path or path.startswith(("/", "?")) else f"/{path}"
    url = base.rstrip("/") + path if path else base
    mapped = urlencode({name: _text(value) for name, value in query.items()}, quote_via=quote)
    for pairs in filter(None, (fixed, mapped)):
        url = f"{url}{'&' if '?' in url else '?'}{pairs}"
    return url if url.isascii() else quote(url, safe=printable)


def _text(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return "null" if value is None else str(value).lower()
    return value if isinstance(value, str) else canonical(value)


def _shown_headers(connector: Connector) -> dict[str, str]:
    shown = dict(connector.headers or {})
    match connector.auth_type:
        case "none" | "mtls":
            return shown
        case "header":
            return {**shown, connector.auth_header or "Authorization": MASK}
        case _:
            return {**shown, "Authorization": MASK}


def differences(recorded: CallRequest | None, now: CallRequest) -> tuple[Difference, ...]:
    """Where a call is not the recorded one, in what reaches the far side."""
    if recorded is None:
        return (Difference(pointer=""),)
    found: list[Difference] = []
    for name in ("method", "url", "headers", "body"):
        _compare(f"/{name}", getattr(recorded, name), getattr(now, name), found)
    return tuple(found[:DIFFERENCES_MAX])


def _compare(pointer: str, recorded: Any, now: Any, found: list[Difference]) -> None:
    if isinstance(recorded, dict) and isinstance(now, dict):
        for name in sorted({*recorded, *now}):
            part = name.replace("~", "~0").replace("/", "~1")
            _compare(f"{pointer}/{part}", recorded.get(name), now.get(name), found)
        return
    before, after = _json(recorded), _json(now)
    if before != after:
        found.append(Difference(pointer=pointer, recorded=_cut(before), now=_cut(after)))


def _json(value: Any) -> str | None:
    return None if value is None else canonical(value)


def _cut(text: str | None) -> str | None:
    return text if text is None or len(text) <= SHOWN_MAX else f"{text[: SHOWN_MAX - 1]}…"
