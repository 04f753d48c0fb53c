"""Templates from documents, checked by all rules."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from importlib import resources
from importlib.resources.abc import Traversable
from time import perf_counter
from typing import Any

from msgspec import UNSET, Struct, UnsetType
from pydantic import ValidationError

from actors.core.canonical import canonical, digest
from actors.core.people import ReaderRule
from actors.core.rules import Violation, violations
from actors.core.rules.questions import placeholders
from actors.core.template import Edge, FunctionRule, Node, Template
from actors.ports import Compute
from daemon.templates import yaml_reader
from daemon.templates.answers import unbounded
from daemon.templates.cel import nests, senseless
from daemon.templates.document_cost import NEEDS_MAX, costly, too_large
from daemon.templates.documents import (
    ACTION_VERTICAL,
    CitedRule,
    Document,
    JudgeSeat,
    RehearsalCase,
    misplaced,
    ordered,
    seated_wrongly,
)
from daemon.templates.nodes import NodeReader, checking, clock_of, edges_of, node_of, panels_of
from daemon.templates.rehearsals import cited_wrongly, rehearsed_wrongly
from daemon.templates.schemas import (
    NOT_LINEAR,
    SMALL_BYTES,
    InputsSchema,
    SchemasOfTool,
    may_be_plain,
    may_be_text,
    refusals,
)

DOCUMENT = "the document"
UNREADABLE = "unreadable"
SUFFIXES = (".yaml", ".yml")
PIECE_S = 0.01
"""So long a stored template is read before others go on."""


@dataclass(frozen=True, slots=True)
class Malformed:
    """What keeps a text from being a document: the step, the path or place, and why."""

    rule: str
    detail: str
    node: str | None = None
    path: yaml_reader.Path = ()
    place: yaml_reader.Place | None = None

    def __str__(self) -> str:
        at = "" if self.node is None else f" at {self.node}"
        line = "" if self.place is None else f"line {self.place.line}: "
        return f"{self.rule}{at}: {line}{self.detail}"


class TemplateRefused(Exception):
    """A template that must not be loaded: its source, and all that is wrong with it."""

    def __init__(self, source_name: str, findings: Iterable[Malformed | Violation]) -> None:
        self.source_name = source_name
        self.findings = list(findings)
        self.sentences = [str(one) for one in self.findings]
        super().__init__(f"{source_name}: {'; '.join(self.sentences)}")


class FunctionUse(Struct, frozen=True):
    """A function of a template: what it is called there, the role in its place, and its steps."""

    id: str
    label: str
    role: str
    steps: tuple[str, ...]


class Header(Struct, frozen=True, kw_only=True):
    """What a list shows of a template, the tools that it describes, and all that it calls.

    A template without functions does not say so.
    """

    vertical: str
    version: int
    digest: str
    title: str
    description: str
    gates: tuple[str, ...]
    steps: int
    tools: tuple[str, ...]
    calls: tuple[str, ...]
    pack: str | None = None
    own: bool = False
    functions: tuple[FunctionUse, ...] | UnsetType = UNSET
    guarded: bool | UnsetType = UNSET
    """Set where it says who may read its runs, or whom they are about."""


@dataclass(frozen=True)
class CatalogEntry:
    """A template with title, description and example; `document` is its canonical JSON.

    Shipped ones stand in a pack, the folder of their trade.
    """

    template: Template
    description: str
    inputs_schema: dict[str, Any] = field(compare=False)
    """As `document` has it, with the order of its fields where that is known."""
    example: dict[str, Any]
    document: str
    _inputs: InputsSchema = field(repr=False, compare=False)
    tools: Mapping[str, SchemasOfTool] = field(default_factory=dict)
    rules: tuple[CitedRule, ...] = ()
    rehearsals: Mapping[str, RehearsalCase] = field(default_factory=dict)
    judges: tuple[JudgeSeat, ...] = ()
    pack: str | None = field(default=None, compare=False)

    def input_errors(self, inputs: dict[str, Any]) -> list[tuple[str, str]]:
        """Schema errors of given inputs; JSON pointers below `/inputs`, and a sentence for each."""
        return self._inputs.errors(inputs)

    def plainly_hold(self, inputs: dict[str, Any]) -> bool:
        """Whether inputs of any size are found at once to have no errors."""
        return self._inputs.plainly_hold(inputs)

    @property
    def checks_quickly(self) -> bool:
        """Whether inputs of a few KiB are checked at once."""
        return self._inputs.inline_weight > SMALL_BYTES

    @property
    def matches_linearly(self) -> bool:
        """Whether every pattern of the schema is matched in linear time."""
        return self._inputs.linear

    @cached_property
    def header(self) -> Header:
        one = self.template
        return Header(
            vertical=one.vertical,
            version=one.version,
            digest=one.digest,
            title=one.title,
            description=self.description,
            gates=one.gates,
            steps=len(one.nodes),
            tools=tuple(sorted(self.tools)),
            calls=self.calls,
            pack=self.pack,
            own=one.author is not None,
            functions=self.functions or UNSET,
            guarded=one.guarded or UNSET,
        )

    @property
    def functions(self) -> tuple[FunctionUse, ...]:
        """The functions that it names, each with the gates that ask for it."""
        gates = [node for node in self.template.nodes if node.gate]
        steps = {
            name: tuple([one.id for one in gates if one.policy.function == name]) for name in self.template.functions
        }
        named = self.template.functions.items()
        return tuple([FunctionUse(name, one.label, one.role, steps[name]) for name, one in named])

    @cached_property
    def calls(self) -> tuple[str, ...]:
        """The tools that its steps and its judges call, by name."""
        steps = [name for node in self.template.nodes for name in (node.tool, node.compensate)]
        return tuple(sorted({name for name in (*steps, *(one.tool for one in self.judges)) if name is not None}))

    def example_errors(self) -> list[tuple[str, str]]:
        return self._inputs.all_errors(self.example)


class LazyTemplate:
    """A template by its header, which is loaded when more of it is needed."""

    def __init__(self, header: Header, load: Callable[[], CatalogEntry]) -> None:
        self.header = header
        self._load = load

    @classmethod
    def from_entry(cls, entry: CatalogEntry) -> LazyTemplate:
        found = cls(entry.header, lambda: entry)
        found.__dict__["entry"] = entry
        return found

    @property
    def is_loaded(self) -> bool:
        return "entry" in self.__dict__

    @cached_property
    def entry(self) -> CatalogEntry:
        """The template; ValueError when it is another than its header says."""
        found = self._load()
        if found.header != self.header:
            raise ValueError(f"{self.header.vertical} has the content of {found.template.digest}")
        return found


def shipped() -> list[CatalogEntry]:
    """The templates of all packs, by vertical."""
    return _loaded(packed_files())


def packed_files() -> list[tuple[Traversable, str]]:
    """The files of all packs, each with the pack that it stands in."""
    packs = [pack for pack in (resources.files("daemon.templates") / "shipped").iterdir() if pack.is_dir()]
    files = [(file, pack.name) for pack in packs for file in pack.iterdir()]
    return [(file, pack) for file, pack in files if file.name.endswith(SUFFIXES)]


def load_folder(folder: Traversable) -> list[CatalogEntry]:
    """The templates of all YAML files in a folder; a version must not appear twice."""
    return _loaded((file, None) for file in folder.iterdir())


def _loaded(files: Iterable[tuple[Traversable, str | None]]) -> list[CatalogEntry]:
    """The templates of files, each with its pack, by the names of the files."""
    entries: list[CatalogEntry] = []
    sources: dict[tuple[str, int], str] = {}
    for file, pack in sorted(files, key=lambda one: one[0].name):
        if not file.name.endswith(SUFFIXES):
            continue
        entry = load_file(file, file.name, pack)
        name = (entry.template.vertical, entry.template.version)
        if name in sources:
            detail = f"{sources[name]} holds version {name[1]} of {name[0]} as well"
            raise TemplateRefused(file.name, [Malformed("duplicate_version", detail)])
        sources[name] = file.name
        entries.append(entry)
    return entries


def load_file(file: Traversable, source_name: str, pack: str | None = None) -> CatalogEntry:
    try:
        text = yaml_reader.read_file(file)
    except yaml_reader.YamlRefused as refused:
        raise TemplateRefused(source_name, [unreadable(refused)]) from refused
    return replace(load_text(text, source_name, costs=False, rehearsed=pack is None), pack=pack)


def load_checked(file: Traversable, pack: str) -> CatalogEntry:
    """The template of a shipped file that loads as it is: nothing of it is checked anew."""
    document = Document.model_validate(yaml_reader.read_text(yaml_reader.read_file(file)))
    entry = load_json(canonical(document.normalised()))
    return replace(entry, inputs_schema=ordered(document.inputs_schema), pack=pack)


def rules_in(file: Traversable) -> tuple[CitedRule, ...]:
    """The rules of a file that loads; nothing of it is compiled."""
    return Document.model_validate(yaml_reader.read_text(yaml_reader.read_file(file))).rules


def load_text(text: str, source_name: str, *, costs: bool = True, rehearsed: bool = True) -> CatalogEntry:
    """Load a template from YAML; TemplateRefused when it is invalid.

    With `costs` it is refused when it costs more than a company's template may: those in files of
    the service are the operator's own. The rehearsals of shipped ones have been `rehearsed` before.
    """
    try:
        raw = yaml_reader.read_text(text)
    except yaml_reader.YamlRefused as refused:
        raise TemplateRefused(source_name, [unreadable(refused)]) from refused
    try:
        document = Document.model_validate(raw)
        if costs and (too_much := costly(document)):
            raise TemplateRefused(source_name, too_much)
        with unbounded():  # a file is the operator's
            entry, wrong = check(document, rehearsed=rehearsed)
    except ValidationError as failed:
        raise TemplateRefused(source_name, _malformed(failed, raw)) from failed
    except (ValueError, RecursionError) as failed:
        raise TemplateRefused(source_name, [Malformed("malformed", str(failed), DOCUMENT)]) from failed
    if wrong:
        raise TemplateRefused(source_name, wrong)
    return entry


def unreadable(refused: yaml_reader.YamlRefused) -> Malformed:
    return Malformed(UNREADABLE, refused.why, place=refused.place)


def check(
    parsed: Document, *, rehearsed: bool = True, consents: bool = False
) -> tuple[CatalogEntry, tuple[Violation, ...]]:
    """The template of a document and all that is wrong with it; with anything it must not run.

    Its rehearsals are `rehearsed` where nothing else is wrong. One that `consents` is made of a
    rule of actions.
    """
    wrong: list[Violation] = []
    entry = _built(canonical(parsed.normalised()), replace(checking(wrong), consents=consents))
    if not consents and parsed.vertical == ACTION_VERTICAL:
        detail = f"{ACTION_VERTICAL} is the process of the actions of agents, which rules make"
        wrong.append(Violation("reserved_vertical", None, detail))
    wrong += [*violations(entry.template), *cited_wrongly(parsed), *seated_wrongly(parsed)]
    if not entry.matches_linearly:
        wrong.append(Violation("schema_refused", None, f"inputs_schema: {NOT_LINEAR}"))
    for node in entry.template.nodes:
        if len(node.needs) > NEEDS_MAX:
            wrong.append(too_large(f"needs: it names more than {NEEDS_MAX:,} inputs, with all in them", node.id))
    wrong += nested_loops(entry.template)
    wrong += unknown_inputs(entry)
    wrong += unknown_subjects(entry)
    refused = {(one.node, one.edge) for one in wrong if one.rule == "condition_refused"}
    wrong += (one for one in senseless(parsed) if (one.node, one.edge) not in refused)
    wrong += [Violation("schema_refused", None, why) for why in refusals(entry.tools)]
    for tool in sorted(entry.tools.keys() - {*entry.calls}):
        wrong.append(Violation("schema_refused", None, f"tools names {tool}, which no step calls"))
    for pointer, detail in entry.example_errors():
        wrong.append(Violation("example_refused", None, f"example{pointer.removeprefix('/inputs')}: {detail}"))
    if rehearsed and not wrong:
        wrong += rehearsed_wrongly(parsed, entry.template)
    # Canonical JSON sorts members by name; forms show them in the order of the document.
    return replace(entry, inputs_schema=ordered(parsed.inputs_schema)), tuple(wrong)


def nested_loops(template: Template) -> Iterator[Violation]:
    """Conditions are evaluated at once, so that a loop in them may hold no other."""
    conditions = [(node.id, case.when) for node in template.nodes for case in node.dry_run]
    conditions += [(edge.source, edge.when) for edge in template.edges]
    texts = [(step_id, one.text) for step_id, one in conditions if one is not None]
    texts += [(node.id, node.signal_when.text) for node in template.nodes if node.signal_when is not None]
    texts += [
        (node.id, judge.rule.text)
        for node in template.nodes
        if node.panel is not None
        for judge in node.panel.judges
        if judge.rule is not None
    ]
    detail = "a loop (all, exists, map, …) stands inside another one"
    for step_id, text in texts:
        if nests(text):
            yield Violation("condition_refused", step_id, detail)
    for clock in template.clocks:
        of_clock = [one.text for one in (clock.since, clock.within) if one is not None and not isinstance(one, str)]
        if any(map(nests, of_clock)):
            yield Violation("condition_refused", None, f"clocks/{clock.id}: {detail}")


def unknown_inputs(entry: CatalogEntry) -> Iterator[Violation]:
    """Questions of gates that name an input that the schema has not, or one of many values."""
    for node in entry.template.nodes:
        for one in placeholders(node.question or ""):
            if one.root == "inputs" and not may_be_plain(one.path, entry.inputs_schema):
                detail = f"the question names {one.key}, which is no text, number or boolean of inputs_schema"
                yield Violation("question_refused", node.id, detail)


def unknown_subjects(entry: CatalogEntry) -> Iterator[Violation]:
    """Subjects that the schema of the inputs does not describe as texts."""
    for key in entry.template.subjects:
        if not may_be_text(key.removeprefix("inputs.").split("."), entry.inputs_schema):
            yield Violation("readers_refused", None, f"subjects: {key} is no text of inputs_schema")


def load_json(document: str) -> CatalogEntry:
    """Load a stored template; rules that are newer than it do not apply."""
    wrong: list[Violation] = []
    return _sound(_built(document, NodeReader(wrong)), wrong)


def uncompiled(document: str) -> list[Violation]:
    """What of a stored template compiles no more; where it costs too much, nothing is compiled."""
    wrong: list[Violation] = []
    if not costly(Document.model_validate(json.loads(document))):
        with unbounded():
            _built(document, checking(wrong))
    return wrong


async def load(
    compute: Compute, company_id: str, document: str, *, broken: bool = False, consents: bool = False
) -> CatalogEntry:
    """The same, in pieces that hold up nobody; with `broken` also one that must not run.

    One that `consents` is the document of an action, which a rule of the company has made.
    """
    wrong, entry = list[Violation](), None
    work = partial(_piece, _building(document, NodeReader(wrong, consents=consents)))
    while entry is None:
        entry = await compute.run_by_size(company_id, len(document), work)
    return entry if broken else _sound(entry, wrong)


def _sound(entry: CatalogEntry, wrong: list[Violation]) -> CatalogEntry:
    if wrong:
        raise TemplateRefused(entry.template.vertical, wrong)
    return entry


def _piece(building: Iterator[CatalogEntry | None]) -> CatalogEntry | None:
    """Go on with a template for a while; it, once it is whole."""
    until = perf_counter() + PIECE_S
    return next(entry for entry in building if entry is not None or perf_counter() >= until)


def _built(document: str, read: NodeReader) -> CatalogEntry:
    """The template of a canonical document; what keeps it from being made as it stands is added."""
    return next(entry for entry in _building(document, read) if entry is not None)


def _building(document: str, read: NodeReader) -> Iterator[CatalogEntry | None]:
    """The same in many steps, the last of which has it."""
    yield None
    value = json.loads(document)
    yield None
    parsed = Document.model_validate(value)
    yield None
    digested = digest(value)
    yield None
    read.wrong.extend(misplaced(parsed))
    panels, nodes, edges = panels_of(parsed, read), list[Node](), list[Edge]()
    for step in parsed.steps:
        nodes.append(node_of(step, parsed, panels.get(step.id), read))
        yield None
    for step in parsed.steps:
        edges += edges_of(step, read)
        yield None
    inputs = _inputs_schema(parsed.inputs_schema, read)
    template = Template(
        vertical=parsed.vertical,
        version=parsed.version,
        digest=digested,
        title=parsed.title,
        start=parsed.start or parsed.steps[0].id,
        nodes=tuple(nodes),
        edges=tuple(edges),
        inputs=inputs,
        clocks=tuple(clock_of(one, read) for one in parsed.clocks),
        functions={name: FunctionRule(one.label, one.role) for name, one in parsed.functions.items()},
        readers=None if parsed.readers is None else ReaderRule(**parsed.readers.model_dump()),
        subjects=parsed.subjects,
        exempt={one.id: one.exempt for one in parsed.rules if one.id is not None},
    )
    yield CatalogEntry(
        template,
        parsed.description,
        parsed.inputs_schema,
        parsed.example,
        document,
        inputs,
        tools=parsed.tools,
        rules=parsed.rules,
        rehearsals=parsed.rehearsals,
        judges=parsed.judges,
    )


def _inputs_schema(schema: dict[str, Any], read: NodeReader) -> InputsSchema:
    if schema.get("type") != "object":
        read.wrong.append(Violation("schema_refused", None, "inputs_schema: the inputs are of type object"))
    try:
        return read.inputs(schema)
    except ValueError as failed:
        read.wrong.append(Violation("schema_refused", None, f"inputs_schema: {str(failed).partition(chr(10))[0]}"))
        return InputsSchema.from_schema({"type": "object"})


def _malformed(failed: ValidationError, raw: Any) -> Iterator[Malformed]:
    """Each finding with its path, and with the step's id where it has one."""
    for error in failed.errors(include_url=False, include_input=False):
        match error["loc"]:
            case ("steps", int(index), *path):
                step = raw["steps"][index]
                name = step.get("id") if isinstance(step, dict) else None
                place = name if isinstance(name, str) else f"step {index + 1}"
            case path:
                place = DOCUMENT
        where = ".".join(str(part) for part in path)
        yield Malformed("malformed", f"{where + ': ' if where else ''}{error['msg']}", place, error["loc"])
