"""Changes of what a rule names, each of which one of the rehearsals of the rule has to notice.

A rule names steps and clocks by `enforced_by`, and ways out of a step by its rehearsals alone: they
take the way that it lets pass, and the way on which it stops. A change of a way, or of its number,
is named by the rules whose rehearsals take that way, so that two rehearsals need not take all ways
of a step that has three. The numbers of a way are those of its condition, of the timeout that leads
there, and of the deadline that decides for it. A way that no rehearsal of the process takes is
named by all rules that name its step, so that nobody gains by what is never rehearsed. What changes
the step, another deadline, a quorum or a clock is named by all of them in any case.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any, Literal, NamedTuple

from actors.core.template import GATE_TIERS
from daemon.templates.documents import PolicyFields

Json = dict[str, Any]
Path = tuple[str | int, ...]
Change = Callable[[Json], None]
Kind = Literal["step", "branch", "number", "requirement"]
KINDS: tuple[Kind, ...] = ("step", "branch", "number", "requirement")
TOKEN = re.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[A-Za-z_][\w]*|(\d+(?:\.\d+)?)|(<=|>=|<|>)""")
COUNT = re.compile(r"\d+")
BOUNDS = {"<=": "<", "<": "<=", ">=": ">", ">": ">="}
NEEDED = {"role": "manager", "code": "optional", "comment": "optional"}
"""What a gate asks for that says nothing of it."""
DROPPED = ("groups", "function", "form", "denial_codes", "deadline", "on_deadline")
GOES_WITH = {"deadline": ("on_deadline", "remind"), "denial_codes": ("code",)}
DURATIONS = ("deadline", "for", "within")


class Mutant(NamedTuple):
    """A document with one thing changed, which kind of thing it was, and of which way to where."""

    kind: Kind
    what: str
    document: Json
    way: str | None = None


def mutants(document: Json, name: str) -> Iterator[Mutant]:
    """All changes of a step or a clock."""
    clock = next((one for one in document.get("clocks", ()) if one["id"] == name), None)
    if clock is not None:
        yield from _of_clock(document, clock)
        return
    step = next(one for one in document["steps"] if one["id"] == name)
    yield from _removed(document, step)
    yield from _branches(document, step)
    for path, number in _numbers(step):
        yield _changed(document, name, "number", f"{path[0]}: {number}", _putting(path, number), _way_of(step, path))
    yield from _requirements(document, step)


def _way(step: Json, branch: str, target: str) -> str:
    """How a way is named: by its branch where people or events take it, else by its target."""
    asked = step["kind"] in ("gate", "wait") or (
        step["kind"] == "gateway" and not any("when" in one for one in step.get("branches", ()))
    )
    return branch if asked else target


def _way_of(step: Json, path: Path) -> str | None:
    """The way of a number: of its condition, of its timeout, or of the deadline that decides."""
    if path[0] == "branches":
        one = step["branches"][path[1]]
        return _way(step, one["branch"], one["to"])
    if path[0] == "within" and isinstance(step.get("next"), dict):
        return "timeout"
    silent = step.get("on_deadline")
    return silent if path[0] == "deadline" and isinstance(silent, str) else None


def ways(step: Json) -> list[str]:
    """Where a step may lead, each once."""
    on = step.get("next")
    named = on.values() if isinstance(on, dict) else on if isinstance(on, list) else [on]
    return [*dict.fromkeys(one for one in (*named, *(way["to"] for way in step.get("branches", ()))) if one)]


def _removed(document: Json, step: Json) -> Iterator[Mutant]:
    """Without the step the way goes on as if it had been passed, over each of its branches."""
    name, on = step["id"], step.get("next")
    if step["kind"] == "end":
        yield _changed(document, name, "step", "ends otherwise", _putting(("outcome",), f"not {step['outcome']}"))
        return
    ahead = [on["approved"]] if isinstance(on, dict) and "approved" in on else ways(step)
    for target in ahead:
        if target != name:
            yield Mutant("step", f"left out, on to {target}", _without(document, name, target))


def _without(document: Json, name: str, target: str) -> Json:
    made = deepcopy(document)
    made["start"] = target if made.get("start", made["steps"][0]["id"]) == name else made.get("start")
    made["start"] = made["start"] or made["steps"][0]["id"]
    made["steps"] = [one for one in made["steps"] if one["id"] != name]
    for step in made["steps"]:
        _led_on(step, name, target)
        step["four_eyes"] = [one for one in step.get("four_eyes", ()) if one != f"gate:{name}"]
        if not step["four_eyes"]:
            del step["four_eyes"]
    for clock in made.get("clocks", ()):
        for member in ("stops", "pauses"):
            clock[member] = [one for one in clock.get(member, ()) if one not in (name, f"question:{name}")]
    made["clocks"] = [one for one in made.get("clocks", ()) if one["stops"] and one.get("from_step") != name]
    made["judges"] = [
        {**one, "steps": left} for one in made.get("judges", ()) if (left := [at for at in one["steps"] if at != name])
    ]
    return made


def _led_on(step: Json, name: str, target: str) -> None:
    """Let all that leads to a step lead on to another one."""
    on = step.get("next")
    if isinstance(on, dict):
        step["next"] = {branch: target if to == name else to for branch, to in on.items()}
    elif isinstance(on, list):
        step["next"] = [target if to == name else to for to in on]
    elif on == name:
        step["next"] = target
    if step.get("on_error") == name:
        step["on_error"] = target
    for way in step.get("branches", ()):
        way["to"] = target if way["to"] == name else way["to"]


def _branches(document: Json, step: Json) -> Iterator[Mutant]:
    """Each way with the opposite condition, or to where another one leads."""
    branches, on = step.get("branches", []), step["next"] if isinstance(step.get("next"), dict) else {}
    changes: list[tuple[str, Change, str | None]] = []
    for nth, one in enumerate(branches):
        branch, other = one["branch"], next((it["to"] for it in branches if it["to"] != one["to"]), None)
        way = _way(step, branch, one["to"])
        if "when" in one:
            changes.append((f"{branch} negated", _putting(("branches", nth, "when"), f"!({one['when']})"), way))
        if other is not None:
            changes.append((f"{branch} to {other}", _putting(("branches", nth, "to"), other), way))
    for branch in on if len({*on.values()}) > 1 else ():
        other = next(to for to in on.values() if to != on[branch])
        changes.append((f"{branch} to {other}", _putting(("next", branch), other), _way(step, branch, on[branch])))
    if "signal_when" in step:
        changes.append(("no signal", _dropping("signal_when"), None))
    yield from (_changed(document, step["id"], "branch", *one) for one in changes)


def _numbers(step: Json) -> Iterator[tuple[Path, Any]]:
    """Each number a little larger or smaller, and each limit on its other side."""
    expressions: list[tuple[Path, str]] = [
        (("branches", nth, "when"), way["when"]) for nth, way in enumerate(step.get("branches", ())) if "when" in way
    ]
    expressions += [((word,), step[word]) for word in ("signal_when", "until") if word in step]
    for path, text in expressions:
        yield from ((path, other) for other in others(text))
    for word in DURATIONS:
        if isinstance(step.get(word), str):
            yield (word,), longer(step[word])
        elif isinstance(step.get(word), dict):
            yield (word, "before"), longer(step[word]["before"])
    for word in ("quorum", "denials"):
        if step.get(word, 1) > 1:
            yield (word,), step[word] - 1


def others(text: str) -> Iterator[str]:
    """An expression with one of its numbers, or one of its limits, another."""
    for found in TOKEN.finditer(text):
        before, after = text[: found.start()], text[found.end() :]
        if found[1] is not None:
            number = float(found[1]) if "." in found[1] else int(found[1])
            yield from (f"{before}{one}{after}" for one in (number + 1, number - 1) if one >= 0)
        elif found[2] is not None:
            yield f"{before}{BOUNDS[found[2]]}{after}"


def longer(duration: str) -> str:
    """A duration, or an expression with some, of one unit more."""
    return COUNT.sub(lambda found: str(int(found[0]) + 1), duration)


def _requirements(document: Json, step: Json) -> Iterator[Mutant]:
    """Each thing that it asks of people is asked of them no more."""
    barred = step.get("four_eyes", [])
    changes = [
        (f"no four_eyes {name}", _putting(("four_eyes",), [one for one in barred if one != name])) for name in barred
    ]
    changes += [
        (f"{word} {plain}", _putting((word,), plain))
        for word, plain in NEEDED.items()
        if step.get(word, plain) != plain
    ]
    changes += [(f"no {word}", _dropping(word, *GOES_WITH.get(word, ()))) for word in DROPPED if step.get(word)]
    if step["kind"] in ("task", "gateway") and step.get("tier") in GATE_TIERS:
        changes.append(("tier low", _ungated))
    yield from (_changed(document, step["id"], "requirement", *one) for one in changes)
    for judge in document.get("judges", ()):
        if step["id"] in judge["steps"]:
            left = [one for one in document["judges"] if one is not judge]
            yield Mutant("requirement", f"without the judge {judge['id']}", {**document, "judges": left})


def _ungated(step: Json) -> None:
    _dropping("question", "role", *PolicyFields.model_fields)(step)
    step["tier"] = "low"


def _of_clock(document: Json, clock: Json) -> Iterator[Mutant]:
    clocks = document["clocks"]
    others = [one for one in clocks if one is not clock]
    yield Mutant("step", "no clock", {**document, "clocks": others})
    within = longer(clock["within"])
    changes: list[tuple[Kind, str, Json]] = [("number", f"within {within}", {**clock, "within": within})]
    changes += [
        ("requirement", f"no {word}", {name: one for name, one in clock.items() if name != word})
        for word in ("from", "from_step", "pauses", "extend", "on_breach")
        if clock.get(word)
    ]
    for kind, what, made in changes:
        yield Mutant(kind, what, {**document, "clocks": [made if one is clock else one for one in clocks]})


def _changed(document: Json, name: str, kind: Kind, what: str, change: Change, way: str | None = None) -> Mutant:
    made = deepcopy(document)
    change(next(one for one in made["steps"] if one["id"] == name))
    return Mutant(kind, what, made, way)


def _putting(path: Path, value: Any) -> Change:
    def put(one: Any) -> None:
        for part in path[:-1]:
            one = one[part]
        one[path[-1]] = value

    return put


def _dropping(*words: str) -> Change:
    def drop(one: Json) -> None:
        for word in words:
            one.pop(word, None)

    return drop
