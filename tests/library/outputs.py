"""Who reads what tools answer, and what is read that no tool answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tests.library.documents import Property, Vertical, properties
from tests.library.expressions import Path

OF_EVERY_TASK = frozenset({"error"})


class Output(NamedTuple):
    """A member of a tool's output, and whether an expression reads it or people are shown it."""

    tool: str
    member: Property
    read: bool

    @property
    def unread(self) -> bool:
        return not (self.read or self.member.shown)

    def __str__(self) -> str:
        return f"{self.tool}.{self.member.name}"


def outputs(vertical: Vertical) -> list[Output]:
    """Every member of every tool's output; an object is read where one of its members is."""
    found = []
    for tool in vertical.tools:
        known = {one.path for one in _read_of(vertical, tool)}
        for one in vertical.outputs(tool):
            length = len(one.path)
            found.append(Output(tool, one, any(path[:length] == one.path for path in known)))
    return found


def _read_of(vertical: Vertical, tool: str) -> Iterator[Property]:
    """The members of a tool's output that are read by the end of a path."""
    known = {one.path: one for one in vertical.outputs(tool)}
    for path in read_paths(vertical, tool):
        for end in range(len(path), 0, -1):
            if path[:end] in known:
                yield known[path[:end]]
                break


def read_paths(vertical: Vertical, tool: str) -> Iterator[Path]:
    """The paths below the output of a tool that expressions read."""
    steps = {step["id"] for step in vertical.steps if step.get("tool") == tool}
    for expression in vertical.expressions:
        for read in expression.reads:
            match read.path:
                case ("output", *rest) if expression.step_id in steps and rest:
                    yield tuple(rest)
                case ("facts", step_id, *rest) if step_id in steps and rest:
                    yield tuple(rest)


def unknown_reads(vertical: Vertical) -> Iterator[tuple[str, str]]:
    """The step and the path of each read that no schema knows."""
    inputs = {one.path: one for one in properties(vertical.entry.inputs_schema)}
    for expression in vertical.expressions:
        tool = vertical.tool_of(expression.step_id)
        for read in expression.reads:
            match read.path:
                case ("inputs", *rest) if rest:
                    known = _knows(inputs, tuple(rest))
                case ("facts", step_id, first, *rest):
                    other = vertical.tool_of(step_id)
                    asked = first not in OF_EVERY_TASK and other is not None
                    known = not asked or _in_output(vertical, other or "", (first, *rest))
                case ("output", *rest) if rest and tool is not None:
                    known = _in_output(vertical, tool, tuple(rest))
                case _:
                    known = True
            if not known:
                yield expression.step_id, ".".join(read.path)


def _in_output(vertical: Vertical, tool: str, path: Path) -> bool:
    """Whether a tool answers it; what a task of a human tier is decided by is no tool's answer."""
    if path[0] in ("decision", "comment", "code", "form", "forms", "branch"):
        return True
    return tool not in vertical.tools or _knows({one.path: one for one in vertical.outputs(tool)}, path)


def _knows(known: dict[Path, Property], path: Path) -> bool:
    """Whether a path is one of a schema, or leads into a member that the schema leaves open."""
    if path in known:
        return True
    for end in range(len(path) - 1, 0, -1):
        if path[:end] in known:
            schema = known[path[:end]].schema
            return not (schema.get("properties") or schema.get("items"))
    return False
