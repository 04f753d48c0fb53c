"""What is repeated is found, and what only looks like it is not."""

from __future__ import annotations

import ast

from tests.house.repeated import Trees, collisions, needless_protocols, statements, twins


def code(**sources: str) -> Trees:
    """Modules by their dotted names, with `__` for the slash."""
    return {f"{name.replace('__', '/')}.py": ast.parse(text) for name, text in sources.items()}


def test_a_name_of_two_classes_is_a_collision_wherever_they_stand() -> None:
    trees = code(a="class One: ...\nclass Two: ...", b="def f():\n    class One: ...\nThree = 3", c="class Three: ...")
    assert collisions(trees) == ["One"]


def shape(name: str, fields: str) -> str:
    return f"class {name}:\n" + "".join(f"    {field}: int\n" for field in fields)


def test_a_twin_has_three_of_five_fields_of_a_class_of_the_contract() -> None:
    trees = code(
        daemon__contract__a=shape("A", "xyz") + shape("B", "pqr"),
        daemon__contract__b=shape("Twice", "pqr"),
        daemon__model=shape("M", "xyzvw") + shape("N", "xp"),
    )
    assert twins(trees) == ["A"]
    assert twins(code(daemon__contract__a=shape("A", "xyz"), daemon__model=shape("M", "xyv"))) == []


def test_a_table_is_stated_by_what_names_nearly_all_of_its_columns() -> None:
    trees = code(
        a='COLUMNS = "a, b, c, d, e"\nOTHER = "a, b, c"\nimport a',
        b="class Row:\n    a: int\n    b: int\n    c: int\n    d: int\n    def f(self): return 5\n",
        c="class Table:\n    def g(self, a, b):\n        return a, b, self.c, dict(d=1)\n    def h(self, e): ...",
    )
    assert statements({"a", "b", "c", "d", "e"}, trees) == ["a.py:1", "b.py:1", "c.py:2"]


def test_a_protocol_stands_for_one_class_unless_another_does_the_same_by_itself() -> None:
    protocol = "class P(Protocol):\n    name: str\n    def do(self, what): ...\n"
    one = "class One:\n    def __init__(self): self.name = ''\n    def do(self, what): ...\n"
    assert needless_protocols(code(a=protocol)) == ["P"]
    assert needless_protocols(code(a=protocol + one)) == ["P"]
    assert needless_protocols(code(a=protocol + one, b="class More(One): ...")) == ["P"]
    assert needless_protocols(code(a=protocol + one, b="class Two:\n    name = ''\n    def do(self, how): ...")) == [
        "P"
    ]
    assert needless_protocols(code(a=protocol + one, b="class Two:\n    name = ''\n    def do(self, what): ...")) == []
    parts = "class Part:\n    name = ''\nclass Whole(Part):\n    def do(self, what): ...\n"
    assert needless_protocols(code(a=protocol + one + parts)) == []
    assert needless_protocols(code(a="class Call(Protocol):\n    def __call__(self, x): ...")) == []
