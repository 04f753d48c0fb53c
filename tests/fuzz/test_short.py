"""The short form of the fuzzer, and proof that it finds what is planted."""

from __future__ import annotations

from pathlib import Path

from hypothesis import strategies as st

from tests.fuzz.campaign import campaign
from tests.fuzz.fuzzing import Target, tried
from tests.seeds import drawn


async def test_nothing_that_strangers_send_is_answered_otherwise_than_the_contract_says(tmp_path: Path) -> None:
    done = await campaign(tmp_path, seconds=0, seed=drawn(), first=60)
    assert done.found == []
    assert min(done.tried.values()) == 60


def test_a_planted_fault_is_found_and_made_small() -> None:
    def run(example: str) -> None:
        if "e" in example:
            raise ZeroDivisionError

    found = tried(Target("planted", st.text(), run), 2_000, 1)
    assert found is not None
    assert (found.example, found.error) == ("'e'", "ZeroDivisionError: ")
