"""What was read of a BPMN file: a graph, and all that did not map."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from xml.etree.ElementTree import Element

from actors.core.rules import Violation
from daemon.bpmn.names import apart, free, latin, local, slug, strange

NAMED_MAX = 80


class MalformedXml(ValueError):
    """The text is no XML, or has a document type."""


class NoProcess(ValueError):
    """There is no process in the document."""


class TooManySteps(ValueError):
    """The process has more steps or flows than a template may have."""


@dataclass(slots=True)
class Imported:
    """A graph, what did not map, and the members of a document that a graph has not."""

    title: str
    start: str | None = None
    nodes: list[dict[str, Any]] = field(default_factory=list)
    edges: list[dict[str, Any]] = field(default_factory=list)
    violations: list[Violation] = field(default_factory=list)
    ids: dict[str, str] = field(default_factory=dict)
    """The step of each element by the element's id."""
    taken: set[str] = field(default_factory=set)
    passed: set[str] = field(default_factory=set)
    """Elements that only lead on."""
    closing: dict[str, str] = field(default_factory=dict)
    """The end behind a step that is both."""
    more: dict[str, Any] = field(default_factory=dict)
    outcomes: list[tuple[dict[str, Any], str]] = field(default_factory=list)
    """Ends whose outcome is their name."""
    messages: list[tuple[dict[str, Any], str]] = field(default_factory=list)
    """Waits for a message, by the name that the file gives it."""
    groups: list[tuple[dict[str, Any], list[str]]] = field(default_factory=list)
    """Policies of gates, and the groups that the file names."""

    def refuse(self, element: Element, where: str | None = None, why: str = "has no counterpart") -> None:
        """Name an element that does not map."""
        self.violations.append(Violation("unsupported_element", where, f"the element {_called(element)} {why}"))

    def refuse_strange(self, element: Element, where: str | None = None, read: frozenset[str] = frozenset()) -> None:
        """Name the attributes and parts of an element that do not map."""
        for what in strange(element, read):
            self.refuse_part(element, what, where)

    def refuse_part(
        self, element: Element, what: str, where: str | None = None, why: str = "has no counterpart"
    ) -> None:
        """Name an attribute or a part of an element that does not map."""
        detail = f"{what} of the element {_called(element)} {why}"
        self.violations.append(Violation("unsupported_element", where, detail))

    def add(self, node: dict[str, Any], wanted: str) -> dict[str, Any]:
        """Add a step that the file implies; its id begins with what is wanted."""
        node["id"] = free(wanted, self.taken)
        self.taken.add(node["id"])
        self.nodes.append(node)
        return node

    def settle_names(self) -> None:
        """Give messages, groups and outcomes legal names that differ where those of the file do."""
        messages = apart((name for _, name in self.messages), lambda name: slug(name, "message"))
        for wait, name in self.messages:
            wait["message"] = messages[name]
        groups = apart((one for _, names in self.groups for one in names), _group)
        for policy, names in self.groups:
            policy["groups"] = [*dict.fromkeys(groups[one] for one in names)]
        outcomes = apart((name for _, name in self.outcomes), lambda name: name.lower() or "done", " ")
        for node, name in self.outcomes:
            node["outcome"] = outcomes[name]


def _group(name: str) -> str:
    return latin(name)[:58].strip("-") or "group"


def _called(element: Element) -> str:
    """An element by its kind, its id and its name."""
    name = " ".join(element.get("name", "").split())[:NAMED_MAX]
    kind = f"{local(element)} {element.get('id', '')[:NAMED_MAX]}".strip()
    return kind + (f" ({name})" if name else "")
