"""The contract as it is served: as OpenAPI for programs, as a page for people."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from html import escape
from importlib import resources
from typing import Any

from aiohttp import web

from daemon.runtime.json_codec import dumps
from daemon.web.openapi.document import document
from daemon.web.openapi.snippets import LOGIN, curl, needs_token, python
from daemon.web.problems import codes
from daemon.web.responses import JSON
from daemon.web.services import SERVICES

STYLE = """\
.docs{display:grid;grid-template-columns:17rem minmax(0,1fr);gap:2rem;max-width:84rem;margin:0 auto;padding:0 1.5rem}
.docs>nav{position:sticky;top:3.75rem;align-self:start;max-height:calc(100vh - 3.75rem);overflow:auto;padding:1.5rem 0}
.docs nav li{padding-left:1rem;font-size:.8125rem}
.docs nav summary{padding:.2rem 0;cursor:pointer;font-weight:600}
.docs nav a{display:block;padding:.2rem 0;color:var(--text);text-decoration:none}
.docs nav a:hover{text-decoration:underline}
.docs main{width:auto;max-width:none;min-width:0;margin:0;padding:1.5rem 0 6rem}
.docs h2{font-size:1.375rem;margin:3rem 0 .5rem}
.docs h3{font-size:1.0625rem;margin:0 0 .25rem;overflow-wrap:anywhere}
.docs h4{font-size:.8125rem;margin:1rem 0 .25rem;color:var(--muted)}
.docs article{margin:1rem 0;padding:1.25rem;background:var(--surface);border:1px solid var(--line);
border-radius:var(--round)}
.docs p{max-width:46rem;margin:.25rem 0}
.docs table{border-collapse:collapse;margin:.5rem 0;width:100%;font-size:.875rem}
.docs td,.docs th{text-align:left;vertical-align:top;padding:.3rem 1rem .3rem 0;border-bottom:1px solid var(--line);
overflow-wrap:anywhere}
.docs td:first-child{min-width:8rem}
.docs .in{white-space:nowrap}
.docs details>pre{margin-top:.5rem}
.docs article summary{cursor:pointer;padding:.25rem 0;font-size:.875rem}
.docs .verb{display:inline-block;min-width:3.75rem;font-weight:650;color:var(--accent)}
.docs .calls{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(22rem,100%),1fr));gap:0 1rem}
@media (max-width:60rem){.docs{grid-template-columns:minmax(0,1fr);gap:0;padding:0 .75rem}
.docs>nav{position:static;max-height:none;padding-bottom:0}}
"""


CSP = (
    "default-src 'none'; style-src 'self' "
    f"'sha256-{base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()}'; "
    "font-src 'self'; img-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
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
    """The document as one page without a script: every operation, every webhook, every model."""
    found = document(version)
    info, shared, tags = found["info"], found["components"], found["tags"]
    operations = [(verb, path, one) for path, each in found["paths"].items() for verb, one in each.items()]
    grouped = {tag["name"]: [each for each in operations if tag["name"] in each[2]["tags"]] for tag in tags}
    parts = [
        f"<h1>{escape(info['title'])} {escape(info['version'])}</h1><p>{escape(info['description'])} ",
        "For programs: <a href='/openapi.json'>openapi.json</a>. Operations that are not marked as ",
        "public need <code>Authorization: Bearer …</code>. In Python, <code>api</code> is a client that has logged ",
        f"in:</p><pre>{escape(LOGIN)}</pre>",
    ]
    for tag in tags:
        parts.append(f"<h2 id='tag-{tag['name']}'>{escape(tag['name'])}</h2><p>{escape(tag['description'])}</p>")
        parts += (_operation(*each, shared) for each in grouped[tag["name"]])
    parts.append("<h2 id='sent'>Notifications to webhooks</h2>")
    parts += (
        _described(f"<h3 id='{one['post']['operationId']}'>{_code(name)}</h3>", one["post"], "", shared)
        for name, one in found["webhooks"].items()
    )
    parts.append("<h2 id='refusals'>Refusals</h2>")
    refusals = ((_code(code), str(status), "later" if again else "") for code, status, again in codes())
    parts.append(_table(("code", "status", "repeat it?"), refusals))
    parts.append("<h2 id='models'>Models</h2>")
    parts += (
        _model(name, one, shared["examples"].get(name, {}).get("value")) for name, one in shared["schemas"].items()
    )
    return _framed(_navigation(grouped), "".join(parts))


def _framed(navigation: str, content: str) -> str:
    links = "".join(f"<link rel='{kind}' href='{address}'>" for kind, address in _linked())
    head = (
        "<meta charset=utf-8><meta name=viewport content='width=device-width, initial-scale=1'>"
        f"<title>Penstock: documentation</title>{links}<style>{STYLE}</style>"
    )
    skip = "<a class=skip href='#content'>To the content</a>"
    top = "<header class=top><a class=brand href='/'>Penstock</a></header>"
    body = f"{skip}{top}<div class=docs>{navigation}<main id='content' tabindex=-1>{content}</main></div>"
    return f"<!doctype html><html lang=en><head>{head}</head><body>{body}</body></html>"


def _linked() -> list[tuple[str, str]]:
    """The icon and the style sheets of the page; its build makes their names."""
    index = (resources.files("daemon.web") / "static" / "index.html").read_text(encoding="utf-8")
    return re.findall(r'<link rel="(icon|stylesheet)"[^>]* href="(/assets/[^"]+)"', index)


def _navigation(grouped: Mapping[str, list[tuple[str, str, Mapping[str, Any]]]]) -> str:
    groups = "".join(
        f"<details><summary>{escape(name)}</summary><ul>"
        + "".join(f"<li><a href='#{one['operationId']}'>{escape(one['summary'])}</a></li>" for _, _, one in each)
        + "</ul></details>"
        for name, each in grouped.items()
    )
    rest = (("sent", "Notifications to webhooks"), ("refusals", "Refusals"), ("models", "Models"))
    more = "".join(f"<li><a href='#{place}'>{title}</a></li>" for place, title in rest)
    return f"<nav aria-label=Operations>{groups}<ul>{more}</ul></nav>"


def _operation(verb: str, path: str, one: Mapping[str, Any], shared: Mapping[str, Any]) -> str:
    title = f"<h3 id='{one['operationId']}'><span class=verb>{verb.upper()}</span> {_code(path)}</h3>"
    calls = ((name, escape(write(verb, path, one))) for name, write in (("curl", curl), ("Python", python)))
    shown = "".join(f"<div><h4>{name}</h4><pre tabindex=0>{text}</pre></div>" for name, text in calls)
    return _described(title, one, f"<div class=calls>{shown}</div>", shared)


def _described(title: str, one: Mapping[str, Any], calls: str, shared: Mapping[str, Any]) -> str:
    """What a request takes and how it is answered, each answer with an example."""
    text = f"{_marked(one['description'])}{'' if needs_token(one) else ' (public)'}</p>"
    rows = [(_code(given["name"]), _place(given["in"]), _type(given["schema"])) for given in one["parameters"]]
    if "requestBody" in one:
        body = one["requestBody"]
        rows.append(("body", _place("JSON" if body["required"] else "JSON, or none"), _content(body)))
    answers = {
        status: shared["responses"][it["$ref"].rsplit("/", 1)[1]] if "$ref" in it else it
        for status, it in sorted(one["responses"].items())
    }
    responses = "".join(_answer(status, it, shared) for status, it in answers.items())
    asked = _table(("parameter", "in", "type"), rows)
    summary = f"<p><b>{escape(one['summary'])}.</b> {text}"
    return f"<article>{title}{summary}{calls}{asked}<h4>Answers</h4>{responses}</article>"


def _place(name: str) -> str:
    return f"<span class=in>{name}</span>"


def _answer(status: str, answer: Mapping[str, Any], shared: Mapping[str, Any]) -> str:
    head = f"{_code(status)} {_marked(answer['description'])}"
    content = answer.get("content", {})
    if not content:
        return f"<p class=small>{head}</p>"
    examples = "".join(_example(media, held, shared) for media, held in content.items())
    return f"<details><summary>{head}</summary><p class=small>{_content(answer)}</p>{examples}</details>"


def _example(media: str, held: Mapping[str, Any], shared: Mapping[str, Any]) -> str:
    """The first example of a body: of a refusal, that of its first code."""
    for name, one in held.get("examples", {}).items():
        value = shared["examples"][name]["value"] if "$ref" in one else one["value"]
        return _shown(value)
    return _shown(held["example"]) if "example" in held else f"<p class=small>{escape(media)}</p>"


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
    return f"<pre tabindex=0>{escape(text)}</pre>"


def _marked(text: str) -> str:
    """Prose in which backquotes mark code."""
    return re.sub("`([^`]*)`", r"<code>\1</code>", escape(text))


def _content(answer: Mapping[str, Any]) -> str:
    return ", ".join(f"{_type(held['schema'])} as {escape(media)}" for media, held in answer.get("content", {}).items())


def _model(name: str, model: Mapping[str, Any], example: Any) -> str:
    required, examples = model.get("required", ()), model.get("examples", [] if example is None else [example])
    fields = [
        (_code(field), _type(schema), "yes" if field in required else "")
        for field, schema in model.get("properties", {}).items()
    ]
    shown = "".join(map(_shown, examples))
    text = f"<p>{escape(model.get('description', ''))}</p>"
    table = _table(("field", "type", "required"), fields)
    return f"<article><h3 id='{escape(name)}'>{escape(name)}</h3>{text}{table}{shown}</article>"


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
