"""Lists as CSV: RFC 4180, the whole list with the same filters, and no cell that is a formula."""

from __future__ import annotations

import csv
import io
import json

import pytest

from daemon.contract.audit import ChainedEvent
from daemon.web.csv_lists import cell, columns
from tests.web.people import colleague
from tests.web.support import Answer, Person, assert_invalid, assert_problem
from tests.web.test_lists import following

LISTS = (
    "/process-runs/",
    "/gates/",
    "/audit/log",
    "/audit/agents/",
    "/connectors/",
    "/process-templates/",
    "/reports/days/",
    "/reports/gates/",
    "/reports/people/",
    "/reports/steps/",
    "/reports/connectors/",
    "/reports/decisions/",
    "/reports/cleared-steps/",
    "/reports/failed-calls/",
    "/reports/open-gates/",
)


def table(answer: Answer) -> list[dict[str, str]]:
    assert answer.status == 200, answer.raw
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8; header=present"
    assert answer.raw.endswith(b"\r\n")
    return list(csv.DictReader(io.StringIO(answer.raw.decode(), newline="")))


@pytest.mark.parametrize("path", LISTS)
async def test_a_list_is_the_same_as_csv(ann: Person, path: str) -> None:
    await ann.connect("answers", "http://127.0.0.1:9", method="GET")
    await ann.start("line", {"amount": 5})
    run = await ann.start("quick")
    await ann.resume(run, "signoff")
    entries = (await ann.get(f"{path}?limit=200")).json
    found = table(await ann.get(f"{path}?format=csv"))
    assert len(found) == len(entries)
    for row, entry in zip(found, entries, strict=True):
        plain = {name: cell(value) for name, value in entry.items() if name in row}
        assert plain.items() <= row.items()
    assert found == table(await ann.get(path, Accept="text/csv"))
    assert isinstance((await ann.get(path, Accept="text/csv;q=0, */*")).json, list)


async def test_members_are_listed_as_csv(ann: Person) -> None:
    await colleague(ann, "bob", "viewer")
    found = table(await ann.get(f"/companies/{ann.session['company']['id']}/members?format=csv"))
    assert [(one["email"], one["role"], one["name"]) for one in found] == [
        (ann.email, "owner", ""),
        ("bob@bob.test", "viewer", "Bob"),
    ]


async def test_the_whole_list_comes_in_one_answer_and_a_page_when_one_is_asked_for(ann: Person) -> None:
    runs = [(await ann.start("quick"))["id"] for _ in range(205)]
    found = table(await ann.get("/process-runs/?format=csv&view=summary"))
    assert [one["id"] for one in found] == runs[::-1]
    first = await ann.get("/process-runs/?format=csv&limit=3")
    assert [one["id"] for one in table(first)] == runs[:-4:-1]
    link = following(first)
    assert link is not None
    assert [one["id"] for one in table(await ann.get(link))] == runs[-4:-7:-1]


async def test_filters_and_refusals_are_those_of_the_list(ann: Person, eve: Person) -> None:
    run = await ann.start("line", {"amount": 5})
    await ann.start("quick")
    assert [one["id"] for one in table(await ann.get("/process-runs/?format=csv&vertical=line"))] == [run["id"]]
    assert table(await eve.get("/process-runs/?format=csv")) == []
    assert_problem(await ann.get("/process-runs/?format=csv&status=odd"), 422, "invalid")
    assert_problem(await ann.get("/process-runs/?format=odd"), 422, "invalid")
    assert_problem(await ann.house.send("GET", "/process-runs/?format=csv"), 401, "not_authenticated")


async def test_objects_have_a_column_for_each_member_and_free_values_stay_json(ann: Person) -> None:
    run = await ann.start("line", {"amount": 5})
    [row] = table(await ann.get("/process-runs/?format=csv"))
    assert (row["gate.step_id"], row["template.version"]) == ("signoff", "1")
    assert json.loads(row["inputs"]) == {"amount": 5}
    assert json.loads(row["gate.decisions"]) == run["gate"]["decisions"]
    assert row["completed_at"] == ""
    assert {"change.who", "change.from"} <= {one.name for one in columns(ChainedEvent)}


async def test_commas_quotes_and_lines_are_quoted(ann: Person) -> None:
    key = 'one, "two" three'
    await ann.post("/process-runs/", {"vertical": "line", "inputs": {"amount": 5}, "business_key": key})
    answer = await ann.get("/process-runs/?format=csv")
    assert b'"one, ""two"" three"' in answer.raw
    assert [one["business_key"] for one in table(answer)] == [key]


@pytest.mark.parametrize("key", ["=1+1", "+1", "-1", "@SUM(A1)", "\uff1d1+1"])
async def test_no_cell_is_a_formula(ann: Person, key: str) -> None:
    await ann.post("/process-runs/", {"vertical": "line", "inputs": {"amount": 5}, "business_key": key})
    for path in ("/process-runs/", "/gates/"):
        assert [one["business_key"] for one in table(await ann.get(f"{path}?format=csv"))] == [f"'{key}"]


@pytest.mark.parametrize("before", [" ", "\u00a0", "\u200b", "\u2028", "\ufeff", "\u202e", "\u3000", " \u200b \x1f"])
@pytest.mark.parametrize("mark", ["=", "+", "-", "@", "\uff1d"])
def test_blanks_hide_no_formula(before: str, mark: str) -> None:
    assert cell(f"{before}{mark}1+1").startswith("'")
    assert cell(f"{before}a{mark}1") == f"{before}a{mark}1"


async def test_each_cell_is_quoted_so_that_no_other_separator_begins_one(ann: Person) -> None:
    await ann.post("/process-runs/", {"vertical": "line", "inputs": {"amount": 5}, "business_key": "x;=1+1"})
    raw = (await ann.get("/process-runs/?format=csv")).raw.decode()
    assert '"x;=1+1"' in raw
    assert all(line.startswith('"') for line in raw.split("\r\n") if line)


@pytest.mark.parametrize("limit", ["", "&limit=1"])
async def test_a_spreadsheet_of_another_language_is_written_to(ann: Person, limit: str) -> None:
    key = "Größe, geprüft"
    await ann.post("/process-runs/", {"vertical": "line", "inputs": {"amount": 5}, "business_key": key})
    raw = (await ann.get(f"/process-runs/?format=csv&bom=true&sep=;{limit}")).raw
    assert raw.startswith(b"\xef\xbb\xbf")
    assert raw.count(b"\xef\xbb\xbf") == 1
    (row,) = csv.DictReader(io.StringIO(raw.decode("utf-8-sig"), newline=""), delimiter=";")
    assert row["business_key"] == key


@pytest.mark.parametrize("query", ["sep=,,", "sep=|", "sep=", "bom=1", "bom="])
async def test_an_unknown_way_to_write_is_refused(ann: Person, query: str) -> None:
    answer = await ann.get(f"/process-runs/?format=csv&{query}")
    assert_invalid(answer, f"/{query.partition('=')[0]}")


def test_numbers_stay_numbers_and_what_is_missing_is_empty() -> None:
    assert [cell(value) for value in (-5, 1.5, True, None, "", "a", "\tb", "\rc", [1], {"a": "=1"})] == [
        "-5",
        "1.5",
        "true",
        "",
        "",
        "a",
        "'\tb",
        "'\rc",
        "[1]",
        '{"a":"=1"}',
    ]
