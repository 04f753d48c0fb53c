"""Missing inputs: how a gate names them, and which a verdict may bring."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from actors.core.template import Template

Wrong = tuple[str, str]


def pointer(key: str, template: Template) -> str | None:
    """The JSON pointer of the input that a dotted key names; None for a key of the facts."""
    first, _, rest = key.partition(".")
    if first == "inputs" and rest:
        key = rest
    elif (first == "facts" and rest) or template.has(first):
        return None
    return "".join(map(pointed, key.split(".")))


def sentence(key: str, template: Template) -> str:
    """Why a step waits for what a dotted key names."""
    found = pointer(key, template)
    kind = "fact" if found is None else "input"
    return f"the {kind} {key.removeprefix(f'{kind}s.')} is missing"


def pointed(part: str) -> str:
    """One step of a JSON pointer."""
    return "/" + part.replace("~", "~0").replace("/", "~1")


def merged(inputs: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """The inputs with what was given later, members of members included."""
    found = {**inputs}
    for name, value in given.items():
        known = found.get(name)
        found[name] = merged(known, value) if isinstance(known, dict) and isinstance(value, dict) else value
    return found


def misplaced(
    given: dict[str, Any], missing: tuple[str, ...], inputs: dict[str, Any], path: str = ""
) -> Iterator[Wrong]:
    """What is given though it is not missing, by its pointer in the body of a resume."""
    for name, value in given.items():
        here = path + pointed(name)
        if here in missing:
            continue
        known = inputs.get(name, {})
        if not any(one.startswith(f"{here}/") for one in missing) or not isinstance(known, dict):
            yield f"/inputs{here}", "is not among what is missing at this gate"
        elif not isinstance(value, dict):
            yield f"/inputs{here}", "has to be an object"
        else:
            yield from misplaced(value, missing, known, here)
