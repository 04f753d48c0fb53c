"""What people call things at a terminal: beginnings of ids, business keys, and slips of the pen."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from structlog.testing import capture_logs

from tests.web.operators import Operator
from tests.web.support import Person

REFUSED = 1


@pytest.fixture(autouse=True)
def _silent() -> Iterator[None]:
    with capture_logs():
        yield


async def refusal(operator: Operator, *words: str) -> str:
    result = await operator.says(*words)
    assert result.exit_code == REFUSED, result.output
    return result.stderr.removeprefix("penstock: ").rstrip()


async def test_a_run_is_called_by_the_beginning_of_its_id_or_its_business_key(operator: Operator, ann: Person) -> None:
    run = await operator.reads("runs", "start", "line", "--inputs", '{"amount": 5}', "--business-key", "INV-7")
    quick = await ann.start("quick")
    for word in (run["id"], run["id"][:30], "INV-7"):
        assert (await operator.reads("runs", "show", word))["id"] == run["id"]
    assert (await operator.reads("gates", "claim", "INV-7"))["run_id"] == run["id"]
    near = await refusal(operator, "runs", "show", "INV-8")
    assert near == "There is no run INV-8; the nearest is INV-7 (line, parked)."
    assert await refusal(operator, "runs", "show", run["id"][:3]) == f"There is no run {run['id'][:3]}."
    several = await refusal(operator, "runs", "cancel", run["id"][:8], "--yes")
    assert several.splitlines()[0] == f"{run['id'][:8]} fits more than one run:"
    assert f"  {run['id']}  INV-7  line, parked" in several
    assert f"  {quick['id']}  quick, completed" in several
    assert (await ann.run(run))["status"] == "parked"
    again = await operator.reads("runs", "start", "line", "--inputs", '{"amount": 6}', "--business-key", "INV-7")
    assert again["id"] in await refusal(operator, "runs", "resume", "INV-7", "approved", "--yes")
    assert (await operator.reads("runs", "resume", again["id"][:30], "approved", "--yes"))["outcome"] == "paid"


async def test_what_is_not_there_is_named_with_the_nearest(operator: Operator, ann: Person) -> None:
    await ann.connect("payment", "https://bank.example.com", reversible=False)
    run = (await ann.start("line", {"amount": 5}))["id"]
    for nearest, *words in (
        ("There is no template lin; the nearest is line.", "runs", "start", "lin"),
        ("There is no template lin; the nearest is line.", "runs", "ls", "--vertical", "lin"),
        ("There is no template lin; the nearest is line.", "inbox", "--vertical", "lin"),
        ("There is no template lin; the nearest is line.", "templates", "versions", "lin"),
        ("There is no version 9 of line.", "templates", "pull", "line", "--version", "9"),
        ("There is no draft of line.", "templates", "pull", "line", "--draft"),
        ("Name the run that you mean.", "runs", "show", ""),
        ("There is no connector paymnt; the nearest is payment.", "connectors", "show", "paymnt"),
        ("There is no connector paymnt; the nearest is payment.", "connectors", "rm", "paymnt", "--yes"),
        (f"There is no member an@ann.test; the nearest is {ann.email}.", "members", "rm", "an@ann.test", "--yes"),
        ("There is no open gate sign-off; the nearest is signoff.", "gates", "show", run, "sign-off"),
        ("There is no open gate pay; there is signoff.", "runs", "resume", run, "approved", "--gate", "pay"),
        ("There is no webhook 0000.", "webhooks", "rm", "0000", "--yes"),
        ("There is no group nurses.", "groups", "rm", "nurses", "--yes"),
        ("There is no API key intake.", "api-keys", "rm", "intake", "--yes"),
    ):
        assert await refusal(operator, *words) == nearest
    near = (await operator.says("runs", "resume", run, "aproved", "--yes")).stderr.splitlines()[-1]
    assert near == "penstock: signoff takes approved, denied, not aproved; the nearest is approved."
    assert (await ann.run({"id": run}))["status"] == "parked"
    assert [one["tool_id"] for one in await operator.reads("connectors", "ls")] == ["payment"]


async def test_a_member_is_called_by_the_own_address_and_by_none_that_folds_to_it(
    operator: Operator, ann: Person
) -> None:
    invited = await operator.reads("members", "invite", "bo\u00df@corp.test")
    said = await refusal(operator, "members", "rm", "boss@corp.test", "--yes")
    assert said == "There is no member boss@corp.test; the nearest is bo\u00df@corp.test."
    assert (await operator.says("members", "rm", "BO\u00df@corp.test", "--yes")).exit_code == 0
    assert invited["id"] not in [one["id"] for one in await operator.reads("members", "ls")]


async def test_the_version_is_an_option_too(operator: Operator) -> None:
    said = await operator.says("--version")
    assert (said.exit_code, said.stdout) == (0, (await operator.says("version")).stdout)
