"""`penstock connectors`: list, show, set, test, delete."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml
from pydantic import ValidationError
from rich.table import Table

from daemon.client import Connector, ConnectorTestResult, Penstock, Target
from daemon.commands import display
from daemon.commands.base import echo, error_exit
from daemon.commands.naming import CONNECTOR, explained, resolved
from daemon.commands.remote import Shell, Yes, calling, complete_connector, confirm, taken
from daemon.runtime import exit_codes
from daemon.templates import yaml_reader

connectors = typer.Typer(help="Connectors: the HTTP APIs behind tools.", no_args_is_help=True)
Tool = Annotated[str, typer.Argument(help="Tool-id of the connector.", autocompletion=complete_connector)]
Secret = Annotated[
    Path | None, typer.Option("--secret-file", help="File with the secret; - for the input. Default: the stored one.")
]
Samples = Annotated[Path | None, typer.Option("--samples", help="File with sample `inputs` and `facts` (YAML, JSON).")]


@connectors.command("ls")
@calling
def ls(shell: Shell) -> None:
    """List the connectors."""
    found = shell.perform(lambda api: taken(api.connectors()))
    shell.show(found, _listed)


@connectors.command("show")
@calling
def show(shell: Shell, tool_id: Tool) -> None:
    """Print a connector as a file that `set` reads. Its secret is never printed."""
    found = shell.perform(lambda api: _stored(api, tool_id))
    if shell.as_json:
        display.print_json(found)
    else:
        echo(yaml.safe_dump(_fields(found), sort_keys=False, allow_unicode=True).rstrip())


@connectors.command("set")
@calling
def put(
    shell: Shell,
    tool_id: Tool,
    file: Annotated[Path, typer.Argument(help="Connector (YAML, JSON).")],
    secret_file: Secret = None,
) -> None:
    """Bind a tool to what a file says; without a secret the stored one is kept where it may be."""
    target, secret = _target(file), _secret(secret_file)
    stored = shell.perform(lambda api: api.put_connector(tool_id, target, secret))
    shell.show(stored, lambda one: _listed([one]))


@connectors.command("test")
@calling
def try_(
    shell: Shell,
    tool_id: Tool,
    file: Annotated[Path | None, typer.Argument(help="Connector (YAML, JSON). Default: the stored one.")] = None,
    samples: Samples = None,
    send: Annotated[
        bool | None, typer.Option("--send/--no-send", help="Default: send a GET, and nothing else.")
    ] = None,
    secret_file: Secret = None,
) -> None:
    """Say what would be sent, and send it where asked to; exit code 1 unless it succeeds."""
    given: Target | None = None if file is None else _target(file)
    secret = _secret(secret_file)
    brought = {} if samples is None else _mapping(samples)

    async def work(api: Penstock) -> ConnectorTestResult:
        target = given if given is not None else await _stored(api, tool_id)
        return await api.test_connector(
            tool_id, target, secret, inputs=brought.get("inputs"), facts=brought.get("facts"), send=send
        )

    result = shell.perform(work)
    if shell.as_json:
        display.print_json(result)
    else:
        _print(result)
    raise typer.Exit(0 if result.ok and not result.findings else exit_codes.REFUSED)


@connectors.command("rm")
@calling
def rm(shell: Shell, tool_id: Tool, yes: Yes = False) -> None:
    """Unbind a tool; its calls are shadowed from then on."""
    tool_id = resolved(shell, CONNECTOR, tool_id)
    confirm(yes, f"Delete the connector of {tool_id}?", "Nothing was deleted.")
    shell.perform(lambda api: api.delete_connector(tool_id))
    shell.say({"forgotten": tool_id}, f"{tool_id} has no connector any more")


async def _stored(api: Penstock, tool_id: str) -> Connector:
    return await explained(api, CONNECTOR, tool_id, api.connector(tool_id))


def _print(result: ConnectorTestResult) -> None:
    request = result.request or {}
    echo(f"{'sent' if result.sent else 'would send'}: {request.get('method')} {request.get('url')}")
    for name, value in (request.get("headers") or {}).items():
        echo(f"  {name}: {value}")
    if request.get("body") is not None:
        echo(f"  {json.dumps(request['body'], ensure_ascii=False)}")
    if result.status_code is not None:
        echo(f"answered: {result.status_code} in {result.latency_ms} ms")
        echo(f"  {json.dumps(result.output if result.ok else result.body, ensure_ascii=False)}")
    for finding in result.findings:
        echo(f"{finding.pointer}: {finding.detail}", err=True)
    if result.error is not None:
        echo(result.error, err=True)


def _listed(found: list[Connector]) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in ("tool", "request", "auth", "called", "version", "changed by"):
        table.add_column(column, overflow="fold")
    for one in found:
        auth = one.auth_type if one.auth_type == "none" or one.auth_token_set else f"{one.auth_type}, no secret"
        called = "live" if one.reversible else "shadow"
        request = f"{one.method} {one.base_url}{one.path}"
        cells = (one.tool_id, request, auth, called, str(one.version), one.updated_by)
        table.add_row(*map(display.text, cells))
    return table


def _fields(connector: Connector) -> dict[str, Any]:
    """What `set` reads, without what has its default."""
    fields = Target.model_fields
    whole = {name: getattr(connector, name) for name in fields}
    return {name: value for name, value in whole.items() if name == "base_url" or value != fields[name].default}


def _target(file: Path) -> Target:
    try:
        return Target.model_validate(_mapping(file))
    except ValidationError as failed:
        found = failed.errors(include_url=False, include_input=False)
        wrong = [f"{'.'.join(map(str, one['loc'])) or 'the connector'}: {one['msg']}" for one in found]
        raise error_exit(f"{file}: {'; '.join(wrong)}", exit_codes.REFUSED) from None


def _mapping(file: Path) -> dict[str, Any]:
    try:
        value = yaml_reader.read_text(yaml_reader.read_file(file))
    except (OSError, yaml_reader.YamlRefused) as error:
        raise error_exit(f"{file}: {error}", exit_codes.REFUSED) from None
    if not isinstance(value, dict):
        raise error_exit(f"{file}: it holds no members", exit_codes.REFUSED)
    return value


def _secret(file: Path | None) -> str | None:
    """The secret in a file, or of the input; a line end behind it is not a part of it."""
    if file is None:
        return None
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
    except OSError as error:
        raise error_exit(f"{file}: {error.strerror}", exit_codes.REFUSED) from None
    return text.rstrip("\r\n")
