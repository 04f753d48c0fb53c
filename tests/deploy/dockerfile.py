"""The Dockerfile as instructions, and which files of the tree its build can see."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from tests.house.packages import ROOT


@dataclass(frozen=True)
class Instruction:
    """A line of the Dockerfile, with its continuations."""

    name: str
    text: str

    @property
    def words(self) -> list[str]:
        """The arguments: of a JSON array, or else split at blanks."""
        bare = re.sub(r"^(--\S+\s+)+", "", self.text)
        found: list[str] = json.loads(bare) if bare.startswith("[") else bare.split()
        return found


def stages(path: Path = ROOT / "Dockerfile") -> list[list[Instruction]]:
    """The instructions of each stage, which its FROM begins."""
    text = re.sub(r"^#.*\n", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE).replace("\\\n", " ")
    found: list[list[Instruction]] = []
    for line in filter(None, map(str.strip, text.splitlines())):
        name, _, rest = line.partition(" ")
        if name == "FROM":
            found.append([])
        found[-1].append(Instruction(name, re.sub(r"\s+", " ", rest) if name != "HEALTHCHECK" else rest.strip()))
    return found


def variables(stage: list[Instruction]) -> dict[str, str]:
    """What ENV sets in a stage."""
    pairs = [pair.partition("=") for one in stage if one.name == "ENV" for pair in one.words]
    return {name: value for name, _, value in pairs}


def sent(path: str) -> bool:
    """Whether a file is sent to the build: the last line of .dockerignore that matches decides."""
    found = True
    for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#") and re.fullmatch(_regex(line.removeprefix("!")), path):
            found = line.startswith("!")
    return found


def _regex(pattern: str) -> str:
    """What a pattern of .dockerignore matches: a path, and all that is in a folder of that path."""
    text = re.escape(pattern).replace(r"\*\*/", "(?:.*/)?").replace(r"\*", "[^/]*")
    return f"{text}(?:/.*)?"
