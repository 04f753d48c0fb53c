"""The guides say what is true: what they show loads, and what they list is all there is."""

from __future__ import annotations

import re
from typing import get_args

import pytest

from actors.core.messages import LaterEvent
from actors.core.rules import RULES
from daemon.templates.loading import load_text
from daemon.templates.shipped import indexed, library
from tests.house.reference import COLUMNS, DOCS, INDEXED, PAGES, written
from tests.house.test_house import ROOT


@pytest.mark.parametrize("name", PAGES)
def test_what_is_made_from_code_is_as_the_code_is_now(name: str) -> None:
    page = (DOCS / name).read_text(encoding="utf-8")
    assert "made by `make reference`" in page
    assert page == written(page), "make reference"


def test_the_index_of_the_library_is_as_its_files_are() -> None:
    assert INDEXED.read_text(encoding="utf-8") == indexed(), "make reference"
    assert all(not one.is_loaded for one in library())


def test_prose_is_wrapped() -> None:
    long = []
    for path in (ROOT / "README.md", *DOCS.rglob("*.md")):
        text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
        prose = re.sub(r"^(?:\||    |\[?!?\[|- \[\d{4}: ).*$", "", text, flags=re.MULTILINE)
        long += [f"{path.name}: {line[:60]}" for line in prose.splitlines() if len(line) > COLUMNS and " " in line]
    assert long == []


def test_the_template_of_the_guide_loads() -> None:
    guide = (ROOT / "docs" / "guides" / "templates.md").read_text(encoding="utf-8")
    entry = load_text(re.findall(r"```yaml\n(.*?)```", guide, re.DOTALL)[0], "docs/guides/templates.md")
    assert entry.template.gates == ("signoff",)


def test_the_template_of_the_tutorial_loads() -> None:
    tutorial = (DOCS / "tutorial.md").read_text(encoding="utf-8")
    entry = load_text(re.findall(r"petty-cash.yaml <<'END'\n(.*?)\nEND\n", tutorial, re.DOTALL)[0], "petty-cash.yaml")
    assert entry.template.gates == ("signoff",)


def test_every_kind_of_event_is_named_by_a_golden_transcript() -> None:
    transcripts = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests" / "golden").glob("*.txt"))
    for kind in get_args(LaterEvent):
        name = kind.__struct_config__.tag
        assert str(name) in transcripts


def test_every_rule_that_the_code_names_is_in_the_list_of_rules() -> None:
    paths = [*(ROOT / "actors" / "core" / "rules").glob("*.py"), *(ROOT / "daemon" / "templates").glob("*.py")]
    source = "".join(path.read_text(encoding="utf-8") for path in paths)
    named = set(re.findall(r'Violation\(\s*"(\w+)"', source))
    assert len(named) > 25
    assert sorted(named - {*RULES}) == []


def test_the_guides_say_what_to_do_about_every_line_of_the_log_that_warns() -> None:
    guides = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs").rglob("*.md"))
    source = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "daemon").rglob("*.py"))
    events = set(re.findall(r'_log\.(?:warning|error|exception)\(\s*"(\w+)"', source))
    assert len(events) > 30
    assert [event for event in sorted(events) if f"`{event}`" not in guides] == []
