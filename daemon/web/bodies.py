"""Read and check the paths, bodies, headers and query parameters of requests."""

from __future__ import annotations

import re
from functools import partial
from itertools import islice
from typing import Any, TypeVar

from aiohttp import web
from pydantic import ValidationError

from actors.context import TRACE
from daemon.contract.base import Request
from daemon.runtime.json_codec import NotJson, loads
from daemon.web.incoming import beside_loop, read_bytes
from daemon.web.middleware.access_log import sent_traceparent
from daemon.web.middleware.auth import principal_of
from daemon.web.parameters import ID, KEY_CHARS_MAX, LIMIT_DEFAULT, LIMIT_MAX
from daemon.web.problems import HttpProblem, invalid, not_found, pointer

WAIT_MAX_S = 60.0
ERRORS_MAX = 50
MEMBERS_MAX = 100
"""More than any body of the contract has."""
UNKNOWN = "is not a field of this body"
_PREFER_WAIT = re.compile(r"wait\s*=\s*\"?(\d{1,9})\"?")
HELD = "."
"""Between the entity tag of a run and what stands for how it is kept."""
_TAG = re.compile(rf'"[0-9a-f-]{{1,64}}(?:{re.escape(HELD)}[0-9a-f]{{1,64}})?"')
_OR_INSTANCE = re.compile(r" or instance of [A-Z]\w*\Z")
_KEY = "[key]"
"""What pydantic adds to the place of a member whose name is wrong."""
_AFTER = re.compile(r" after validation, not .*\Z", re.DOTALL)
_SHOULD = re.compile(r"\A[A-Z][a-z]+ should ")
# In the words of JSON, where those of the checker are Python's.
_SAID = {
    "Field required": "is required",
    "Extra inputs are not permitted": UNKNOWN,
    "Input should be a valid string": "has to be a string",
    "Input should be a valid boolean": "has to be true or false",
    "Input should be a valid integer": "has to be a whole number",
    "Input should be a valid number": "has to be a number",
    "Input should be a valid dictionary": "has to be an object",
    "Input should be a valid list": "has to be an array",
    "Input should be a valid tuple": "has to be an array",
    "Input should be None": "has to be left out",
}
B = TypeVar("B", bound=Request)


async def read(request: web.Request, model: type[B]) -> B:
    return await parse(request, model, await read_object(request, optional=model.is_optional()))


async def read_object(request: web.Request, *, optional: bool = False) -> dict[str, Any]:
    """The JSON object in the body, unchecked; an `optional` one that is missing is empty."""
    raw = await read_bytes(request)
    if not raw and optional:
        return {}
    kind = request.headers.get("Content-Type")
    # aiohttp reads it with the parser of mails, which takes a second for one that is made for it.
    if (kind or "").partition(";")[0].strip().lower() != "application/json":
        if not raw and kind is None:
            raise HttpProblem("malformed_json", "The body is missing; it has to be a JSON object.")
        raise HttpProblem("unsupported_media_type", "The body has to be application/json.")
    try:
        value = await beside_loop(request, partial(loads, raw))
    except NotJson as error:
        raise HttpProblem("malformed_json", str(error)) from None
    if not isinstance(value, dict):
        raise HttpProblem("malformed_json", "The body has to be a JSON object.")
    return value


async def parse(request: web.Request, model: type[B], value: dict[str, Any]) -> B:
    """The body as the contract has it; 422 for what does not hold."""
    return await beside_loop(request, partial(_validated, model, value))


def _validated(model: type[B], value: dict[str, Any]) -> B:
    if len(value) > MEMBERS_MAX:  # without an error for each of them, which takes longer than all else
        unknown = (pointer(name) for name in value if name not in model.model_fields)
        raise invalid(*((where, UNKNOWN) for where in islice(unknown, ERRORS_MAX)))
    try:
        return model.model_validate(value)
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False, include_context=False)
        raise invalid(*((pointer_to(one["loc"]), sentence(one["msg"])) for one in found[:ERRORS_MAX])) from None


def pointer_to(names: tuple[int | str, ...]) -> str:
    """The pointer of what is wrong, or of the member whose name is."""
    return pointer(*(names[:-1] if names[-1:] == (_KEY,) else names))


def path_key(request: web.Request, name: str) -> tuple[str, str]:
    """The company and the id that the path has under this name; 404 for what is no id."""
    given = request.match_info[name]
    if not ID.fullmatch(given):
        raise not_found()
    return principal_of(request).company_id, given


def prefer(request: web.Request, default_s: float) -> float | None:
    """How long the caller would wait for the run to rest, in seconds; None for not at all.

    `respond-async, wait=N` is to wait that long before that is done (RFC 7240, 4.3).
    """
    values = request.headers.getall("Prefer", ())
    names = [preference.split(";")[0].strip().lower() for value in values for preference in value.split(",")]
    for name in names:
        if (waits := _PREFER_WAIT.fullmatch(name)) is not None:
            return min(float(waits[1]), WAIT_MAX_S)
    return None if "respond-async" in names else default_s


def idempotency_key(request: web.Request) -> str | None:
    key = request.headers.get("Idempotency-Key")
    if key is None:
        return None
    if not 1 <= len(key) <= KEY_CHARS_MAX or not key.isprintable():
        raise invalid(("", f"an Idempotency-Key has 1 to {KEY_CHARS_MAX} printable characters"))
    return key


def if_match(request: web.Request) -> frozenset[str] | None:
    """The entity tags that If-Match names; None when there is no condition.

    How a run is kept is no condition: nothing that is decided on changes by it.
    """
    values = request.headers.getall("If-Match", ())
    tags = [tag.strip() for value in values for tag in value.split(",")]
    if not tags or "*" in tags:
        return None
    return frozenset(tag[1:-1].partition(HELD)[0] for tag in tags if _TAG.fullmatch(tag))


def has_already(request: web.Request, tag: str) -> bool:
    """Whether the caller has what an entity tag stands for, as If-None-Match says."""
    values = request.headers.getall("If-None-Match", ())
    tags = {one.strip().removeprefix("W/") for value in values for one in value.split(",")}
    return not tags.isdisjoint((tag, "*"))


def traceparent(request: web.Request) -> str | None:
    """The trace context of the request: our span if there is one, else its caller's."""
    return TRACE.get() or sent_traceparent(request)


def page_limit(request: web.Request) -> int:
    text = request.query.get("limit")
    if text is None:
        return LIMIT_DEFAULT
    if not re.fullmatch(r"[0-9]{1,4}", text) or not 1 <= int(text) <= LIMIT_MAX:
        raise invalid(("/limit", f"has to be a whole number from 1 to {LIMIT_MAX}"))
    return int(text)


def number(request: web.Request, name: str, default: int) -> int:
    text = request.query.get(name)
    if text is None:
        return default
    if not re.fullmatch(r"[0-9]{1,18}", text):
        raise invalid((f"/{name}", "has to be a whole number from 0"))
    return int(text)


def sentence(message: str) -> str:
    """What is wrong, in the words of JSON."""
    message = message.removeprefix("Value error, ").removeprefix("Assertion failed, ")
    message = _AFTER.sub("", _OR_INSTANCE.sub("", message))
    if message in _SAID:
        return _SAID[message]
    message = _SHOULD.sub("has to ", message)
    return message[:1].lower() + message[1:]
