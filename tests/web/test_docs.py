"""The documentation that is served: each operation with a command and a line of Python that call
it.
"""

from __future__ import annotations

import ast
import inspect
import re
import shlex
from contextlib import suppress
from datetime import timedelta
from types import CodeType
from typing import Any

import pytest
from structlog.testing import capture_logs

from daemon.client import Patience, Penstock, Problem, Target
from daemon.runtime.clock import utc_now
from daemon.settings import Settings
from daemon.web.openapi.snippets import ADDRESS, CALLS, curl, python
from tests.web.answers import document
from tests.web.support import House, Person

NEVER = "01999999-0000-7000-8000-000000000000"
OPERATIONS = {
    one["operationId"]: (verb, path, one) for path, each in document()["paths"].items() for verb, one in each.items()
}
_NAME = re.compile(r"\b[A-Z]+(?:_[A-Z]+)*\b")


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"access_log": "all"})


def compiled(call: str) -> CodeType:
    code: CodeType = compile(call, "call", "eval", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    return code


def test_every_call_is_of_an_operation() -> None:
    assert set(CALLS) <= set(OPERATIONS)


async def test_each_line_of_python_asks_for_its_operation(ann: Person) -> None:
    ids: dict[str, Any] = {name: NEVER for call in CALLS.values() for name in _NAME.findall(call)}
    ids |= {"BEGINS": utc_now(), "UNTIL": utc_now() + timedelta(days=1), "STEPS": [], "Target": Target}
    address = str(ann.house.client.make_url(""))
    for operation, call in CALLS.items():
        verb, path, _ = OPERATIONS[operation]
        with capture_logs() as logs:
            async with Penstock(address, ann.token, patience=Patience(tries_max=1)) as api:
                with suppress(Problem):
                    found = eval(compiled(call), {**ids, "api": api})  # noqa: S307 (it is our own)
                    await found if inspect.isawaitable(found) else None
        asked = [(log["method"], log["route"]) for log in logs if log["event"] == "request"]
        assert (verb.upper(), path.rstrip("/")) in asked, (operation, asked)


@pytest.mark.parametrize("operation", sorted(set(OPERATIONS) - set(CALLS)))
def test_an_operation_without_a_method_is_asked_for_with_aiohttp(operation: str) -> None:
    verb, path, one = OPERATIONS[operation]
    text = python(verb, path, one)
    compile(text, "call", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    assert f'"{verb.upper()}"' in text
    assert ("json=" in text) == ("requestBody" in one)


async def test_each_command_is_what_a_shell_takes(house: House, ann: Person) -> None:
    """Each word is where curl looks for it; those that change nothing are answered."""
    for verb, path, one in OPERATIONS.values():
        words = shlex.split(curl(verb, path, one).replace("\\\n", " "))
        assert words[0] == "curl"
        (url,) = (word for word in words if word.startswith(ADDRESS))
        assert ("-d" in words) == ("requestBody" in one), url
        if verb == "get" and "$" not in url and "public" not in url:
            answer = await ann.get(url.removeprefix(ADDRESS))
            assert answer.status in {200, 404}, (url, answer.raw)
