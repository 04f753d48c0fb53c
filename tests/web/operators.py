"""Operators: people who give commands at a terminal, with a home of their own."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from daemon.cli import app


@dataclass
class Operator:
    """Somebody at a terminal, with a home of their own."""

    url: str
    home: Path
    token: str = ""

    @property
    def env(self) -> dict[str, str]:
        return {"PENSTOCK_URL": self.url, "PENSTOCK_TOKEN": self.token, "XDG_CONFIG_HOME": str(self.home)}

    @property
    def kept(self) -> Path:
        return self.home / "penstock" / "tokens"

    async def says(self, *arguments: object, types: str = "", **env: str) -> Result:
        """Give a command; the service runs in this very process, so it is given in a thread."""
        words = [str(one) for one in arguments]
        return await asyncio.to_thread(CliRunner().invoke, app, words, input=types, env={**self.env, **env})

    async def reads(self, *arguments: object, types: str = "") -> Any:
        """What a command says for machines."""
        result = await self.says(*arguments, "--json", types=types)
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)
