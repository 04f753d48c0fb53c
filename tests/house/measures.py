"""The measures of the tree: its size, how it hangs together, and what a reader has to know."""

from __future__ import annotations

import ast
import re
import statistics
from collections import Counter
from collections.abc import Iterator

import grimp

from tests.house.bounds import Measure
from tests.house.passed import passed
from tests.house.repeated import CODE, repeated
from tests.house.test_house import ROOT, functions, modules, place, tree
from tests.patches.stored import PATCHES, tracked

GLOSSARY = ROOT / "docs" / "reference" / "glossary.md"
BUILT = ("daemon/web/static/", "daemon/ui/src/api/contract.d.ts")
WORD = re.compile(r"^(?:\| )?\*\*(.+?)\*\*", re.MULTILINE)
# These are documented, underscore and all: os._exit, sys._current_frames, what a NamedTuple has.
PUBLIC = {"_asdict", "_current_frames", "_exit", "_field_defaults", "_fields", "_make", "_replace"}


def measures() -> Iterator[Measure]:
    yield from sizes()
    yield from shares()
    yield from imports()
    yield private_names()
    yield from texts()
    yield from repeated()
    yield from walks()
    yield from passed()


def sizes() -> Iterator[Measure]:
    paths = modules(*CODE)
    lines = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in paths}
    longest = max(paths, key=lambda path: lines[path])
    yield Measure("lines of actors and daemon", sum(lines.values()))
    yield Measure("files of actors and daemon", len(paths))
    yield Measure("lines of a file, median", statistics.median(lines.values()))
    yield Measure("lines of the longest file", lines[longest], place(longest))
    yield Measure("files directly in daemon", sum(path.parent == ROOT / "daemon" for path in paths))
    folders = Counter(path.parent for path in paths if path.name != "__init__.py")
    folder, most = folders.most_common(1)[0]
    yield Measure("modules in one folder", most, place(folder))
    spans = {place(path, one): (one.end_lineno or 0) - one.lineno + 1 for path in paths for one in functions(path)}
    yield Measure("lines of a function, 95 of 100", round(statistics.quantiles(spans.values(), n=100)[94], 1))
    yield Measure("lines of the longest function", max(spans.values()), max(spans, key=lambda name: spans[name]))
    yield Measure("built files in the tree", sum(name.startswith(BUILT) for name in tracked()))


def shares() -> Iterator[Measure]:
    """What of the lines is imports, and what is empty."""
    lines = imported = blank = 0
    for path in modules(*CODE):
        text = path.read_text(encoding="utf-8").splitlines()
        lines += len(text)
        blank += sum(not line.strip() for line in text)
        found = (node for node in ast.walk(tree(path)) if isinstance(node, ast.Import | ast.ImportFrom))
        imported += sum((node.end_lineno or 0) - node.lineno + 1 for node in found)
    yield Measure("import lines, of 100", round(100 * imported / lines, 1))
    yield Measure("blank lines, of 100", round(100 * blank / lines, 1))


def imports() -> Iterator[Measure]:
    """Cycles, with imports inside functions and those for types alone."""
    graph = grimp.build_graph(*CODE, cache_dir=None)
    among_modules = knots({name: graph.find_modules_directly_imported_by(name) for name in graph.modules})
    yield Measure("cycles of modules", len(among_modules), "; ".join(map(" ".join, among_modules)))
    packages = {name for name in graph.modules if graph.find_children(name)}
    broken = sorted({f"{one} and {other}" for name in packages for one, other in graph.nominate_cycle_breakers(name)})
    yield Measure("cycles of packages", len(broken), "; ".join(broken))


def knots(edges: dict[str, set[str]]) -> list[list[str]]:
    """Groups of nodes that lead to each other (Tarjan's strongly connected components of more than
    one node).
    """
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in edges[node]:
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            at = stack.index(node)
            found.append(sorted(stack[at:]))
            del stack[at:]

    for node in sorted(edges):
        if node not in index:
            visit(node)
    return [group for group in found if len(group) > 1]


def private_names() -> Measure:
    """Names with an underscore that are read here and defined nowhere here, and methods that are
    defined here and used nowhere here: other packages own the first and call the second.
    """
    read: dict[str, str] = {}
    methods: dict[str, str] = {}
    ours: set[str] = set()
    for path in modules(*CODE):
        for node in ast.walk(tree(path)):
            match node:
                case ast.Attribute(attr=name, ctx=ast.Load()):
                    read.setdefault(name, f"{path.name}:{node.lineno}")
                case ast.Attribute(attr=name) | ast.Name(id=name, ctx=ast.Store()):
                    ours.add(name)
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                    ours.add(name)
                    if not node.decorator_list:  # a decorator may keep and call it
                        methods[name] = f"{path.name}:{node.lineno}"
                case ast.Name(id=name):
                    read.setdefault(name, f"{path.name}:{node.lineno}")
                case ast.ClassDef(name=name):
                    ours.add(name)
                case ast.ImportFrom(module=str(module), names=names) if not module.startswith(CODE):
                    read.update({alias.name: f"{path.name}:{node.lineno}" for alias in names})
                case _:
                    pass
    private = {name for name in read.keys() | methods.keys() if name.startswith("_") and not name.endswith("__")}
    foreign = sorted(name for name in private - PUBLIC if name not in ours or (name in methods and name not in read))
    detail = ", ".join(f"{name} ({read.get(name) or methods[name]})" for name in foreign)
    return Measure("private names of other packages", len(foreign), detail)


def texts() -> Iterator[Measure]:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    yield Measure("words of the README", len(readme.split()))
    yield Measure("words of the glossary", len(WORD.findall(GLOSSARY.read_text(encoding="utf-8"))))


def walks() -> Iterator[Measure]:
    """The files that each stored patch touches."""
    for patch in PATCHES:
        yield Measure(f"files of a patch: {patch.title}", len(patch.files))
