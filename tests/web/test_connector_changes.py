"""Section 5: every change of a connector stays: who, when, from what, to what, and never its
secret.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.web.support import House, Person, assert_invalid, assert_problem

URL = "https://api.example.test"
SECRET = "s3cret-canary"
CHANGES = "/connectors/tool/changes"


async def put(person: Person, **how: Any) -> Any:
    answer = await person.put("/connectors/tool", {"base_url": URL, **how})
    assert answer.status in {200, 201}, answer.raw
    return answer.json


async def changes(person: Person, query: str = "") -> Any:
    answer = await person.get(CHANGES + query)
    assert answer.status == 200, answer.raw
    return answer.json


async def test_a_change_says_who_when_from_what_and_to_what(ann: Person) -> None:
    created = await put(ann)
    changed = await put(ann, reversible=True)
    await ann.delete("/connectors/tool")
    gone, second, first = await changes(ann)
    assert (first["number"], first["version"], first["before"]) == (1, 1, None)
    assert (second["number"], second["version"], second["at"]) == (2, 2, changed["updated_at"])
    assert {one["by"] for one in (gone, second, first)} == {ann.email}
    assert (first["at"], first["tool_id"]) == (created["created_at"], "tool")
    assert first["after"] == second["before"]
    assert (second["before"]["reversible"], second["after"]["reversible"]) == (False, True)
    assert created.items() >= first["after"].items()
    assert (gone["number"], gone["version"], gone["before"], gone["after"]) == (3, 2, second["after"], None)


async def test_a_change_says_what_became_of_the_secret_and_never_the_secret(ann: Person) -> None:
    bearer = {"auth_type": "bearer"}
    await put(ann)
    await put(ann, **bearer, auth_token=SECRET)
    await put(ann, **bearer)
    await put(ann, **bearer, auth_token="another")
    await put(ann, **bearer, base_url="https://other.test")
    await put(ann, **bearer, auth_token=SECRET)
    await ann.delete("/connectors/tool")
    said = [one["secret"] for one in reversed(await changes(ann))]
    assert said == ["none", "set", "kept", "changed", "removed", "set", "removed"]
    answer = await ann.get(CHANGES)
    assert SECRET.encode() not in answer.raw
    assert b"sealed" not in answer.raw


async def test_what_is_stored_as_it_was_keeps_its_version(ann: Person, house: House) -> None:
    bearer = {"auth_type": "bearer"}
    stored = [await put(ann, **bearer, auth_token=SECRET), await put(ann, **bearer)]
    await house.restart()
    stored += [await put(ann, **bearer, auth_token=SECRET), await put(ann, **bearer, auth_token="another")]
    stored += [await put(ann, **bearer, retries=1), await put(ann), await put(ann)]
    assert [one["version"] for one in stored] == [1, 1, 1, 2, 3, 4, 4]
    said = [(one["version"], one["secret"]) for one in reversed(await changes(ann))]
    kept = [(1, "set"), (1, "kept"), (1, "kept"), (2, "changed"), (3, "kept"), (4, "kept"), (4, "kept")]
    assert said == kept


async def test_a_version_never_starts_again(ann: Person, house: House) -> None:
    assert [(await put(ann, retries=retries))["version"] for retries in range(2)] == [1, 2]
    await ann.delete("/connectors/tool")
    assert (await put(ann))["version"] == 3
    await ann.delete("/connectors/tool")
    await house.restart()
    assert (await put(ann))["version"] == 4
    assert [one["number"] for one in await changes(ann)] == [6, 5, 4, 3, 2, 1]


async def test_what_was_refused_is_no_change(ann: Person) -> None:
    await put(ann)
    assert_invalid(await ann.put("/connectors/tool", {"base_url": "nowhere"}), "/base_url")
    assert_problem(await ann.delete("/connectors/none"), 404, "not_found")
    assert len(await changes(ann)) == 1


async def test_changes_are_read_page_by_page_newest_first(ann: Person) -> None:
    for _ in range(5):
        await put(ann)
    path, numbers = f"{CHANGES}?limit=2", []
    while path:
        answer = await ann.get(path)
        numbers.append([one["number"] for one in answer.json])
        path = answer.headers.get("Link", "").partition(">")[0].removeprefix("<")
    assert numbers == [[5, 4], [3, 2], [1]]


@pytest.mark.parametrize(
    "query", ["?cursor=x", "?cursor=Y2hhbmdlczow", "?cursor=Y2hhbmdlczotMQ", "?cursor=Y29ubmVjdG9yczox"]
)
async def test_a_cursor_of_another_list_is_refused(ann: Person, query: str) -> None:
    await put(ann)
    assert_problem(await ann.get(CHANGES + query), 400, "malformed_cursor")


async def test_changes_of_another_company_look_like_none_to_the_byte(ann: Person, eve: Person) -> None:
    await put(ann)
    theirs = await eve.get(CHANGES, X_Request_ID="same")
    none = await eve.get("/connectors/none/changes", X_Request_ID="same")
    assert_problem(theirs, 404, "not_found")
    assert theirs.raw == none.raw
    await put(eve)
    assert [one["by"] for one in await changes(eve)] == [eve.email]
    assert [one["by"] for one in await changes(ann)] == [ann.email]


async def test_the_changes_of_a_connector_outlive_it_and_a_restart(ann: Person, house: House) -> None:
    await put(ann)
    await ann.delete("/connectors/tool")
    before = await changes(ann)
    await house.restart()
    assert await changes(ann) == before
    assert await changes(ann, "/") == before
