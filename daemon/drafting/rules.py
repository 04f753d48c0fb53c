"""A new graph from a text by rules: a step for each clause, and a gate before what is final."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

STEPS_MAX = 40
LABEL_MAX = 80
CLAUSE_MAX = 200
_CLAUSE = re.compile(r"[.;]+ ?|,? (?:and )?then |, (?:and )?| and (?=[a-z]+ )", re.IGNORECASE)
_GATE = re.compile(
    r"\b(approv\w*|sign[- ]?off|signs?|review\w*|decid\w*|decision|confirm\w*|authori[sz]\w*|asks?|manager|human)\b",
    re.IGNORECASE,
)
_FINAL = re.compile(
    r"\b(pay\w*|send\w*|wires?|transfer\w*|delet\w*|eras\w*|publish\w*|files?|notif\w*|issues?|refund\w*|deploy\w*|"
    r"terminat\w*|e-?mail\w*|submit\w*|charg\w*|ship\w*|post\w*|releas\w*|cancel\w*|reject\w*|inform\w*|revok\w*)\b",
    re.IGNORECASE,
)
_READ = re.compile(
    r"\b(check\w*|fetch\w*|get|look\w*|find\w*|gather\w*|collect\w*|verif\w*|screen\w*|read\w*|pull\w*|load\w*|"
    r"validat\w*|scor\w*|search\w*|compar\w*|classif\w*)\b",
    re.IGNORECASE,
)
_IF = re.compile(r"^(?:if|when|where|in case)\b ?", re.IGNORECASE)
_NUMBERS = ("a", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_WAIT = re.compile(rf"\bwait\w*\b.*?\b(\d{{1,4}}|an|{'|'.join(_NUMBERS)}) ?(minute|hour|day|week|month)", re.IGNORECASE)
_UNITS = {"minute": "PT{}M", "hour": "PT{}H", "day": "P{}D", "week": "P{}W", "month": "P{}M"}
_OTHER = re.compile(r"[^a-z0-9]+")
Node = dict[str, Any]


def generated(text: str) -> dict[str, Any]:
    """A graph of nodes and edges that keeps all rules: no final step is past every gate."""
    plain = " ".join(text.replace("\n", ". ").split())
    clauses = [one.strip()[:CLAUSE_MAX] for one in _CLAUSE.split(plain) if one.strip()]
    nodes: list[Node] = []
    edges: list[dict[str, Any]] = []
    open_ends: list[tuple[str, str | None]] = []
    gated = False

    def add(node: Node) -> str:
        node["id"] = _id(node["label"], {one["id"] for one in nodes})
        nodes.append(node)
        edges.extend({"source": source, "target": node["id"], "branch": branch} for source, branch in open_ends)
        open_ends[:] = [] if node["kind"] == "end" else [(node["id"], None)]
        return str(node["id"])

    for clause in clauses[:STEPS_MAX]:
        asked = _IF.match(clause)
        if asked is not None:
            choice = add({"kind": "gateway", "flow": "exclusive", "tier": "high", "label": _label(clause + "?")})
            gated, open_ends[:] = True, [(choice, "yes")]
            nodes[-1]["otherwise"] = choice
            continue
        for node in _nodes(clause, gated=gated):
            gated = gated or node["kind"] == "gate"
            add(node)
        waiting = [one.pop("otherwise") for one in nodes if "otherwise" in one]
        open_ends += [(choice, "no") for choice in waiting]
    waiting = [one.pop("otherwise") for one in nodes if "otherwise" in one]
    open_ends += [(choice, "no") for choice in waiting]
    if not nodes:
        add({"kind": "gate", "label": "Look at it"})
    add({"kind": "end", "label": "Done", "outcome": "done"})
    return {"title": _label(clauses[0] if clauses else "Process"), "nodes": nodes, "edges": edges}


def _nodes(clause: str, *, gated: bool) -> Iterator[Node]:
    label = _label(clause)
    if (wait := _WAIT.search(clause)) is not None:
        duration = _UNITS[wait[2].casefold()].format(_number(wait[1].casefold()))
        yield {"kind": "wait", "label": label, "wait": {"duration": duration}}
    elif _GATE.search(clause) is not None and _READ.match(clause) is None:
        yield {"kind": "gate", "label": label}
    elif _FINAL.search(clause) is not None and _READ.match(clause) is None:
        if not gated:
            yield {"kind": "gate", "label": _label(f"Approve: {clause}")}
        yield _task(label, "irreversible")
    else:
        yield _task(label, "read" if _READ.search(clause) is not None else "reversible")


def _number(said: str) -> int:
    if said.isdigit():
        return int(said)
    return _NUMBERS.index(said) if said in _NUMBERS[1:] else 1


def _task(label: str, effect: str) -> Node:
    return {"kind": "task", "label": label, "tool": _id(label, set()), "effect": effect}


def _label(clause: str) -> str:
    text = clause.strip(" ,.;:-")[:LABEL_MAX]
    return text[:1].upper() + text[1:] if text else "Step"


def _id(label: str, taken: set[str]) -> str:
    plain = _OTHER.sub("-", label.casefold()).strip("-")[:40].strip("-") or "step"
    plain = plain if plain[0].isalpha() and plain not in ("inputs", "facts") else f"step-{plain}"
    number, found = 1, plain
    while found in taken:
        number += 1
        found = f"{plain}-{number}"
    return found
