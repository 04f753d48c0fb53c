"""What a step waits for: a time, or a message."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime
from xml.etree.ElementTree import Element

from actors.core.schedule.durations import duration
from actors.core.template import ConditionFailed
from daemon.bpmn.names import local, reference
from daemon.bpmn.result import Imported
from daemon.templates.cel import compile_moment

_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:T.*)?")


def timer(found: Imported, element: Element, definition: Element) -> dict[str, str]:
    """The wait for a time; one that says none that can come is named, and waits for nothing."""
    found.refuse_strange(definition, read=frozenset({"timeCycle"}))
    times = [(local(one), (one.text or "").strip(), one) for one in definition if local(one).startswith("time")]
    for kind, text, one in times:
        found.refuse_strange(one)
        try:
            if kind == "timeDuration" and text:
                duration(text)
                return {"duration": text}
            if kind == "timeDate" and text:
                return {"until": _moment(text)}
        except ValueError as why:
            found.refuse_part(element, f"{kind} {text[:80]}", None, f"is no time here, and was dropped: {why}")
            return {}
        if kind == "timeCycle":
            found.refuse_part(element, f"timeCycle {text[:80]}")
    return {}


def message(
    found: Imported, element: Element, given: str | None, messages: Mapping[str, Element]
) -> dict[str, str] | None:
    """The wait for a message, by its name, or else by that of the step; None for an unknown one."""
    if given is None:
        named = element.get("name", "")
    else:
        known = reference(given, messages)
        if known is None or known not in messages:
            return None
        named = messages[known].get("name", "") or known
        found.refuse_strange(messages[known], read=frozenset({"itemRef"}))
    wait = {"message": "message"}
    found.messages.append((wait, " ".join(named.split()) or element.get("id") or "message"))
    return wait


def _moment(text: str) -> str:
    """An expression for a time; ValueError where it can never be one."""
    if _DATE.fullmatch(text):
        at = datetime.fromisoformat(text)
        if at.tzinfo is None:
            raise ValueError("it has no zone, such as Z or +01:00")
        stamp = re.sub(r"\+00:00$", "Z", at.isoformat())
        return f"timestamp({json.dumps(text if _exact(text) else stamp)})"
    moment = compile_moment(text)
    if not re.search(r"\b(?:inputs|facts)\b", text):
        try:
            moment.time({}, {})
        except ConditionFailed as failed:
            raise ValueError(str(failed)) from None
    return text


def _exact(text: str) -> bool:
    return re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)", text) is not None
