"""Ids: UUIDv7, so that they sort by time of making."""

from uuid_utils import uuid7


def new_id() -> str:
    return str(uuid7())
