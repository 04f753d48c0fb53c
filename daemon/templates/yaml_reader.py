"""YAML of templates, bounded in size and without what expands."""

from __future__ import annotations

from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    Base = yaml.SafeLoader
else:
    Base = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

BYTES_MAX = 1024 * 1024
DEPTH_MAX = 64


class YamlRefused(ValueError):
    """The text is no YAML that a template can be made of; the message says why."""


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
    except (yaml.YAMLError, ValueError) as failed:
        raise YamlRefused(" ".join(str(failed).split())) from failed


def _check_events(text: str) -> None:
    """Refuse aliases, which expand a small text without bound, and deep nesting."""
    depth = 0
    for event in yaml.parse(text, Loader=Base):
        if isinstance(event, yaml.AliasEvent):
            raise YamlRefused(f"line {_line(event)}: write it out, for there are no aliases here")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > DEPTH_MAX:
            raise YamlRefused(f"line {_line(event)}: it is nested more than {DEPTH_MAX} deep")


def _line(event: yaml.Event) -> int:
    return 0 if event.start_mark is None else event.start_mark.line + 1


class _Loader(Base):
    """Safe YAML that refuses duplicate keys."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002
        seen: set[str] = set()
        for key, _ in node.value:
            name = key.value if isinstance(key, yaml.ScalarNode) else ""
            if name in seen:
                raise yaml.constructor.ConstructorError(None, None, f"the key {name} appears twice", key.start_mark)
            seen.add(name)
        return super().construct_mapping(node, deep=deep)
