"""`penstock templates ls|show|check`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from daemon.client import Canvas, Penstock, TemplateDetail
from daemon.commands import display
from daemon.commands.base import AsJson, echo, said
from daemon.commands.remote import Token, Url, complete_vertical, perform, taken
from daemon.runtime import exit_codes
from daemon.templates.loading import TemplateRefused, load_file

LISTED_MAX = 10_000
templates = typer.Typer(help="Process templates.", no_args_is_help=True)
Vertical = Annotated[str, typer.Argument(help="The template's slug.", autocompletion=complete_vertical)]


@templates.command("ls")
def ls(as_json: AsJson = False, url: Url = None, token: Token = None) -> None:
    """List the templates."""
    found = perform(url, token, lambda api: taken(api.templates(), LISTED_MAX))
    display.show_result(found, display.templates, as_json=as_json)


@templates.command("show")
def show(vertical: Vertical, as_json: AsJson = False, url: Url = None, token: Token = None) -> None:
    """Show a template: its steps, their governance, and example inputs."""

    async def work(api: Penstock) -> tuple[TemplateDetail, Canvas]:
        return await api.template(vertical), await api.canvas(vertical)

    one, canvas = perform(url, token, work)
    if as_json:
        graph = canvas.model_dump(mode="json", include={"start", "nodes", "edges"})
        echo(json.dumps({**one.model_dump(mode="json"), **graph}, indent=2, ensure_ascii=False))
    else:
        display.show(display.template(one, canvas))


@templates.command("check")
def check(
    files: Annotated[list[Path], typer.Argument(help="Template documents (*.yaml).")], as_json: AsJson = False
) -> None:
    """Check whether templates load; prints each broken rule and its place. Needs no service."""
    found = [(file, *_checked(file)) for file in files]
    if as_json:
        echo(json.dumps([{"file": str(file), "sound": sound, "text": text} for file, sound, text in found]))
    else:
        for _, sound, text in found:
            echo(text, err=not sound)
    raise typer.Exit(0 if all(sound for _, sound, _ in found) else exit_codes.REFUSED)


def _checked(file: Path) -> tuple[bool, str]:
    try:
        entry = load_file(file, str(file))
    except (TemplateRefused, OSError) as error:
        return False, said(error)
    return True, f"{file}: {entry.template.vertical} version {entry.template.version} is sound"
