"""What the contract says of a handler: its parameters, request, responses and problems."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, get_origin

from aiohttp import web

from actors.core.people import ACTIONS
from daemon.contract.base import Request

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
PAGED = ("limit", "cursor")
LISTED = (*PAGED, "format", "bom", "sep")
"""The parameters of a list that can be read as CSV."""
KEYED = ("Idempotency-Key",)
PUBLIC = ""


@dataclass(frozen=True, slots=True)
class Operation:
    """Decorates a handler. Its name is the operation's id, its docstring the description.

    `problems` are statuses of refusals beyond those that follow from path, query and body. `also`
    are further statuses with the same response; `pending` is what a 202 says of what waits for
    approval. A `stream` can be read as server-sent events.

    `action` is what the table of authority calls it; `PUBLIC` needs no token.
    """

    summary: str
    action: str
    response: Any = None
    status: int = 200
    request: type[Request] | None = None
    query: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    problems: tuple[int, ...] = ()
    also: tuple[int, ...] = ()
    media: str = "application/json"
    stream: bool = False
    pending: Any = None

    def __post_init__(self) -> None:
        if self.action != PUBLIC and self.action not in ACTIONS:
            raise ValueError(f"{self.summary}: {self.action!r} is no action of the table of authority.")

    def __call__(self, handler: Handler) -> Endpoint:
        return Endpoint(handler, self)

    @property
    def public(self) -> bool:
        """Whether it needs no token."""
        return self.action == PUBLIC

    @property
    def is_list(self) -> bool:
        return get_origin(self.response) is list


class Endpoint(NamedTuple):
    handler: Handler
    operation: Operation

    @property
    def id(self) -> str:
        return self.handler.__name__

    @property
    def description(self) -> str:
        return inspect.getdoc(self.handler) or ""
