"""Ids: UUIDv7, sortable by time."""

from uuid_utils import uuid7


def new_id() -> str:
    return str(uuid7())
