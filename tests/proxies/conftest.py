"""The web tests' settings, for a service behind a proxy."""

from __future__ import annotations

from tests.web.conftest import _fast, blank, database_url, settings, usual

__all__ = ["_fast", "blank", "database_url", "settings", "usual"]
