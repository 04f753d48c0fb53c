"""`penstock mcp`: the tools for agents, over stdio or HTTP."""

from __future__ import annotations

import ipaddress
import socket
import sys
from typing import Annotated
from urllib.parse import quote

import typer

from daemon.commands.base import error_exit
from daemon.commands.remote import Url, address, read_token
from daemon.runtime import exit_codes
from daemon.settings import Remote

MISSING = "the Model Context Protocol is not installed: it comes with the extra penstockd[mcp] (make install MCP=1)"
Key = Annotated[
    str | None,
    typer.Option(
        "--token-file", parser=read_token, metavar="FILE", help="File of an API key; default: PENSTOCK_API_KEY."
    ),
]
READY = "penstock mcp is listening at "
KEYLESS = "set PENSTOCK_API_KEY to an API key of kind agent, or name its file with --token-file"


mcp = typer.Typer(invoke_without_command=True)


@mcp.callback()
def serve(
    ctx: typer.Context,
    http: Annotated[bool, typer.Option("--http", help="Serve streamable HTTP at /mcp instead of stdio.")] = False,
    host: Annotated[str, typer.Option(help="Address to listen on with --http.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port to listen on; 0 picks a free port.")] = 8090,
    allowed_host: Annotated[
        list[str] | None, typer.Option(help="A further name that callers may use for this host; repeat for more.")
    ] = None,
    token: Key = None,
    url: Url = None,
) -> None:
    """Let agents read, start runs and propose by the Model Context Protocol; no tool decides.

    Over HTTP each caller's own bearer token is passed on; who sends none uses the configured key.
    """
    if ctx.invoked_subcommand is not None:
        return
    try:
        from daemon.mcp.server import build, serve_http  # noqa: PLC0415 - an extra that may be missing
    except ModuleNotFoundError as missing:
        raise _exit_of(missing) from None
    key = token or Remote().penstock_api_key
    if not http:
        if not key:
            raise error_exit(KEYLESS, exit_codes.CONFIG)
        build(address(url), key).run("stdio")
        return
    if not _is_loopback(host) and not allowed_host:
        raise error_exit(f"{host} is not this machine alone: name it with --allowed-host", exit_codes.CONFIG)
    try:
        bound = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise error_exit(error, exit_codes.CONFIG) from None
    with bound:
        sys.stdout.write(f"{READY}http://{host}:{bound.getsockname()[1]}\n")
        sys.stdout.flush()
        serve_http(build(address(url), key), bound, host, allowed_host or ())


@mcp.command("gateway")
def gateway(
    name: Annotated[str, typer.Argument(help="Name of an MCP server of the company.")],
    token: Key = None,
    url: Url = None,
) -> None:
    """Let an agent reach an MCP server of the company over stdio; calls of tools are actions."""
    try:
        from daemon.mcp.gateway import relay  # noqa: PLC0415 - an extra that may be missing
    except ModuleNotFoundError as missing:
        raise _exit_of(missing) from None
    key = token or Remote().penstock_api_key
    if not key:
        raise error_exit(KEYLESS, exit_codes.CONFIG)
    relay(f"{address(url)}/mcp/{quote(name, safe='')}", key)


def _exit_of(missing: ModuleNotFoundError) -> Exception:
    """Why the command ends where the extra is missing; anything else is raised as it is."""
    if (missing.name or "").partition(".")[0] not in {"mcp", "mcp_types", "uvicorn", "starlette"}:
        return missing
    return error_exit(MISSING, exit_codes.CONFIG)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
