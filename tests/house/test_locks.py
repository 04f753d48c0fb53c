"""The lock files: what is installed is pinned, has hashes, and is the same in all of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RUNTIME, MCP, TRACING, DEVELOPMENT, SUPPLY, DEPLOY = (
    f"requirements{name}.txt" for name in ("", "-mcp", "-tracing", "-dev", "-supply", "-deploy")
)
AGENTS = "tests/agents/frameworks.txt"
PIN = re.compile(r"^([a-z0-9][a-z0-9-]*)==([^ ;]+)", re.MULTILINE)


def text(file: str) -> str:
    return (ROOT / file).read_text(encoding="utf-8")


def pins(file: str) -> set[tuple[str, str]]:
    return set(PIN.findall(text(file)))


def test_the_locks_agree_and_each_is_the_one_before_with_more_in_it() -> None:
    assert pins(RUNTIME) < pins(TRACING) < pins(DEVELOPMENT)
    assert pins(RUNTIME) < pins(MCP) < pins(DEVELOPMENT)


def test_the_server_has_no_second_http_stack_which_only_a_tool_beside_an_agent_needs() -> None:
    more = {name for name, _ in pins(MCP) - pins(RUNTIME)}
    assert {"mcp", "starlette", "uvicorn", "httpx2", "h11", "sse-starlette", "python-multipart"} <= more
    assert "--extra" not in text("Makefile").partition("COMPILE := ")[2].partition("\n")[0].replace("--extra speed", "")


def test_only_who_wants_traces_gets_what_they_need() -> None:
    more = {name for name, _ in pins(TRACING) - pins(RUNTIME)}
    assert {"opentelemetry-sdk", "opentelemetry-exporter-otlp-proto-http", "requests", "protobuf"} <= more


@pytest.mark.parametrize("file", [RUNTIME, MCP, TRACING, DEVELOPMENT, SUPPLY, DEPLOY, AGENTS])
def test_every_pin_has_hashes_and_no_index_is_named(file: str) -> None:
    blocks = re.split(r"\n(?=[a-z0-9])", text(file))
    unsure = [block.splitlines()[0] for block in blocks if "==" in block and "--hash=sha256:" not in block]
    assert unsure == []
    assert "index-url" not in text(file)


def test_the_makefile_and_the_guide_name_locks_that_there_are() -> None:
    named = set(re.findall(r"requirements[a-z-]*\.txt", text("Makefile") + text("docs/guides/operations.md")))
    assert named == {RUNTIME, MCP, TRACING, DEVELOPMENT, SUPPLY, DEPLOY}


def test_the_lock_of_the_page_names_no_address() -> None:
    assert "://" not in text("daemon/ui/package-lock.json")
