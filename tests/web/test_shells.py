"""Completion, as the shells ask for it: commands, ids and verticals."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from asyncio.subprocess import PIPE
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.web.operators import Operator
from tests.web.support import Person

ROOT = Path(__file__).parents[2]
# What a person types, and what a shell does with what it is offered.
BASH = 'source "$SCRIPT"; COMP_WORDS=($WORDS ""); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); '
BASH += 'COMP_LINE="$WORDS "; COMP_POINT=${#COMP_LINE}; _penstock_completion penstock; printf "%s\\n" "${COMPREPLY[@]}"'
ZSH = 'autoload -Uz compinit && compinit -u -d "$HOME/dump"; source "$SCRIPT"; '
ZSH += 'function _arguments { print -l -- "$@" }; words=(${=WORDS} ""); CURRENT=${#words}; _penstock_completion'
FISH = 'source $SCRIPT; complete --do-complete "$WORDS "'
SHELLS = {"bash": ("bash", "-c", BASH), "zsh": ("zsh", "-fc", ZSH), "fish": ("fish", "-Nc", FISH)}


@pytest.fixture(autouse=True)
def _silent() -> Iterator[None]:
    with capture_logs():
        yield


def asked(shell: str, words: str) -> dict[str, str]:
    """The variables with which the script of a shell asks the program."""
    line = f"penstock {words}"
    if shell == "bash":
        return {"_PENSTOCK_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)}
    fish = {
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
        "_TYPER_COMPLETE_WORD_TO_COMPLETE": words.rsplit(" ", maxsplit=1)[-1],
    }
    return {"_PENSTOCK_COMPLETE": f"complete_{shell}", "_TYPER_COMPLETE_ARGS": line} | (fish if shell == "fish" else {})


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("runs show ", lambda made: made["run"]),
        ("runs start li", lambda _: "line"),
        ("templates show li", lambda _: "line"),
        ("webhooks rm ", lambda made: made["webhook"]),
        ("runs ", lambda _: "watch"),
    ],
)
async def test_each_shell_is_offered_commands_ids_and_verticals(
    operator: Operator, ann: Person, shell: str, words: str, offered: Callable[[Any], str]
) -> None:
    run = await ann.start("line", {"amount": 5})
    hook = (await ann.post("/webhooks/", {"url": "http://127.0.0.1:9/"})).json
    result = await operator.says(**asked(shell, words))
    assert offered({"run": run["id"], "webhook": hook["id"]}) in result.stdout, result.output


@pytest.mark.parametrize("shell", [shell for shell in SHELLS if shutil.which(shell)])
async def test_a_shell_that_is_here_completes_with_the_script_that_it_is_given(
    operator: Operator, ann: Person, tmp_path: Path, shell: str
) -> None:
    run = await ann.start("line", {"amount": 5})
    program, script = tmp_path / "penstock", tmp_path / "script"
    program.write_text(f"#!{sys.executable}\nfrom daemon.cli import app\napp(prog_name='penstock')\n")
    program.chmod(0o755)
    env = {**os.environ, **operator.env, "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    env |= {"PATH": f"{tmp_path}:{os.environ['PATH']}", "SCRIPT": str(script), "WORDS": "penstock runs show"}
    script.write_text(await output("penstock", env={**env, "_PENSTOCK_COMPLETE": f"source_{shell}"}))
    assert run["id"] in await output(*SHELLS[shell], env=env)


async def output(*command: str, env: dict[str, str]) -> str:
    program = shutil.which(command[0], path=env["PATH"]) or command[0]
    process = await asyncio.create_subprocess_exec(program, *command[1:], stdout=PIPE, stderr=PIPE, env=env)
    out, err = await process.communicate()
    return (out + err).decode()
