"""YAML of templates, bounded in size and without what expands."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING, Any, TypeAlias

import yaml

from daemon.runtime.json_codec import TOO_EXACT, TOO_LARGE, NotJson, loads

if TYPE_CHECKING:
    Base = yaml.SafeLoader
else:
    Base = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

BYTES_MAX = 1024 * 1024
DEPTH_MAX = 64


Path: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """Where something stands in a text, counted from 1."""

    line: int = 1
    column: int = 1

    @classmethod
    def from_mark(cls, mark: Any) -> Place:
        return cls() if mark is None else cls(mark.line + 1, mark.column + 1)


class YamlRefused(ValueError):
    """The text is no YAML that a template can be made of: why, and where where that is known."""

    def __init__(self, why: str, place: Place | None = None) -> None:
        self.why, self.place = why, place
        super().__init__(why if place is None else f"line {place.line}: {why}")


def read_file(file: Traversable) -> str:
    """The text of a file; YamlRefused when it is too large or not UTF-8."""
    with file.open("rb") as opened:
        raw = opened.read(BYTES_MAX + 1)
    if len(raw) > BYTES_MAX:
        raise YamlRefused(f"the file is larger than {BYTES_MAX} bytes")
    try:
        return raw.decode()
    except UnicodeDecodeError as failed:
        raise YamlRefused("the file is not UTF-8") from failed


def read_text(text: str) -> Any:
    if len(text) > BYTES_MAX:
        raise YamlRefused(f"the document is larger than {BYTES_MAX} characters")
    try:
        _check_events(text)
        return yaml.load(text, Loader=_Loader)  # noqa: S506 - a SafeLoader that is stricter still
    except YamlRefused:
        raise
    except yaml.MarkedYAMLError as failed:
        why = ", ".join(filter(None, (failed.context, failed.problem)))
        raise YamlRefused(why, Place.from_mark(failed.problem_mark)) from failed
    except (yaml.YAMLError, ValueError) as failed:
        raise YamlRefused(" ".join(str(failed).split())) from failed


def places(text: str, wanted: Collection[Path]) -> dict[Path, Place]:
    """Where the members and items at these paths stand, in a text that was read."""
    found: dict[Path, Place] = {}
    frames: list[_Frame] = []
    for event in yaml.parse(text, Loader=Base):
        if isinstance(event, yaml.CollectionEndEvent):
            frames.pop()
        elif isinstance(event, yaml.NodeEvent):
            begun = Place.from_mark(event.start_mark)
            if frames and frames[-1].takes_key:
                frames[-1].key = (event.value if isinstance(event, yaml.ScalarEvent) else "", begun)
                continue
            path, place = frames[-1].child(begun) if frames else ((), begun)
            if path in wanted:
                found[path] = place
            if isinstance(event, yaml.CollectionStartEvent):
                frames.append(_Frame(path, is_mapping=isinstance(event, yaml.MappingStartEvent)))
    return found


@dataclass(slots=True)
class _Frame:
    """A mapping or sequence that is being walked."""

    path: Path
    is_mapping: bool
    key: tuple[str, Place] | None = None
    items: int = 0

    @property
    def takes_key(self) -> bool:
        return self.is_mapping and self.key is None

    def child(self, begun: Place) -> tuple[Path, Place]:
        """The path and place of a value that begins there: a member's place is that of its key."""
        if self.key is not None:
            (name, place), self.key = self.key, None
            return (*self.path, name), place
        self.items += 1
        return (*self.path, self.items - 1), begun


def _check_events(text: str) -> None:
    """Refuse aliases, which expand a small text without bound, and deep nesting."""
    depth = 0
    for event in yaml.parse(text, Loader=Base):
        if isinstance(event, yaml.AliasEvent):
            raise YamlRefused("write it out, for there are no aliases here", Place.from_mark(event.start_mark))
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > DEPTH_MAX:
            raise YamlRefused(f"it is nested more than {DEPTH_MAX} deep", Place.from_mark(event.start_mark))


class _Loader(Base):
    """Safe YAML that refuses duplicate keys, and what is another value in it than it looks."""

    def construct_plain(self, node: yaml.ScalarNode) -> Any:
        """The number or boolean of JSON that stands there."""
        try:
            return loads(node.value.removeprefix("+").lower().encode())
        except NotJson as failed:
            exact = failed.args[0] in (TOO_EXACT, TOO_LARGE)
            why = "has more digits than can be kept" if exact else "is another value in YAML than it looks"
            problem = f"{node.value} {why}: write it in quotes, or as JSON has it"
            raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark) from None

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002
        seen: set[str] = set()
        for key, _ in node.value:
            name = key.value if isinstance(key, yaml.ScalarNode) else ""
            if name in seen:
                raise yaml.constructor.ConstructorError(None, None, f"the key {name} appears twice", key.start_mark)
            seen.add(name)
        return super().construct_mapping(node, deep=deep)


for _kind in ("bool", "float", "int"):
    _Loader.add_constructor(f"tag:yaml.org,2002:{_kind}", _Loader.construct_plain)
