"""What a process of the library must have, found in its document without a run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from daemon.templates.documents import Document
from daemon.templates.rehearsals import rehearsed_wrongly
from daemon.templates.schemas import InputsSchema
from tests.library.citations import uncovered
from tests.library.documents import Vertical, properties
from tests.library.outputs import outputs, unknown_reads

TRANSCRIPTS_MIN = 2
STEPS_MIN, STEPS_MAX = 8, 40
DATES = re.compile(r"(?:^|_)(?:date|dob|on|at)$|^date_")
EMAILS = re.compile(r"(?:^|_)e?mail(?:_address)?$")
MONEY = frozenset({"amount", "balance", "premium", "price", "salary", "income", "fee", "principal"})
DATED = ("id", "jurisdiction", "valid_from", "reviewed_on")
TEXTS = frozenset({"date", "date-time", "email"})


class Finding(NamedTuple):
    """What is wrong with a process, by the name of the check."""

    vertical: str
    check: str
    detail: str

    def __str__(self) -> str:
        return f"{self.vertical}: {self.check}: {self.detail}"


def findings(vertical: Vertical) -> list[Finding]:
    """All that is wrong with a process as it is written."""
    return [Finding(str(vertical), check, detail) for check, detail in _found(vertical)]


def _found(vertical: Vertical) -> Iterator[tuple[str, str]]:
    yield from _tools(vertical)
    yield from (("output_unread", f"{one} has no reader") for one in outputs(vertical) if one.unread)
    yield from (("unknown_read", f"{step}: no schema has {path}") for step, path in unknown_reads(vertical))
    yield from _dry_runs(vertical)
    yield from _inputs(vertical.document)
    yield from _sources(vertical)
    yield from _gates(vertical)
    rehearsed = rehearsed_wrongly(Document.model_validate(vertical.document), vertical.template)
    yield from ((one.rule, one.detail) for one in rehearsed)
    if vertical.transcripts < TRANSCRIPTS_MIN:
        yield "transcripts", f"{vertical.golden.name} has {vertical.transcripts} conversations"
    if not STEPS_MIN <= len(vertical.steps) <= STEPS_MAX:
        yield "size", f"{len(vertical.steps)} steps, where {STEPS_MIN} to {STEPS_MAX} are due"


def _tools(vertical: Vertical) -> Iterator[tuple[str, str]]:
    """The tools that are called, or undo a call, and are not described."""
    named = {step[word] for step in vertical.steps for word in ("tool", "compensate") if _is_text(step.get(word))}
    for tool in sorted(named):
        schemas = vertical.tools.get(tool, {})
        missing = [word for word in ("input", "output") if not schemas.get(word)]
        if missing:
            yield "tool_without_schema", f"{tool} has no {' and no '.join(missing)}"


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _dry_runs(vertical: Vertical) -> Iterator[tuple[str, str]]:
    """Answers of dry runs that the schema of the tool refuses."""
    for step in vertical.steps:
        schema = vertical.tools.get(step.get("tool", ""), {}).get("output") or {}
        for case in step.get("dry_run", []):
            for where, why in InputsSchema.from_schema(schema).all_errors(case["output"]):
                yield "dry_run_unfit", f"{step['id']}: output{where.removeprefix('/inputs')} {why}"


def _inputs(document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    schema = document["inputs_schema"]
    every = [*properties(schema)]
    if not every:
        yield "inputs", "inputs_schema has no properties"
    for one in every:
        if one.path[-1] != "[]" and not one.schema.get("title"):
            yield "title", f"inputs.{one.name} has none"
        if _texts(one.schema) and _due_format(one.path[-1]) and one.schema.get("format") not in TEXTS:
            yield "format", f"inputs.{one.name} is a {_due_format(one.path[-1])} without that format"
    names = {one.path[-1] for one in every}
    money = sorted(name for name in names if MONEY & set(name.split("_")))
    if money and not any("currency" in name for name in names):
        yield "currency", f"inputs.{money[0]} has no currency beside it"
    if not document["example"]:
        yield "example", "the example is empty"


def _texts(schema: dict[str, Any]) -> bool:
    kinds = schema.get("type")
    return kinds == "string" or (isinstance(kinds, list) and "string" in kinds)


def _due_format(name: str) -> str | None:
    if EMAILS.search(name):
        return "email"
    return "date" if DATES.search(name) else None


def _sources(vertical: Vertical) -> Iterator[tuple[str, str]]:
    rules = vertical.document.get("rules", [])
    if not vertical.header:
        yield "header", "the file begins without a comment"
    if not rules:
        yield "rules", "the document has none"
        return
    for one in uncovered(vertical.header, [rule["source"] for rule in rules]):
        yield "source_not_in_rules", f"the header cites {one}"
    gone = [rule["source"] for rule in rules if not (rule.get("enforced_by") or rule.get("not_enforced"))]
    yield from (("rule_not_enforced", f"{source} is neither enforced nor named") for source in gone)
    for rule in rules:
        due = DATED if rule.get("not_enforced") else (*DATED, "shown_by")
        yield from (("rule", f"{rule['source']} has no {word}") for word in due if not rule.get(word))


def _gates(vertical: Vertical) -> Iterator[tuple[str, str]]:
    gates = set(vertical.template.gates)
    for step in vertical.steps:
        if step["id"] in gates:
            yield from (("gate", f"{step['id']} has no {word}") for word in ("role", "question") if not step.get(word))


def told(found: Iterable[Finding]) -> str:
    return "\n".join(map(str, found))
