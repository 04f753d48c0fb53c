"""Who decides at a user task, and until when, as engines and the standard say it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any
from xml.etree.ElementTree import Element

from actors.core.schedule.durations import duration
from daemon.bpmn.known import ENGINES, ZEEBE, shortened
from daemon.bpmn.names import local, reference, split
from daemon.bpmn.result import Imported

OWNERS = frozenset({"potentialOwner"})
READ = OWNERS | {"candidateGroups", "dueDate", "assignmentDefinition", "taskSchedule"}
_EXPRESSION = re.compile(r"[$#]\{|^\s*=")
_SHOWN = frozenset({"TaskName", "Comment", "Description", "Content", "Subject"})
"""Inputs of a task that are shown and do not say who decides, by the names of jBPM."""


class Unread(ValueError):
    """What is said cannot be taken over; the text says why."""


def read_people(found: Imported, element: Element, node: dict[str, Any], resources: Mapping[str, str]) -> None:
    """Take over groups and a due date; name all else that says who decides, or when."""
    policy: dict[str, Any] = {}
    groups: list[str] = []
    for what, text, kind in _said(element, resources):
        try:
            if kind == "groups":
                groups += _groups(text)
            elif kind == "due" and "deadline" not in policy:
                policy["deadline"] = _length(text)
            else:
                found.refuse_part(element, what, node["id"])
        except Unread as why:
            found.refuse_part(element, what, node["id"], str(why))
    if groups:
        policy["groups"] = ()
        found.groups.append((policy, groups))
    if policy:
        node["policy"] = policy


def is_expression(text: str) -> bool:
    """Whether a text is an expression of another engine."""
    return _EXPRESSION.search(text) is not None


def _said(element: Element, resources: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """What is said of people and time: how to call it, its text, and what it is."""
    kinds = {"candidateGroups": "groups", "dueDate": "due"}
    for name, value in element.attrib.items():
        uri, plain = split(name)
        if plain in kinds:
            yield f"the attribute {plain}={shortened(value)}", value, kinds[plain] if uri in ENGINES else "strange"
    for part in element:
        if local(part) in OWNERS:
            yield from _owners(part, resources)
        elif local(part) == "dataInputAssociation":
            yield from _assigned(element, part)
        elif local(part) == "extensionElements":
            for one in part:
                if local(one) in ("assignmentDefinition", "taskSchedule"):
                    for name, value in one.attrib.items():
                        kind = kinds.get(name, "strange") if split(one.tag)[0] in (ZEEBE, "") else "strange"
                        yield f"the extension {local(one)} {name}={shortened(value)}", value, kind


def _owners(part: Element, resources: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """The groups of a potentialOwner: by an expression, or by a resource of the file."""
    texts = [one for one in part.iter() if local(one) in ("formalExpression", "expression")]
    for one in texts:
        yield f"the part {local(part)}={shortened(one.text or '')}", one.text or "", "groups"
    refs = [one for one in part if local(one) == "resourceRef"]
    for one in refs:
        name = reference((one.text or "").strip(), resources)
        named = resources.get(name or "", "")
        yield f"the part {local(part)}={shortened(one.text or '')}", named, "groups" if named else "strange"
    others = [one for one in part if local(one) not in ("resourceAssignmentExpression", "resourceRef", "documentation")]
    if others or not (texts or refs):
        yield f"the part {local(part)}", "", "strange"


def _assigned(element: Element, part: Element) -> Iterator[tuple[str, str, str]]:
    """What is assigned to an input of the task; one may say who decides (jBPM)."""
    target = next((one.text for one in part if local(one) == "targetRef"), None)
    for one in element.iter():
        if local(one) == "dataInput" and one.get("id") == target and one.get("name") not in _SHOWN:
            for given in part.iter():
                if local(given) == "from":
                    text, name = (given.text or "").strip(), one.get("name") or ""
                    yield f"the input {name}={shortened(text)}", text, "groups" if name == "GroupId" else "strange"


def _groups(text: str) -> list[str]:
    """The names of groups in a list, where each is one."""
    if is_expression(text):
        raise Unread("is an expression of another engine: name the groups in the policy of the gate")
    found = []
    for name in filter(None, map(str.strip, text.split(","))):
        inner = name[6:-1].strip() if name.startswith("group(") and name.endswith(")") else name
        if not inner or "(" in inner or ")" in inner:
            raise Unread("names no groups: here groups decide, and no single people")
        found.append(inner)
    if not found:
        raise Unread("names no group")
    return found


def _length(text: str) -> str:
    try:
        duration(text.strip())
    except ValueError:
        raise Unread("is no duration such as PT72H, by which the gate would have a deadline") from None
    return text.strip()
