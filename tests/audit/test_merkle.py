"""The tree against the definitions of RFC 6962, section 2.1, written down as they stand there."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from daemon.model import merkle

# A busy machine is no finding.
PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
SIZES = st.integers(1, 130)


def data(count: int) -> list[bytes]:
    return [b"leaf %d" % number for number in range(count)]


def split(size: int) -> int:
    k = 1
    while k * 2 < size:
        k *= 2
    return k


def mth(leaves: list[bytes]) -> bytes:
    if not leaves:
        return hashlib.sha256(b"").digest()
    if len(leaves) == 1:
        return hashlib.sha256(b"\x00" + leaves[0]).digest()
    k = split(len(leaves))
    return hashlib.sha256(b"\x01" + mth(leaves[:k]) + mth(leaves[k:])).digest()


def path(m: int, leaves: list[bytes]) -> list[bytes]:
    if len(leaves) == 1:
        return []
    k = split(len(leaves))
    return [*path(m, leaves[:k]), mth(leaves[k:])] if m < k else [*path(m - k, leaves[k:]), mth(leaves[:k])]


class Tree:
    """Complete nodes only, as the store keeps them."""

    def __init__(self, count: int) -> None:
        self.nodes: dict[tuple[int, int], bytes] = {}
        for size, leaf in enumerate(data(count)):
            for level, number, found in merkle.completed(size, merkle.leaf_hash(leaf), self.node):
                assert (level, number) not in self.nodes
                self.nodes[level, number] = found

    def node(self, level: int, number: int) -> bytes:
        return self.nodes[level, number]


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 31, 32, 33, 100])
def test_the_root_is_that_of_the_rfc_at_every_size_on_the_way(size: int) -> None:
    tree = Tree(100)
    assert merkle.root(size, tree.node) == mth(data(size))


@PATIENT
@given(SIZES, st.data())
def test_an_inclusion_proof_is_that_of_the_rfc_and_shows_its_leaf_alone(size: int, draw: st.DataObject) -> None:
    tree, index = Tree(size), draw.draw(st.integers(0, size - 1))
    proof, top = merkle.inclusion(index, size, tree.node), mth(data(size))
    leaf = tree.node(0, index)
    assert proof == path(index, data(size))
    assert merkle.includes(index, size, leaf, proof, top)
    assert not merkle.includes(index, size, b"\x00" * 32, proof, top)
    assert not merkle.includes(index, size, leaf, [*proof, leaf], top)
    assert not merkle.includes(index, size, leaf, proof, b"\x00" * 32)
    assert not merkle.includes(size, size, leaf, proof, top)
    if proof:
        assert not merkle.includes(index ^ 1, size, leaf, proof, top)
        assert not merkle.includes(index, size, leaf, proof[:-1], top)
