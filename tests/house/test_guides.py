"""The guides say what is true: what they show loads, and what they list is all there is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

from actors.core.messages import LaterEvent
from daemon.settings import Settings
from daemon.templates.catalog import load_text, shipped
from daemon.web.routes import ROUTES

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
NUMBERS = {14: "Fourteen"}


def test_the_readme_lists_every_setting_with_its_default() -> None:
    listed = dict(re.findall(r"^\| `PENSTOCK_(\w+)` \| (.*?) \|", README, re.MULTILINE))
    defaults = {name.upper(): field.default for name, field in Settings.model_fields.items()}
    assert list(listed) == list(defaults)
    for name, default in defaults.items():
        shown = "`on`" if default is True else "" if default in (None, "") else f"`{default}`"
        assert listed[name].strip() == shown, name


def test_the_readme_names_every_address() -> None:
    table = README[README.index("### HTTP") : README.index("### Guides")]
    for _, path, _ in ROUTES:
        assert path.split("/")[1] in table
        last = path.rsplit("/", 1)[1]
        assert "{" in last or last in table, path


def test_the_template_of_the_guide_loads() -> None:
    guide = (ROOT / "docs" / "guides" / "templates.md").read_text(encoding="utf-8")
    entry = load_text(re.findall(r"```yaml\n(.*?)```", guide, re.DOTALL)[0], "docs/guides/templates.md")
    assert entry.template.gates == ("signoff",)


def test_the_changelog_counts_the_shipped_templates_right() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"{NUMBERS[len(shipped())]} process templates" in changelog


def test_every_kind_of_event_is_named_by_a_golden_transcript() -> None:
    transcripts = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests" / "golden").glob("*.txt"))
    for kind in get_args(LaterEvent):
        name = kind.__struct_config__.tag
        assert str(name) in transcripts


def test_the_guide_names_every_rule_that_keeps_a_template_from_loading() -> None:
    guide = (ROOT / "docs" / "guides" / "templates.md").read_text(encoding="utf-8")
    graph = (ROOT / "actors" / "core" / "template.py").read_text(encoding="utf-8")
    form = "".join(
        (ROOT / "daemon" / "templates" / name).read_text(encoding="utf-8") for name in ("catalog.py", "documents.py")
    )
    rules = {
        *re.findall(r'Problem\("(\w+)"', graph),
        *re.findall(r'"(\w+_\w+|malformed|unreadable)(?: at |: )', form),
    }
    assert len(rules) > 25
    assert [rule for rule in sorted(rules) if f"`{rule}`" not in guide] == []


def test_the_guides_say_what_to_do_about_every_line_of_the_log_that_warns() -> None:
    guides = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs").rglob("*.md"))
    source = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "daemon").rglob("*.py"))
    events = set(re.findall(r'_log\.(?:warning|error|exception)\(\s*"(\w+)"', source))
    assert len(events) > 30
    assert [event for event in sorted(events) if f"`{event}`" not in guides] == []
