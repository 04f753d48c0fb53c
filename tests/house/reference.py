"""The parts of docs that are made from code; `make reference` writes them anew."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator
from typing import Any

from typer.main import get_command

from actors.core.people import ACTIONS, PEOPLE, ROLES, refusal
from actors.core.rules import RULES
from actors.core.template import ClockRule
from daemon.cli import app
from daemon.model.budgets import Budgets, table
from daemon.settings import Settings
from daemon.templates.document_cost import LIMITS
from daemon.templates.documents import CitedRule
from daemon.templates.loading import shipped
from daemon.templates.shipped import INDEX, indexed
from daemon.verification.gaps import GAPS
from daemon.web.problems import codes
from daemon.web.routes import ROUTES
from tests.house.test_house import ROOT

DOCS = ROOT / "docs"
REGION = re.compile(r"(<!-- (\w+): made by `make reference` -->\n).*?(<!-- end -->)", re.DOTALL)
PAGES = (
    "reference/api.md",
    "reference/commands.md",
    "reference/limits.md",
    "reference/settings.md",
    "roles.md",
    "decisions/index.md",
    "guides/audit.md",
    "guides/templates.md",
    "reference/library.md",
)
PACKS = {
    "health": "Health plan and provider",
    "banking": "Banking and AML",
    "payments": "Payments and disputes",
    "insurance": "Insurance",
    "lending": "Lending and collections",
    "people": "People and access",
    "operations": "Engineering and security operations",
    "public": "Public sector and privacy",
}
INDEXED = ROOT / "daemon" / "templates" / "shipped" / INDEX
COLUMNS = 100


def settings() -> Iterator[str]:
    """A row for each setting, in the order of the class."""
    yield from ("| variable | default | meaning |", "|---|---|---|")
    for name, field in sorted(Settings.model_fields.items(), key=lambda one: one[0] in Budgets.model_fields):
        value = field.default
        shown = "`on`" if value is True else "" if value in (None, "") else f"`{value}`"
        yield f"| `PENSTOCK_{name.upper()}` | {shown} | {cell(field.description or '')} |"


def budgets() -> Iterator[str]:
    """A row for each budget of a company or a network."""
    yield from ("| setting | default | beyond it | what is counted |", "|---|---|---|---|")
    for row in table():
        yield f"| `{row.variable}` | {row.default:,} | {row.beyond} | {cell(row.counted)} |"


def costs() -> Iterator[str]:
    """A row for each bound of what a template or a connector may cost."""
    yield from ("| what | at most | counted |", "|---|---|---|")
    for what, most, counted in LIMITS:
        yield f"| {what} | {most:,} | {cell(counted)} |"


def commands() -> Iterator[str]:
    """A section for each command, with its arguments and options."""
    for path, command in found(get_command(app), "penstock"):
        arguments = [one for one in command.params if not one.opts[0].startswith("-")]
        words = [one.opts[0].upper() if one.required else f"[{one.opts[0].upper()}]" for one in arguments]
        help_text = textwrap.fill(command.help or "", COLUMNS, break_on_hyphens=False)
        yield from (f"### {path.removeprefix('penstock ')}", "", f"`{' '.join((path, *words))}`", "", help_text, "")
        if command.params:
            yield from ("| | |", "|---|---|")
            for one in command.params:
                names = (*one.opts, *one.secondary_opts) if one not in arguments else (one.opts[0].upper(),)
                yield f"| {' '.join(f'`{name}`' for name in names)} | {cell(getattr(one, 'help', None) or '')} |"
            yield ""


def found(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    """The commands below this one, each with its words."""
    inner = getattr(command, "commands", None)
    if inner is None:
        yield path, command
    for name, one in (inner or {}).items():
        yield from found(one, f"{path} {name}")


def operations() -> Iterator[str]:
    """A row for each operation of the contract, under its tag."""
    contract = json.loads((DOCS / "openapi.json").read_text(encoding="utf-8"))
    tag = ""
    for path, methods in contract["paths"].items():
        for method, operation in methods.items():
            if operation["tags"][0] != tag:
                tag = operation["tags"][0]
                yield from ("", f"### {tag}", "", "| method and path | summary |", "|---|---|")
            yield f"| `{method.upper()} {path}` | {cell(operation['summary'])} |"
    yield ""


def roles() -> Iterator[str]:
    """A row for each action of the table of authority."""
    yield from (f"| action | {' | '.join(ROLES)} | API keys |", f"|---|{'---|' * (len(ROLES) + 1)}")
    for action in ACTIONS.values():
        marks = ["yes" if refusal(role, "person", action) is None else "" for role in ROLES]
        own = [f"{kind} (runs that it started)" for kind in sorted(action.own)]
        machines = ", ".join((*own, *sorted(action.kinds - PEOPLE))) or "never"
        yield f"| `{action.name}`: {cell(action.summary)} | {' | '.join(marks)} | {machines} |"


def authority() -> Iterator[str]:
    """A row for each operation, with the action that it needs."""
    yield from ("| method and path | action | least role |", "|---|---|---|")
    for method, path, endpoint in ROUTES:
        name = endpoint.operation.action
        least = "no token" if endpoint.operation.public else ACTIONS[name].role
        yield f"| `{method} {path}` | {f'`{name}`' if name else ''} | {least} |"


def rules() -> Iterator[str]:
    """A row for each rule of templates, with what to do."""
    yield from ("| rule | what to do |", "|---|---|")
    for rule, advice in RULES.items():
        yield f"| `{rule}` | {cell(advice)} |"


def problems() -> Iterator[str]:
    """A row for each code of a refusal."""
    yield from ("| `code` | status | may a repeat help? |", "|---|---|---|")
    for code, status, retryable in codes():
        yield f"| `{code}` | {status} | {'yes' if retryable else 'no'} |"


def decisions() -> Iterator[str]:
    """A link to each decision."""
    for path in sorted((DOCS / "decisions").glob("0*.md")):
        title = path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        yield f"- [{path.name[:4]}: {title}]({path.name})"


def gaps() -> Iterator[str]:
    """A row for each part of a database that a verification does not compare."""
    yield from ("| table | columns and rows | why |", "|---|---|---|")
    for gap in GAPS:
        rows = [f"rows {how}" for how in gap.rows]
        yield f"| `{gap.table}` | {', '.join([*(f'`{name}`' for name in gap.columns), *rows])} | {cell(gap.why)} |"


def cell(text: str) -> str:
    """A text that is safe in a table."""
    return " ".join(text.split()).replace("|", "\\|")


def library_of_processes() -> Iterator[str]:
    """The processes of the library under their packs, each with its gates and its rules."""
    pack = None
    for entry in sorted(shipped(), key=lambda one: (one.pack or "", one.template.vertical)):
        one = entry.template
        if entry.pack != pack:
            pack = entry.pack
            yield from ("", f"### {PACKS[pack or '']}")
        listed = {"Gates": one.gates, "Functions": (*one.functions,), "Clocks": tuple(map(_length, one.clocks))}
        yield from ("", f"#### `{one.vertical}`: {one.title}")
        for name, found in listed.items():
            if found:
                names = ", ".join(f"`{word}`" for word in found)
                yield from ("", textwrap.fill(f"{name}: {names}", COLUMNS, break_on_hyphens=False))
        yield ""
        yield from ("| rule | source | valid from, reviewed | enforced by | shown by |", "|---|---|---|---|---|")
        yield from map(_rule, entry.rules)
    yield ""


def _length(clock: ClockRule) -> str:
    """A clock with how long it is, where that is the same in each case."""
    return f"{clock.id} {clock.within}" if isinstance(clock.within, str) else clock.id


def _rule(rule: CitedRule) -> str:
    """A row for a rule: where and when it holds, what enforces it, and what shows it."""
    source = rule.source if rule.jurisdiction is None else f"{rule.source} ({rule.jurisdiction})"
    until = "" if rule.valid_to is None else f" to {rule.valid_to}"
    days = ", ".join(one for one in (f"{rule.valid_from or ''}{until}", rule.reviewed_on) if one)
    enforced = ", ".join(f"`{name}`" for name in rule.enforced_by) or f"not: {rule.not_enforced}"
    shown = "" if rule.shown_by is None else f"passes `{rule.shown_by.passes}`, stops `{rule.shown_by.stops}`"
    cells = (f"`{rule.id}`: {rule.says}" if rule.id else rule.says, source, days, enforced, shown)
    return f"| {' | '.join(map(cell, cells))} |"


REGIONS = {
    "budgets": budgets,
    "costs": costs,
    "settings": settings,
    "commands": commands,
    "operations": operations,
    "problems": problems,
    "roles": roles,
    "rules": rules,
    "authority": authority,
    "decisions": decisions,
    "gaps": gaps,
    "library": library_of_processes,
}


def written(page: str) -> str:
    """A page with its regions as the code has them now."""
    return REGION.sub(lambda region: region[1] + "\n".join(REGIONS[region[2]]()) + "\n" + region[3], page)


if __name__ == "__main__":
    for name in PAGES:
        path = DOCS / name
        path.write_text(written(path.read_text(encoding="utf-8")), encoding="utf-8")
    INDEXED.write_text(indexed(), encoding="utf-8")
