"""The service of the web tests."""

from __future__ import annotations

from tests.web.conftest import _fast, ann, blank, database_url, eve, house, settings, usual

__all__ = ["_fast", "ann", "blank", "database_url", "eve", "house", "settings", "usual"]
