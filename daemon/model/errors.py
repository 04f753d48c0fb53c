"""Errors of a store."""

from __future__ import annotations

from actors.ports import StoreFailed


class SchemaMismatch(Exception):
    """The store cannot be used by this version of the service; the text says why and what to do."""


def check_same(vertical: str, version: int, digest: str, known: str | None) -> None:
    """SchemaMismatch when a version of a template is known with another digest."""
    if known not in (None, digest):
        raise SchemaMismatch(
            f"Version {version} of {vertical} is known with the digest {known}, and now comes with {digest}. "
            "Runs are pinned to what they began with: give the changed template a new version."
        )


class FolderInUse(StoreFailed):
    """Another process has the data folder."""


class DiskFull(StoreFailed):
    """There is no room to write; reads go on, and writes as soon as there is."""


class StoreBroken(StoreFailed):
    """The disk or the database failed, and this process must not write; the outcome is certain."""
