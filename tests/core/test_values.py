"""Values are frozen dataclasses in every respect but their price."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, asdict, field, fields, is_dataclass, replace
from typing import Any

import pytest
from pydantic import TypeAdapter

from actors.core.values import changed, draft, drafter, final, maker, value
from daemon.runtime.json_codec import dumps


@value
class Point:
    """Two numbers, and what was said of them."""

    x: int
    y: int = 2
    notes: list[str] = field(default_factory=list)

    @property
    def sum(self) -> int:
        return self.x + self.y

    def over(self, bound: int) -> bool:
        return self.sum > bound


@value(kw_only=True)
class Named:
    """Fields in any order."""

    name: str = "none"
    point: Point


def test_a_value_cannot_be_changed_by_assignment() -> None:
    point = Point(1)
    with pytest.raises(FrozenInstanceError):
        point.x = 3  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        del point.x
    with pytest.raises((AttributeError, TypeError)):
        point.z = 3  # type: ignore[attr-defined]
    assert point == Point(1)


def test_a_value_has_slots_and_no_dict() -> None:
    assert not hasattr(Point(1), "__dict__")
    assert type(Point(1)) is Point
    assert type(changed(Point(1), x=2)) is Point


def test_a_value_takes_its_fields_by_place_and_by_name() -> None:
    assert (Point(1, 3).x, Point(1, 3).y) == (1, 3)
    assert Point(y=3, x=1) == Point(1, 3)
    assert Named(point=Point(1)) == Named(name="none", point=Point(1))


@pytest.mark.parametrize("wrong", [{}, {"x": 1, "z": 2}, {"y": 1}])
def test_a_value_refuses_missing_and_unknown_fields(wrong: dict[str, int]) -> None:
    with pytest.raises(TypeError):
        Point(**wrong)  # type: ignore[arg-type]


def test_a_value_with_named_fields_takes_none_by_place() -> None:
    with pytest.raises(TypeError):
        Named("a", Point(1))  # type: ignore[call-arg]


def test_each_value_has_a_default_of_its_own() -> None:
    one, other = Point(1), Point(1)
    one.notes.append("mine")
    assert other.notes == []
    assert Point(1, 2, one.notes).notes is one.notes


def test_values_are_compared_hashed_and_shown_by_their_fields() -> None:
    assert Point(1) == Point(1, 2)
    assert Point(1) != Point(2)
    assert repr(Point(1)) == "Point(x=1, y=2, notes=[])"
    assert hash(Named(point=Point(1, 2, ()))) == hash(Named(point=Point(1, 2, ())))  # type: ignore[arg-type]
    match Point(1, 5):
        case Point(x, y):
            assert (x, y) == (1, 5)


def test_a_maker_makes_what_the_class_makes() -> None:
    point, named = maker(Point), maker(Named)
    assert point(1, y=3) == Point(1, 3)
    assert named(point=Point(1)) == Named(point=Point(1))
    assert type(point(1)) is Point
    one, other = point(1), point(1)
    one.notes.append("mine")
    assert other.notes == []
    with pytest.raises(FrozenInstanceError):
        one.x = 3  # type: ignore[misc]
    with pytest.raises(TypeError):
        named("a", Point(1))  # type: ignore[call-arg]


def test_a_value_is_a_dataclass() -> None:
    assert is_dataclass(Point(1))
    assert [one.name for one in fields(Point)] == ["x", "y", "notes"]
    assert asdict(Named(point=Point(1))) == {"name": "none", "point": {"x": 1, "y": 2, "notes": []}}
    assert replace(Point(1), y=9) == Point(1, 9)


def _pickled(one: Any) -> Any:
    return pickle.loads(pickle.dumps(one))  # noqa: S301 - our own bytes


@pytest.mark.parametrize("twice", [copy.copy, copy.deepcopy, _pickled])
def test_a_value_survives_copying_and_pickling(twice: Any) -> None:
    found = twice(Point(1, 4, ["a"]))
    assert found == Point(1, 4, ["a"])
    assert type(found) is Point


def test_a_value_goes_through_json_and_back() -> None:
    named = Named(name="n", point=Point(1, 2, ["a"]))
    written = dumps(named)
    assert written == b'{"name":"n","point":{"x":1,"y":2,"notes":["a"]}}'
    assert TypeAdapter(Named).validate_json(written) == named


def test_a_changed_value_leaves_the_first_as_it_was() -> None:
    first = Point(1, 2, ["a"])
    assert changed(first, y=5) == Point(1, 5, ["a"])
    assert first == Point(1, 2, ["a"])
    assert changed(first).notes is first.notes


def test_a_draft_is_changed_by_assignment_and_leaves_the_first_as_it_was() -> None:
    first = Point(1)
    made: Any = draft(first)
    made.x, made.y = 7, made.x + 1
    assert final(made) == Point(7, 2)
    assert first == Point(1)


def test_what_a_draft_has_become_is_frozen() -> None:
    made: Any = draft(Point(1))
    with pytest.raises(AttributeError):
        made.z = 3
    done = final(made)
    assert type(done) is Point
    with pytest.raises(FrozenInstanceError):
        made.x = 8


def test_a_draft_has_the_properties_and_methods_of_its_value() -> None:
    made: Any = draft(Point(1, 2))
    made.x = 3
    assert (made.sum, made.over(4)) == (5, True)
    assert (final(made).sum, made.over(5)) == (5, False)


def test_a_drafter_makes_drafts_as_a_call_of_the_class_makes_values() -> None:
    made = drafter(Point)(1)
    made.y = 5
    assert final(made) == Point(1, 5)
    assert final(drafter(Named)(point=Point(1))) == Named(point=Point(1))


def test_only_a_draft_is_made_final() -> None:
    with pytest.raises(KeyError):
        final(Point(1))


def test_an_unknown_field_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        changed(Point(1), z=3)


def test_a_value_has_no_subclasses() -> None:
    with pytest.raises(TypeError, match="no subclasses"):

        class _Other(Point):
            pass
