"""Every answer against the document that the service serves: its status, media type and body."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs

DOCUMENT = Path(__file__).parents[2] / "docs/openapi.json"
REF = re.compile(r'"#/components/(\w+)/([\w.-]+)"')
PROBLEMS = frozenset({500, 503})
"""What no operation has to name."""
BEGINS = frozenset({200, 201})


@cache
def document() -> dict[str, Any]:
    """What is published; a test compares it with what the code makes, which takes longer."""
    found: dict[str, Any] = json.loads(DOCUMENT.read_text(encoding="utf-8"))
    return found


def judged_by(schema: dict[str, Any]) -> jsonschema_rs.Draft202012Validator:
    """What judges a value, with the components that its schema leads to and no others: to read all
    takes milliseconds, and megabytes for each.
    """
    found: dict[str, dict[str, Any]] = {}
    left: list[Any] = [schema]
    while left:
        for kind, name in REF.findall(json.dumps(left.pop())):
            if name not in found.setdefault(kind, {}):
                found[kind][name] = document()["components"][kind][name]
                left.append(found[kind][name])
    return jsonschema_rs.Draft202012Validator({**schema, "components": found})


@cache
def _paths() -> list[tuple[re.Pattern[str], str]]:
    """The paths of the document, those without parameters first."""
    found = sorted(document()["paths"], key=lambda path: path.count("{"))
    return [(re.compile(re.sub(r"\\{[^}]+\\}", "[^/]+", re.escape(path.rstrip("/"))) + "/?"), path) for path in found]


@cache
def _validator(method: str, path: str, status: int, media: str) -> jsonschema_rs.Validator | None:
    """What judges a body; KeyError for a status or media type that the document has not."""
    operation = document()["paths"][path][method.lower()]
    response = operation["responses"][str(status)]
    if "$ref" in response:
        response = document()["components"]["responses"][response["$ref"].rpartition("/")[2]]
    if not response.get("content"):
        return None
    schema = response["content"][media].get("schema", {})
    return judged_by(schema)


def wrong(method: str, target: str, status: int, headers: Mapping[str, str], raw: bytes) -> Iterator[str]:
    """What an answer has other than the document says.

    The page, which sets a header that the document has not, gets its token in a cookie: a session
    that is begun for it is what `POST /auth/refresh` answers.
    """
    if "Set-Cookie" in headers and status in BEGINS and target in ("/auth/login", "/auth/register"):
        method, target, status = "POST", "/auth/refresh", 200
    path = next((name for form, name in _paths() if form.fullmatch(target.partition("?")[0].rstrip("/"))), None)
    media = headers.get("Content-Type", "").partition(";")[0]
    planted = media == "application/octet-stream"  # a receipt of a test
    if planted or path is None or method.lower() not in document()["paths"][path] or status in PROBLEMS or not raw:
        return
    try:
        validator = _validator(method, path, status, media)
    except KeyError as missing:
        yield f"{method} {path}: {status} {media} is not in the document ({missing})"
        return
    if validator is None or media not in ("application/json", "application/problem+json"):
        return
    for error in validator.iter_errors(json.loads(raw)):
        yield f"{method} {path}: {status}: /{'/'.join(map(str, error.instance_path))}: {error.message[:300]}"
