"""The contract as it is served: as OpenAPI for programs, as a page for people."""

from __future__ import annotations

import asyncio
import base64
import hashlib
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
    """GET /openapi.json."""
    body = await asyncio.to_thread(_written, request.app[SERVICES].version)
    return web.Response(body=body, headers={"Content-Type": JSON})


async def page(request: web.Request) -> web.Response:
    """GET /docs."""
    html = await asyncio.to_thread(_readable, request.app[SERVICES].version)
    headers = {"Content-Security-Policy": CSP, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}
    return web.Response(text=html, content_type="text/html", headers=headers)


# Making the document takes as long as hundreds of requests: once, and in a thread.
@cache
def _written(version: str) -> bytes:
    return dumps(document(version))


@cache
def _readable(version: str) -> str:
    return readable(document(version))


def readable(found: Mapping[str, Any]) -> str:
    """The document as one page without a script: every operation, then every model."""
    operations = [(method.upper(), path, one) for path, all_ in found["paths"].items() for method, one in all_.items()]
    info = found["info"]
    parts = [
        f"<h1>{escape(info['title'])} {escape(info['version'])}</h1><p>{escape(info['description'])} ",
        "For programs: <a href='/openapi.json'>openapi.json</a>. All but the addresses marked as open need ",
        "<code>Authorization: Bearer …</code>.</p><nav><ul>",
        *(f"<li><a href='#{_place(m, p)}'><code>{m} {escape(p)}</code></a></li>" for m, p, _ in operations),
        "</ul></nav><h2>Operations</h2>",
        *(_operation(*one, found["components"]["responses"]) for one in operations),
        "<h2>Refusals</h2>",
        _table(
            ("code", "status", "repeat it?"),
            ((_code(code), str(status), "later" if again else "") for code, status, again in codes()),
        ),
        "<h2>Models</h2>",
        *(_model(name, model) for name, model in found["components"]["schemas"].items()),
    ]
    head = f"<meta charset=utf-8><title>Penstock</title><style>{STYLE}</style>"
    return f"<!doctype html><html lang=en><head>{head}</head><body>{''.join(parts)}</body></html>"


def _operation(method: str, path: str, one: Mapping[str, Any], shared: Mapping[str, Any]) -> str:
    title = f"<h3 id='{_place(method, path)}'><code>{method} {escape(path)}</code></h3>"
    line = f"<p>{escape(one['summary'])}{' (open)' if one.get('security') == [] else ''}</p>"
    rows = [(_code(given["name"]), given["in"], _type(given["schema"])) for given in one["parameters"]]
    if "requestBody" in one:
        content = one["requestBody"]["content"]["application/json"]["schema"]
        rows.append(("the body", "JSON" if one["requestBody"]["required"] else "JSON, or none", _type(content)))
    alike: dict[tuple[str, str], list[str]] = {}
    for status, given in sorted(one["responses"].items()):
        answer = shared[given["$ref"].rsplit("/", 1)[1]] if "$ref" in given else given
        alike.setdefault((escape(answer["description"]), _content(answer)), []).append(_code(status))
    answers = [(", ".join(statuses), text, content) for (text, content), statuses in alike.items()]
    return f"{title}{line}{_table(('takes', 'in', 'as'), rows)}{_table(('answers', '', 'with'), answers)}"


def _content(answer: Mapping[str, Any]) -> str:
    """What an answer holds, by its media type."""
    return ", ".join(f"{_type(held['schema'])} as {escape(media)}" for media, held in answer.get("content", {}).items())


def _model(name: str, model: Mapping[str, Any]) -> str:
    required = model.get("required", ())
    fields = [
        (_code(field), _type(schema), "required" if field in required else "")
        for field, schema in model.get("properties", {}).items()
    ]
    examples = "".join(f"<pre>{escape(dumps(one).decode())}</pre>" for one in model.get("examples", ()))
    text = f"<p>{escape(model.get('description', ''))}</p>"
    return f"<h3 id='{escape(name)}'>{escape(name)}</h3>{text}{_table(('field', 'type', ''), fields)}{examples}"


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


def _place(method: str, path: str) -> str:
    """The anchor of an operation."""
    return escape(f"{method}{path}".lower().replace("{", "").replace("}", ""))


def _code(value: object) -> str:
    return f"<code>{escape(str(value))}</code>"
