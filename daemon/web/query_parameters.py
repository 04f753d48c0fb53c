"""Query parameters that an address does not know are refused: a misspelt filter must not pass for none."""

from __future__ import annotations

from aiohttp import hdrs, web

from daemon.web.problems import invalid
from daemon.web.routes import ROUTES

NAMED_MAX = 20
_KNOWN = {(method, path.rstrip("/")): frozenset(one.operation.query) for method, path, one in ROUTES}


def check_query(request: web.Request) -> None:
    """422 for a query parameter that the contract does not name for this address; pages and documents take any."""
    if not request.query_string:
        return
    resource = request.match_info.route.resource
    method = hdrs.METH_GET if request.method == hdrs.METH_HEAD else request.method
    known = _KNOWN.get((method, "" if resource is None else resource.canonical.rstrip("/")))
    unknown = [name for name in request.query if known is not None and name not in known]
    if unknown:
        pointers = ("/" + name.replace("~", "~0").replace("/", "~1") for name in dict.fromkeys(unknown[:NAMED_MAX]))
        raise invalid(*((pointer, "is no parameter of this address") for pointer in pointers))
