"""What is counted as an instruction of ours."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

from actors.core.canonical import canonical
from tests.house.instructions import Count

VALUE = {"b": 1, "a": [2]}


async def counted(work: Callable[[], object], times: int = 1) -> int:
    async def repeated() -> None:
        for _ in range(times):
            work()

    count, before = Count(), sys.gettrace()
    sys.settrace(count)
    try:
        return (await count.during(repeated()))[1]
    finally:
        sys.settrace(before)


async def test_code_of_ours_counts_each_time_that_it_runs() -> None:
    once = await counted(lambda: canonical(VALUE))
    assert once > 0
    assert await counted(lambda: canonical(VALUE), times=5) == 5 * once


async def test_code_of_others_counts_nothing() -> None:
    assert await counted(lambda: json.dumps(VALUE)) == 0
