"""The OpenAPI document in the tree; `make openapi` writes it."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

from daemon.web.openapi.document import document

ROOT = Path(__file__).parents[2]
CONTRACT = ROOT / "docs" / "openapi.json"


def version() -> str:
    """The version in pyproject.toml."""
    found = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    return str(found)


def written(contract: dict[str, Any]) -> str:
    """A line for each thing, so that a change is seen in review."""
    return json.dumps(contract, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    CONTRACT.write_text(written(document(version())), encoding="utf-8")
