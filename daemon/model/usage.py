"""What companies have stored."""

from __future__ import annotations

from typing import NamedTuple


class Usage(NamedTuple):
    """The runs of a company, and the bytes of their histories and of its own log."""

    runs: int = 0
    stored_bytes: int = 0
