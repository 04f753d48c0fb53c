"""Verification of the companies' trees: leaves, nodes, checkpoints, and the roots of all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import groupby
from operator import itemgetter

from daemon.model import merkle
from daemon.model.audit_events import SERVICE
from daemon.model.evidence import CHECKPOINT, Checkpoint, leaf
from daemon.stores.database import Row
from daemon.stores.tables.audit_source import AuditSource
from daemon.verification.findings import (
    Counts,
    Finding,
    called,
    wrong_previous,
    wrong_root,
    wrong_signature,
)


def tree(source: AuditSource, company_id: str, keys: Mapping[str, bytes], counts: Counts) -> Iterator[Finding]:
    """Verify the leaves, nodes and checkpoints of a company."""
    size = 0
    node = partial(source.node, company_id)
    for row in source.leaves(company_id):
        yield from _leaf(company_id, size, row)
        size = row[0] + 1
    yield from _nodes(source, company_id, size)
    before: Checkpoint | None = None
    for row in source.checkpoints(company_id):
        counts["checkpoints"] += 1
        one = Checkpoint(**dict(zip(CHECKPOINT, row, strict=True)))
        yield from wrong_previous(one, before)
        yield from wrong_signature(one, keys)
        yield from wrong_root(one, size, node)
        before = one
    covered = 0 if before is None else before.size
    if covered < size:
        where = f"company {company_id!r}, leaves {covered} to {size - 1}"
        yield Finding("checkpoint", where, "no checkpoint covers them: it was deleted")


def passed_over(source: AuditSource) -> Iterator[Finding]:
    """Commits that should have a leaf."""
    for company_id, stream, version in source.passed_over():
        where = f"{called(stream)}, up to event {version}"
        yield Finding("leaf", where, f"the commit has no leaf in the tree of {company_id!r}: it was inserted")
    for (company_id,) in source.sealed_amiss():
        where = f"company {company_id!r}"
        yield Finding("leaf", where, "the mark up to which it is sealed is gone, or not where it can be")


def recorded(source: AuditSource, roots: list[tuple[str, int, str]], *, complete: bool) -> Iterator[Finding]:
    """Compare the trees with the roots that the service has recorded of them."""
    newest: dict[str, int] = {}
    for company_id, size, root in roots:
        newest[company_id] = max(size, newest.get(company_id, 0))
        if source.root(company_id, size) != root:
            where = f"company {company_id!r}, checkpoint of size {size}"
            what = "the service has recorded it, and it is not there: the company was deleted, rolled back or rewritten"
            yield Finding("roots", where, what)
    unrecorded = source.unrecorded()
    for company_id in source.companies() if complete else ():
        sizes = [row[6] for row in source.checkpoints(company_id)]
        last = sizes[-1] if sizes and company_id != SERVICE else 0
        if last > newest.get(company_id, 0) and (company_id, last) not in unrecorded:
            where = f"company {company_id!r}, checkpoint of size {last}"
            yield Finding("roots", where, "the service has not recorded it, and is not about to")
    for company_id, size in sorted(unrecorded):
        if source.root(company_id, size) is None or size <= newest.get(company_id, 0):
            where = f"company {company_id!r}, checkpoint of size {size}"
            yield Finding("roots", where, "there is nothing to record: it was inserted")


def _leaf(company_id: str, expected: int, row: Row) -> Iterator[Finding]:
    number, stream, version, *commit, head, digest = row
    where = f"company {company_id!r}, leaf {number}, {called(stream)}, up to event {version}"
    if number != expected:
        yield Finding("leaf", where, f"leaf {expected} was expected: one is missing")
    if commit != [company_id, stream, version] or head is None:
        gone = head is None
        what = "its commit was deleted" if gone else f"at its place is the commit {commit[1]} up to event {commit[2]}"
        yield Finding("leaf", where, what)
    elif digest is None:
        yield Finding("node", where, "its hash is missing")
    elif digest != leaf(stream, version, head):
        yield Finding("leaf", where, "its commit is not the one that was sealed, or its hash was changed")


def _nodes(source: AuditSource, company_id: str, size: int) -> Iterator[Finding]:
    """Verify that exactly the complete nodes exist, each the hash of its children."""
    for level, nodes in groupby(source.nodes(company_id), itemgetter(0)):
        expected = 0
        for _, number, digest, *children in nodes:
            where = f"company {company_id!r}, node {level}:{number}"
            if number != expected:
                yield Finding("node", where, f"node {level}:{expected} was expected: one is missing")
            expected = number + 1
            if level and None in children:
                yield Finding("node", where, "a node below it is missing")
            elif level and merkle.node_hash(*children) != digest:
                yield Finding("node", where, "it is not the hash of the nodes below it")
        if expected != size >> level:
            where = f"company {company_id!r}, level {level}"
            yield Finding("node", where, f"there are {expected} nodes, and {size >> level} belong there")
