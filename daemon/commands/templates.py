"""`penstock templates`: list, show, check, and keep processes of a company in files."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml
from rich.table import Table
from rich.text import Text

from actors.core.canonical import canonical
from actors.core.rules import Violation, policy_warnings
from actors.core.rules.proof import slowest_paths
from daemon.client import Canvas, Penstock, Problem, RuleOfTemplate, TemplateCheck, TemplateDetail, TemplateVersion
from daemon.client import Violation as AnsweredViolation
from daemon.commands import display
from daemon.commands.base import echo, error_exit, message_of
from daemon.commands.naming import TEMPLATE, explained
from daemon.commands.remote import Shell, calling, complete_vertical, taken
from daemon.runtime import exit_codes
from daemon.templates import yaml_reader
from daemon.templates.documents import CitedRule, Document, Step, ordered
from daemon.templates.loading import (
    SUFFIXES,
    UNREADABLE,
    CatalogEntry,
    Malformed,
    TemplateRefused,
    load_text,
    packed_files,
    rules_in,
    unreadable,
)
from daemon.templates.rehearsals import overdue
from daemon.templates.yaml_reader import Place, YamlRefused, places

# The member of a step that a rule is about, where neither the rule nor its detail has the name.
MEMBERS = {
    "branch_without_condition": "branches",
    "comment_refused": "comment",
    "condition_off_gateway": "branches",
    "duplicate_branch": "branches",
    "escalates_to_nobody": "on_deadline",
    "deadline_without_clock": "deadline",
    "duplicate_id": "id",
    "end_with_exit": "next",
    "flow_off_gateway": "flow",
    "gateway_without_flow": "kind",
    "group_refused": "groups",
    "illegal_id": "id",
    "no_choice": "branches",
    "signal_without_rule": "dry_run",
    "several_ways_on": "next",
    "task_without_tool": "kind",
    "ungated_irreversible": "effect",
    "unknown_role": "role",
}
WORD = re.compile(r"[a-z_]+")
POINTER = re.compile(r"([a-z_]+)(?: names ([^\s,]+))?((?:/[^/:\s]+)*)")
Wrong = Malformed | Violation | AnsweredViolation


@dataclass(frozen=True, slots=True)
class FileFinding:
    """Something that is wrong, and where it stands in the file."""

    file: str
    line: int
    column: int
    rule: str
    node: str | None
    detail: str

    def __str__(self) -> str:
        where = "" if self.node is None else f"{self.node}: "
        return f"{self.file}:{self.line}:{self.column}: {self.rule}: {where}{self.detail}"

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("line", "column", "rule", "node", "detail")}


def checked(file: Path) -> tuple[CatalogEntry | None, list[FileFinding]]:
    """The template in a file with its warnings, or all that is wrong; OSError without a file."""
    try:
        text = yaml_reader.read_file(file)
        text = _numbered(text)
    except YamlRefused as refused:
        return None, located(str(file), "", [unreadable(refused)])
    try:
        entry = load_text(text, str(file))
        return entry, located(str(file), text, [*policy_warnings(entry.template)])
    except TemplateRefused as refused:
        return None, located(str(file), text, refused.findings)


def _numbered(text: str) -> str:
    """The text with a number where it has none: the service gives the one that counts."""
    document = yaml_reader.read_text(text)
    numbered = not isinstance(document, dict) or "version" in document or text.lstrip().startswith("{")
    return text if numbered else f"{text}\nversion: 1\n"


def located(file: str, text: str, wrong: Sequence[Wrong]) -> list[FileFinding]:
    """Each finding with its place, in the order of the file."""
    unread = any(one.rule == UNREADABLE for one in wrong)
    document = None if unread else yaml_reader.read_text(text)
    paths = [_known(_path(one, document), document) for one in wrong]
    known = {} if unread else places(text, {path[:end] for path in paths for end in range(len(path) + 1)})
    found = []
    for one, path in zip(wrong, paths, strict=True):
        place = one.place if isinstance(one, Malformed) else None
        place = place or next((known[path[:end]] for end in range(len(path), -1, -1) if path[:end] in known), Place())
        found.append(FileFinding(file, place.line, place.column, one.rule, one.node, one.detail))
    return sorted(found, key=lambda one: (one.line, one.column))


def _path(one: Wrong, document: Any) -> Iterable[str | int]:
    """The way to what is wrong, as far as the finding tells."""
    if isinstance(one, Malformed):
        return one.path
    if one.node is None:
        named = POINTER.match(one.detail[:1].lower() + one.detail[1:])
        return () if named is None else (named[1], named[2] or "", *named[3].split("/")[1:])
    steps = document.get("steps") if isinstance(document, dict) else None
    listed = enumerate(steps if isinstance(steps, list) else ())
    name = one.node if one.edge is None else one.edge.source
    at = [nth for nth, step in listed if isinstance(step, dict) and step.get("id") == name]
    # Of two steps with one id the second is the one too many.
    return ("steps", at[-1], *_member(one, document["steps"][at[-1]])) if at else ("start",)


def _known(path: Iterable[str | int], document: Any) -> yaml_reader.Path:
    """As much of a path as is in the document; what a validator adds to it is left out."""
    found: yaml_reader.Path = ()
    for part in path:
        if isinstance(document, dict) and part in document:
            found, document = (*found, part), document[part]
        elif isinstance(document, list) and (nth := _nth(part, document)) is not None:
            found, document = (*found, nth), document[nth]
    return found


def _nth(part: str | int, items: list[Any]) -> int | None:
    """Which item is meant: by its number, or by its id."""
    if str(part).isdecimal():
        return int(part) if int(part) < len(items) else None
    return next((nth for nth, one in enumerate(items) if isinstance(one, dict) and one.get("id") == part), None)


def _member(one: Violation | AnsweredViolation, step: Mapping[str, Any]) -> Iterator[str | int]:
    """The way to the member of a step that breaks a rule."""
    if one.edge is not None:
        yield from _edge(one, step)
        return
    named = [MEMBERS.get(one.rule, ""), one.rule.removesuffix("_refused"), *WORD.findall(one.detail.lower())]
    found = next((name for name in named if name in step), None)
    if found is not None:
        yield found


def _edge(one: Violation | AnsweredViolation, step: Mapping[str, Any]) -> Iterator[str | int]:
    edge, ways, on = one.edge, step.get("branches"), step.get("next")
    assert edge is not None  # noqa: S101 - the caller has looked
    for nth, way in enumerate(ways if isinstance(ways, list) else ()):
        if isinstance(way, dict) and (way.get("branch"), way.get("to")) == (edge.branch, edge.target):
            yield from ("branches", nth, *(("when",) if one.rule.startswith("condition_") and "when" in way else ()))
            return
    if step.get("on_error") == edge.target and on != edge.target:
        yield "on_error"
        return
    yield "next"
    if isinstance(on, dict) and edge.branch is not None:
        yield edge.branch
    elif isinstance(on, list) and edge.target in on:
        yield on.index(edge.target)


templates = typer.Typer(help="Process templates.", no_args_is_help=True)
Vertical = Annotated[str, typer.Argument(help="The template's slug.", autocompletion=complete_vertical)]


@templates.command("ls")
@calling
def list_templates(shell: Shell) -> None:
    """List the templates."""
    found = shell.perform(lambda api: taken(api.templates()))
    shell.show(found, display.templates)


@templates.command("show")
@calling
def show_template(shell: Shell, vertical: Vertical) -> None:
    """Show a template: its steps, their governance, and example inputs."""

    async def work(api: Penstock) -> tuple[TemplateDetail, Canvas]:
        return await explained(api, TEMPLATE, vertical, api.template(vertical)), await api.canvas(vertical)

    one, canvas = shell.perform(work)
    if shell.as_json:
        graph = canvas.model_dump(mode="json", include={"start", "nodes", "edges"})
        echo(json.dumps({**one.model_dump(mode="json"), **graph}, indent=2, ensure_ascii=False))
    else:
        display.show(display.template(one, canvas))


@templates.command("rules")
@calling
def show_rules(shell: Shell, vertical: Vertical) -> None:
    """List the laws and standards behind a template: what enforces each, and what shows it."""
    found = shell.perform(lambda api: explained(api, TEMPLATE, vertical, api.rules(vertical)))
    shell.show(found, display.rules)


@templates.command("check")
@calling
def check_template(
    shell: Shell,
    files: Annotated[
        list[Path] | None, typer.Argument(help="Template documents (*.yaml), and folders of them.")
    ] = None,
    as_of: Annotated[
        datetime | None,
        typer.Option(
            "--as-of",
            formats=["%Y-%m-%d"],
            metavar="DATE",
            help="Name rules that have lapsed by then, or were not reviewed for a year; without FILES of the library.",
        ),
    ] = None,
    own: Annotated[bool, typer.Option("--own", help="With --as-of: and of the templates of the company.")] = False,
) -> None:
    """Check whether templates load; prints FILE:LINE:COLUMN: RULE: SENTENCE for each finding.

    Of a sound one it prints the slowest path of each clock. A warning leaves a template sound, and
    a rule that is overdue does not. No service is needed but for --own.
    """
    if as_of is None and (own or not files):
        raise typer.BadParameter("--own goes with --as-of" if own else "name files, or a date with --as-of")
    day = None if as_of is None else as_of.date()
    found = [_checked(file, day) for file in _in_folders(files or ())]
    if day is not None:
        if not files:
            shelf = sorted((f"{pack}/{file.name}", file) for file, pack in packed_files())
            found += [_judged(name, rules_in(file), day) for name, file in shelf]
        if own:
            found += [_judged(name, rules, day) for name, rules in shell.perform(_own_rules)]
    if shell.as_json:
        echo(json.dumps(found, indent=2, ensure_ascii=False))
    else:
        for one in found:
            echo(one["text"], err="findings" not in one)
    raise typer.Exit(0 if all(one["sound"] for one in found) else exit_codes.REFUSED)


def _in_folders(files: Iterable[Path]) -> Iterator[Path]:
    """The files, and those of folders by name."""
    for file in files:
        inside = sorted(one for one in file.rglob("*") if one.suffix in SUFFIXES) if file.is_dir() else [file]
        yield from inside


async def _own_rules(api: Penstock) -> list[tuple[str, list[RuleOfTemplate]]]:
    every = await taken(api.templates())
    return [(one.vertical, await api.rules(one.vertical)) for one in every if one.own]


def _checked(file: Path, day: date | None) -> dict[str, Any]:
    try:
        entry, findings = checked(file)
    except OSError as error:
        return {"file": str(file), "sound": False, "text": message_of(error)}
    lines = [str(one) for one in findings]
    if entry is not None:
        template = entry.template
        paths = [
            f"{file}: clock {one.clock} takes up to {one.takes} of {one.within}, by {', '.join(one.path)}"
            for one in slowest_paths(template)
        ]
        lines = [f"{file}: {template.vertical} version {template.version} is sound", *paths, *lines]
    told = [one.as_json() for one in findings]
    sound, none = entry is not None, list[Any]()
    said_of = {"findings": none if sound else told, "warnings": told if sound else none}
    one = {"file": str(file), "sound": sound, "text": "\n".join(lines), **said_of}
    return one if entry is None or day is None else _with_rules(one, entry.rules, day)


def _judged(name: str, rules: Iterable[CitedRule | RuleOfTemplate], day: date) -> dict[str, Any]:
    """A template of which only the days of its rules are judged."""
    none = list[Any]()
    return _with_rules({"file": name, "sound": True, "text": "", "findings": none, "warnings": none}, rules, day)


def _with_rules(one: dict[str, Any], rules: Iterable[CitedRule | RuleOfTemplate], day: date) -> dict[str, Any]:
    """What is known of a template, with those of its rules that are overdue."""
    every = [*rules]
    found = [(rule, why) for rule in every if (why := overdue(rule.valid_to, rule.reviewed_on, day)) is not None]
    lines = [f"{one['file']}: {rule.id or '-'}: {rule.source}: {why}" for rule, why in found]
    lines = lines or [f"{one['file']}: none of its {len(every)} rules is overdue on {day}"]
    told = [{"id": rule.id, "source": rule.source, "detail": why} for rule, why in found]
    text = "\n".join(filter(None, [one["text"], *lines]))
    return {**one, "sound": not found, "text": text, "rules": told}


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
        echo(serialize(document).rstrip())
        return
    where.write_text(serialize(document), encoding="utf-8")
    echo(f"{where}: {document['vertical']}, {len(document['steps'])} steps")


@templates.command("push")
@calling
def push(shell: Shell, files: Annotated[list[Path], typer.Argument(help="Template documents (*.yaml).")]) -> None:
    """Store files as drafts, and print what is found; exit code 1 if a rule is broken."""
    documents = [read_document(file) for file in files]

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
    document = read_document(file)
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
    before, after = (serialize(plain(one)).splitlines() for one in (current, document))
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


def read_document(file: Path) -> dict[str, Any]:
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


def serialize(document: Mapping[str, Any]) -> str:
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
