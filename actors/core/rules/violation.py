"""What breaks a rule, and where."""

from __future__ import annotations

from msgspec import Struct

from actors.core.template import Edge


class EdgeName(Struct, frozen=True):
    """An edge by its ends and its branch."""

    source: str
    target: str
    branch: str | None = None


class Violation(Struct, frozen=True):
    """A rule that a template breaks, and the node or edge at which it does.

    Without either the detail begins with the member of the document.
    """

    rule: str
    node: str | None
    detail: str
    edge: EdgeName | None = None

    def __str__(self) -> str:
        """One line for people: the rule, the place, and why."""
        return f"{self.rule} at {self.detail if self.node is None else f'{self.node}: {self.detail}'}"


def named(edge: Edge) -> EdgeName:
    """The name of an edge."""
    return EdgeName(edge.source, edge.target, edge.branch)
