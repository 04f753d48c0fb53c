"""Responses: JSON bodies with the headers that the contract promises."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlencode

from aiohttp import web

from actors.core.run import Run
from actors.ports import Receipt
from daemon.model.pages import PAGE_BYTES_MAX
from daemon.runtime.json_codec import dumps
from daemon.web.problems import AAP, HttpProblem, aap_error, etag

_REFUSED = re.compile(r";\s*q\s*=\s*0(?:\.0*)?\s*(?:;|$)", re.IGNORECASE)
T = TypeVar("T")
JSON = "application/json; charset=utf-8"
NUMBER = re.compile(r"[1-9][0-9]{0,17}")
NOT_EMPTY = re.compile(r".+", re.DOTALL)


class StoredResponse(NamedTuple):
    """A response that can be kept, and sent again byte for byte."""

    status: int
    body: bytes
    headers: dict[str, str]

    def response(self) -> web.Response:
        return web.Response(status=self.status, body=self.body, headers=self.headers)

    def as_replay(self) -> StoredResponse:
        return self._replace(headers={**self.headers, "Idempotency-Replayed": "true"})


def accepted_media(request: web.Request) -> set[str]:
    """The media types that a request names as accepted, without those of the weight 0."""
    kinds = (kind for one in request.headers.getall("Accept", ()) for kind in one.lower().split(","))
    return {kind.partition(";")[0].strip() for kind in kinds if not _REFUSED.search(kind)}


def json_response(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> web.Response:
    return web.Response(body=dumps(value), status=status, headers={**(headers or {}), "Content-Type": JSON})


def run_response(
    run: Run, body: bytes, status: int, *, tag: str | None = None, headers: Mapping[str, str] | None = None
) -> StoredResponse:
    """A run with its entity tag, which is its version unless another is given."""
    known = {"Content-Type": JSON, "ETag": etag(tag or str(run.version))}
    return StoredResponse(status, body, {**known, **(headers or {})})


def problem_response(problem: HttpProblem, request_id: str) -> StoredResponse:
    headers = {**problem.headers, "Content-Type": "application/problem+json"}
    return StoredResponse(problem.status, problem.body(request_id), headers)


def error_response(problem: HttpProblem, path: str, request_id: str) -> StoredResponse:
    """A problem in the form of what is below the path."""
    if not path.startswith(AAP):
        return problem_response(problem, request_id)
    status, body = aap_error(problem, request_id)
    return StoredResponse(status, body, {**problem.headers, "Content-Type": JSON})


def replayed(receipt: Receipt) -> StoredResponse:
    """The response that a receipt keeps, marked as given again."""
    return StoredResponse(receipt.status or 200, receipt.body, json.loads(receipt.headers)).as_replay()


def list_response(items: Sequence[bytes], headers: dict[str, str] | None = None) -> web.Response:
    return web.Response(body=b"[%s]" % b",".join(items), headers={**(headers or {}), "Content-Type": JSON})


def within_bytes(found: Iterable[T], show: Callable[[T], Any]) -> list[bytes]:
    """The first entries as JSON: as many as fit into a page's bytes, and at least one."""
    items: list[bytes] = []
    size = 0
    for one in found:
        item = dumps(show(one))
        size += len(item)
        if items and size > PAGE_BYTES_MAX:
            break
        items.append(item)
    return items


def next_page(request: web.Request, cursor: str, name: str = "cursor") -> dict[str, str]:
    """The Link header of the next page (RFC 8288); `name` is the parameter of its cursor."""
    query = {**request.query, name: cursor}
    return {"Link": f'<{request.path}?{urlencode(query)}>; rel="next"'}


def to_cursor(kind: str, last: str) -> str:
    """An opaque cursor behind the last entry of a page of that kind of list."""
    return base64.urlsafe_b64encode(f"{kind}:{last}".encode()).decode().rstrip("=")


def from_number(request: web.Request, kind: str) -> int | None:
    """The number of the last entry of the page before, if there was one."""
    last = from_cursor(request, kind, NUMBER)
    return None if last is None else int(last)


def from_cursor(request: web.Request, kind: str, form: re.Pattern[str] = NOT_EMPTY) -> str | None:
    """The last entry of the page before, if there was one; `form` is that of its name."""
    cursor = request.query.get("cursor")
    if cursor is None:
        return None
    try:
        text = base64.b64decode(cursor.encode() + b"=" * (-len(cursor) % 4), b"-_", validate=True).decode()
    except ValueError:
        text = ""
    found, _, last = text.partition(":")
    if found != kind or not form.fullmatch(last):
        raise HttpProblem("malformed_cursor", "The cursor is none that this list has given; begin again without one.")
    return last
