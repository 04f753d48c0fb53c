"""The catalog of templates, which are validated when loaded."""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any, TypeVar

from pydantic import ValidationError

from actors.core.canonical import canonical, digest
from actors.core.template import Template
from actors.core.template_rules import violations
from actors.failpoints import reach
from daemon.model import DiskFull, TemplateDocument, TemplateRepository
from daemon.templates import yaml_reader
from daemon.templates.cel import nests
from daemon.templates.documents import Document, misplaced
from daemon.templates.input_schema import NOT_LINEAR, InputsSchema
from daemon.templates.nodes import edges_of, node_of

PINNED_MAX = 64
T = TypeVar("T")


class TemplateRefused(Exception):
    """A template that must not be loaded: its source, and a sentence for each error."""

    def __init__(self, source_name: str, sentences: Iterable[str]) -> None:
        self.source_name = source_name
        self.sentences = list(sentences)
        super().__init__(f"{source_name}: {'; '.join(self.sentences)}")


@dataclass(frozen=True)
class CatalogEntry:
    """A template with title, description and example; `document` is its canonical JSON."""

    template: Template
    description: str
    inputs_schema: dict[str, Any]
    example: dict[str, Any]
    document: str
    _inputs: InputsSchema = field(repr=False, compare=False)

    def input_errors(self, inputs: dict[str, Any]) -> list[tuple[str, str]]:
        """Schema errors of given inputs; JSON pointers below `/inputs`, and a sentence for each."""
        return self._inputs.errors(inputs)

    def plainly_hold(self, inputs: dict[str, Any]) -> bool:
        """Whether inputs of any size are found at once to have no errors."""
        return self._inputs.plainly_hold(inputs)

    @property
    def matches_linearly(self) -> bool:
        """Whether every pattern of the schema is matched in linear time."""
        return self._inputs.linear

    def example_errors(self) -> list[tuple[str, str]]:
        return self._inputs.all_errors(self.example)


class Catalog:
    """The current templates, and every earlier version that a run may be pinned to."""

    def __init__(
        self, entries: Iterable[CatalogEntry], repository: TemplateRepository, pinned_max: int = PINNED_MAX
    ) -> None:
        self._all = tuple(entries)
        self._current: dict[str, CatalogEntry] = {}
        for entry in sorted(self._all, key=lambda e: (e.template.vertical, e.template.version)):
            self._current[entry.template.vertical] = entry
        self._templates = {entry.template.digest: entry.template for entry in self._all}
        self._repository = repository
        self._unkept = [
            TemplateDocument(one.template.digest, one.template.vertical, one.template.version, one.document)
            for one in self._all
        ]
        self._pinned: OrderedDict[str, Template] = OrderedDict()
        self._pinned_max = pinned_max

    async def open(self) -> None:
        """Store every document; SchemaMismatch when a stored version has changed."""
        kept = await asyncio.gather(*(self._repository.template_document(one.digest) for one in self._unkept))
        self._unkept = [one for one, found in zip(self._unkept, kept, strict=True) if found is None]
        with suppress(DiskFull):  # then they are stored before the next run starts
            await self.keep()
        reach("templates-kept")

    async def keep(self) -> None:
        """Store new documents; no run may be pinned to one before."""
        if self._unkept:
            # At once, so that the store can make them one commit.
            await asyncio.gather(*map(self._repository.keep_template, self._unkept))
            self._unkept = []

    @property
    def entries(self) -> Sequence[CatalogEntry]:
        """The current version of each template, by vertical."""
        return tuple(self._current.values())

    def current(self, vertical: str) -> CatalogEntry | None:
        return self._current.get(vertical)

    async def pinned(self, digest: str) -> Template:
        """The template of that digest, old versions included; KeyError when it was never loaded."""
        if (template := self._templates.get(digest)) is not None:
            return template
        if digest in self._pinned:
            self._pinned.move_to_end(digest)
            return self._pinned[digest]
        kept = await self._repository.template_document(digest)
        if kept is None:
            raise KeyError(digest)
        template = load_json(kept.document).template
        if template.digest != digest:
            raise ValueError(f"the stored template {digest} has the content of {template.digest}")
        self._pinned[digest] = template
        while len(self._pinned) > self._pinned_max:
            self._pinned.popitem(last=False)
        return template


async def open_catalog(folder: Traversable | None, repository: TemplateRepository) -> Catalog:
    """The shipped templates and those of a folder, which replace shipped ones."""
    entries = shipped()
    if folder is not None:
        own = load_folder(folder)
        replaced = {entry.template.vertical for entry in own}
        entries = [entry for entry in entries if entry.template.vertical not in replaced] + own
    catalog = Catalog(entries, repository)
    await catalog.open()
    return catalog


def shipped() -> list[CatalogEntry]:
    return load_folder(resources.files("daemon.templates") / "shipped")


def load_folder(folder: Traversable) -> list[CatalogEntry]:
    """The templates of all YAML files in a folder; a version must not appear twice."""
    entries: list[CatalogEntry] = []
    sources: dict[tuple[str, int], str] = {}
    for file in sorted(folder.iterdir(), key=lambda f: f.name):
        if not file.name.endswith((".yaml", ".yml")):
            continue
        entry = load_file(file, file.name)
        name = (entry.template.vertical, entry.template.version)
        if name in sources:
            sentence = f"duplicate_version: {sources[name]} holds version {name[1]} of {name[0]} as well"
            raise TemplateRefused(file.name, [sentence])
        sources[name] = file.name
        entries.append(entry)
    return entries


def load_file(file: Traversable, source_name: str) -> CatalogEntry:
    try:
        text = yaml_reader.read_file(file)
    except yaml_reader.YamlRefused as refused:
        raise TemplateRefused(source_name, [f"unreadable: {refused}"]) from refused
    return load_text(text, source_name)


def load_text(text: str, source_name: str) -> CatalogEntry:
    """Load a template from YAML; TemplateRefused when it is invalid."""
    try:
        raw = yaml_reader.read_text(text)
    except yaml_reader.YamlRefused as refused:
        raise TemplateRefused(source_name, [f"unreadable: {refused}"]) from refused
    try:
        entry = load_json(canonical(Document.model_validate(raw).normalised()))
    except ValidationError as failed:
        raise TemplateRefused(source_name, _sentences(failed, raw)) from failed
    except TemplateRefused as refused:
        raise TemplateRefused(source_name, refused.sentences) from refused
    except (ValueError, RecursionError) as failed:
        raise TemplateRefused(source_name, [f"malformed at the document: {failed}"]) from failed
    wrong = [str(violation) for violation in violations(entry.template)]
    if not entry.matches_linearly:
        wrong.append(f"schema_refused at inputs_schema: {NOT_LINEAR}")
    wrong += _nested_loops(entry.template)
    for pointer, detail in entry.example_errors():
        wrong.append(f"example_refused at example{pointer.removeprefix('/inputs')}: {detail}")
    if wrong:
        raise TemplateRefused(source_name, wrong)
    return entry


def _nested_loops(template: Template) -> Iterator[str]:
    """Conditions are evaluated at once, so that a loop in them may hold no other."""
    conditions = [(node.id, case.when) for node in template.nodes for case in node.dry_run]
    conditions += [(edge.source, edge.when) for edge in template.edges]
    texts = [(step_id, one.text) for step_id, one in conditions if one is not None]
    texts += [(node.id, node.signal_when.text) for node in template.nodes if node.signal_when is not None]
    for step_id, text in texts:
        if nests(text):
            yield f"condition_refused at {step_id}: a loop (all, exists, map, …) stands inside another one"


def load_json(document: str) -> CatalogEntry:
    """Load a stored template; rules that are newer than it do not apply."""
    value = json.loads(document)
    parsed = Document.model_validate(value)
    wrong = [*misplaced(parsed)]
    nodes = tuple(node_of(step, parsed.inputs_schema, wrong) for step in parsed.steps)
    edges = tuple(edge for step in parsed.steps for edge in edges_of(step, wrong))
    inputs = _inputs_schema(parsed.inputs_schema, wrong)
    if wrong or inputs is None:
        raise TemplateRefused(parsed.vertical, wrong)
    template = Template(
        vertical=parsed.vertical,
        version=parsed.version,
        digest=digest(value),
        title=parsed.title,
        start=parsed.start or parsed.steps[0].id,
        nodes=nodes,
        edges=edges,
        inputs=inputs,
    )
    return CatalogEntry(template, parsed.description, parsed.inputs_schema, parsed.example, document, inputs)


def _inputs_schema(schema: dict[str, Any], wrong: list[str]) -> InputsSchema | None:
    if schema.get("type") != "object":
        wrong.append("schema_refused at inputs_schema: the inputs are of type object")
    try:
        return InputsSchema.of(schema)
    except ValueError as failed:
        wrong.append(f"schema_refused at inputs_schema: {str(failed).partition(chr(10))[0]}")
        return None


def _sentences(failed: ValidationError, raw: Any) -> Iterator[str]:
    """One sentence per finding, naming the step by its id where it has one."""
    for error in failed.errors(include_url=False, include_input=False):
        match error["loc"]:
            case ("steps", int(index), *path):
                place = _step_id(raw, index)
            case path:
                place = "the document"
        where = ".".join(str(part) for part in path)
        yield f"malformed at {place}: {where + ': ' if where else ''}{error['msg']}"


def _step_id(raw: Any, index: int) -> str:
    step = raw["steps"][index]
    name = step.get("id") if isinstance(step, dict) else None
    return name if isinstance(name, str) else f"step {index + 1}"
