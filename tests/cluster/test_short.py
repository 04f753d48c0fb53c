"""`make cluster` for a few seconds: a daemon killed, connections cut, and a crowd at a few
gates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.cluster.cluster import Play, clustered
from tests.cluster.crowded import closed_once
from tests.cluster.demotion import prepare, races
from tests.cluster.readers import KINDS, READS, rooms

if TYPE_CHECKING:
    from pathlib import Path

    from tests.postgres import Server


async def test_nothing_is_lost_nor_happens_twice_while_a_daemon_dies(postgres: Server, tmp_path: Path) -> None:
    async with clustered(tmp_path, postgres, lease_s=2.0) as cluster:
        outcome = await Play(cluster, seconds=4.0, pause_s=0.3).perform("cut_backends", "kill")
        assert outcome.sound, str(outcome)
        assert outcome.faults["kill"] >= 1
        assert outcome.payments
        once = await closed_once(cluster, gates=10, callers=30)
        assert once.sound, str(once)


async def test_no_request_that_began_after_the_end_of_a_right_succeeds_on_any_daemon(
    postgres: Server, tmp_path: Path
) -> None:
    prepare(tmp_path)
    found = await races(tmp_path, postgres, requests=300, counts=(3,), ends=("removed",))
    assert [str(race) for race in found if not race.sound] == []


async def test_no_read_that_began_after_somebody_became_no_reader_tells_of_a_closed_run_on_any_daemon(
    postgres: Server, tmp_path: Path
) -> None:
    prepare(tmp_path)
    found = await rooms(tmp_path, postgres, changes=2 * len(READS) * len(KINDS), counts=(3,))
    assert [str(one) for one in found if not one.sound] == []
