"""Verification of exports, runs and stores."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from daemon.model.evidence import Checkpoint, checkpoint
from daemon.verification.exports import verify_export
from daemon.verification.findings import Counts, Finding
from daemon.verification.runs import verify_run
from daemon.verification.stores import verify_store

__all__ = ["Counts", "Finding", "read_checkpoints", "verify_export", "verify_run", "verify_store"]


def read_checkpoints(path: Path) -> Sequence[Checkpoint]:
    """Read checkpoints from a file: one, a list, or one per line; ValueError when there is none."""
    text = path.read_text(encoding="utf-8")
    try:
        found = json.loads(text)
    except ValueError:
        found = [json.loads(line) for line in text.splitlines()]
    some = found if isinstance(found, list) else [found]
    if not some:
        raise ValueError(f"{path} holds no checkpoint")
    return [checkpoint(one.get("checkpoint", one) if isinstance(one, dict) else one) for one in some]
