"""The declarations of tables are what the migrations of each database make."""

from __future__ import annotations

from importlib import import_module
from pkgutil import walk_packages
from typing import Any

import pytest

from daemon.model.people.companies import ACTION_PAUSES, ACTION_RULES, AUTONOMY, CALENDAR, FUNCTIONS, POLICY
from daemon.stores import tables
from daemon.stores.store import Store
from daemon.stores.table import Table

COLUMNS = {
    "sqlite": "SELECT name, pk > 0 FROM pragma_table_info($1)",
    "postgres": "SELECT column_name, EXISTS (SELECT 1 FROM information_schema.key_column_usage AS used "
    "WHERE used.table_name = columns.table_name AND used.column_name = columns.column_name "
    "AND constraint_name LIKE '%_pkey') FROM information_schema.columns WHERE table_name = $1",
}


def declared() -> dict[str, Table[Any]]:
    modules = [import_module(one.name) for one in walk_packages(tables.__path__, f"{tables.__name__}.")]
    return {one.name: one for module in modules for one in vars(module).values() if isinstance(one, Table)}


async def columns(store: Store, table: str) -> dict[str, bool]:
    """The columns of a table, and which of them are its key."""

    async def found(db: Any) -> dict[str, bool]:
        return {name: bool(keyed) for name, keyed in await db.rows(COLUMNS[db.dialect], table)}

    return await store._read(found)


def test_tables_are_declared() -> None:
    assert declared().keys() >= {"api_keys", "delegations", "members", "saved_views", "sessions"}


@pytest.mark.parametrize("name", sorted(declared()))
async def test_a_declaration_has_the_columns_and_the_key_of_the_table(store: Store, name: str) -> None:
    table, there = declared()[name], await columns(store, name)
    shared = {*table.shared, table.noted} - {""} if store.shared else set()
    assert there.keys() == {*table.columns, *table.beside} | shared
    assert {column for column, keyed in there.items() if keyed} == {*table.key}


@pytest.mark.parametrize(
    "kind", [POLICY, AUTONOMY, CALENDAR, FUNCTIONS, ACTION_RULES, ACTION_PAUSES], ids=lambda one: one.table
)
async def test_a_setting_has_the_columns_of_its_table(store: Store, kind: Any) -> None:
    noted = {"noted_at"} if store.shared and kind.watched else set()
    there = await columns(store, kind.table)
    assert there.keys() == {"company_id", kind.column, "number", "updated_at", "updated_by"} | noted
    assert [column for column, keyed in there.items() if keyed] == ["company_id"]
