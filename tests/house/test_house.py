"""The rules of the house that no linter knows: sizes, names, and who may touch what."""

from __future__ import annotations

import ast
import re
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
FILE_LINES_MAX = 600
FUNCTION_LINES_MAX = 60
SENTENCE = re.compile(r"test(_[a-z0-9]+){3,}")

PURE = {"decider", "turn", "governance", "run", "messages", "calls", "template", "canonical"}
IMPURE_BUILTINS = {"breakpoint", "input", "open", "print"}
IMPURE_METHODS = {"now", "today", "utcnow", "uuid1", "uuid4"}
ENVIRONMENT = {"environ", "environb", "getenv", "getenvb", "putenv", "unsetenv"}


def modules(*folders: str) -> list[Path]:
    """Every Python file below these folders, the page's source and its tools left out."""
    ui = ROOT / "daemon" / "ui"
    found = (path for folder in folders for path in (ROOT / folder).rglob("*.py"))
    return sorted(path for path in found if not path.is_relative_to(ui))


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def place(path: Path, node: ast.AST | None = None) -> str:
    name = path.relative_to(ROOT).as_posix()
    return name if node is None else f"{name}:{getattr(node, 'lineno', 0)}"


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree(path)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def imports(path: Path) -> Iterator[tuple[ast.AST, str]]:
    """Each import with the full dotted name of what it brings in; relative ones are left out."""
    for node in ast.walk(tree(path)):
        match node:
            case ast.Import(names=names):
                yield from ((node, alias.name) for alias in names)
            case ast.ImportFrom(module=str(module), names=names, level=0):
                yield from ((node, f"{module}.{alias.name}") for alias in names)
            case _:
                pass


def attributes(path: Path, owner: str) -> Iterator[tuple[ast.AST, str]]:
    """Each `owner.name` in the text, whether it is called or not."""
    for node in ast.walk(tree(path)):
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if name == owner:
                yield node, f"{owner}.{attr}"
            case _:
                pass


def uses(path: Path, owner: str, names: set[str]) -> list[str]:
    """Where a module imports one of these names from their owner, or reaches them through it."""
    wanted = tuple(f"{owner}.{name}" for name in names)
    seen = [*imports(path), *attributes(path, owner)]
    return [place(path, node) for node, name in seen if f"{name}.".startswith(tuple(f"{w}." for w in wanted))]


def test_every_module_says_what_it_is_for() -> None:
    silent = [place(path) for path in modules("actors", "daemon", "tests") if not ast.get_docstring(tree(path))]
    assert silent == []


def test_no_file_is_too_long_to_read() -> None:
    lengths = {place(path): len(path.read_text(encoding="utf-8").splitlines()) for path in modules("actors", "daemon")}
    assert {name: length for name, length in lengths.items() if length > FILE_LINES_MAX} == {}


def test_no_function_is_too_long_to_read() -> None:
    long = [
        f"{place(path, function)} {function.name}"
        for path in modules("actors", "daemon")
        for function in functions(path)
        if (function.end_lineno or 0) - function.lineno + 1 > FUNCTION_LINES_MAX
    ]
    assert long == []


def test_every_test_name_reads_as_a_sentence() -> None:
    unclear = [
        f"{place(path, function)} {function.name}"
        for path in modules("tests")
        for function in functions(path)
        if function.name.startswith("test") and not SENTENCE.fullmatch(function.name)
    ]
    assert unclear == []


def test_the_actors_need_nothing_but_the_standard_library_and_msgspec() -> None:
    allowed = sys.stdlib_module_names | {"actors", "msgspec"}
    foreign = [
        f"{place(path, node)} {name}"
        for path in modules("actors")
        for node, name in imports(path)
        if name.split(".")[0] not in allowed
    ]
    assert foreign == []


def test_the_client_needs_nothing_of_the_service() -> None:
    """Whoever imports it gets no more than that: a client, and what it speaks with."""
    allowed = ("aiohttp", "pydantic", "yarl", "daemon.client", "daemon.contract")
    foreign = [
        f"{place(path, node)} {name}"
        for path in modules("daemon/client", "daemon/contract")
        for node, name in imports(path)
        if name.split(".")[0] not in sys.stdlib_module_names
        and not f"{name}.".startswith(tuple(f"{a}." for a in allowed))
    ]
    assert foreign == []


def is_impure(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Name(id=name)):
            return name in IMPURE_BUILTINS | IMPURE_METHODS
        case ast.Call(func=ast.Attribute(attr=name)):
            return name in IMPURE_METHODS
        case _:
            return False


def test_the_core_reads_no_clock_and_makes_no_ids() -> None:
    core = [path for path in modules("actors") if path.stem in PURE]
    assert [place(path, node) for path in core for node in ast.walk(tree(path)) if is_impure(node)] == []


def test_only_the_settings_read_the_environment() -> None:
    readers = [
        where
        for path in modules("actors", "daemon")
        if place(path) != "daemon/settings.py"
        for where in uses(path, "os", ENVIRONMENT)
    ]
    assert readers == []


def test_only_the_web_room_knows_the_web_server() -> None:
    strangers = [
        where
        for path in modules("actors", "daemon")
        if not path.is_relative_to(ROOT / "daemon" / "web")
        for where in uses(path, "aiohttp", {"web"})
    ]
    assert strangers == []
