"""The contract as it is served: as OpenAPI for programs, as a page for people."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
from collections.abc import Iterable, Mapping
from functools import cache
from html import escape
from typing import Any

from aiohttp import web

from daemon.runtime.json_codec import dumps
from daemon.web.openapi.document import document
from daemon.web.problems import codes
from daemon.web.responses import JSON
from daemon.web.services import SERVICES

STYLE = """\
:root{color-scheme:light dark}
body{font:1rem/1.5 system-ui,sans-serif;max-width:64rem;margin:2rem auto;padding:0 1rem}
h3{margin:2.5rem 0 .25rem}
code,pre{font-family:ui-monospace,monospace;font-size:.9em}
pre{overflow:auto;padding:.75rem;border:1px solid #8886}
table{border-collapse:collapse;margin:.5rem 0}
td,th{text-align:left;vertical-align:top;padding:.2rem 1.25rem .2rem 0;border-bottom:1px solid #8884}
nav ul{columns:2;list-style:none;padding:0}
"""
CSP = (
    f"default-src 'none'; style-src 'sha256-{base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()}'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
LIMITS = ("format", "pattern", "minLength", "maxLength", "minimum", "exclusiveMinimum", "maximum", "default")


async def show(request: web.Request) -> web.Response:
    body = await asyncio.to_thread(_written, request.app[SERVICES].version)
    return web.Response(body=body, headers={"Content-Type": JSON})


async def page(request: web.Request) -> web.Response:
    html = await asyncio.to_thread(_readable, request.app[SERVICES].version)
    headers = {"Content-Security-Policy": CSP, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}
    return web.Response(text=html, content_type="text/html", headers=headers)


# Making the document takes as long as hundreds of requests: once, and in a thread.
@cache
def _written(version: str) -> bytes:
    return dumps(document(version))


@cache
def _readable(version: str) -> str:
    found = document(version)
    """The document as one page without a script: every operation, every webhook, every model."""
    info, shared = found["info"], found["components"]
    operations = [
        (f"{verb.upper()} {path}", one) for path, each in found["paths"].items() for verb, one in each.items()
    ]
    hooks = [(name, one["post"]) for name, one in found["webhooks"].items()]
    parts = [
        f"<h1>{escape(info['title'])} {escape(info['version'])}</h1><p>{escape(info['description'])} ",
        "For programs: <a href='/openapi.json'>openapi.json</a>. Operations that are not marked as ",
        "public need <code>Authorization: Bearer …</code>.</p><nav><ul>",
        *(f"<li><a href='#{one['operationId']}'>{_code(title)}</a></li>" for title, one in operations),
        "</ul></nav>",
    ]
    for tag in found["tags"]:
        parts.append(f"<h2>{escape(tag['name'])}</h2><p>{escape(tag['description'])}</p>")
        parts += (_operation(title, one) for title, one in operations if tag["name"] in one["tags"])
    parts.append("<h2>Notifications to webhooks</h2>")
    parts += (_operation(name, one) for name, one in hooks)
    parts.append("<h2 id='refusals'>Refusals</h2>")
    refusals = ((_code(code), str(status), "later" if again else "") for code, status, again in codes())
    parts.append(_table(("code", "status", "repeat it?"), refusals))
    parts.append("<h2>Models</h2>")
    parts += (
        _model(name, one, shared["examples"].get(name, {}).get("value")) for name, one in shared["schemas"].items()
    )
    head = f"<meta charset=utf-8><title>Penstock</title><style>{STYLE}</style>"
    return f"<!doctype html><html lang=en><head>{head}</head><body>{''.join(parts)}</body></html>"


def _operation(title: str, one: Mapping[str, Any]) -> str:
    head = f"<h3 id='{one['operationId']}'>{_code(title)}</h3><p><b>{escape(one['summary'])}.</b> "
    text = f"{escape(one['description'])}{' (public)' if one.get('security') == [] else ''}</p>"
    rows = [(_code(given["name"]), given["in"], _type(given["schema"])) for given in one["parameters"]]
    if "requestBody" in one:
        body = one["requestBody"]
        rows.append(("body", "JSON" if body["required"] else "JSON, or none", _content(body)))
    each = one["responses"].items()
    responses = [(_code(status), escape(it["description"]), _content(it)) for status, it in each if "$ref" not in it]
    refused = ", ".join(_code(status) for status, it in each if "$ref" in it)
    if refused:
        responses.append((refused, "<a href='#refusals'>refused</a>", "<a href='#ProblemDetails'>ProblemDetails</a>"))
    return f"{head}{text}{_table(('parameter', 'in', 'type'), rows)}{_table(('status', '', 'body'), responses)}"


def _content(answer: Mapping[str, Any]) -> str:
    return ", ".join(f"{_type(held['schema'])} as {escape(media)}" for media, held in answer.get("content", {}).items())


def _model(name: str, model: Mapping[str, Any], example: Any) -> str:
    required, examples = model.get("required", ()), model.get("examples", [] if example is None else [example])
    fields = [
        (_code(field), _type(schema), "required" if field in required else "")
        for field, schema in model.get("properties", {}).items()
    ]
    shown = "".join(f"<pre>{escape(json.dumps(one, indent=2, ensure_ascii=False))}</pre>" for one in examples)
    text = f"<p>{escape(model.get('description', ''))}</p>"
    return f"<h3 id='{escape(name)}'>{escape(name)}</h3>{text}{_table(('field', 'type', ''), fields)}{shown}"


def _type(schema: Mapping[str, Any]) -> str:
    """A schema in a few words, with links to the models that it names."""
    if "$ref" in schema:
        name = escape(schema["$ref"].rsplit("/", 1)[1])
        return f"<a href='#{name}'>{name}</a>"
    if "anyOf" in schema:
        kinds = " or ".join(_type(one) for one in schema["anyOf"])
    elif "enum" in schema or "const" in schema:
        kinds = " | ".join(_code(one) for one in schema.get("enum", (schema.get("const"),)))
    elif schema.get("type") == "array":
        kinds = f"list of {_type(schema['items'])}"
    elif isinstance(schema.get("additionalProperties"), Mapping):
        kinds = f"object of {_type(schema['additionalProperties'])}"
    else:
        kinds = escape(str(schema.get("type", "any JSON value")))
    limits = ", ".join(f"{name} {_code(schema[name])}" for name in LIMITS if schema.get(name) is not None)
    notes = "; ".join(filter(None, (limits, escape(schema.get("description", "")))))
    return f"{kinds} ({notes})" if notes else kinds


def _table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><tr>{''.join(f'<th>{head}</th>' for head in heads)}</tr>{lines}</table>" if lines else ""


def _code(value: object) -> str:
    return f"<code>{escape(str(value))}</code>"
