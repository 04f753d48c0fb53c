"""Reads a Content-Type: what aiohttp reads it with takes a second for one that is made for it."""

from __future__ import annotations

import re

_CHARSET = re.compile(r";\s*charset\s*=\s*\"?([\w.:+-]+)", re.ASCII | re.IGNORECASE)


def media_type(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


def charset(content_type: str) -> str:
    """The charset in lower case; empty without one."""
    found = _CHARSET.search(content_type)
    return "" if found is None else found[1].lower()
