"""What the document of a process says: its steps, expressions and schemas, each with its place."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

from actors.core.rules.questions import placeholders
from actors.core.template import Template
from daemon.templates.loading import CatalogEntry, load_file
from tests.library import expressions
from tests.library.expressions import EACH, Read

GOLDEN = Path("tests/golden/shipped")
SHOWN = "x-shown"
Schema = dict[str, Any]


class Expression(NamedTuple):
    """Something that reads: where it stands, and what it reads."""

    step_id: str
    member: str
    reads: list[Read]


class Property(NamedTuple):
    """A member of a schema: its path, and what the schema says of it."""

    path: expressions.Path
    schema: Schema
    shown: bool

    @property
    def name(self) -> str:
        return ".".join(self.path).replace(f".{EACH}", EACH)


class Vertical:
    """A process of the library: its file, its document, its template and its transcripts."""

    def __init__(self, file: Path, tree: Path) -> None:
        self.file, self.golden = file, tree / GOLDEN / f"{file.stem}.txt"
        self.entry: CatalogEntry = load_file(file, file.name, file.parent.name)
        self.document: dict[str, Any] = json.loads(self.entry.document)

    def __str__(self) -> str:
        return self.template.vertical

    @property
    def template(self) -> Template:
        return self.entry.template

    @property
    def pack(self) -> str:
        return self.file.parent.name

    @cached_property
    def steps(self) -> list[dict[str, Any]]:
        return list(self.document["steps"])

    @cached_property
    def tools(self) -> dict[str, dict[str, Any]]:
        return dict(self.document.get("tools", {}))

    @cached_property
    def header(self) -> str:
        """The comment at the top of the file, in one line."""
        lines: list[str] = []
        for line in self.file.read_text(encoding="utf-8").splitlines():
            if not line.startswith("#"):
                break
            lines.append(line.removeprefix("#").strip())
        return " ".join(lines)

    @property
    def transcripts(self) -> int:
        """How many conversations are written down."""
        if not self.golden.is_file():
            return 0
        return self.golden.read_text(encoding="utf-8").splitlines().count(f"process {self}")

    def tool_of(self, step_id: str) -> str | None:
        return next((step.get("tool") for step in self.steps if step["id"] == step_id), None)

    @cached_property
    def expressions(self) -> list[Expression]:
        return [*_of_steps(self.steps), *_of_judges(self.document.get("judges", []))]

    def outputs(self, tool: str) -> list[Property]:
        return [*properties(self.tools.get(tool, {}).get("output") or {})]


def properties(schema: Schema, path: expressions.Path = (), *, shown: bool = False) -> Iterator[Property]:
    """The members of an object, of the objects in it, and of the items of its lists."""
    for name, one in (schema.get("properties") or {}).items():
        inner = one if isinstance(one, dict) else {}
        seen = shown or inner.get(SHOWN) is True
        yield Property((*path, name), inner, seen)
        yield from properties(inner, (*path, name), shown=seen)
        items = inner.get("items")
        if isinstance(items, dict):
            yield from properties(items, (*path, name, EACH), shown=seen)


def _of_steps(steps: list[dict[str, Any]]) -> Iterator[Expression]:
    for step in steps:
        known = step["id"]
        for way in step.get("branches", []):
            yield from _one(known, "when", way.get("when"))
        for case in step.get("dry_run", []):
            yield from _one(known, "dry_run", case.get("when"))
        yield from _one(known, "until", step.get("until"))
        yield from _one(known, "signal_when", step.get("signal_when"))
        named = [Read(tuple(one.key.split("."))) for one in placeholders(step.get("question") or "")]
        yield Expression(known, "question", named)
        yield Expression(known, "needs", [Read(tuple(key.split("."))) for key in step.get("needs", [])])


def _of_judges(judges: list[dict[str, Any]]) -> Iterator[Expression]:
    for judge in judges:
        for step_id in judge.get("steps", []):
            yield from _one(step_id, "judges", judge.get("rule"))


def _one(step_id: str, member: str, text: str | None) -> Iterator[Expression]:
    if text is not None:
        yield Expression(step_id, member, expressions.reads(text))


def files(tree: Path, names: Collection[str] = ()) -> list[Path]:
    """The files of a tree's library, or those of these processes, by pack and name."""
    every = (tree / "daemon/templates/shipped").glob("*/*.yaml")
    found = [file for file in every if not names or file.stem in names]
    return sorted(found, key=lambda file: (file.parent.name, file.name))


def here() -> Path:
    """The tree that the package is in."""
    return Path(str(resources.files("daemon"))).parent
