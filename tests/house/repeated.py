"""What the code says more than once: class names, shapes of the contract, columns of a table, and
protocols that stand for one class.
"""

from __future__ import annotations

import ast
import re
import sqlite3
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from functools import cache

from tests.house.bounds import Measure
from tests.house.test_house import ROOT, modules, place, tree

CODE = ("actors", "daemon")
CONTRACT = "daemon/contract/"
SCHEMAS = ROOT / "daemon" / "stores" / "sqlite" / "schema"
ALIKE = 0.6
"""How much of the fields of two classes has to be the same for one to be the other's twin."""
FIELDS_MIN = 3
NAMED = 0.8
"""How many of a table's columns a statement names that states the table."""
COLUMNS_MIN = 6
Trees = Mapping[str, ast.Module]
"""Modules by their paths."""
Members = dict[str, tuple[str, ...] | None]


def repeated() -> Iterator[Measure]:
    trees = {place(path): tree(path) for path in modules(*CODE)}
    yield Measure("class names with more than one meaning", len(collisions(trees)))
    yield Measure("shapes of the contract that have a twin", len(twins(trees)))
    stated = tables_stated(trees)
    yield Measure("statements of the table delegations", stated["delegations"])
    yield Measure("statements of a table, mean", round(statistics.mean(stated.values()), 1))
    yield Measure("protocols with one implementation", len(needless_protocols(trees)))


def classes(trees: Trees) -> Iterator[tuple[str, ast.ClassDef]]:
    """Each class with the path of its module."""
    found = ((path, node) for path, module in trees.items() for node in ast.walk(module))
    return ((path, node) for path, node in found if isinstance(node, ast.ClassDef))


def collisions(trees: Trees) -> list[str]:
    """The names that several classes have."""
    names = Counter(node.name for _, node in classes(trees))
    return [name for name, count in names.items() if count > 1]


# ----------------------------------------------------------------------------------------- twins


def twins(trees: Trees) -> list[str]:
    """Classes of the contract, with a class elsewhere that has nearly the same fields."""
    shapes = [(path, node.name, _fields(node)) for path, node in classes(trees)]
    shapes = [one for one in shapes if len(one[2]) >= FIELDS_MIN]
    others = [fields for path, _, fields in shapes if not path.startswith(CONTRACT)]
    return [
        name
        for path, name, fields in shapes
        if path.startswith(CONTRACT) and any(len(fields & other) >= ALIKE * len(fields | other) for other in others)
    ]


def _fields(node: ast.ClassDef) -> set[str]:
    annotated = (one.target for one in node.body if isinstance(one, ast.AnnAssign))
    return {target.id for target in annotated if isinstance(target, ast.Name)}


# ---------------------------------------------------------------------------------------- tables


def tables_stated(trees: Trees) -> dict[str, int]:
    """By table how often it is stated, in both schemas and in Python."""
    schemas = [path.read_text(encoding="utf-8") for path in (ROOT / "daemon").rglob("schema/*.sql")]
    made = Counter(name for text in schemas for name in re.findall(r"CREATE TABLE (?:IF NOT EXISTS )?(\w+)", text))
    return {table: made[table] + len(statements(columns, trees)) for table, columns in _tables().items()}


def _tables() -> dict[str, set[str]]:
    """The columns of each table that has several, as the migrations leave it."""
    database = sqlite3.connect(":memory:")
    for path in sorted(SCHEMAS.glob("*.sql")):
        database.executescript(path.read_text(encoding="utf-8"))
    names = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    found = {name: {row[1] for row in database.execute(f"PRAGMA table_info({name})")} for name in names}
    database.close()
    return {name: columns for name, columns in found.items() if len(columns) >= COLUMNS_MIN}


def statements(columns: set[str], trees: Trees) -> list[str]:
    """The functions, methods, classes and constants that name nearly all of these columns."""
    found = ((path, node) for path, module in trees.items() for node in _parts(module))
    return [
        f"{path}:{getattr(node, 'lineno', 0)}"
        for path, node in found
        if len(columns & _words(node)) >= NAMED * len(columns)
    ]


@cache
def _parts(module: ast.Module) -> list[ast.stmt]:
    """What stands at the top of a module; of classes each method, and the rest."""
    found: list[ast.stmt] = []
    for node in module.body:
        if isinstance(node, ast.ClassDef):
            methods = [one for one in node.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]
            rest = [one for one in node.body if one not in methods]
            bare = ast.ClassDef(node.name, node.bases, node.keywords, rest, node.decorator_list)
            found += [*methods, ast.copy_location(bare, node)]
        elif not isinstance(node, ast.Import | ast.ImportFrom):
            found.append(node)
    return found


@cache
def _words(node: ast.AST) -> set[str]:
    """The names that a statement has in its code and its texts."""
    found: set[str] = set()
    for one in ast.walk(node):
        match one:
            case ast.Name(id=str(name)) | ast.Attribute(attr=name) | ast.arg(arg=name) | ast.keyword(arg=str(name)):
                found.add(name)
            case ast.Constant(value=str(text)):
                found.update(re.findall(r"\w+", text))
            case _:
                pass
    return found


# ------------------------------------------------------------------------------------- protocols


def needless_protocols(trees: Trees) -> list[str]:
    """Protocols that one class, or none, fulfils; what inherits all of it from that class is it."""
    every = [node for _, node in classes(trees)]
    by_name: dict[str, list[ast.ClassDef]] = defaultdict(list)
    for node in every:
        by_name[node.name].append(node)

    @cache
    def members(node: ast.ClassDef) -> Members:
        found: Members = {}
        for base in _bases(node):
            for one in by_name[base]:
                found |= members(one) if one is not node else {}
        return found | _members(node)

    def fulfils(node: ast.ClassDef, asked: Members) -> bool:
        has = members(node)
        return all(name in has and (None in (value, has[name]) or has[name] == value) for name, value in asked.items())

    found = []
    for protocol in (node for node in every if "Protocol" in _bases(node)):
        asked = members(protocol)
        fulfilling = [node for node in every if "Protocol" not in _bases(node) and fulfils(node, asked)]
        names = {node.name for node in fulfilling}
        own = [node for node in fulfilling if not names & {*_bases(node)}]
        if len(own) < 2 and asked.keys() != {"__call__"}:  # functions fulfil that
            found.append(protocol.name)
    return found


def _bases(node: ast.ClassDef) -> list[str]:
    return [ast.unparse(base).partition("[")[0].rpartition(".")[2] for base in node.bases]


def _members(node: ast.ClassDef) -> Members:
    """The names that a class or its methods give to it; methods with what they take."""
    found: Members = {}
    for one in ast.walk(node):
        match one:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                found[name] = tuple(arg.arg for arg in (*one.args.args, *one.args.kwonlyargs))
            case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
                found.setdefault(name, None)
            case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
                found.setdefault(name, None)
            case _:
                pass
    return found
