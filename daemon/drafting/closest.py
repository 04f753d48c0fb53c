"""The template that is closest to a text, by BM25 over titles, labels and tools."""

from __future__ import annotations

import math
import re
import sqlite3
from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock
from typing import NamedTuple

from daemon.templates.loading import CatalogEntry, LazyTemplate

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


def closest(text: str, shelf: Sequence[LazyTemplate]) -> Match | None:
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
