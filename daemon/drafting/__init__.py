"""First drafts of processes from words: the closest template, a graph by rules or by a model."""

from __future__ import annotations

import asyncio
import json
import math
import re
import sqlite3
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from threading import Lock
from typing import Any, NamedTuple

from actors.core.rules import Violation
from actors.ports import LIGHT_BYTES_MAX, Asker, Evaluations
from daemon.templates.loading import CatalogEntry, LazyTemplate
from daemon.templates.publishing import Checked, NotATemplate, checked

CLOSE = 0.5
"""From this score on a template counts as close."""
UNKNOWN = 1.0
CHANCE = 0.5
"""What counts of a score that one word of several makes, where the title does not have it."""
READ_MAX = 2_048
"""So many characters of a title, of the labels and of a description are looked at."""
WORDS_MAX = 200
"""So many different words of a text are looked for."""
INDEXES_MAX = 32
_INDEXES: OrderedDict[tuple[str, ...], sqlite3.Connection] = OrderedDict()
_LOCK = Lock()
_WORD = re.compile(r"[^\W\d_]{3,}")
_STOP = frozenset(
    (
        *("and", "the", "then", "for", "with", "from", "are", "was", "who", "how", "that", "this", "into", "when"),
        *("them", "they", "its", "not", "but", "all", "any", "each", "has", "have", "our", "out", "after", "before"),
    )
)


class Match(NamedTuple):
    """A template, and how much of the text it has, from 0 to 1."""

    entry: CatalogEntry
    score: float


def find_closest(text: str, shelf: Sequence[LazyTemplate]) -> Match | None:
    """The best match of all; None where no word of the text is in any of them.

    BM25 finds it; its score is the part of the text's words that it has, rare ones the heavier.
    """
    words = [word for word in dict.fromkeys(_WORD.findall(text.casefold())) if word not in _STOP][:WORDS_MAX]
    if not words or not shelf:
        return None
    db = _index_of(shelf)
    every = " OR ".join(f'"{word}"' for word in words)
    ranked = (
        "SELECT rowid FROM templates WHERE templates MATCH ? ORDER BY bm25(templates, 4.0, 1.0, 0.5), rowid LIMIT 1"
    )
    best = db.execute(ranked, [every]).fetchone()
    if best is None:
        return None
    found = {word: _holding(db, word) for word in words}
    shared = [word for word, holding in found.items() if best[0] in holding]
    titled = any(best[0] in _holding(db, word, "title") for word in shared)
    weights = {word: _weight(len(holding), len(shelf)) for word, holding in found.items()}
    score = sum(weights[word] for word in shared) / sum(weights.values())
    if len(shared) == 1 < len(words) and not titled:
        score *= CHANCE
    return Match(shelf[best[0] - 1].entry, round(score, 3))


def _index_of(shelf: Sequence[LazyTemplate]) -> sqlite3.Connection:
    """The index of these templates, made once for as long as the same versions count."""
    name = tuple(one.header.digest for one in shelf)
    with _LOCK:
        if (known := _INDEXES.pop(name, None)) is None:
            known = _indexed([one.entry for one in shelf])
        _INDEXES[name] = known
        while len(_INDEXES) > INDEXES_MAX:
            _INDEXES.popitem(last=False)[1].close()
        return known


def _indexed(entries: Sequence[CatalogEntry]) -> sqlite3.Connection:
    db = sqlite3.connect(":memory:", check_same_thread=False)
    db.execute("CREATE VIRTUAL TABLE templates USING fts5(title, words, description, tokenize = 'porter unicode61')")
    db.executemany(
        "INSERT INTO templates VALUES (?, ?, ?)",
        [(one.template.title[:READ_MAX], _words(one)[:READ_MAX], one.description[:READ_MAX]) for one in entries],
    )
    return db


def _weight(holding: int, every: int) -> float:
    """How much a word says: more the rarer it is, and little where no template has it."""
    return math.log(1 + every / (0.5 + holding)) if holding else UNKNOWN


def _holding(db: sqlite3.Connection, word: str, column: str = "title words description") -> frozenset[int]:
    rows = db.execute("SELECT rowid FROM templates WHERE templates MATCH ?", [f'{{{column}}} : "{word}"'])
    return frozenset(row[0] for row in rows)


def _words(entry: CatalogEntry) -> str:
    nodes = entry.template.nodes
    tools = (node.tool.replace("-", " ") for node in nodes if node.tool is not None)
    return " ".join((entry.template.vertical.replace("-", " "), *(node.label for node in nodes), *tools))


STEPS_MAX = 40
LABEL_MAX = 80
CLAUSE_MAX = 200
_CLAUSE = re.compile(r"[.;]+ ?|,? (?:and )?then |, (?:and )?| and (?=[a-z]+ )", re.IGNORECASE)
_GATE = re.compile(
    r"\b(approv\w*|sign[- ]?off|signs?|review\w*|decid\w*|decision|confirm\w*|authori[sz]\w*|asks?|manager|human)\b",
    re.IGNORECASE,
)
_FINAL = re.compile(
    r"\b(pay\w*|send\w*|wires?|transfer\w*|delet\w*|eras\w*|publish\w*|files?|notif\w*|issues?|refund\w*|deploy\w*|"
    r"terminat\w*|e-?mail\w*|submit\w*|charg\w*|ship\w*|post\w*|releas\w*|cancel\w*|reject\w*|inform\w*|revok\w*)\b",
    re.IGNORECASE,
)
_READ = re.compile(
    r"\b(check\w*|fetch\w*|get|look\w*|find\w*|gather\w*|collect\w*|verif\w*|screen\w*|read\w*|pull\w*|load\w*|"
    r"validat\w*|scor\w*|search\w*|compar\w*|classif\w*)\b",
    re.IGNORECASE,
)
_IF = re.compile(r"^(?:if|when|where|in case)\b ?", re.IGNORECASE)
_NUMBERS = ("a", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_WAIT = re.compile(rf"\bwait\w*\b.*?\b(\d{{1,4}}|an|{'|'.join(_NUMBERS)}) ?(minute|hour|day|week|month)", re.IGNORECASE)
_UNITS = {"minute": "PT{}M", "hour": "PT{}H", "day": "P{}D", "week": "P{}W", "month": "P{}M"}
_OTHER = re.compile(r"[^a-z0-9]+")
Node = dict[str, Any]


def generate_graph(text: str) -> dict[str, Any]:
    """A graph of nodes and edges that keeps all rules: no final step is past every gate."""
    plain = " ".join(text.replace("\n", ". ").split())
    clauses = [one.strip()[:CLAUSE_MAX] for one in _CLAUSE.split(plain) if one.strip()]
    nodes: list[Node] = []
    edges: list[dict[str, Any]] = []
    open_ends: list[tuple[str, str | None]] = []
    gated = False

    def add(node: Node) -> str:
        node["id"] = _id(node["label"], {one["id"] for one in nodes})
        nodes.append(node)
        edges.extend({"source": source, "target": node["id"], "branch": branch} for source, branch in open_ends)
        open_ends[:] = [] if node["kind"] == "end" else [(node["id"], None)]
        return str(node["id"])

    for clause in clauses[:STEPS_MAX]:
        asked = _IF.match(clause)
        if asked is not None:
            choice = add({"kind": "gateway", "flow": "exclusive", "tier": "high", "label": _label(clause + "?")})
            gated, open_ends[:] = True, [(choice, "yes")]
            nodes[-1]["otherwise"] = choice
            continue
        for node in _nodes(clause, gated=gated):
            gated = gated or node["kind"] == "gate"
            add(node)
        waiting = [one.pop("otherwise") for one in nodes if "otherwise" in one]
        open_ends += [(choice, "no") for choice in waiting]
    waiting = [one.pop("otherwise") for one in nodes if "otherwise" in one]
    open_ends += [(choice, "no") for choice in waiting]
    if not nodes:
        add({"kind": "gate", "label": "Look at it"})
    add({"kind": "end", "label": "Done", "outcome": "done"})
    return {"title": _label(clauses[0] if clauses else "Process"), "nodes": nodes, "edges": edges}


def _nodes(clause: str, *, gated: bool) -> Iterator[Node]:
    label = _label(clause)
    if (wait := _WAIT.search(clause)) is not None:
        duration = _UNITS[wait[2].casefold()].format(_number(wait[1].casefold()))
        yield {"kind": "wait", "label": label, "wait": {"duration": duration}}
    elif _GATE.search(clause) is not None and _READ.match(clause) is None:
        yield {"kind": "gate", "label": label}
    elif _FINAL.search(clause) is not None and _READ.match(clause) is None:
        if not gated:
            yield {"kind": "gate", "label": _label(f"Approve: {clause}")}
        yield _task(label, "irreversible")
    else:
        yield _task(label, "read" if _READ.search(clause) is not None else "reversible")


def _number(said: str) -> int:
    if said.isdigit():
        return int(said)
    return _NUMBERS.index(said) if said in _NUMBERS[1:] else 1


def _task(label: str, effect: str) -> Node:
    return {"kind": "task", "label": label, "tool": _id(label, set()), "effect": effect}


def _label(clause: str) -> str:
    text = clause.strip(" ,.;:-")[:LABEL_MAX]
    return text[:1].upper() + text[1:] if text else "Step"


def _id(label: str, taken: set[str]) -> str:
    plain = _OTHER.sub("-", label.casefold()).strip("-")[:40].strip("-") or "step"
    plain = plain if plain[0].isalpha() and plain not in ("inputs", "facts") else f"step-{plain}"
    number, found = 1, plain
    while found in taken:
        number += 1
        found = f"{plain}-{number}"
    return found


Ask = Callable[[dict[str, Any]], Awaitable[Any]]
"""Sends a body to the endpoint; its answer, or None."""
Made = Callable[[str, str], Awaitable[CatalogEntry]]
"""Makes the template of a company's checked document."""
TRIES, AT_ONCE_MAX = 2, 4
SHOWN_MAX = 20
SYSTEM = """You draw business processes. Answer with one JSON object and nothing else:
{"title": string, "nodes": [node], "edges": [edge]}
A node has "id" (a-z, 0-9, dashes), "kind" and "label". Kinds:
- "task": calls a tool; "tool" (a name), "effect": "read", "reversible" or "irreversible"
- "gate": a person approves or denies
- "gateway": "flow": "exclusive" (one way is taken) or "parallel" (all are, and a second one joins them)
- "wait": "wait": {"duration": "PT24H"}
- "end": "outcome": a word
An edge has "source", "target", and "branch" where there are several: "approved" or "denied" behind a gate.
Behind an exclusive gateway each edge but one has "when", CEL over inputs and facts.
The process starts at the first node. Every way leads to an end. A gate stands before every irreversible task."""


class DraftModel:
    """Asks a chat-completions endpoint for graphs."""

    def __init__(self, ask: Ask, name: str, evaluations: Evaluations, made: Made) -> None:
        self._ask = ask
        self._name = name
        self._evaluations = evaluations
        self._made = made
        self._few = asyncio.Semaphore(AT_ONCE_MAX)

    async def drafted(self, company_id: str, text: str) -> CatalogEntry | None:
        """A process of a text; None without a valid one. What was wrong is said to it once."""
        async with self._few:
            return await self._drafted(company_id, text)

    async def _drafted(self, company_id: str, text: str) -> CatalogEntry | None:
        messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": text}]
        for _ in range(TRIES):
            content = _content(await self._ask({"model": self._name, "messages": messages, "temperature": 0}))
            if content is None:
                return None
            read = partial(_read, content)
            found = await self._evaluations.evaluated(Asker(company_id), LIGHT_BYTES_MAX + 1, read)
            if isinstance(found, Checked) and found.document is not None and not found.violations:
                return await self._made(company_id, found.document)
            wrong = _told(found.violations) if isinstance(found, Checked) else found
            messages += [{"role": "assistant", "content": content}, {"role": "user", "content": wrong}]
        return None


def _content(answer: Any) -> str | None:
    """The text of an answer in the form of chat completions."""
    try:
        content = answer["choices"][0]["message"]["content"]
    except (KeyError, IndexError, TypeError):
        return None
    return content if isinstance(content, str) else None


def _read(content: str) -> Checked | str:
    """What the process is worth that a text says, or why it says none."""
    begin, end = content.find("{"), content.rfind("}")
    try:
        return checked(json.loads(content[begin : end + 1]), large=len(content) > LIGHT_BYTES_MAX)
    except NotATemplate as other:
        places = (f"{'/'.join(map(str, where))}: {why}" for where, _, why in other.faults[:SHOWN_MAX])
        return f"This has another form: {'; '.join(places)}"
    except (AttributeError, ValueError, TypeError, RecursionError):
        return "This is no JSON object."


def _told(wrong: tuple[Violation, ...]) -> str:
    return f"These rules are broken: {'; '.join(map(str, wrong[:SHOWN_MAX]))}"
