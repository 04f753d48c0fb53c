"""Errors of a store."""

from __future__ import annotations

from actors.ports import StoreFailed


class SchemaMismatch(Exception):
    """The store cannot be used by this version of the service; the text says why and what to do."""


class FolderInUse(StoreFailed):
    """Another process has the data folder."""


class DiskFull(StoreFailed):
    """There is no room to write; reads go on, and writes as soon as there is."""


class StoreBroken(StoreFailed):
    """The disk or the database failed, and this process must not write; the outcome is certain."""
