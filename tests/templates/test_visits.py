"""Walks over documents of tenants visit each member once, however deep they are nested."""

from __future__ import annotations

from typing import Any

import pytest

from daemon.templates.documents import ORDER, ordered
from daemon.templates.schemas import leaves

DEPTH = 12


class Counted(dict[str, Any]):
    """A schema that counts how often its members are walked over."""

    visits = 0

    def items(self) -> Any:
        Counted.visits += 1
        return super().items()


def nested(depth: int) -> Counted:
    return Counted(type="object", properties=Counted(a=nested(depth - 1))) if depth else Counted(type="string")


def visits_of(depth: int) -> int:
    Counted.visits = 0
    ordered(nested(depth))
    return Counted.visits


def test_a_schema_twice_as_deep_is_twice_the_visits_to_put_in_order() -> None:
    assert visits_of(2 * DEPTH) <= 2 * visits_of(DEPTH)


def test_each_object_of_a_schema_says_the_order_of_its_members_where_they_stand() -> None:
    inner = {"properties": {"z": True, "properties": {"type": "string"}}, "type": "object"}
    found = ordered({"title": "t", "properties": {"b": inner, "a": True}, "items": [inner]})
    assert [*found] == ["title", "properties", "items", ORDER]
    assert found[ORDER] == ["b", "a"]
    assert found["properties"]["b"] == {**inner, ORDER: ["z", "properties"]}
    assert found["items"] == [inner]


def required(depth: int, names: list[str]) -> dict[str, Any]:
    if not depth:
        return {"type": "string"}
    return {"type": "object", "required": names, "properties": {"a": required(depth - 1, names)}}


@pytest.mark.parametrize("names", [["a", "a"], ["a", "a.a"], ["a.a", "a"]])
def test_what_a_step_needs_of_an_object_is_looked_at_once_for_each_key(names: list[str]) -> None:
    """`["a", "a"]` would be 2^depth keys, and names with dots as many as there are ways to one."""
    found = [*leaves("a", required(20 * DEPTH, names))]
    assert len({*found}) == len(found) <= 2
