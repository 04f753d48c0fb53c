"""What is wrong with a template in a file, each with its line and column."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from actors.core.rules import Violation, policy_warnings
from daemon.client import Violation as AnsweredViolation
from daemon.templates import yaml_reader
from daemon.templates.loading import UNREADABLE, CatalogEntry, Malformed, TemplateRefused, load_text, unreadable
from daemon.templates.yaml_reader import Place, YamlRefused, places

# The member of a step that a rule is about, where neither the rule nor its detail has the name.
MEMBERS = {
    "branch_without_condition": "branches",
    "comment_refused": "comment",
    "condition_off_gateway": "branches",
    "duplicate_branch": "branches",
    "escalates_to_nobody": "on_deadline",
    "duplicate_id": "id",
    "end_with_exit": "next",
    "flow_off_gateway": "flow",
    "gateway_without_flow": "kind",
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
