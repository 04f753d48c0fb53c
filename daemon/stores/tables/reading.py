"""Which runs somebody may find: rows beside those runs alone that not everybody reads."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from actors.core.reading.scope import GLASS, OWN, RULE, STARTER, SUBJECT, subject_name
from daemon.runtime.json_codec import dumps
from daemon.stores.rows import iso, iso_or_null

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from actors.core.reading.scope import Reading, ReadingRow, ReadScope
    from daemon.model.reading import Sight
    from daemon.stores.database import Database, Dialect, Row

RUN_READER = "company_id, run_id, kind, name, ends_at"
_ROW = "SELECT 1 FROM run_readers AS reader WHERE reader.company_id = {company} AND reader.run_id = {run}"
_ABOUT = f"SELECT name FROM run_readers WHERE company_id = $1 AND run_id = $2 AND kind = '{SUBJECT}'"
_GUARDED = (
    f"SELECT 1 FROM run_readers WHERE company_id = $1 AND run_id = $2 AND kind IN ('{RULE}', '{SUBJECT}') LIMIT 1"
)
_AMONG: dict[Dialect, str] = {
    "sqlite": "(SELECT value FROM json_each({}))",
    "postgres": "(SELECT jsonb_array_elements_text({}::jsonb))",
}
_SHUT: dict[Dialect, str] = {
    "sqlite": "json_each($2) AS shut",
    "postgres": "jsonb_array_elements_text($2::jsonb) AS shut (value)",
}
_PARTLY_CLOSED = (
    "SELECT DISTINCT vertical FROM runs WHERE company_id = $1 AND id IN (SELECT (SELECT run_id FROM run_readers WHERE "
    f"company_id = $1 AND kind = '{RULE}' AND name = shut.value LIMIT 1) FROM {{shut}} UNION SELECT run_id FROM "
    f"run_readers WHERE company_id = $1 AND kind = '{SUBJECT}' AND name IN {{names}})"
)
_WILD = str.maketrans("*?", "%_")
_VISIBLE = "SELECT id FROM runs WHERE company_id = $1 AND id IN {ids}{where}"


def reader_row(one: ReadingRow) -> Row:
    return one.kind, one.name, iso_or_null(one.until)


def readers_json(reading: Reading) -> str:
    """The rows as the append of PostgreSQL takes them."""
    rows = [dict(zip(("kind", "name", "ends_at"), reader_row(one), strict=True)) for one in reading.rows]
    return dumps({"kinds": reading.kinds, "rows": rows}).decode()


async def whom_it_is_about(db: Database, company_id: str, run_id: str) -> frozenset[str]:
    """What stands for those whom a run was ever about, redacted or archived as it may be."""
    return frozenset([row[0] for row in await db.rows(_ABOUT, company_id, run_id)])


async def is_guarded(db: Database, company_id: str, run_id: str) -> bool:
    """Whether its template says who reads a run, or keeps somebody from reading it."""
    return await db.value(_GUARDED, company_id, run_id) is not None


def visible(
    dialect: Dialect, sight: Sight | None, first: int, run: str, vertical: str | None = None, *, summed: bool = False
) -> tuple[str, Row]:
    """The condition of a list that leaves out what somebody may not read, and its values.

    Their numbers begin with `first`; the company is $1, and `run` the column of the run. Where no
    column has the `vertical` it is looked up. A statement that is `summed` looks at many runs, and
    a page at few.
    """
    if sight is None:
        return "", ()
    known = {"first": first, "run": run, "vertical": vertical, "summed": summed}
    where, values = _built(dialect, sight.company_id, sight.scope, **known)
    return where, values if sight.scope.glass is None else (*values, iso(sight.at))


@lru_cache(maxsize=256)
def _built(
    dialect: Dialect, company_id: str, scope: ReadScope, *, first: int, run: str, vertical: str | None, summed: bool
) -> tuple[str, Row]:
    """The condition, and its values but for the time that stands last where a glass counts."""
    condition = _Condition(dialect, company_id, scope, first=first, run=run, vertical=vertical)
    if dialect == "postgres" and not summed:
        condition.fence = " OFFSET 0"
    return condition.build()


class _Condition:
    """Writes the condition part by part, each value as a parameter.

    The `fence` keeps PostgreSQL from a hash of the rows of all runs of the company, which pays
    where many runs are looked at, and costs most of the time of a page.
    """

    fence = ""

    def __init__(
        self, dialect: Dialect, company_id: str, scope: ReadScope, *, first: int, run: str, vertical: str | None
    ) -> None:
        self._dialect = dialect
        self._among = _AMONG[dialect]
        self._company_id = company_id
        self._scope = scope
        self._first = first
        self._row = _ROW.format(company="$1", run=run)
        self._run = run
        self._vertical = vertical
        self._values: list[Any] = []

    def build(self) -> tuple[str, Row]:
        parts = [f"AND NOT EXISTS ({self._about(self._scope.addresses)})", *self._lent(), *self._covered()]
        if closed := self._closed():
            parts.append(f"AND NOT ({closed})")
        return f" {' '.join(parts)}", tuple(self._values)

    def _lent(self) -> Iterator[str]:
        """The conditions of the runs that are about who has lent their template or vertical."""
        for who in sorted({who for _, who in self._scope.lent}):
            lent = {what for what, by in self._scope.lent if by == who}
            rule, vertical = self._row_of(RULE, lent), self._in_vertical(lent)
            yield f"AND NOT (EXISTS ({self._about([who])}) AND (EXISTS ({rule}) OR EXISTS ({vertical})))"

    def _about(self, addresses: Iterable[str]) -> str:
        return self._row_of(SUBJECT, [subject_name(self._company_id, one) for one in addresses])

    def _covered(self) -> Sequence[str]:
        """The condition of the runs that a key reads at most."""
        reads = self._scope.reads
        if reads is None:
            return ()
        if reads == OWN:
            return (f"AND EXISTS ({self._row_of(STARTER, [self._scope.me])})",)
        if self._vertical is not None:
            return (f"AND {self._like(self._vertical, reads)}",)
        named = f"named.company_id = $1 AND named.id = {self._run} AND {self._like('named.vertical', reads)}"
        return (f"AND EXISTS (SELECT 1 FROM runs AS named WHERE {named})",)

    def _like(self, column: str, globs: Sequence[str]) -> str:
        """Names have neither `%` nor `_`, nor have globs of them, and are small letters alone."""
        if self._dialect == "sqlite":
            said = [f"{column} GLOB {self._value(one)}" for one in globs]
        else:
            said = [f"{column} LIKE {self._value(one.translate(_WILD))}" for one in globs]
        return f"({' OR '.join(said) or 'false'})"

    def _closed(self) -> str:
        """What rules close, unless a glass is broken."""
        scope = self._scope
        rules = [self._unlisted({*scope.open, *scope.started})]
        unless = [self._row_of(RULE, scope.started)] if scope.started else []
        narrowed = [self._in_vertical(scope.closed)] if scope.closed else []
        if scope.closed_unless_started:
            unless.append(self._in_vertical(scope.closed_unless_started))
        if unless:
            started = self._row_of(STARTER, [scope.me])
            narrowed.append(f"SELECT 1 WHERE ({self._any(unless)}) AND NOT {self._any([started])}")
        closed = self._any([*rules, *narrowed])
        if scope.glass is None:
            return closed
        broken = f"{self._row_of(GLASS, [scope.glass])} AND reader.ends_at > ${self._first + len(self._values)}"
        return f"({closed}) AND NOT {self._any([broken])}"

    def _any(self, parts: Sequence[str]) -> str:
        return " OR ".join(f"EXISTS ({one}{self.fence})" for one in parts)

    def _unlisted(self, digests: Collection[str]) -> str:
        """Rows of templates whose readers are others: what is not known is closed."""
        return f"{self._row} AND reader.kind = '{RULE}' AND NOT reader.name IN {self._list(digests)}"

    def _row_of(self, kind: str, names: Collection[str]) -> str:
        return f"{self._row} AND reader.kind = '{kind}' AND reader.name IN {self._list(names)}"

    def _in_vertical(self, verticals: Collection[str]) -> str:
        if self._vertical is not None:
            return f"SELECT 1 WHERE {self._vertical} IN {self._list(verticals)}"
        return (
            f"SELECT 1 FROM runs AS narrowed WHERE narrowed.company_id = $1 AND narrowed.id = {self._run} "
            f"AND narrowed.vertical IN {self._list(verticals)}"
        )

    def _list(self, names: Collection[str]) -> str:
        return self._among.format(self._value(json.dumps(sorted(names))))

    def _value(self, value: Any) -> str:
        self._values.append(value)
        return f"${self._first + len(self._values) - 1}"


async def partly_closed(db: Database, sight: Sight | None) -> frozenset[str]:
    """The verticals that have a run which somebody may not read: sums over them would tell of it.

    A glass that is broken for one of them changes nothing.
    """
    if sight is None:
        return frozenset()
    scope, dialect = sight.scope, db.dialect
    about = scope.addresses.union([who for _, who in scope.lent])
    names = json.dumps([subject_name(sight.company_id, one) for one in sorted(about)])
    statement = _PARTLY_CLOSED.format(shut=_SHUT[dialect], names=_AMONG[dialect].format("$3"))
    rows = await db.rows(statement, sight.company_id, json.dumps(sorted(scope.shut)), names)
    return frozenset([row[0] for row in rows]) | scope.closed | scope.closed_unless_started


async def visible_among(db: Database, company_id: str, run_ids: Collection[str], sight: Sight) -> frozenset[str]:
    """Those of these runs that somebody may read; archived ones, too."""
    where, values = visible(db.dialect, sight, 3, "runs.id", "runs.vertical")
    statement = _VISIBLE.format(ids=_AMONG[db.dialect].format("$2"), where=where)
    rows = await db.rows(statement, company_id, json.dumps(sorted(run_ids)), *values)
    return frozenset(row[0] for row in rows)
