"""Large values as JSON in pieces, since one call of the encoder lets no other thread run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import NODEFAULT, Struct
from msgspec.structs import fields

from daemon.runtime.json_codec import dumps

DEPTH = 7
MEMBERS_MAX = 10_000


def dumps_in_pieces(value: Any, depth: int = DEPTH) -> bytes:
    """The same bytes as `dumps`, made in one call for each of the members down to a depth."""
    if depth == 0:
        return dumps(value)
    if isinstance(value, Struct) and not value.__struct_config__.tag:
        value = dict(_members(value))
    elif not isinstance(value, dict | list | tuple) or len(value) > MEMBERS_MAX:
        return dumps(value)
    if isinstance(value, dict):
        members = [b"%s:%s" % (dumps(name), dumps_in_pieces(one, depth - 1)) for name, one in value.items()]
        return b"{%s}" % b",".join(members)
    return b"[%s]" % b",".join([dumps_in_pieces(one, depth - 1) for one in value])


def _members(value: Struct) -> Iterator[tuple[str, Any]]:
    leaves_out = value.__struct_config__.omit_defaults
    for field in fields(value):
        found = getattr(value, field.name)
        default = field.default if field.default_factory is NODEFAULT else field.default_factory()
        if not leaves_out or type(found) is not type(default) or found != default:
            yield field.encode_name, found
