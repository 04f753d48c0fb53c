"""The measures of the tree: how large it is, how it hangs together, and what a reader has to know.

`python -m tests.house` prints them all and fails where a bound is not held.
"""

from __future__ import annotations

import ast
import re
import statistics
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import grimp

from tests.house.hops import hops
from tests.house.test_house import ROOT, functions, modules, tree

CODE = ("actors", "daemon")
GLOSSARY = ROOT / "docs" / "reference" / "glossary.md"
CONTRIBUTING = ROOT / "docs" / "contributing.md"
WALKS = {"a step kind": 7, "a field of a run": 5, "an endpoint": 3}
WORD = re.compile(r"^(?:\| )?\*\*(.+?)\*\*", re.MULTILINE)
FILE_OF_WALK = re.compile(r"^\d+\. `", re.MULTILINE)
# These are documented, underscore and all: os._exit, sys._current_frames, what a NamedTuple has.
PUBLIC = {"_asdict", "_current_frames", "_exit", "_field_defaults", "_fields", "_make", "_replace"}


@dataclass(frozen=True)
class Measure:
    """One figure; `bound` is the most that it may be, and `gate` whether the check fails above
    it.
    """

    name: str
    found: float | None
    bound: float | None = None
    gate: bool = False
    detail: str = ""

    @property
    def held(self) -> bool:
        return self.bound is None or (self.found is not None and self.found <= self.bound)

    def __str__(self) -> str:
        found = "unknown" if self.found is None else f"{self.found:,g}"
        bound = "" if self.bound is None else f"(at most {self.bound:,g})"
        return f"{self.name:<52}{found:>8}  {bound:<18}{'' if self.held else 'MISSED '}{self.detail}".rstrip()


def measures() -> Iterator[Measure]:
    yield from sizes()
    yield from imports()
    yield private_names()
    yield from texts()
    yield from walks()
    yield Measure("hops of a resume with an Idempotency-Key", len(hops()), 16, gate=True)


def sizes() -> Iterator[Measure]:
    paths = modules(*CODE)
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)
    yield Measure("lines of actors and daemon", lines, 22_000, detail=f"in {len(paths)} files")
    yield Measure("files directly in daemon", sum(path.parent == ROOT / "daemon" for path in paths), 8, gate=True)
    folders = Counter(path.parent for path in paths if path.name != "__init__.py")
    folder, most = folders.most_common(1)[0]
    yield Measure("modules in one folder", most, 16, gate=True, detail=str(folder.relative_to(ROOT)))
    spans = [(one.end_lineno or 0) - one.lineno + 1 for path in paths for one in functions(path)]
    yield Measure("lines of a function, median", statistics.median(spans))
    yield Measure("lines of a function, 95 of 100", statistics.quantiles(spans, n=100)[94], 20)
    classes = [node for path in paths for node in ast.walk(tree(path)) if isinstance(node, ast.ClassDef)]
    yield Measure("classes", len(classes))
    yield Measure("protocols", sum("Protocol" in ast.unparse(base) for one in classes for base in one.bases))


def imports() -> Iterator[Measure]:
    """Cycles, with imports inside functions and those for types alone."""
    graph = grimp.build_graph(*CODE, cache_dir=None)
    among_modules = knots({name: graph.find_modules_directly_imported_by(name) for name in graph.modules})
    yield Measure("cycles of modules", len(among_modules), 0, gate=True, detail="; ".join(map(" ".join, among_modules)))
    packages = {name for name in graph.modules if graph.find_children(name)}
    broken = sorted({f"{one} and {other}" for name in packages for one, other in graph.nominate_cycle_breakers(name)})
    yield Measure("cycles of packages", len(broken), 0, gate=True, detail="; ".join(broken))


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
    return Measure("private names of other packages", len(foreign), 3, gate=True, detail=detail)


def texts() -> Iterator[Measure]:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    yield Measure("words of the README", len(readme.split()), 1_500, gate=True)
    words = len(WORD.findall(GLOSSARY.read_text(encoding="utf-8"))) if GLOSSARY.exists() else None
    yield Measure("words of the glossary", words, 20, gate=True)


def walks() -> Iterator[Measure]:
    """The files that each walk of the contributor's guide touches, generated ones left out."""
    text = CONTRIBUTING.read_text(encoding="utf-8") if CONTRIBUTING.exists() else ""
    for name, bound in WALKS.items():
        _, _, section = text.partition(f"## Add {name}\n")
        files = len(FILE_OF_WALK.findall(section.partition("\n## ")[0])) if section else None
        yield Measure(f"files to touch for {name}", files, bound)
