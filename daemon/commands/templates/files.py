"""`penstock templates pull|push|diff|publish|versions|retire`: processes kept in files."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml
from rich.table import Table
from rich.text import Text

from actors.core.canonical import canonical
from daemon.client import Penstock, Problem, TemplateCheck, TemplateVersion
from daemon.commands import display
from daemon.commands.base import echo, error_exit
from daemon.commands.naming import TEMPLATE, explained
from daemon.commands.remote import Shell, calling, taken
from daemon.commands.templates.checking import located
from daemon.commands.templates.reading import Vertical, templates
from daemon.runtime import exit_codes
from daemon.templates import yaml_reader
from daemon.templates.documents import Document, Step, ordered

VERSIONS_MAX = 10_000
File = Annotated[Path, typer.Argument(help="Template document (*.yaml).")]
ORDER = {name: number for number, name in enumerate((*Document.model_fields, *Step.model_fields))}
"""The fields of documents and steps in the order in which people read them."""


@templates.command("pull")
@calling
def pull(
    shell: Shell,
    vertical: Vertical,
    file: Annotated[Path | None, typer.Option("--file", "-o", help="Default: VERTICAL.yaml; - for the output.")] = None,
    version: Annotated[int | None, typer.Option(help="Default: the current one.")] = None,
    draft: Annotated[bool, typer.Option("--draft", help="What is being written.")] = False,
) -> None:
    """Write a template into a file. Comments of an earlier file are not kept by the service."""

    async def work(api: Penstock) -> dict[str, Any]:
        if draft:
            return (await api.draft(vertical)).model_dump(mode="json")
        if version is not None:
            return (await api.version(vertical, version)).document
        try:
            return (await api.version(vertical, (await api.template(vertical)).version)).document
        except Problem as problem:
            if problem.code != "not_found":
                raise
            return (await api.draft(vertical)).model_dump(mode="json")  # which is all that there is

    part = "draft" if draft else f"version {version}"
    document = shell.perform(lambda api: explained(api, TEMPLATE, vertical, work(api), part))
    if shell.as_json:
        echo(json.dumps(document, indent=2, ensure_ascii=False))
        return
    where = file or Path(f"{vertical}.yaml")
    if str(where) == "-":
        echo(written(document).rstrip())
        return
    where.write_text(written(document), encoding="utf-8")
    echo(f"{where}: {document['vertical']}, {len(document['steps'])} steps")


@templates.command("push")
@calling
def push(shell: Shell, files: Annotated[list[Path], typer.Argument(help="Template documents (*.yaml).")]) -> None:
    """Store files as drafts, and print what is found; exit code 1 if a rule is broken."""
    documents = [read(file) for file in files]

    async def work(api: Penstock) -> list[TemplateCheck]:
        for document in documents:
            await api.put_draft(document)
        return [await api.check_template(document) for document in documents]

    found = shell.perform(work)
    if shell.as_json:
        display.print_json(found)
    else:
        for file, one in zip(files, found, strict=True):
            echo(f"{file}: stored as a draft{', which is valid' if one.valid else ''}")
            for finding in located(str(file), yaml_reader.read_file(file), (*one.violations, *one.warnings)):
                echo(str(finding))
    raise typer.Exit(0 if all(one.valid for one in found) else exit_codes.REFUSED)


@templates.command("diff")
@calling
def diff(shell: Shell, file: File) -> None:
    """Compare a file with the current version; exit code 1 if they differ."""
    document = read(file)
    vertical = str(document["vertical"])

    async def work(api: Penstock) -> tuple[str, Mapping[str, Any]]:
        try:
            number = (await api.template(vertical)).version
        except Problem as problem:
            if problem.code == "not_found":
                return "nothing", {}
            raise
        return f"{vertical} version {number}", (await api.version(vertical, number)).document

    name, current = shell.perform(work)
    before, after = (written(plain(one)).splitlines() for one in (current, document))
    lines = [*difflib.unified_diff(before, after, name, str(file), lineterm="")]
    if shell.as_json:
        echo(json.dumps(lines, ensure_ascii=False))
    else:
        echo("\n".join(lines) if lines else f"{file}: as {name}")
    raise typer.Exit(exit_codes.REFUSED if lines else 0)


@templates.command("publish")
@calling
def publish(shell: Shell, vertical: Vertical) -> None:
    """Make the draft the next version, by which runs start from now on."""
    made = shell.perform(lambda api: explained(api, TEMPLATE, vertical, api.publish(vertical)))
    if shell.as_json:
        display.print_json(made)
        return
    echo(f"{made.vertical} version {made.version} is published")
    for gate in made.gates_removed:
        echo(f"  is no gate any more: {gate}")
    for guard in made.guards_removed:
        echo(f"  can be reached past {', '.join(guard.gates)}: {guard.step_id}")
    for run in made.runs_affected:
        echo(f"  would go another way: {run.run_id}, at {run.parked_at or 'no gate'}")


@templates.command("versions")
@calling
def versions(shell: Shell, vertical: Vertical) -> None:
    """List the versions of a template, the newest first."""

    async def work(api: Penstock) -> list[TemplateVersion]:
        return await explained(api, TEMPLATE, vertical, taken(api.versions(vertical), VERSIONS_MAX))

    found = shell.perform(work)
    shell.show(found, _listed)


@templates.command("retire")
@calling
def retire(
    shell: Shell, vertical: Vertical, version: Annotated[int, typer.Argument(help="Number of the version.")]
) -> None:
    """Let a version be started no more; runs of it go on."""

    async def work(api: Penstock) -> TemplateVersion:
        return await explained(api, TEMPLATE, vertical, api.retire(vertical, version), f"version {version}")

    found = shell.perform(work)
    shell.show(found, lambda one: Text(f"{one.vertical} version {one.version} is retired"))


def read(file: Path) -> dict[str, Any]:
    """The document in a file; exits with the reason where there is none."""
    try:
        document = yaml_reader.read_text(yaml_reader.read_file(file))
    except (OSError, yaml_reader.YamlRefused) as error:
        raise error_exit(f"{file}: {error}", exit_codes.REFUSED) from None
    if not isinstance(document, dict) or not isinstance(document.get("vertical"), str):
        raise error_exit(f"{file}: the document names no vertical", exit_codes.REFUSED)
    return document


def plain(document: Mapping[str, Any]) -> dict[str, Any]:
    """A document without its number, with all that it leaves to defaults, as it is published."""
    if not document:
        return {}
    try:
        whole = Document.model_validate({"description": document.get("title"), **document, "version": 1}).normalised()
        whole["inputs_schema"] = ordered(whole["inputs_schema"])
    except ValueError:
        whole = dict(document)
    return {name: value for name, value in json.loads(canonical(whole)).items() if name != "version"}


def written(document: Mapping[str, Any]) -> str:
    """A document as YAML, its fields in the order in which people read them."""
    steps = [_ordered(step) for step in document.get("steps", ())]
    return yaml.safe_dump(
        {**_ordered(document), **({"steps": steps} if steps else {})}, sort_keys=False, allow_unicode=True, width=100
    )


def _ordered(members: Mapping[str, Any]) -> dict[str, Any]:
    return {name: members[name] for name in sorted(members, key=lambda one: ORDER.get(one, len(ORDER)))}


def _listed(found: Iterable[TemplateVersion]) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in ("version", "title", "published", "by", "retired"):
        table.add_column(column, overflow="fold")
    for one in found:
        times = (display.time(at) if at else "" for at in (one.published_at, one.retired_at))
        published, retired = times
        cells = (str(one.version), one.title, published, one.published_by or "shipped", retired)
        table.add_row(*map(display.text, cells))
    return table
