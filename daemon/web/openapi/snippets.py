"""How each operation is called: with curl, and in Python."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pprint import pformat
from typing import Any

from daemon.web.openapi.client_calls import CALLS

ADDRESS = "http://127.0.0.1:8080"
LOGIN = f"""\
from penstock_client import Penstock

async with Penstock("{ADDRESS}") as api:
    await api.login("ada@example.test", "correct horse battery")"""
PLACES = {
    "list": "runs",
    "name": "physicians",
    "step_id": "signoff",
    "tool_id": "eligibility-lookup",
    "version": "1",
    "vertical": "prior-auth",
    "view": "mine",
}
REQUIRED = {"country": "AT", "year": "2027"}
_PLACE = re.compile(r"\{(\w+)\}")


def curl(verb: str, path: str, operation: Mapping[str, Any]) -> str:
    """A command for a shell that knows `TOKEN` and the ids that the path asks for."""
    address = _PLACE.sub(lambda place: PLACES.get(place[1], f"${place[1].upper()}"), path) + _query(operation)
    lines = [f'curl "{ADDRESS}{address}"' if verb == "get" else f'curl -X {verb.upper()} "{ADDRESS}{address}"']
    if needs_token(operation):
        lines.append('-H "Authorization: Bearer $TOKEN"')
    media, body = request_body(operation)
    if media is not None:
        quoted = (body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)).replace("'", "'\\''")
        lines += [f'-H "Content-Type: {media}"', f"-d '{quoted}'"]
    return " \\\n  ".join(lines)


def python(verb: str, path: str, operation: Mapping[str, Any]) -> str:
    """The client's method, or where it has none a request with aiohttp."""
    called = CALLS.get(operation["operationId"])
    if called is not None:
        return called
    address = _PLACE.sub(lambda place: PLACES.get(place[1], f"{{{place[1].upper()}}}"), path) + _query(operation)
    arguments = [f'{"f" if "{" in address else ""}"{ADDRESS}{address}"']
    if needs_token(operation):
        arguments.append('headers={"Authorization": f"Bearer {TOKEN}"}')
    media, body = request_body(operation)
    if media is not None:
        arguments.append(f"json={pformat(body, sort_dicts=False, width=90)}")
    given = ",\n    ".join(argument.replace("\n", "\n    ") for argument in arguments)
    return (
        f'async with aiohttp.request(\n    "{verb.upper()}",\n    {given},\n) as response:\n    print(response.status)'
    )


def needs_token(operation: Mapping[str, Any]) -> bool:
    return operation.get("security") != []


def request_body(operation: Mapping[str, Any]) -> tuple[str | None, Any]:
    """The media type of a request with its example; None where it takes no body."""
    for media, held in operation.get("requestBody", {}).get("content", {}).items():
        return media, held.get("example")
    return None, None


def _query(operation: Mapping[str, Any]) -> str:
    required = [given["name"] for given in operation["parameters"] if given["in"] == "query" and given.get("required")]
    return "?" + "&".join(f"{name}={REQUIRED[name]}" for name in required) if required else ""
