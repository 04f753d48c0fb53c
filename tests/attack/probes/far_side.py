"""`python -m tests.attack.probes.far_side`: gives answers that no honest service gives, and counts
them.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter

from aiohttp import web

CANARY = "Canary-of-facts"
COUNTS: Counter[str] = Counter()
ITEMS, ITEM_CHARS = 20_000, 7
ANSWER_CHARS = 250_000
PAUSES = {
    "digits": "9" * 400,
    "large": "99999999999",
    "negative": "-5",
    "hours": "Mon, 01 Jan 2026 99999999999999999999:00:00 GMT",
    "days": "Mon, 99999999999999999999 Jan 2026 00:00:00 GMT",
    "far-date": "Fri, 31 Dec 9999 23:59:59 -2359",
    "early-date": "Mon, 01 Jan 0001 00:00:00 +2359",
}


def _count(request: web.Request) -> None:
    COUNTS[request.path] += 1
    key = request.headers.get("Idempotency-Key") or request.headers.get("webhook-id")
    if key is not None:
        COUNTS[f"{request.path} {key}"] += 1


async def _bomb(request: web.Request) -> web.Response:
    _count(request)
    return web.json_response({"items": ["x" * ITEM_CHARS] * ITEMS})


async def _charset(request: web.Request) -> web.Response:
    _count(request)
    name = request.match_info["name"]
    text = rf"{CANARY} \ud800 " if name == "unicode_escape" else f"{CANARY}-" + "a" * ANSWER_CHARS
    return web.Response(body=text.encode(), headers={"Content-Type": f"text/plain; charset={name}"})


async def _same_letters(request: web.Request) -> web.Response:
    _count(request)
    return web.Response(text="a" * ANSWER_CHARS)


async def _pause(request: web.Request) -> web.Response:
    _count(request)
    return web.Response(status=503, headers={"Retry-After": PAUSES[request.match_info["name"]]})


async def _fine(request: web.Request) -> web.Response:
    _count(request)
    return web.json_response({"fine": True})


async def _counts(_: web.Request) -> web.Response:
    return web.Response(text=json.dumps(COUNTS), content_type="application/json")


async def _serve() -> None:
    app = web.Application()
    app.router.add_get("/counts", _counts)
    app.router.add_route("*", "/bomb", _bomb)
    app.router.add_route("*", "/charset/{name}", _charset)
    app.router.add_route("*", "/letters", _same_letters)
    app.router.add_route("*", "/pause/{name}", _pause)
    app.router.add_route("*", "/pause/{name}/hook", _pause)
    app.router.add_route("*", "/fine", _fine)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    sys.stdout.write(f"Answers at 127.0.0.1:{runner.addresses[0][1]}\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_serve())
