"""Each regular expression that is run on what strangers send takes time linear in its length."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from functools import partial
from itertools import product

import pytest

import actors
import daemon
from tests.effort import grows_with_its_size

LONG = 32 * 1024
NOT_OF_STRANGERS = ("daemon.client", "daemon.commands", "daemon.doctor", "daemon.stores", "daemon.verification")
# How each is used, and on how many characters at most where its caller looks at that before.
USED = {
    "daemon.aap.shapes._SECRET": ("fullmatch", LONG),
    "daemon.aap.shapes._TIME": ("fullmatch", LONG),
    "daemon.aap.shapes._UUID": ("fullmatch", LONG),
    "daemon.actions.rules._GLOB": ("search", LONG),
    "daemon.actions.rules._NO_NAME": ("findall", LONG),
    "actors.core.calls.PLACEHOLDER": ("findall", LONG),
    "actors.core.rules.graph.LEGAL_ID": ("fullmatch", LONG),
    "actors.core.rules.questions._PLACEHOLDER": ("finditer", LONG),
    "actors.core.rules.policies._GROUP": ("fullmatch", LONG),
    "actors.core.schedule._BUSINESS_DAYS": ("fullmatch", LONG),
    "actors.core.schedule._IN_TEXT": ("findall", LONG),
    "actors.core.schedule._ISO": ("fullmatch", LONG),
    "actors.core.rules.conditions._TOKEN": ("findall", LONG),
    "actors.core.rules.conditions._TEXT": ("fullmatch", LONG),
    "actors.core.rules.conditions._INPUT": ("findall", LONG),
    "actors.core.rules.conditions._HAS": ("fullmatch", LONG),
    "actors.core.rules.conditions._COMPARED": ("fullmatch", LONG),
    "actors.core.rules.conditions._MAY_CHANGE": ("search", LONG),
    "actors.core.rules.conditions._DUE": ("fullmatch", LONG),
    "actors.core.rules.conditions._PARTS": ("findall", LONG),
    "actors.core.rules.conditions.NAMES_CLOCK": ("findall", LONG),
    "daemon.bpmn.export._NOT_XML": ("sub", LONG),
    "daemon.bpmn.names._LEGAL": ("fullmatch", LONG),
    "daemon.bpmn.names._OTHER": ("sub", LONG),
    "daemon.bpmn.reading._EXPRESSION": ("search", LONG),
    "daemon.bpmn.reading._DECLARED": ("sub", LONG),
    "daemon.bpmn.reading._TOOL": ("fullmatch", LONG),
    "daemon.bpmn.graph._DATE": ("fullmatch", LONG),
    "daemon.connectors.credentials._CONTROL": ("search", LONG),
    "daemon.connectors.response_map._PLAIN": ("fullmatch", LONG),
    "daemon.contract.connectors.JSON_TYPE": ("fullmatch", 1_000),
    "daemon.contract.connectors.PLACEHOLDER": ("findall", 2_000),
    "daemon.connectors.http._CHARSET": ("search", LONG),
    "daemon.connectors.egress._LOOKS_NUMERIC": ("fullmatch", LONG),
    "daemon.connectors.egress._NEVER_IN_A_URL": ("search", LONG),
    "daemon.contract.accounts.KEY_NAME": ("fullmatch", 200),
    "daemon.contract.accounts.MOMENT": ("match", LONG),
    "daemon.contract.connectors.DOTTED": ("search", LONG),
    "daemon.contract.connectors.HEADER_NAME": ("fullmatch", LONG),
    "daemon.connectors.credentials._BLOCK": ("findall", LONG),
    "daemon.contract.base.EMAIL": ("fullmatch", LONG),
    "daemon.contract.base._UNSEEN": ("search", LONG),
    "daemon.contract.connectors.CREDENTIAL": ("fullmatch", LONG),
    "daemon.mail.mailer._WORD": ("sub", LONG),
    "daemon.model.retention.redaction._IN_EITHER": ("match", LONG),
    "daemon.model.retention.redaction._IN_NUMBERS": ("match", LONG),
    "daemon.model.retention.redaction._IN_WORDS": ("match", LONG),
    "daemon.mail.texts._ENCODED": ("sub", LONG),
    "daemon.mail.texts._ENDED": ("sub", LONG),
    "daemon.templates.cel._VARIABLE": ("findall", 4_096),
    "daemon.templates.expression_cost._MACRO": ("findall", 4_096),
    "daemon.templates.cel._BY_ZERO": ("findall", 4_096),
    "daemon.templates.cel._CALL": ("findall", 4_096),
    "daemon.templates.cel._CLOCK_TIME": ("sub", 4_096),
    "daemon.templates.cel._MATCHES": ("findall", 4_096),
    "daemon.templates.cel._TOKEN": ("findall", 4_096),
    "daemon.templates.cel._CONVERTS": ("search", 4_096),
    "daemon.templates.cel._FACT": ("findall", 4_096),
    "daemon.templates.cel._INDEX": ("sub", 4_096),
    "daemon.templates.cel._LOOKS_FIRST": ("search", 4_096),
    "daemon.templates.cel._NO_MOMENT": ("search", 4_096),
    "daemon.templates.cel._OTHER_MEMBER": ("search", 4_096),
    "daemon.drafting._WORD": ("findall", 8_000),
    "daemon.drafting._CLAUSE": ("findall", 8_000),
    "daemon.drafting._FINAL": ("search", 200),
    "daemon.drafting._GATE": ("search", 200),
    "daemon.drafting._IF": ("match", 200),
    "daemon.drafting._OTHER": ("sub", 200),
    "daemon.drafting._READ": ("search", 200),
    "daemon.drafting._WAIT": ("search", 200),
    "daemon.identity.api_keys._FORM": ("fullmatch", LONG),
    "daemon.model.event_log._PLACE": ("fullmatch", LONG),
    "daemon.model.inbox._ID": ("sub", LONG),
    "daemon.model.inbox._WORD": ("findall", LONG),
    "daemon.observability.logs._IN_TEXT": ("sub", LONG),
    "daemon.observability.logs._NAMES": ("fullmatch", LONG),
    "daemon.runtime.json_codec._ASTRAL": ("search", LONG),
    "daemon.runtime.json_codec._LONG": ("search", LONG),
    "daemon.runtime.json_codec._LONG_FRACTION": ("findall", LONG),
    "daemon.runtime.json_codec._POWER": ("search", LONG),
    "daemon.runtime.json_codec._WHOLE": ("search", LONG),
    "daemon.templates.cel._COMPREHENSION": ("findall", LONG),
    "daemon.templates.cel._NO_KEY": ("fullmatch", LONG),
    "daemon.templates.cel._PLACE": ("search", LONG),
    "daemon.templates.expression_cost._CALL": ("findall", 4_096),
    "daemon.templates.agents.action_rules._PATH": ("fullmatch", 200),
    "daemon.templates.agents.action_rules._POINTER": ("fullmatch", LONG),
    "daemon.templates.agents.action_rules._SPENT": ("search", 4_096),
    "daemon.templates.agents.action_rules._TEXT": ("sub", 4_096),
    "daemon.templates.expression_cost._FOUND": ("findall", 4_096),
    "daemon.templates.expression_cost._LOOP": ("findall", 4_096),
    "daemon.templates.expression_cost._MATCHED": ("findall", 4_096),
    "daemon.templates.expression_cost._ROOT": ("search", 4_096),
    "daemon.templates.expression_cost._STRING": ("sub", 4_096),
    "daemon.templates.expression_cost._TOKEN": ("findall", 4_096),
    "daemon.templates.expression_cost._AMONG": ("findall", LONG),
    "daemon.templates.expression_cost._ASKED": ("findall", 4_096),
    "daemon.templates.expression_cost._MEMBER": ("findall", LONG),
    "daemon.templates.expression_cost._NAMED": ("findall", LONG),
    "daemon.templates.expression_cost._PART": ("findall", LONG),
    "daemon.templates.expression_cost._READ": ("findall", LONG),
    "daemon.templates.expression_cost._INPUTS_OR_FACTS": ("findall", LONG),
    "daemon.evaluation.evaluator._CALL": ("findall", LONG),
    "daemon.templates.schema_cost._BROAD": ("findall", 64),
    "daemon.templates.schema_cost._PIECE": ("findall", 64),
    "daemon.templates.schema_cost._UNICODE": ("search", 64),
    "daemon.web.bodies._AFTER": ("sub", LONG),
    "daemon.web.bodies._OR_INSTANCE": ("sub", LONG),
    "daemon.web.bodies._PREFER_WAIT": ("fullmatch", LONG),
    "daemon.web.bodies._SHOULD": ("sub", LONG),
    "daemon.web.bodies._TAG": ("fullmatch", LONG),
    "daemon.web.clients._ESCAPED": ("sub", LONG),
    "daemon.web.clients._NODE": ("fullmatch", LONG),
    "daemon.web.clients._QUOTED": ("sub", LONG),
    "daemon.web.cookies._PORT": ("fullmatch", LONG),
    "daemon.web.middleware.request_id._ID": ("fullmatch", LONG),
    "daemon.web.middleware.access_log._TRACEPARENT": ("fullmatch", LONG),
    "daemon.sso.arrivals._COMPANY": ("fullmatch", LONG),
    "daemon.sso.arrivals._DOMAIN": ("fullmatch", LONG),
    "daemon.web.openapi.snippets._PLACE": ("sub", LONG),
    "daemon.web.page._GZIP": ("search", LONG),
    "daemon.web.parameters.DIGEST": ("fullmatch", LONG),
    "daemon.web.resources.pages._TYPE": ("fullmatch", LONG),
    "daemon.web.resources.runs._ID_BEGINS": ("fullmatch", LONG),
    "daemon.web.parameters.ID": ("fullmatch", LONG),
    "daemon.web.parameters.SERVER": ("fullmatch", LONG),
    "daemon.web.parameters.TOOL_ID": ("fullmatch", LONG),
    "daemon.web.resources.people.members._GROUP": ("fullmatch", LONG),
    "daemon.web.resources.events._SEQ": ("fullmatch", LONG),
    "daemon.web.resources.people.single_sign_on._CHALLENGE": ("fullmatch", LONG),
    "daemon.web.resources.people.single_sign_on._PORT": ("fullmatch", LONG),
    "daemon.web.resources.people.single_sign_on._RETURN_TO": ("fullmatch", LONG),
    "daemon.web.responses.NOT_EMPTY": ("fullmatch", LONG),
    "daemon.web.responses.NUMBER": ("fullmatch", LONG),
    "daemon.web.responses._REFUSED": ("search", LONG),
}
# What one of them begins to match with, and goes on with again and again.
BEGINNINGS = ("", '"', "inputs.a", 'token="', ",gzip;")
PIECES = (
    *(" ", "a", "0", ".", ",", ":", "=", "_", "-", "/", "<", "(", "[", "\\", '"', "'", "\t", "e", "f"),
    *(
        '\\"',
        ", ",
        "a.",
        "0.",
        "a_",
        "0e",
        "0e+",
        "' ",
        "//",
        "//a",
        "eyJ",
        "eyJaaaaaa.",
        "[a",
        "<a>;",
        "gzip;",
        ",gzip ",
    ),
    *(
        "bearer",
        "bearer ",
        "token",
        "token=",
        'token="\\',
        "secret_",
        "sealed_",
        "has(",
        "inputs.",
        '["a"]',
        "wait=",
        "for=",
    ),
)
ENDS = ("", "!", "(")


def patterns() -> Iterator[tuple[str, re.Pattern[str] | re.Pattern[bytes]]]:
    """The regular expressions of all modules, each by the module that makes it."""
    rooms = (*pkgutil.walk_packages(actors.__path__, "actors."), *pkgutil.walk_packages(daemon.__path__, "daemon."))
    for info in rooms:
        if info.name.startswith(NOT_OF_STRANGERS) or info.name.endswith("__main__"):
            continue
        module = importlib.import_module(info.name)
        if "re.compile" not in (source := inspect.getsource(module)):
            continue
        for name, value in vars(module).items():
            if f"\n{name} = " in source:
                yield from ((f"{info.name}.{name}", pattern) for pattern in _within(value))


def _within(value: object) -> Iterator[re.Pattern[str] | re.Pattern[bytes]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, tuple | list):
        for one in value:
            yield from _within(one)


def test_every_expression_is_in_the_table() -> None:
    assert {name for name, _ in patterns()} == USED.keys()


@pytest.mark.parametrize("name", USED)
def test_an_expression_takes_linear_time_on_what_is_made_to_hold_it_up(name: str) -> None:
    (how, size), (module, _, attribute) = USED[name], name.rpartition(".")
    for pattern in _within(getattr(importlib.import_module(module), attribute)):
        match = partial(getattr(pattern, how), *[""] if how == "sub" else [])
        for parts in product(BEGINNINGS, PIECES, ENDS):
            made = partial(text, parts, isinstance(pattern.pattern, bytes))
            assert grows_with_its_size(match, made, size), parts


def text(parts: tuple[str, str, str], in_bytes: bool, size: int) -> str | bytes:
    beginning, piece, end = parts
    found = beginning + piece * (size // len(piece)) + end
    return found.encode() if in_bytes else found


def test_an_expression_that_takes_quadratic_time_is_noticed() -> None:
    assert not grows_with_its_size(re.compile(r"a+b").search, lambda size: "a" * size, LONG)
