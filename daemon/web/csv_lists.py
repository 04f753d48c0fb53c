"""Lists as CSV (RFC 4180): the same entries, rights and filters, page after page in one answer."""

from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial, wraps
from typing import Any, NamedTuple, get_args
from urllib.parse import parse_qs, urlsplit

from aiohttp import web

from actors.ports import StoreFailed
from daemon.contract.base import Response
from daemon.runtime.json_codec import dumps, loads
from daemon.web.middleware.admission import slot_released
from daemon.web.middleware.auth import counts_still, principal_of
from daemon.web.parameters import LIMIT_MAX
from daemon.web.problems import HttpProblem, invalid, pointer
from daemon.web.responses import accepted_media, next_page
from daemon.web.services import SERVICES

CSV = "text/csv; charset=utf-8; header=present"
FORMAT = "format"
# A cell that begins with one of these is a formula to a spreadsheet, blanks before it included.
FORMULA = frozenset("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
BOM = "\ufeff"
Lister = Callable[[web.Request], Awaitable[web.Response]]


class Column(NamedTuple):
    """A member of an entry, or a member of one of its members."""

    name: str
    path: tuple[str, ...]


def csv_list(
    model: type[Response], name: str, **views: type[Response]
) -> Callable[[Lister], Callable[[web.Request], Awaitable[Any]]]:
    """Let a list be read as CSV: `?format=csv` or `Accept: text/csv`.

    It is the whole list unless `limit` or `cursor` ask for a page. `views` have other entries.
    """

    def decorate(handler: Lister) -> Callable[[web.Request], Awaitable[Any]]:
        @wraps(handler)
        async def listed(request: web.Request) -> web.StreamResponse:
            if not _wanted(request):
                return await handler(request)
            Dialect.from_query(request)
            shown = views.get(request.query.get("view", ""), model)
            table = CsvTable(handler, tuple(columns(shown)), name)
            paged = not request.query.keys().isdisjoint({"limit", "cursor"})
            return await (table.page(request) if paged else table.whole(request))

        return listed

    return decorate


def columns(model: type[Response]) -> Iterator[Column]:
    """The columns of a model: its members; an object of known members has a column for each."""
    for name, member in model.model_fields.items():
        shown = member.alias or name
        parts = _parts(member.annotation)
        if parts is None:
            yield Column(shown, (shown,))
        else:
            named = [one.alias or part for part, one in parts.model_fields.items()]
            yield from (Column(f"{shown}.{part}", (shown, part)) for part in named)


def _parts(annotation: Any) -> type[Response] | None:
    """The model of a member that is an object of known members, or null."""
    kinds = [kind for kind in (get_args(annotation) or (annotation,)) if kind is not type(None)]
    only = kinds[0] if len(kinds) == 1 else None
    return only if isinstance(only, type) and issubclass(only, Response) else None


class Dialect(NamedTuple):
    """How a CSV is written: for RFC 4180, or for the spreadsheet of another language."""

    sep: str = ","
    bom: bool = False

    @classmethod
    def from_query(cls, request: web.Request) -> Dialect:
        """That of `sep` and `bom`; 422 for others."""
        sep, bom = request.query.get("sep", ","), request.query.get("bom", "false")
        wrong = [(pointer("sep"), "has to be , or ;")] if sep not in (",", ";") else []
        if bom not in ("true", "false"):
            wrong.append((pointer("bom"), "has to be true or false"))
        if wrong:
            raise invalid(*wrong)
        return cls(sep, bom == "true")


class CsvTable(NamedTuple):
    """A list to be read as CSV."""

    handler: Lister
    columns: tuple[Column, ...]
    name: str

    async def page(self, request: web.Request) -> web.Response:
        """One page, which announces the next."""
        response = await self.handler(request)
        body = await self._rows(request, response, first=True)
        cursor = _further(response)
        link = {} if cursor is None else next_page(request, cursor)
        return web.Response(body=body, headers={**self._headers, **link})

    async def whole(self, request: web.Request) -> web.StreamResponse:
        """All pages, one after the other; what fails after the first breaks the connection."""
        response = await self.handler(_asking(request, None))
        streamed = web.StreamResponse(headers={**self._headers, "Cache-Control": "no-store"})
        body = await self._rows(request, response, first=True)
        await streamed.prepare(request)
        try:
            with slot_released():
                await streamed.write(body)
            while (cursor := _further(response)) is not None:
                if not await counts_still(request):
                    raise ConnectionAbortedError("the right to read this list has ended")
                response = await self.handler(_asking(request, cursor))
                body = await self._rows(request, response, first=False)
                with slot_released():
                    await streamed.write(body)
        except (HttpProblem, StoreFailed) as failed:  # half a list must not look like a whole one
            raise ConnectionAbortedError(str(failed)) from failed
        return streamed

    @property
    def _headers(self) -> dict[str, str]:
        return {"Content-Type": CSV, "Content-Disposition": f'attachment; filename="{self.name}.csv"'}

    async def _rows(self, request: web.Request, response: web.Response, *, first: bool) -> bytes:
        """The entries of a page, behind the header on the first one."""
        body = bytes(response.body) if isinstance(response.body, (bytes, bytearray)) else b"[]"
        work = partial(serialize, self.columns, body, header=first, dialect=Dialect.from_query(request))
        return await request.app[SERVICES].offload.run_by_size(principal_of(request).company_id, len(body), work)


def serialize(of: Sequence[Column], body: bytes, *, header: bool, dialect: Dialect = Dialect()) -> bytes:  # noqa: B008
    """The entries of a JSON array as rows, each cell in quotes."""
    text = io.StringIO(newline="")
    if header and dialect.bom:
        text.write(BOM)
    writer = csv.writer(text, delimiter=dialect.sep, quoting=csv.QUOTE_ALL)
    if header:
        writer.writerow([column.name for column in of])
    for entry in loads(body):
        writer.writerow([cell(_member(entry, column.path)) for column in of])
    return text.getvalue().encode()


def cell(value: Any) -> str:
    """A value as text that no spreadsheet takes for a formula; what is not plain stays JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return f"'{value}" if _is_formula(value) else value
    return dumps(value).decode()


def _is_formula(text: str) -> bool:
    """Whether a text begins with the mark of a formula, behind what a spreadsheet may drop."""
    for one in text:
        if one in FORMULA:
            return True
        if unicodedata.category(one)[0] not in "CZ":
            return False
    return False


def _member(entry: Any, path: Sequence[str]) -> Any:
    for name in path:
        entry = entry.get(name) if isinstance(entry, dict) else None
    return entry


def _wanted(request: web.Request) -> bool:
    """Whether CSV is asked for: the parameter counts before the header."""
    Dialect.from_query(request)
    asked = request.query.get(FORMAT)
    if asked is None:
        kinds = accepted_media(request)
        return "text/csv" in kinds and "application/json" not in kinds
    if asked not in ("json", "csv"):
        raise invalid((pointer(FORMAT), "has to be json or csv"))
    return asked == "csv"


def _asking(request: web.Request, cursor: str | None) -> web.Request:
    """The request for a page of the list."""
    query = {**request.query, "limit": str(LIMIT_MAX), **({} if cursor is None else {"cursor": cursor})}
    return request.clone(rel_url=request.rel_url.with_query(query))


def _further(response: web.Response) -> str | None:
    """The cursor of the next page, where there is one."""
    link = response.headers.get("Link")
    if link is None:
        return None
    return parse_qs(urlsplit(link.partition(">")[0].lstrip("<")).query)["cursor"][0]
