"""The yardstick: a bare aiohttp server that reads a JSON body and answers it."""

from __future__ import annotations

import asyncio
import sys

import orjson
import uvloop
from aiohttp import web


async def _echo(request: web.Request) -> web.Response:
    body = orjson.dumps(await request.json(loads=orjson.loads))
    return web.Response(body=body, content_type="application/json")


async def _serve() -> None:
    app = web.Application()
    app.router.add_post("/echo", _echo)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    sys.stdout.write(f"Echo is ready at http://127.0.0.1:{runner.addresses[0][1]}\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve())
