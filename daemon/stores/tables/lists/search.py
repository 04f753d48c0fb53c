"""The search index of runs, kept beside the commits: words of what each run started with."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from actors.core.messages import RunStarted
from daemon.model.inbox import words_of
from daemon.stores import codec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from actors.core.run import Run
    from daemon.model import RunQuery
    from daemon.stores.database import Database, Dialect, Key, Row

COMMITS_MAX = 2_000
"""Commits that one step looks at; of each run the first one counts."""
WORDS_CHARS_MAX = 1024 * 1024
"""About a tenth of a second of the writer, where no word is like another."""
TOKEN_CHARS = 24
TERMS_MAX = 16
"""Words of the index that a search asks for in place of their beginning."""
OPTIMIZED_MAX = 50_000
"""Runs up to which SQLite's index is written anew where words have to go."""
FORGOTTEN_PAGES = 500
"""Pages of the index that are written in one piece: some 30 ms."""
_REACHED = "SELECT position FROM search_progress WHERE company_id = $1"
_REACH = (
    "INSERT INTO search_progress (company_id, position) VALUES ($1, $2) "
    "ON CONFLICT (company_id) DO UPDATE SET position = excluded.position WHERE search_progress.position < $2"
)
_END = {
    "sqlite": "SELECT coalesce(max(position), 0) FROM commits",
    "postgres": "SELECT coalesce(max(position), 0) FROM clocks WHERE company_id = $1",
}
_BEHIND = (
    "SELECT clocks.company_id FROM clocks LEFT JOIN search_progress AS reached "
    "ON reached.company_id = clocks.company_id WHERE clocks.position > coalesce(reached.position, 0) LIMIT 1"
)
_FIRST = {
    "sqlite": "SELECT position, number, commits.company_id, id, exact, events FROM commits CROSS JOIN runs "
    "ON runs.company_id = commits.company_id AND id = run_id "
    "WHERE position > $1 AND position <= $2 AND first_seq = 1 AND length(events) > 0 ORDER BY position",
    "postgres": "SELECT position, 0, commits.company_id, id, exact, events FROM commits JOIN runs "
    "ON runs.company_id = commits.company_id AND id = run_id "
    "WHERE commits.company_id = $3 AND position > $1 AND position <= $2 AND first_seq = 1 "
    "AND length(events) > 0 ORDER BY position",
}
# A scan of the terms would read every run of each; this one stops at the first.
_NEXT_TERM = "SELECT term FROM temp.run_terms WHERE term >= $1 LIMIT 1"
# A run may be archived between reading its words and adding them.
_ADD = "INSERT INTO run_words (rowid, words) SELECT number, $2 FROM runs WHERE number = $1 AND archived = 0"
_ADD_ALL = (
    "INSERT INTO run_words (company_id, run_id, words) "
    "SELECT given.* FROM unnest($1::text[], $2::text[], $3::text[]) AS given(company_id, run_id, words) "
    "JOIN runs ON runs.company_id = given.company_id AND id = given.run_id AND NOT archived ON CONFLICT DO NOTHING"
)


class Unindexed(NamedTuple):
    """Runs that no search finds yet, as (number, company, id, words), and how far that looked."""

    company_id: str
    after: int
    until: int
    runs: Sequence[tuple[int, str, str, str]]
    more: bool


async def unindexed(db: Database, company_id: str | None) -> Unindexed | None:
    """The next runs to index, of a company or of any; SQLite takes those of all together."""
    if db.dialect == "sqlite":
        company_id = ""
    elif company_id is None:
        company_id = await db.value(_BEHIND)
        if company_id is None:
            return None
    shared = () if db.dialect == "sqlite" else (company_id,)
    after, end = await db.value(_REACHED, company_id) or 0, await db.value(_END[db.dialect], *shared) or 0
    until = min(end, after + COMMITS_MAX)
    if until <= after:
        return None
    rows = await db.page(_FIRST[db.dialect], after, until, *shared)
    if rows.more:
        until = rows[-1][0]
    runs, reached = await db.run_by_size(company_id, rows.size, lambda: _first_words(rows))
    until = until if reached is None else reached
    return Unindexed(company_id, after, until, runs, more=until < end)


async def index(db: Database, found: Unindexed) -> bool:
    """Let searches find these runs; returns whether more are left."""
    if (await db.value(_REACHED, found.company_id) or 0) != found.after:
        return True  # somebody else was first
    if db.dialect == "postgres":
        await db.execute(_ADD_ALL, *([run[nth] for run in found.runs] for nth in (1, 2, 3)))
    else:
        for number, *_, words in found.runs:
            await db.execute(_ADD, number, words)
    await db.execute(_REACH, found.company_id, found.until)
    return found.more


async def forget_words(db: Database, *, begin: bool = False) -> bool:
    """Take the words of deleted rows out of SQLite's index, too; returns whether more are left.

    One piece at a time, and none where that would take long in all.
    """
    if db.dialect != "sqlite" or (await db.value("SELECT coalesce(max(number), 0) FROM runs")) > OPTIMIZED_MAX:
        return False
    before = await db.value("SELECT total_changes()")
    pages = -FORGOTTEN_PAGES if begin else FORGOTTEN_PAGES
    await db.execute("INSERT INTO run_words (run_words, rank) VALUES ('merge', $1)", pages)
    written: int = await db.value("SELECT total_changes()") - before
    return written > 1


async def add_again(db: Database, run: Run) -> None:
    """Let searches find a run again whose words have changed."""
    words = _said((run.company_id, run.id), run.created_by, [run.business_key, run.vertical, run.inputs])
    if db.dialect == "postgres":
        await db.execute(_ADD_ALL, [run.company_id], [run.id], [words])
    else:
        number = await db.value("SELECT number FROM runs WHERE company_id = $1 AND id = $2", run.company_id, run.id)
        await db.execute(_ADD, number, words)


def _first_words(rows: Sequence[Row]) -> tuple[list[tuple[int, str, str, str]], int | None]:
    """The words of runs, and the position behind which those begin that would be too many."""
    runs, size = [], 0
    for row in rows:
        if (run := _words(row)) is not None:
            runs.append(run)
            size += len(run[-1])
        if size >= WORDS_CHARS_MAX:
            return runs, row[0]
    return runs, None


def _words(row: Row) -> tuple[int, str, str, str] | None:
    _, number, company_id, run_id, exact, events = row
    started = codec.decode_events(events, exact)[0]
    if not isinstance(started, RunStarted):
        return None
    said = [started.business_key, started.vertical, started.inputs]
    return number, company_id, run_id, _said((company_id, run_id), started.by, said)


def _said(key: Key, by: str, said: list[Any]) -> str:
    words = words_of([*said[:2], key[1], by, *said[2:]])
    return f"{company_token(key[0])} {person_token(by)} {words}"


def company_token(company_id: str) -> str:
    """A word that all runs of a company have, since SQLite's index holds those of all companies."""
    return _token("company", company_id)


def person_token(email: str) -> str:
    """A word that all runs have which a person started."""
    return _token("person", email)


def _token(kind: str, name: str) -> str:
    return f"{kind}{sha256(name.encode()).hexdigest()[:TOKEN_CHARS]}"


async def terms_of(db: Database, words: Sequence[str]) -> dict[str, Sequence[str]]:
    """The words in SQLite's index that begin like each of these, where they are few.

    Asked for the beginning of a word the index first gathers every run that has one; asked for
    whole words it stops with the page.
    """
    found = {word: await _terms(db, word) for word in words if word.isascii()}
    return {word: terms for word, terms in found.items() if len(terms) <= TERMS_MAX}


async def _terms(db: Database, word: str) -> Sequence[str]:
    terms: list[str] = []
    term = await db.value(_NEXT_TERM, word)
    while term is not None and term.startswith(word) and len(terms) <= TERMS_MAX:
        terms.append(term)
        term = await db.value(_NEXT_TERM, f"{term}\x01")
    return terms


def matching(dialect: Dialect, company_id: str, query: RunQuery, terms: Mapping[str, Sequence[str]]) -> str | None:
    """What the index is asked for; None when a query needs no search."""
    if query.words is None and query.created_by is None:
        return None
    whole = [company_token(company_id)]
    if query.created_by is not None:
        whole.append(person_token(query.created_by))
    begun = query.words or ()
    if dialect == "sqlite":
        return " AND ".join([*(f'"{word}"' for word in whole), *(_either(word, terms.get(word)) for word in begun)])
    return " & ".join([*whole, *(f"{word}:*" for word in begun)])


def _either(word: str, terms: Sequence[str] | None) -> str:
    """Any of these terms, or all that begin like the word."""
    whole = " OR ".join(f'"{term}"' for term in terms or ())
    return f"({whole})" if whole else f'"{word}"*'
