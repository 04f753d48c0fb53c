"""What templates and connectors may cost, judged before anything of them is compiled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from actors.core.rules import Violation
from actors.core.rules.graph import STEPS_MAX
from actors.core.schedule import is_duration
from daemon.templates.documents import ACTS_MAX, REHEARSALS_MAX, Document, Step
from daemon.templates.expression_cost import cost_of as expression_cost
from daemon.templates.schema_cost import (
    COMPILE_NS,
    EVALUATIONS_MAX,
    REFERENCES_MAX,
    SUBSCHEMAS_MAX,
    CostlySchema,
    compile_ns,
    has_more,
    inline_weight,
    schema_cost,
)

EDGES_MAX = 10_000
VALUES_MAX = 50_000
TOOLS_MAX = RULES_MAX = 2_000
NEEDS_MAX = 1_000
EXPRESSIONS_MAX = 1_000
EXPRESSION_CHARS_MAX = 128 * 1024
PATTERNS_MAX = 200
PATTERN_CHARS_MAX = 16 * 1024
COST_MAX = 200_000
EXPRESSION_COST = 100
PATTERN_COST = 100
LIGHT_STEPS_MAX = 60
LIGHT_CHARS_MAX = 4_000
"""Expressions of so many characters compile in some 15 ms."""
JMESPATH_CHARS_MAX = 16 * 1024

LIMITS: tuple[tuple[str, int, str], ...] = (
    ("values of a template", VALUES_MAX, "all members and items of its document, within each other too"),
    ("edges of a template", EDGES_MAX, "its `next` and `branches`"),
    ("tools, and as many rules, that a template describes", TOOLS_MAX, "its `tools` and `rules`"),
    ("rehearsals of a template", REHEARSALS_MAX, f"its `rehearsals`; one has at most {ACTS_MAX} acts"),
    ("inputs that a step needs", NEEDS_MAX, "its `needs`, and all that the schema requires of them"),
    (
        "expressions of a template",
        EXPRESSIONS_MAX,
        "`when`, `signal_when`, `until`, the rules of judges, `from` and `within` of clocks",
    ),
    ("their characters", EXPRESSION_CHARS_MAX, "all together; one has at most 4,096"),
    ("schemas in one schema", SUBSCHEMAS_MAX, "its properties, items, alternatives and definitions"),
    ("definitions, or references to them", REFERENCES_MAX, "of one schema; `$ref` alone, and no `$id` within"),
    ("evaluations of one schema", EVALUATIONS_MAX, "all that a value passes, references followed as often as met"),
    ("patterns of a template", PATTERNS_MAX, "`pattern` and `patternProperties` of all of its schemas"),
    ("their characters", PATTERN_CHARS_MAX, "all together"),
    (
        "cost of a template",
        COST_MAX,
        f"evaluations, {EXPRESSION_COST} an expression, {PATTERN_COST} a pattern, and the characters of both",
    ),
    ("characters of a `response_map`", JMESPATH_CHARS_MAX, "all of its JMESPath together; one has at most 1,024"),
)
"""Each bound: what is counted, how many, and what belongs to it."""


class Cost(NamedTuple):
    """What a template costs: a sum, and what it counts."""

    evaluations: int = 0
    expressions: int = 0
    expression_chars: int = 0
    patterns: int = 0
    pattern_chars: int = 0

    @property
    def total(self) -> int:
        each = EXPRESSION_COST * self.expressions + PATTERN_COST * self.patterns
        return self.evaluations + each + self.expression_chars + self.pattern_chars


def costly(document: Document) -> tuple[Violation, ...]:
    """Why a template costs too much to be checked, published or run; nothing is compiled for it."""
    if (edges := sum(map(_leading, document.steps))) > EDGES_MAX:
        return (too_many_edges(edges),)
    if len(document.tools) > TOOLS_MAX or len(document.rules) > RULES_MAX:
        return (too_large(f"tools: at most {TOOLS_MAX:,} are allowed, and {RULES_MAX:,} rules"),)
    cost, wrong = cost_of(document)
    if not wrong:
        wrong = [too_large(why) for why in _beyond(cost)]
    return tuple(wrong)


def oversized(value: Mapping[str, Any]) -> tuple[Violation, ...]:
    """That a template or a graph is too large, found before anything is made of it."""
    steps, edges = value.get("steps", value.get("nodes")), value.get("edges")
    if isinstance(steps, list) and len(steps) > STEPS_MAX + 1:
        return (too_large(f"steps: there are {len(steps):,}, at most {STEPS_MAX:,} are allowed"),)
    if isinstance(edges, list) and len(edges) > EDGES_MAX:
        return (too_many_edges(len(edges)),)
    if has_more(value, VALUES_MAX):
        return (too_large(f"values: the document has more than {VALUES_MAX:,} members and items in it"),)
    return ()


def too_large(why: str, node: str | None = None) -> Violation:
    return Violation("too_large", node, why)


def is_light(document: Document) -> bool:
    """Whether a template takes a few milliseconds to compile, check and rehearse."""
    if document.rehearsals or len(document.steps) > LIGHT_STEPS_MAX or len(document.tools) > LIGHT_STEPS_MAX:
        return False
    texts, schemas = list(expressions(document)), [schema for _, _, _, schema in _schemas(document)]
    if _chars(texts) > LIGHT_CHARS_MAX or not all(map(inline_weight, schemas)):
        return False
    return sum(map(compile_ns, schemas)) + sum(expression_cost(text).compile_ns for text in texts) <= COMPILE_NS


def too_many_edges(count: int) -> Violation:
    """That a graph has more edges than it may have, and how it gets along with fewer."""
    why = (
        f"edges: there are {count:,}, at most {EDGES_MAX:,} are allowed; lead the steps to a gateway, and on from there"
    )
    return too_large(why)


def _leading(step: Step) -> int:
    return len(step.branches) + (1 if isinstance(step.next, str) else len(step.next or ()))


def cost_of(document: Document) -> tuple[Cost, list[Violation]]:
    """The cost of a template, and the schemas whose own is too high."""
    texts, wrong = list(expressions(document)), list[Violation]()
    evaluations, patterns = 0, list[str]()
    for rule, node, name, schema in _schemas(document):
        try:
            one = schema_cost(schema)
        except CostlySchema as costs:
            wrong.append(Violation(rule, node, f"{name}: {costs}"))
        else:
            evaluations += one.evaluations
            patterns += one.patterns
    return Cost(evaluations, len(texts), _chars(texts), len(patterns), _chars(patterns)), wrong


def costly_map(names: Mapping[str, str] | None) -> str | None:
    """Why the JMESPath of a connector costs too much to be compiled."""
    if _chars((names or {}).values()) > JMESPATH_CHARS_MAX:
        return f"has more than {JMESPATH_CHARS_MAX:,} characters of JMESPath in all"
    return None


def expressions(document: Document) -> Iterator[str]:
    """The expressions of a document; each takes about a millisecond to compile."""
    yield from (one.rule for one in document.judges if one.rule is not None)
    for clock in document.clocks:
        yield from (text for text in (clock.from_, clock.within) if text is not None and not is_duration(text))
    for step in document.steps:
        texts: Sequence[str | None] = (
            step.signal_when,
            step.until,
            *(way.when for way in step.branches),
            *(case.when for case in step.dry_run),
        )
        yield from (text for text in texts if text is not None)


def _schemas(document: Document) -> Iterator[tuple[str, str | None, str, Any]]:
    """Each schema of a document: the rule that it would break, its step, its name."""
    yield "schema_refused", None, "inputs_schema", document.inputs_schema
    for tool, schemas in document.tools.items():
        for word, schema in (("input", schemas.input), ("output", schemas.output)):
            if schema is not None:
                yield "schema_refused", None, f"the {word} of {tool}", schema
    for step in document.steps:
        if step.form is not None:
            yield "form_refused", step.id, "the form", step.form


def _beyond(cost: Cost) -> Iterator[str]:
    counted = (
        (cost.expressions, EXPRESSIONS_MAX, "conditions"),
        (cost.expression_chars, EXPRESSION_CHARS_MAX, "characters of conditions"),
        (cost.patterns, PATTERNS_MAX, "patterns"),
        (cost.pattern_chars, PATTERN_CHARS_MAX, "characters of patterns"),
    )
    found = [f"there are more than {most:,} {what}" for count, most, what in counted if count > most]
    if not found and cost.total > COST_MAX:
        found = [f"it costs {cost.total:,}, at most {COST_MAX:,} is allowed: see the limits of templates"]
    yield from (f"steps: {one}" for one in found)


def _chars(texts: Iterable[str]) -> int:
    return sum(map(len, texts))
