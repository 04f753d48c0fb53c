"""What the code says more than once: class names, shapes of the contract, columns of a table, and
protocols that stand for one class.
"""

from __future__ import annotations

import ast
import re
import sqlite3
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

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


def repeated() -> Iterator[Measure]:
    names = Counter(node.name for _, node in classes())
    several = sorted(name for name, count in names.items() if count > 1)
    yield Measure("class names with more than one meaning", len(several))
    yield Measure("shapes of the contract that have a twin", len(twins()))
    stated = {table: len(places) for table, places in statements().items()}
    yield Measure("statements of the table delegations", stated["delegations"])
    yield Measure("statements of a table, mean", round(statistics.mean(stated.values()), 1))
    yield Measure("protocols with one implementation", len(needless_protocols()))


@cache
def classes() -> list[tuple[str, ast.ClassDef]]:
    """Each class with the path of its file."""
    found = ((place(path), node) for path in modules(*CODE) for node in ast.walk(tree(path)))
    return [(path, node) for path, node in found if isinstance(node, ast.ClassDef)]


def twins() -> list[str]:
    """Classes of the contract, with a class elsewhere that has nearly the same fields."""
    shapes = [(path, node.name, _fields(node)) for path, node in classes()]
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


def statements() -> dict[str, list[str]]:
    """By table the statements that name nearly all of its columns: of both schemas, and each
    function, method, class or constant in Python.
    """
    words = [(where, _words(node)) for path in modules(*CODE) for where, node in _statements(path)]
    schemas = {place(path): path.read_text(encoding="utf-8") for path in (ROOT / "daemon").rglob("schema/*.sql")}
    found = {}
    for table, columns in _tables().items():
        made = re.compile(rf"CREATE TABLE (?:IF NOT EXISTS )?{table}\b")
        found[table] = [path for path, text in schemas.items() if made.search(text)]
        found[table] += [where for where, said in words if len(columns & said) >= NAMED * len(columns)]
    return found


def _tables() -> dict[str, set[str]]:
    """The columns of each table that has several, as the migrations leave it."""
    database = sqlite3.connect(":memory:")
    for path in sorted(SCHEMAS.glob("*.sql")):
        database.executescript(path.read_text(encoding="utf-8"))
    names = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    found = {name: {row[1] for row in database.execute(f"PRAGMA table_info({name})")} for name in names}
    database.close()
    return {name: columns for name, columns in found.items() if len(columns) >= COLUMNS_MIN}


def _statements(path: Path) -> Iterator[tuple[str, ast.AST]]:
    """What stands at the top of a module or of a class there."""
    for node in tree(path).body:
        if isinstance(node, ast.ClassDef):
            methods = [one for one in node.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]
            yield from ((place(path, one), one) for one in methods)
            rest = [one for one in node.body if one not in methods]
            yield place(path, node), ast.Module(rest, [])
        elif not isinstance(node, ast.Import | ast.ImportFrom):
            yield place(path, node), node


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


def needless_protocols() -> list[str]:
    """Protocols that one class, or none, fulfils; what inherits all of it from that class is it."""
    by_name: dict[str, list[ast.ClassDef]] = defaultdict(list)
    for _, node in classes():
        by_name[node.name].append(node)

    @cache
    def members(node: ast.ClassDef) -> dict[str, tuple[str, ...] | None]:
        inherited = [members(one) for base in _bases(node) for one in by_name[base] if one is not node]
        return {name: value for one in [*inherited, _members(node)] for name, value in one.items()}

    def fulfils(node: ast.ClassDef, asked: dict[str, tuple[str, ...] | None]) -> bool:
        has = members(node)
        return all(name in has and (None in (value, has[name]) or has[name] == value) for name, value in asked.items())

    found = []
    for _, protocol in classes():
        asked = members(protocol) if "Protocol" in _bases(protocol) else {}
        fulfilling = [node for _, node in classes() if "Protocol" not in _bases(node) and fulfils(node, asked)]
        names = {node.name for node in fulfilling}
        own = [node for node in fulfilling if not names & {*_bases(node)}]
        if asked and len(own) < 2 and asked.keys() != {"__call__"}:
            found.append(protocol.name)
    return found


def _bases(node: ast.ClassDef) -> list[str]:
    return [ast.unparse(base).partition("[")[0].rpartition(".")[2] for base in node.bases]


def _members(node: ast.ClassDef) -> dict[str, tuple[str, ...] | None]:
    """The names that a class or its methods give to it; methods with what they take."""
    found: dict[str, tuple[str, ...] | None] = {}
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
