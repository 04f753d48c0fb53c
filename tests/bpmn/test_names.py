"""Names in any script: what differs in a file differs here, and no name breaks the service."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any
from xml.sax.saxutils import quoteattr

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.core.rules.graph import LEGAL_ID
from daemon.bpmn.names import apart, latin, slug
from daemon.bpmn.reading import graph_of, read_bpmn
from daemon.templates.publishing import NotATemplate

NAMES = st.one_of(
    st.text(max_size=40),
    st.text(st.sampled_from("aA-1 ßäöüéİı付款已批准κλжб ُ👍\u200d\n\t."), max_size=12),
    st.sampled_from(
        ["", "-", "123", "inputs", "facts", "a" * 300, "付款" * 100, "__proto__", "=x", "${x}", "a,b", "()"]
    ),
)


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("Größe geprüft", "groesse-geprueft"),
        ("Café Crème", "cafe-creme"),
        ("Оплата счёта", "oplata-schyota"),
        ("Πληρωμή", "plirom-u3ae".replace("-u3ae", "i")),
        ("付款", "u4ed8-u6b3e"),
        ("Łódź", "lodz"),
        ("-", ""),
    ],
)
def test_a_name_stays_readable_in_latin_letters(name: str, plain: str) -> None:
    assert latin(name) == plain


@given(st.lists(NAMES, max_size=20))
def test_names_that_differ_stay_apart_and_are_legal(names: list[str]) -> None:
    made = apart(names, lambda name: slug(name, "message"))
    assert len({*made.values()}) == len({*names})
    assert all(LEGAL_ID.fullmatch(one) for one in made.values())
    assert all(made[name] == name for name in names if slug(name, "message") == name)


def document(names: list[str]) -> str:
    """A process in which every name is one of these, wherever a file has names."""
    one = [quoteattr(name) for name in (names * 12)[:12]]
    return f"""<definitions xmlns:camunda="http://camunda.org/schema/1.0/bpmn"><message id={one[0]} name={one[1]}/>
      <process id="p" name={one[2]}><startEvent id="s" name={one[3]}/>
      <intermediateCatchEvent id="m" name={one[4]}><messageEventDefinition messageRef={one[0]}/>
      </intermediateCatchEvent>
      <receiveTask id="r" name={one[5]}/><exclusiveGateway id="g" name={one[6]} default={one[7]}/>
      <userTask id={one[8]} name={one[8]} camunda:candidateGroups={one[9]} camunda:dueDate={one[10]}/>
      <serviceTask id="t" name={one[11]}/><endEvent id="e1" name={one[0]}/><endEvent id="e2" name={one[1]}/>
      <sequenceFlow sourceRef="s" targetRef="m"/><sequenceFlow sourceRef="m" targetRef="r"/>
      <sequenceFlow sourceRef="r" targetRef="g"/><sequenceFlow id={one[7]} name={one[5]} sourceRef="g" targetRef="t"/>
      <sequenceFlow name={one[6]} sourceRef="g" targetRef={one[8]}/><sequenceFlow sourceRef="t" targetRef="e1"/>
      <sequenceFlow sourceRef={one[8]} targetRef="e2"/></process></definitions>"""


@settings(max_examples=400, deadline=None)
@given(st.lists(NAMES, min_size=1, max_size=12))
def test_whatever_the_names_are_the_answer_is_a_graph_or_a_refusal(names: list[str]) -> None:
    try:
        found = graph_of(document(names))
    except NotATemplate:  # an answer below 500
        return
    ids = [node["id"] for node in json.loads(found.document or "")["steps"]]
    assert len(ids) == len({*ids})
    assert all(map(LEGAL_ID.fullmatch, ids))


@settings(max_examples=200, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(["tool", "policy", "wait", "quorum", "dry_run", "needs", "x"]),
        st.recursive(
            st.none() | st.integers() | st.text(max_size=5) | st.floats(),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(st.sampled_from(["groups", "message", "within", "deadline"]), inner, max_size=3)
            ),
            max_leaves=6,
        ),
    )
)
def test_whatever_stands_where_this_service_writes_is_taken_or_refused(said: dict[str, Any]) -> None:
    text = quoteattr(json.dumps(said))[1:-1]
    for kind, word in (("userTask", "step"), ("receiveTask", "step"), ("serviceTask", "step"), ("process", "process")):
        own = f"<extensionElements><p:{word}>{text}</p:{word}></extensionElements>"
        inner = f"{own}<task id='a'/>" if kind == "process" else f"<{kind} id='a' name='A'>{own}</{kind}>"
        with suppress(NotATemplate):  # an answer below 500
            graph_of(f"<process xmlns:p='urn:penstock:bpmn:1'>{inner}</process>")


@pytest.mark.parametrize("name", ["付款", "123", "-", "Zahlung eingegangen", "支付"])
def test_a_message_of_any_name_is_waited_for_by_one_of_its_own(name: str) -> None:
    event = "<intermediateCatchEvent id='{0}'><messageEventDefinition messageRef='{0}'/></intermediateCatchEvent>"
    xml = f"<definitions><message id='a' name={quoteattr(name)}/><message id='b' name='支 付'/><process>"
    found = read_bpmn(f"{xml}{event.format('a')}{event.format('b')}</process></definitions>")
    first, second = (node["wait"]["message"] for node in found.nodes if node["kind"] == "wait")
    assert first != second
    assert all(map(LEGAL_ID.fullmatch, (first, second)))


def test_ends_with_names_that_differ_are_outcomes_that_differ_and_keep_their_letters() -> None:
    names = ["已批准", "已拒绝", "Größe geprüft", "Done", "DONE", ""]
    ends = "".join(f"<endEvent id='e{number}' name='{name}'/>" for number, name in enumerate(names))
    found = read_bpmn(f"<process><task id='a'/>{ends}</process>")
    outcomes = [node["outcome"] for node in found.nodes if node["kind"] == "end" and node["id"] != "end"]
    assert outcomes == ["已批准", "已拒绝", "größe geprüft", "done", "done 2", "done 3"]
