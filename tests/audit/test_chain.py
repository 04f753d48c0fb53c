"""What the chain begins with and what a leaf covers is canonical JSON, though it is not written by
its encoder.
"""

from __future__ import annotations

import hashlib

import pytest
import rfc8785
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from daemon.model.chain import ChainWalk, HistoryBroken, extended, genesis, hash_of_text, hashes, text_of_hash
from daemon.model.evidence import leaf

# A busy machine is no finding.
PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
TEXT = st.text(st.characters(exclude_categories=["Cs"]))
EVENTS = b'{"n":1}\n{"n":2}\n{"n":3}'


@PATIENT
@given(TEXT, TEXT)
def test_a_stream_begins_with_its_own_name(company_id: str, stream: str) -> None:
    named_so = rfc8785.dumps({"company": company_id, "stream": stream})
    assert genesis(company_id, stream) == hashlib.sha256(named_so).digest()


@PATIENT
@given(TEXT, st.integers(1, 2**53 - 1), st.binary(min_size=32, max_size=32))
def test_a_leaf_covers_stream_version_and_head(stream: str, version: int, head: bytes) -> None:
    data = rfc8785.dumps({"head": text_of_hash(head), "stream": stream, "version": version})
    assert leaf(stream, version, head) == hashlib.sha256(b"\x00" + data).digest()


def test_each_hash_covers_the_one_before() -> None:
    head, lines = genesis("c", "s"), EVENTS.split(b"\n")
    found = list(hashes(head, lines))
    assert found[0] == hashlib.sha256(head + lines[0]).digest()
    assert found[2] == hashlib.sha256(found[1] + lines[2]).digest() == extended(head, lines)


@pytest.mark.parametrize(
    ("first", "version", "what"),
    [(2, 4, "missing or out of order"), (1, 4, "holds 3 events"), (1, 2, "holds 3 events"), (1, 3, "does not fit")],
)
def test_a_walk_takes_nothing_that_does_not_go_on_from_where_it_is(first: int, version: int, what: str) -> None:
    with pytest.raises(HistoryBroken, match=what) as broken:
        ChainWalk("s", genesis("c", "s")).read_commit(first, version, bytes(32), EVENTS)
    assert (broken.value.stream, broken.value.seq, broken.value.outcome) == ("s", 1, "not_applied")


def test_a_hash_is_read_as_it_is_written_and_not_otherwise() -> None:
    written = text_of_hash(bytes(range(32)))
    assert hash_of_text(written) == bytes(range(32))
    for other in (written.upper(), written[:-2], written.removeprefix("sha256:"), "", "sha256:zz"):
        with pytest.raises(ValueError, match=r".+"):
            hash_of_text(other)
