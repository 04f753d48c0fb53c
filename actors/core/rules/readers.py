"""The rules of who may read the runs of a template."""

from __future__ import annotations

import re
from collections.abc import Iterator

from actors.core.people import GROUP_NAME, ROLES
from actors.core.rules.violation import Violation
from actors.core.template import Template

_GROUP = re.compile(GROUP_NAME)


def reader_violations(template: Template) -> Iterator[Violation]:
    """Readers that nobody can be."""
    rule = template.readers
    if rule is not None:
        yield from _refused(
            [
                f"readers/functions: {one} is no function of the template"
                for one in rule.functions
                if one not in template.functions
            ]
        )
        yield from _refused(
            [f"readers/groups: {one} is no name of a group" for one in rule.groups if not _GROUP.fullmatch(one)]
        )
        if rule.role is not None and rule.role not in ROLES:
            yield from _refused([f"readers/role: {rule.role} is no role"])


def _refused(details: list[str]) -> Iterator[Violation]:
    for detail in details:
        yield Violation("readers_refused", None, detail)
