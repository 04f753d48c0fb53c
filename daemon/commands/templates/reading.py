"""`penstock templates ls|show|check`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from daemon.client import Canvas, Penstock, TemplateDetail
from daemon.commands import display
from daemon.commands.base import AsJson, echo, said
from daemon.commands.naming import TEMPLATE, explained
from daemon.commands.remote import Shell, calling, complete_vertical, taken
from daemon.commands.templates.checking import checked
from daemon.runtime import exit_codes

templates = typer.Typer(help="Process templates.", no_args_is_help=True)
Vertical = Annotated[str, typer.Argument(help="The template's slug.", autocompletion=complete_vertical)]


@templates.command("ls")
@calling
def ls(shell: Shell) -> None:
    """List the templates."""
    found = shell.perform(lambda api: taken(api.templates()))
    shell.show(found, display.templates)


@templates.command("show")
@calling
def show(shell: Shell, vertical: Vertical) -> None:
    """Show a template: its steps, their governance, and example inputs."""

    async def work(api: Penstock) -> tuple[TemplateDetail, Canvas]:
        return await explained(api, TEMPLATE, vertical, api.template(vertical)), await api.canvas(vertical)

    one, canvas = shell.perform(work)
    if shell.as_json:
        graph = canvas.model_dump(mode="json", include={"start", "nodes", "edges"})
        echo(json.dumps({**one.model_dump(mode="json"), **graph}, indent=2, ensure_ascii=False))
    else:
        display.show(display.template(one, canvas))


@templates.command("check")
def check(
    files: Annotated[list[Path], typer.Argument(help="Template documents (*.yaml).")], as_json: AsJson = False
) -> None:
    """Check whether templates load; prints FILE:LINE:COLUMN: RULE: SENTENCE for each finding.

    A warning leaves a template sound.
    """
    found = [_checked(file) for file in files]
    if as_json:
        echo(json.dumps(found, indent=2, ensure_ascii=False))
    else:
        for one in found:
            echo(one["text"], err="findings" not in one)
    raise typer.Exit(0 if all(one["sound"] for one in found) else exit_codes.REFUSED)


def _checked(file: Path) -> dict[str, Any]:
    try:
        entry, findings = checked(file)
    except OSError as error:
        return {"file": str(file), "sound": False, "text": said(error)}
    lines = [str(one) for one in findings]
    if entry is not None:
        lines.insert(0, f"{file}: {entry.template.vertical} version {entry.template.version} is sound")
    told = [one.as_json() for one in findings]
    sound, none = entry is not None, list[Any]()
    said_of = {"findings": none if sound else told, "warnings": told if sound else none}
    return {"file": str(file), "sound": sound, "text": "\n".join(lines), **said_of}
