"""What decides, on each database."""

from tests.stores.contract.conftest import clock, shared, store

__all__ = ["clock", "shared", "store"]
