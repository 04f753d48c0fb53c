"""The guides say what is true: what they show loads, and what they list is all there is."""

from __future__ import annotations

import re
from inspect import signature
from pathlib import Path
from typing import get_args

import pytest

from actors.core.decider import outstanding, step
from actors.core.folding.evolve import evolve
from actors.core.messages import LaterEvent
from actors.core.rules import RULES
from daemon import __version__
from daemon.templates.loading import load_text
from daemon.templates.shipped import indexed, library
from tests.house.reference import COLUMNS, DOCS, INDEXED, PAGES, written
from tests.house.test_house import ROOT
from tests.patches.stored import GENERATED, PATCHES, Patch, StalePatch, apply
from tests.shelf import shipped


@pytest.mark.parametrize("name", PAGES)
def test_what_is_made_from_code_is_as_the_code_is_now(name: str) -> None:
    page = (DOCS / name).read_text(encoding="utf-8")
    assert "made by `make reference`" in page
    assert page == written(page), "make reference"


def test_the_index_of_the_library_is_as_its_files_are() -> None:
    assert INDEXED.read_text(encoding="utf-8") == indexed(), "make reference"
    assert all(not one.is_loaded for one in library())


def test_what_the_index_knows_is_read_as_what_is_checked() -> None:
    read = {one.header.vertical: one.entry for one in library()}
    for one in shipped():
        found = read[one.template.vertical]
        assert (found.template, found.document, found.tools) == (one.template, one.document, one.tools)
        assert [*found.inputs_schema] == [*one.inputs_schema]


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


def test_the_functions_of_the_design_page_are_those_of_the_core() -> None:
    (block,) = re.findall(
        r"```python\n(.*?)```", (DOCS / "explanation" / "design.md").read_text(encoding="utf-8"), re.DOTALL
    )
    shown = {line.partition("(")[0]: line for line in block.splitlines()}
    assert set(shown) == {"step", "evolve", "outstanding"}
    for function in (step, evolve, outstanding):
        required = [one.name for one in signature(function).parameters.values() if one.default is one.empty]
        assert shown[function.__name__].startswith(f"{function.__name__}({', '.join(required)})")


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


INSTALLS = re.compile(r"\b(?:pip|pipx|npm|uv|uvx|npx)\s+(?:install|add|i|run)\b(?P<what>[^\n`]*)")
PUBLISHED: frozenset[str] = frozenset()
"""What we have put into a registry: nothing yet."""


def unpublished(text: str) -> list[str]:
    """What a text says to install by a name that no registry has from us."""
    text = re.sub(r"\\\n\s*", "", text)
    words = [
        word.strip("'\".,)") for found in INSTALLS.finditer(text) for word in found["what"].partition("#")[0].split()
    ]
    ours = [word for word in words if re.match(r"penstock", word.lower())]
    return [word for word in ours if "/" not in word and word not in PUBLISHED]


def test_no_guide_names_a_package_that_is_not_published() -> None:
    texts = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "daemon").glob("client/**/README.md")]
    texts += [*(ROOT / "daemon").rglob("*.py")]
    texts = [path for path in texts if "node_modules" not in path.parts]
    found = {str(path.relative_to(ROOT)): unpublished(path.read_text(encoding="utf-8")) for path in texts}
    assert {path: names for path, names in found.items() if names} == {}
    assert unpublished("pipx install penstock") == ["penstock"]
    assert unpublished("x: pip install 'penstock[mcp]'.") == ["penstock[mcp]"]
    assert unpublished("npm install penstock-client  # TypeScript") == ["penstock-client"]
    assert unpublished("pipx install dist/penstockd-0.2.0-py3-none-any.whl") == []


def test_the_guides_name_the_version_that_is_built() -> None:
    name = re.compile(r"(?:penstockd-|penstock_client-|penstock-client-|penstock:|newTag: )(\d+\.\d+\.\d+)")
    texts = [ROOT / "README.md", ROOT / "compose.yaml", *(ROOT / "docs").rglob("*.md")]
    texts += (ROOT / "docs").rglob("*.yaml")
    named = {version for path in texts for version in name.findall(path.read_text(encoding="utf-8"))}
    assert named == {__version__}


def test_the_notice_says_where_the_source_of_elk_is() -> None:
    licences = next((ROOT / "daemon" / "web" / "static" / "assets").glob("licences-*.txt")).read_text(encoding="utf-8")
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8")
    assert "elkjs" in licences
    assert "https://github.com/kieler/elkjs" in notice
    assert '"NOTICE"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_the_way_back_removes_the_newer_distribution_first_since_its_migrations_would_stay() -> None:
    way = (DOCS / "guides" / "upgrade.md").read_text(encoding="utf-8").partition("## Roll back with systemd")[2]
    commands = way.partition("```sh")[2].partition("```")[0]
    assert "pip uninstall --yes penstockd" in commands.partition("make install")[0]


@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.name)
def test_the_walk_through_a_stored_patch_names_each_of_its_files(patch: Patch) -> None:
    _, found, walk = (DOCS / "contributing.md").read_text(encoding="utf-8").partition(f"\n## Add {patch.title}\n")
    heads = re.findall(r"^\d+\. ((?:`[^`]+`,\s+)*`[^`]+`):", walk.partition("\n## ")[0], re.MULTILINE)
    assert found
    assert sorted(name for head in heads for name in re.findall("`(.+?)`", head)) == sorted(patch.files)


@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.name)
def test_a_stored_patch_has_nothing_that_is_generated(patch: Patch) -> None:
    assert [name for name in patch.files if name.startswith(GENERATED)] == []


@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.name)
def test_a_stored_patch_applies_to_the_tree(patch: Patch) -> None:
    apply(patch, ROOT, "--check")


def test_a_patch_that_applies_no_more_says_how_to_renew_it(tmp_path: Path) -> None:
    with pytest.raises(StalePatch, match=r"(?s)git apply --3way .*step-kind.patch .*make patches RENEW=step-kind"):
        apply(next(patch for patch in PATCHES if patch.name == "step-kind"), tmp_path)
