"""The catalog: what a template document may say, what is refused and in which words, and which
version counts.
"""

from __future__ import annotations

import json
import socket
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import pytest
from msgspec.structs import fields

from actors.core.actions.deciding import ActionRule
from actors.core.canonical import canonical, digest
from actors.core.gate_policy import GatePolicy
from actors.ports import Inline
from daemon.contract import templates as contract
from daemon.model import SchemaMismatch, StoredTemplate
from daemon.model.actions import ActionDocument
from daemon.model.own_templates import OwnVersion
from daemon.stores.store import Store
from daemon.templates import loading
from daemon.templates.agents.action_rules import action_document
from daemon.templates.catalog import Catalog, OwnTemplates
from daemon.templates.documents import Document, PolicyFields
from daemon.templates.loading import (
    CatalogEntry,
    LazyTemplate,
    TemplateRefused,
    load,
    load_file,
    load_folder,
    load_json,
    load_text,
)
from daemon.templates.shipped import library
from daemon.templates.yaml_reader import YamlRefused, read_text
from tests.effort import Effort
from tests.histories import ACME, NOON
from tests.shelf import shipped

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

T = TypeVar("T")

HEAD = """
vertical: loan
version: 1
title: Loan
description: A loan.
inputs_schema: {type: object, required: [amount],
  properties: {amount: {type: number}, a/b~c: {type: array, items: {type: string}}}}
example: {amount: 5}
steps:
"""
STEPS = """
  - {id: pull, kind: task, label: Pull, tool: fetch, effect: read, next: sign,
     dry_run: [{when: has(inputs.amount) && inputs.amount > 3, output: {big: true, note: null}, signal: true},
               {output: {}}], signal_when: output.big == true}
  - {id: sign, kind: gate, label: Sign, role: manager, next: {approved: pay, denied: refused}}
  - {id: pay, kind: agent, label: Pay, tool: pay, effect: irreversible, next: paid}
  - {id: paid, kind: end, label: Paid, outcome: paid}
  - {id: refused, kind: end, label: Refused, outcome: refused}
"""
GOOD = HEAD + STEPS
TASK = "kind: task, label: T, tool: t, effect: read"
END = "\n  - {id: done, kind: end, label: Done, outcome: done}"


class Shelf(Store):
    """A shelf in memory; the stores have their own contract suite."""

    shared = False

    def __init__(self) -> None:
        self.kept: dict[str, StoredTemplate] = {}
        self.kept_actions: dict[str, str] = {}
        self.asked = 0

    async def keep_template(self, document: StoredTemplate) -> None:
        for kept in self.kept.values():
            if (kept.vertical, kept.version) == (document.vertical, document.version) and kept != document:
                raise SchemaMismatch(f"{kept.vertical} {kept.version} is taken")
        self.kept[document.digest] = document

    async def template_document(self, digest: str) -> StoredTemplate | None:
        self.asked += 1
        return self.kept.get(digest)

    async def template_digests(self) -> dict[tuple[str, int], str]:
        return {(one.vertical, one.version): one.digest for one in self.kept.values()}

    async def guarding_templates(self) -> list[str]:
        return []

    async def own_versions(self, _company_id: str) -> tuple[OwnVersion, ...]:
        self.asked += 1
        return ()

    async def own_document(self, _company_id: str, _digest: str) -> None:
        return None

    async def action_template(self, _company_id: str, digest: str) -> str | None:
        return self.kept_actions.get(digest)

    async def keep_action_template(self, document: ActionDocument) -> None:
        self.kept_actions[document.digest] = document.document


def refusal(text: str) -> list[str]:
    with pytest.raises(TemplateRefused) as refused:
        load_text(text, "loan.yaml")
    assert str(refused.value).startswith("loan.yaml: ")
    assert refused.value.source_name == "loan.yaml"
    return refused.value.sentences


def steps(*lines: str) -> str:
    return HEAD + "".join(f"\n  - {{{line}}}" for line in lines) + END


def version(number: int, title: str = "Loan") -> CatalogEntry:
    text = GOOD.replace("version: 1", f"version: {number}").replace("title: Loan", f"title: {title}")
    return load_text(text, f"loan-{number}.yaml")


def test_a_document_becomes_a_template() -> None:
    entry = load_text(GOOD, "loan.yaml")
    template = entry.template
    assert (template.vertical, template.version, template.title, template.start) == ("loan", 1, "Loan", "pull")
    assert template.node("pull").tier == "low"
    assert template.node("sign").tier == "high"
    assert template.node("pay").kind == "task"
    assert template.decisions("sign") == ("approved", "denied")
    case = template.node("pull").dry_run[0]
    assert case.when is not None
    assert (case.when.holds({"amount": 4}, {}), case.output, case.signal) == (True, {"big": True, "note": None}, True)
    assert (entry.description, entry.example) == ("A loan.", {"amount": 5})


def test_formatting_comments_and_spelt_out_defaults_do_not_change_the_digest() -> None:
    entry = load_text(GOOD, "loan.yaml")
    other = "# a comment\nstart: pull\n" + GOOD.replace("kind: agent", "kind: task").replace(
        "{id: pull, kind: task, label: Pull,", "{label: 'Pull', kind: task, tier: low, branches: [], id: pull,"
    )
    same = load_text(other, "other.yaml")
    assert same.template.digest == entry.template.digest == digest(json.loads(entry.document))
    assert same == entry


def test_what_a_document_says_changes_the_digest() -> None:
    changed = load_text(GOOD.replace("amount > 3", "amount > 4"), "loan.yaml")
    assert changed.template.digest != load_text(GOOD, "loan.yaml").template.digest


def test_a_stored_document_gives_the_same_template_again() -> None:
    entry = load_text(GOOD, "loan.yaml")
    assert load_json(entry.document) == entry
    assert all(load_json(one.document) == one for one in shipped())


def test_a_document_says_which_rules_it_follows_and_without_any_its_digest_stays() -> None:
    rules = """
rules:
  - {source: 12 CFR 1005.11, says: Errors are investigated, enforced_by: [pull, sign]}
  - {source: 12 CFR 1005.13, says: Records are kept, not_enforced: The store keeps them}
"""
    entry = load_text(GOOD.replace("\nsteps:", f"{rules}steps:"), "loan.yaml")
    assert [(one.source, one.enforced_by, one.not_enforced) for one in entry.rules] == [
        ("12 CFR 1005.11", ("pull", "sign"), None),
        ("12 CFR 1005.13", (), "The store keeps them"),
    ]
    assert json.loads(entry.document)["rules"] == [
        {"source": "12 CFR 1005.11", "says": "Errors are investigated", "enforced_by": ["pull", "sign"]},
        {"source": "12 CFR 1005.13", "says": "Records are kept", "not_enforced": "The store keeps them"},
    ]
    assert load_json(entry.document).rules == entry.rules
    none = load_text(GOOD.replace("\nsteps:", "\nrules: []\nsteps:"), "loan.yaml")
    assert none.template.digest == load_text(GOOD, "loan.yaml").template.digest


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        ("enforced_by: [pull, nowhere]", "citation_refused at rules/0: nowhere is no step and no clock"),
        (
            "enforced_by: [pull], not_enforced: Not at all",
            "malformed at the document: rules.0: Value error, a rule has",
        ),
        ("enforced_by: []", "malformed at the document: rules.0: Value error, a rule has either"),
    ],
)
def test_a_rule_is_enforced_by_steps_that_are_there_or_says_why_by_none(rule: str, sentence: str) -> None:
    (found,) = refusal(GOOD.replace("\nsteps:", f"\nrules: [{{source: A law, says: A thing, {rule}}}]\nsteps:"))
    assert found.startswith(sentence)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (steps(f"id: Pull, {TASK}, next: done"), "illegal_id at Pull: "),
        (steps(f"id: a, {TASK}, next: done", f"id: a, {TASK}, next: done"), "duplicate_id at a: "),
        (steps(f"id: a, {TASK}, next: nowhere"), "unknown_node at nowhere: "),
        ("start: nowhere" + steps(f"id: a, {TASK}, next: done"), "unknown_node at nowhere: "),
        (steps("id: a, kind: task, label: A, effect: read, next: done"), "task_without_tool at a: "),
        (steps("id: a, kind: task, label: A, tool: t, next: done"), "task_without_tool at a: "),
        (steps("id: a, kind: gateway, label: A, next: done"), "gateway_without_flow at a: "),
        (steps("id: a, kind: end, label: A, outcome: a, next: done"), "end_with_exit at a: "),
        (
            steps(
                "id: a, kind: gateway, flow: exclusive, label: A, "
                "branches: [{when: 1 == 1, to: done}, {branch: b, to: done}]"
            ),
            "unlabelled_branch at a: ",
        ),
        (
            steps("id: a, kind: gateway, flow: exclusive, label: A, next: [done, done]"),
            "unlabelled_branch at a: ",
        ),
        (
            steps(
                "id: a, kind: gateway, flow: exclusive, label: A, "
                "branches: [{branch: b, when: 1 == 1, to: done}, {branch: b, to: done}]"
            ),
            "duplicate_branch at a: ",
        ),
        (
            steps("id: a, kind: gateway, flow: exclusive, label: A, branches: [{branch: b, to: done}]"),
            "no_choice at a: ",
        ),
        (
            steps(
                "id: a, kind: gateway, flow: exclusive, label: A, "
                "branches: [{branch: b, to: done}, {branch: c, to: done}]"
            ),
            "branch_without_condition at a: ",
        ),
        (steps(f"id: a, {TASK}, branches: [{{when: 1 == 1, to: done}}]"), "condition_off_gateway at a: "),
        (steps(f"id: a, {TASK}, next: {{denied: done}}"), "no_way_on at a: "),
        (steps(f"id: a, {TASK}"), "no_way_on at a: "),
        (
            steps(f"id: a, {TASK}, next: done, branches: [{{branch: denied, to: done}}, {{branch: denied, to: done}}]"),
            "duplicate_branch at a: ",
        ),
        (steps(f"id: a, {TASK}, next: [b, done]", f"id: b, {TASK}, next: done"), "several_ways_on at a: "),
        (steps(f"id: a, {TASK}, next: {{perhaps: done}}"), "unknown_branch at a: "),
        (steps(f"id: a, {TASK}, next: done", f"id: b, {TASK}, next: done"), "unreachable at b: "),
        (
            steps(f"id: a, {TASK}, next: {{approved: b, denied: done}}", f"id: b, {TASK}, next: b"),
            "no_end at b: ",
        ),
        (
            steps("id: a, kind: task, label: A, tool: t, effect: irreversible, next: done"),
            "ungated_irreversible at a: ",
        ),
        (
            steps(
                "id: f, kind: gateway, flow: parallel, label: F, next: [a, b]",
                f"id: a, {TASK}, next: done",
                f"id: b, {TASK}, next: done",
            ),
            "fork_without_join at f: ",
        ),
        (
            steps(
                "id: a, kind: gate, label: A, next: {approved: j, denied: b}",
                f"id: b, {TASK}, next: j",
                "id: j, kind: gateway, flow: parallel, label: J, next: done",
            ),
            "join_without_fork at j: ",
        ),
    ],
)
def test_a_broken_governance_rule_is_named_with_its_node(text: str, sentence: str) -> None:
    assert any(line.startswith(sentence) for line in refusal(text))


def test_a_task_whose_own_tier_is_a_gates_may_be_irreversible() -> None:
    load_text(steps("id: a, kind: task, tier: high, label: A, tool: t, effect: irreversible, next: done"), "x")


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("role: manager", "role: emperor", "unknown_role at sign: emperor is none of manager, admin, owner"),
        ("role: manager", "tool: pen", "misplaced_field at sign: a step of kind gate has no tool"),
        (
            "label: Paid, outcome: paid",
            "label: Paid, outcome: paid, role: owner",
            "misplaced_field at paid: ",
        ),
        ("label: Paid, outcome: paid", "label: Paid", "end_without_outcome at paid: "),
        ("inputs.amount > 3", "nope > 3", "condition_refused at pull: the expression does not compile"),
        ("inputs.amount > 3", "inputs.amount >", "condition_refused at pull: "),
        ("has(inputs.amount) && inputs.amount > 3", "inputs.amount", "condition_refused at pull: "),
        ("effect: read", "effect: magic", "malformed at pull: effect: "),
        ("effect: read", "effects: read", "malformed at pull: effects: Extra inputs"),
        (", signal_when: output.big == true", "", "signal_without_rule at pull: a dry run has signal: true, and no"),
        ("output.big == true", "output.big == false", "signal_without_rule at pull: a dry run has signal: true, and s"),
        (
            "has(inputs.amount) && inputs.amount > 3",
            "'inputs.l.all(a, inputs.l.all(b, a == b))'",
            "condition_refused at pull: a loop (all, exists, map, …) stands inside another one",
        ),
        ("output.big == true", "output.big", "condition_refused at pull: a condition answers true or false"),
        ("output.big == true", "facts.big == 1", "condition_refused at pull: the expression does not compile"),
        ("role: manager", "signal_when: 'true'", "misplaced_field at sign: a step of kind gate has no signal_when"),
        ("signal: true", "signal: 1", "malformed at pull: dry_run.0.signal: "),
        ("id: sign, ", "", "malformed at step 2: id: Field required"),
        ("id: sign, ", "id: 5, ", "malformed at step 2: id: "),
        ("kind: gate", "kind: door", "malformed at sign: kind: "),
        ("label: Sign", "label: ''", "malformed at sign: label: "),
        ("role: manager", "tier: extreme", "malformed at sign: tier: "),
        ("version: 1", "version: 0", "malformed at the document: version: "),
        ("version: 1", "version: true", "malformed at the document: version: "),
        ("vertical: loan", "vertical: Loan!", "malformed at the document: vertical: "),
        ("title: Loan", "titel: Loan", "malformed at the document: titel: Extra inputs"),
        ("amount: 5}", "amount: 5, day: 2026-01-01}", "malformed at the document: example.day"),
        ("amount: 5}", "amount: .nan}", "unreadable: line "),
        ("amount: 5}", "amount: five}", "example_refused at example/amount: the value is not of type"),
        ("amount: 5}", "other: 5}", 'example_refused at example: "amount" is a required property'),
        ("{type: object, required", "{type: array, required", "schema_refused at inputs_schema: "),
        ("{type: number}", "{type: numbr}", "schema_refused at inputs_schema: "),
        ("{type: number}", "{$ref: 'https://example.com/s.json'}", "schema_refused at inputs_schema: "),
        ("{type: number}", "{$ref: 'file:///etc/hostname'}", "schema_refused at inputs_schema: "),
        ("{type: number}", "{pattern: '^(?=a)b'}", "schema_refused at inputs_schema: a pattern looks around or back"),
        ("title: Loan", "title: Loan\ntitle: Loan", "unreadable: line 5: the key title appears twice"),
        ("output: {big: true", "output: {big: false, big: true", "unreadable: line 12: the key big appears twice"),
        ("title: Loan", "title: [Loan", "unreadable: "),
        ("title: Loan", "title: !!python/object/apply:os.getcwd []", "unreadable: "),
    ],
)
def test_a_malformed_document_is_refused_with_a_sentence_that_names_the_place(
    old: str, new: str, sentence: str
) -> None:
    assert old in GOOD
    assert any(line.startswith(sentence) for line in refusal(GOOD.replace(old, new, 1)))


@pytest.mark.parametrize("text", ["", "[]", "steps", "steps: 5", "steps: [5]", "a: &a [*a]", "[" * 5000])
def test_a_text_that_is_no_template_document_is_refused(text: str) -> None:
    assert refusal(text)


async def test_a_run_goes_on_by_a_version_from_before_the_rule_that_its_hit_needs_today() -> None:
    shelf, entry = Shelf(), load_text(GOOD, "loan.yaml")
    document = json.loads(entry.document)
    del document["steps"][0]["signal_when"]
    old = StoredTemplate(digest(document), "loan", 1, json.dumps(document))
    await shelf.keep_template(old)
    node = (await Catalog([version(2)], shelf).pinned("acme", old.digest)).node("pull")
    assert (node.dry_run[0].signal, node.signal_when) == (True, None)


async def test_the_template_of_an_action_is_kept_for_its_company_and_has_its_consent() -> None:
    shelf, rule = Shelf(), ActionRule(id="refunds", version=3, tool="stripe.*", decision="allow")
    document = Document.model_validate(action_document(rule, "aap:stripe.refund")).normalised()
    made = await Catalog([version(2)], shelf).keep_action("acme", canonical(document))
    again = Catalog([version(2)], shelf)
    found = await again.pinned("acme", made.digest)
    assert (found, found.vertical, found.version) == (made, "action", 3)
    assert (found.node("refunds").consent, found.node("refunds").handed, found.asks_company) == ("refunds", True, True)
    assert await again.pinned("acme", made.digest) is found


def test_a_file_is_not_the_process_of_actions(tmp_path: Path) -> None:
    (tmp_path / "action.yaml").write_text(GOOD.replace("vertical: loan", "vertical: action"), encoding="utf-8")
    with pytest.raises(TemplateRefused, match="reserved_vertical"):
        load_folder(tmp_path)


def test_no_document_from_outside_has_the_consent_of_a_rule() -> None:
    rule = ActionRule(id="refunds", tool="stripe.*", decision="allow")
    document = Document.model_validate(action_document(rule, "aap:stripe.refund")).normalised()
    node = load_json(json.dumps(document)).template.node("refunds")
    assert (node.consent, node.handed) == (None, False)


def test_all_that_is_wrong_is_said_at_once() -> None:
    text = GOOD.replace("role: manager", "role: emperor").replace("inputs.amount > 3", "nope > 3")
    assert len(refusal(text)) == 2


def test_input_errors_point_at_the_place_and_repeat_no_value() -> None:
    entry = load_text(GOOD, "loan.yaml")
    assert entry.input_errors({"amount": 5.5, "more": None}) == []
    errors = entry.input_errors({"amount": "my-secret", "a/b~c": ["x", 7]})
    assert sorted(pointer for pointer, _ in errors) == ["/inputs/amount", "/inputs/a~1b~0c/1"]
    assert all(detail.startswith("the value is not of type") for _, detail in errors)


def test_a_missing_member_is_no_error_of_the_inputs_and_one_of_the_example() -> None:
    entry = load_text(GOOD, "loan.yaml")
    assert entry.input_errors({}) == []
    lacking = replace(entry, example={})
    assert lacking.example_errors() == [("/inputs", '"amount" is a required property')]


def test_a_remote_schema_is_refused_without_a_connection() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        there = f"{{$ref: 'http://127.0.0.1:{server.getsockname()[1]}/s.json'}}"
        assert "nothing is fetched" in refusal(GOOD.replace("{type: number}", there))[0]
        with pytest.raises(BlockingIOError):
            server.accept()


def test_a_folder_is_loaded_by_file_name_and_other_files_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_text(GOOD, encoding="utf-8")
    (tmp_path / "a.yml").write_text(GOOD.replace("vertical: loan", "vertical: zebra"), encoding="utf-8")
    (tmp_path / "notes.txt").write_text("not a template", encoding="utf-8")
    assert [entry.template.vertical for entry in load_folder(tmp_path)] == ["zebra", "loan"]


def test_two_files_with_the_same_version_of_a_vertical_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(GOOD, encoding="utf-8")
    (tmp_path / "b.yaml").write_text(GOOD, encoding="utf-8")
    with pytest.raises(TemplateRefused, match=r"b\.yaml: duplicate_version: a\.yaml holds version 1 of loan"):
        load_folder(tmp_path)


def test_a_file_that_is_not_utf_8_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes(b"title: \xff")
    with pytest.raises(TemplateRefused, match=r"a\.yaml: unreadable: the file is not UTF-8"):
        load_folder(tmp_path)


async def test_the_highest_version_of_a_vertical_is_the_current_one() -> None:
    old, new = version(2), version(10)
    zebra = load_text(GOOD.replace("vertical: loan", "vertical: airplane"), "a.yaml")
    catalog = Catalog([new, zebra, old], Shelf())
    assert [one.entry for one in await catalog.entries("acme")] == [zebra, new]
    assert await catalog.current("acme", "loan") is new
    assert await catalog.current("acme", "unknown") is None
    assert await catalog.pinned("acme", old.template.digest) is old.template


async def test_opening_keeps_every_document_and_a_changed_version_is_a_mismatch() -> None:
    shelf = Shelf()
    await Catalog([version(1), version(2)], shelf).open()
    await Catalog([version(1), version(2)], shelf).open()
    assert sorted(kept.version for kept in shelf.kept.values()) == [1, 2]
    with pytest.raises(SchemaMismatch):
        await Catalog([version(1, "Changed")], shelf).open()


async def test_what_only_its_header_is_known_of_is_loaded_and_kept_when_a_run_of_it_starts() -> None:
    shelf, entry = Shelf(), version(1)
    loads: list[CatalogEntry] = []

    def load() -> CatalogEntry:
        loads.append(entry)
        return entry

    catalog = Catalog([LazyTemplate(entry.header, load)], shelf)
    await catalog.open()
    assert [one.header.title for one in await catalog.entries("acme")] == ["Loan"]
    assert (loads, shelf.kept) == ([], {})
    assert await catalog.current("acme", "loan") is entry
    await catalog.keep(entry.template.digest)
    await catalog.keep(entry.template.digest)
    assert await catalog.pinned("acme", entry.template.digest) is entry.template
    assert (loads, [one.document for one in shelf.kept.values()]) == ([entry], [entry.document])


async def test_a_header_that_its_template_does_not_have_is_no_way_to_start_another() -> None:
    catalog = Catalog([LazyTemplate(version(1).header, lambda: version(1, "Gift"))], Shelf())
    await catalog.open()
    with pytest.raises(ValueError, match="loan has the content of sha256:"):
        await catalog.current("acme", "loan")


async def test_of_the_library_what_is_in_use_alone_says_what_a_tool_takes() -> None:
    tools = "tools: {t: {input: {type: object}}}\nsteps:"
    described = load_text(GOOD.replace("steps:", tools).replace("tool: fetch", "tool: t"), "loan.yaml")
    packed = replace(described, pack="lending")
    assert await Catalog([packed], Shelf()).describing("acme", "t", ()) == []
    assert await Catalog([packed], Shelf()).describing("acme", "t", ("loan",)) == [packed]
    assert await Catalog([described], Shelf()).describing("acme", "t", ()) == [described]
    assert await Catalog([described], Shelf()).describing("acme", "other", ()) == []


async def test_a_run_keeps_its_template_after_a_newer_version_took_its_place() -> None:
    shelf, old = Shelf(), version(1)
    await Catalog([old], shelf).open()
    catalog = Catalog([version(2)], shelf)
    await catalog.open()
    shelf.asked = 0
    assert await catalog.pinned("acme", old.template.digest) == old.template
    assert await catalog.pinned("acme", old.template.digest) == old.template
    assert shelf.asked == 1
    with pytest.raises(KeyError):
        await catalog.pinned("acme", "sha256:unknown")


async def test_the_cache_of_old_versions_is_bounded() -> None:
    shelf, old = Shelf(), [version(number) for number in (1, 2, 3)]
    await Catalog(old, shelf).open()
    catalog = Catalog([], shelf, pinned_max=2)
    shelf.asked = 0
    for entry in (*old, old[2], old[1], old[0]):
        assert await catalog.pinned("acme", entry.template.digest) == entry.template
    assert shelf.asked == 4


async def test_a_stored_document_that_was_tampered_with_is_not_taken_for_the_template() -> None:
    shelf, entry = Shelf(), version(1)
    name = entry.template.digest
    shelf.kept[name] = StoredTemplate(name, "loan", 1, entry.document.replace("Loan", "Gift"))
    with pytest.raises(ValueError, match="has the content of"):
        await Catalog([], shelf).pinned("acme", name)


@pytest.mark.parametrize("text", ["00123", "0x1F", "1_000", "12:30", "190:20:30.5", "NO", "yes", "on", ".inf", "1."])
def test_what_yaml_would_read_as_another_value_than_it_looks_is_refused(text: str) -> None:
    with pytest.raises(YamlRefused, match=f"line 1: {text} is another value in YAML than it looks"):
        read_text(f"a: {text}")


@pytest.mark.parametrize("text", ["99999999999999999999", "12345678901234567.89"])
def test_a_number_of_yaml_that_would_lose_digits_is_refused(text: str) -> None:
    with pytest.raises(YamlRefused, match=f"line 1: {text} has more digits than can be kept"):
        read_text(f"a: {text}")


def test_numbers_and_booleans_as_json_has_them_are_read() -> None:
    text = "[1, -2, +3, 0, 1.50, -0.5, 1.5e+3, true, False, 'NO', '00123', ~]"
    assert read_text(text) == [1, -2, 3, 0, 1.5, -0.5, 1500.0, True, False, "NO", "00123", None]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a: &a [1]\nb: *a\n", "line 2: write it out, for there are no aliases here"),
        ("[" * 65 + "]" * 65, "line 1: it is nested more than 64 deep"),
        ("a" * (1024 * 1024 + 1), "the document is larger than 1048576 characters"),
    ],
)
def test_yaml_that_expands_is_nested_deep_or_large_is_refused(text: str, why: str) -> None:
    with pytest.raises(TemplateRefused, match=f"^a: unreadable: {why}"):
        load_text(text, "a")


def test_a_document_of_three_kilobytes_that_expands_to_gigabytes_is_refused_at_once() -> None:
    lines = ["a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 40)]
    with Effort() as effort, pytest.raises(TemplateRefused, match="there are no aliases here"):
        load_text("\n".join(lines), "bomb")
    assert effort.steps < 20_000


def test_a_file_that_is_too_large_is_not_read_to_its_end(tmp_path: Path) -> None:
    file = tmp_path / "large.yaml"
    with file.open("wb") as opened:
        opened.truncate(1024**4)
    with pytest.raises(TemplateRefused, match="the file is larger than 1048576 bytes"):
        load_file(file, file.name)


# ---------------------------------------------------------------------------------------- in pieces


class Pieces(Inline):
    """Does work at once, and counts how much each piece of it is."""

    def __init__(self) -> None:
        self.efforts: list[int] = []

    async def run_by_size(self, _company_id: str, _size: int, work: Callable[[], T]) -> T:
        with Effort() as effort:
            done = work()
        self.efforts.append(effort.steps)
        return done


def document(steps: int) -> str:
    task = "  - {{id: s{0}, {1}, needs: [inputs.amount], next: s{2}}}\n"
    tasks = "".join(task.format(number, TASK, number + 1) for number in range(steps))
    return load_text(f"{HEAD}\n{tasks}  - {{id: s{steps}, kind: end, label: E, outcome: e}}", "long.yaml").document


async def test_a_stored_template_is_made_in_pieces(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(loading, "PIECE_S", 0)
    for steps in (100, 400):
        compute, long = Pieces(), document(steps)
        assert await load(compute, "acme", long) == load_json(long)
        assert len(compute.efforts) > 2 * steps
        assert max(compute.efforts) < 50 * steps


async def test_a_template_of_the_library_is_read_beside_the_loop_and_once() -> None:
    compute, shelf = Pieces(), sorted(library(), key=lambda one: one.header.vertical)
    catalog, first = Catalog(shelf, Shelf(), compute=compute), shelf[0].header
    entry = await catalog.current(ACME, first.vertical)
    assert entry is not None
    assert await catalog.version(ACME, first.vertical, first.version) is entry
    assert await catalog.pinned(ACME, first.digest) is entry.template
    assert len(compute.efforts) == 1
    assert sum(one.is_loaded for one in shelf) == 1


def test_documents_and_the_contract_have_each_field_of_a_policy_with_its_default() -> None:
    plain = {one.name: one.default for one in fields(GatePolicy)}
    said = {name: one.default for name, one in PolicyFields.model_fields.items()}
    shown = {name: one.default for name, one in contract.GatePolicy.model_fields.items()}
    assert {"role": plain["role"], **said} == shown == plain


async def test_versions_that_are_published_here_are_known_without_reading_all_anew() -> None:
    shelf = Shelf()
    own = OwnTemplates(shelf)
    assert await own.versions_of(ACME) == {}
    for number in (1, 2):
        own.note(OwnVersion(ACME, "loan", number, f"sha256:{number}", "Loan", NOON, "ann"))
    own.note(OwnVersion(ACME, "loan", 1, "sha256:1", "Loan", NOON, "ann", NOON, "ann"))
    known = (await own.versions_of(ACME))["loan"]
    assert [(one.version, one.retired_at) for one in known] == [(2, None), (1, NOON)]
    assert shelf.asked == 1
