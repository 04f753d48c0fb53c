"""The OpenAPI document in the tree; `make openapi` writes it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from daemon import __version__
from daemon.web.openapi.document import document

ROOT = Path(__file__).parents[2]
CONTRACT = ROOT / "docs" / "openapi.json"


def written(contract: dict[str, Any]) -> str:
    """A line for each thing, so that a change is seen in review."""
    return json.dumps(contract, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    CONTRACT.write_text(written(document(__version__)), encoding="utf-8")
