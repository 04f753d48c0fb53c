"""`make failover` in short, and with faults planted, so that it is seen to find them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from tests.cluster.failover.cases import play
from tests.cluster.failover.managed import here
from tests.cluster.watching import broken_append
from tests.replication import replicated

if TYPE_CHECKING:
    from tests.cluster.failover.stage import Stage

COMPARED = """ OR (one.expected > 0 AND NOT EXISTS (
            SELECT FROM commits
            WHERE company_id = company AND run_id = one.id AND version = one.expected AND head = one.follows
        ))"""
KINDS = 6
"""Log, health, metric, record, webhook and stream."""
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
CANCEL = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"


async def compare_versions_alone(stage: Stage) -> None:
    """Have a daemon append to any history of the right length, and notice no failover."""
    await stage.pair.primary.told(broken_append(COMPARED), stage.database)
    await stage.pair.primary.told("ALTER FUNCTION pg_walfile_name(pg_lsn) RENAME TO pg_walfile", stage.database)


async def test_nothing_is_lost_nor_doubled_where_a_synchronous_standby_takes_over(tmp_path: Path) -> None:
    outcome = await play("killed", tmp_path, daemons=2)
    assert outcome.sound, str(outcome)


async def test_no_daemon_goes_on_with_a_history_that_a_failover_has_lost(tmp_path: Path) -> None:
    outcome = await play("rewound", tmp_path, daemons=2)
    told = {name: value for name, value in outcome.figures if name.startswith("told after")}
    assert len(told) == KINDS, str(outcome)
    assert not [value for value in told.values() if value.startswith("never")], str(outcome)
    # How soon depends on the machine, too: `make failover` judges that.
    assert set(outcome.missed) <= told.keys(), str(outcome)
    assert not outcome.not_played, str(outcome)


async def test_a_fork_is_found_where_versions_alone_are_compared(tmp_path: Path) -> None:
    outcome = await play("rewound", tmp_path, daemons=2, plant=compare_versions_alone)
    assert not outcome.not_played, str(outcome)
    assert {"gate two, denied there", "calls sent, denied there", "forked histories, by verify"} <= set(outcome.missed)
    assert {"told after, by log", "told after, by health", "told after, by webhook"} <= set(outcome.missed)


def test_each_machine_of_the_guides_example_has_its_own_name_and_address() -> None:
    machines = [yaml.safe_load(here("patroni", number)) for number in range(3)]
    assert [one["name"] for one in machines] == ["one", "two", "three"]
    assert [one["postgresql"]["listen"] for one in machines] == [f"127.0.0.1{n}:5432" for n in (1, 2, 3)]
    assert {one["etcd3"]["hosts"] for one in machines} == {"127.0.0.11:2379,127.0.0.12:2379,127.0.0.13:2379"}
    assert all(one["bootstrap"]["dcs"]["synchronous_mode_strict"] for one in machines)
    keepers = [dict(line.split("=", 1) for line in here("etcd", number).splitlines()) for number in range(3)]
    for number, one in enumerate(keepers):
        assert f"{one['ETCD_NAME']}={one['ETCD_LISTEN_PEER_URLS']}" == one["ETCD_INITIAL_CLUSTER"].split(",")[number]


async def test_a_commit_whose_wait_is_cancelled_is_seen_and_so_is_the_line_that_says_so() -> None:
    async with replicated(synchronous=True) as pair:
        await pair.primary.told("CREATE TABLE facts ()")
        await pair.part()
        adding = asyncio.create_task(pair.primary.told("INSERT INTO facts DEFAULT VALUES"))
        async with asyncio.timeout(30):
            while not await pair.primary.value(WAITING):  # noqa: ASYNC110 - the database has no event for it
                await asyncio.sleep(0.02)
        assert (await pair.primary.value("SELECT count(*) FROM facts"), pair.cancelled) == (0, [])
        await pair.primary.value(CANCEL)
        await adding
        assert (await pair.primary.value("SELECT count(*) FROM facts"), len(pair.cancelled)) == (1, 1)
