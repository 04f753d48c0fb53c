"""The Merkle tree of RFC 6962: append, root, proofs and their verification."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

Node = Callable[[int, int], bytes]
"""The hash of a complete node; node `number` of a level covers 2**level leaves."""

EMPTY = hashlib.sha256(b"").digest()


def leaf_hash(data: bytes) -> bytes:
    return hashlib.sha256(b"\x00" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\x01" + left + right).digest()


def completed(size: int, leaf: bytes, node: Node) -> list[tuple[int, int, bytes]]:
    """The nodes (level, number, hash) that the next leaf completes; the leaf first."""
    level, number, made = 0, size, [(0, size, leaf)]
    while number & 1:
        leaf = node_hash(node(level, number - 1), leaf)
        level, number = level + 1, number >> 1
        made.append((level, number, leaf))
    return made


def root(size: int, node: Node) -> bytes:
    """The root of the first `size` leaves."""
    return _subtree(0, size, node) if size else EMPTY


def inclusion(index: int, size: int, node: Node) -> list[bytes]:
    """The inclusion proof of a leaf (RFC 6962, 2.1.1)."""
    begin, end, proof = 0, size, []
    while end - begin > 1:
        middle = begin + _split(end - begin)
        if index < middle:
            proof.append(_subtree(middle, end, node))
            end = middle
        else:
            proof.append(_subtree(begin, middle, node))
            begin = middle
    return proof[::-1]


def includes(index: int, size: int, leaf: bytes, proof: Sequence[bytes], top: bytes) -> bool:
    if not 0 <= index < size:
        return False
    last = size - 1
    for sibling in proof:
        if last == 0:
            return False
        if index & 1 or index == last:
            leaf = node_hash(sibling, leaf)
            while not index & 1 and index:
                index, last = index >> 1, last >> 1
        else:
            leaf = node_hash(leaf, sibling)
        index, last = index >> 1, last >> 1
    return last == 0 and leaf == top


def _subtree(begin: int, end: int, node: Node) -> bytes:
    size = end - begin
    if size & (size - 1) == 0:
        return node(size.bit_length() - 1, begin // size)
    middle = begin + _split(size)
    return node_hash(_subtree(begin, middle, node), _subtree(middle, end, node))


def _split(size: int) -> int:
    return 1 << ((size - 1).bit_length() - 1)
