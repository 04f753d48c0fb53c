"""What other tools draw: each attribute and part is taken over, means nothing, or is named."""

from __future__ import annotations

from typing import Any

import pytest

from actors.core.rules import Violation
from daemon.bpmn.reading import Imported, NoProcess, read_bpmn
from daemon.templates.graphs import Graph, document_of
from daemon.templates.loading import check

SPACES = (
    "xmlns='http://www.omg.org/spec/BPMN/20100524/MODEL' xmlns:camunda='http://camunda.org/schema/1.0/bpmn' "
    "xmlns:flowable='http://flowable.org/bpmn' xmlns:activiti='http://activiti.org/bpmn' xmlns:t='urn:t' "
    "xmlns:zeebe='http://camunda.org/schema/zeebe/1.0' xmlns:xsi='http://www.w3.org/2001/XMLSchema-instance' "
    "xmlns:bioc='http://bpmn.io/schema/bpmn/biocolor/1.0' xmlns:signavio='http://www.signavio.com'"
)


def flow(source: str, target: str, more: str = "", inner: str = "") -> str:
    return (
        f"<sequenceFlow id='{source}-{target}' sourceRef='{source}' targetRef='{target}' {more}>{inner}</sequenceFlow>"
    )


def when(text: str, more: str = "") -> str:
    return f"<conditionExpression {more}>{text}</conditionExpression>"


def process(*parts: str, root: str = "", more: str = "") -> Imported:
    return read_bpmn(f"<definitions {SPACES}>{root}<process id='p' {more}>{''.join(parts)}</process></definitions>")


def line(element: str, root: str = "") -> Imported:
    """A start, one element with the id `a`, and an end."""
    return process("<startEvent id='s'/>", element, "<endEvent id='e'/>", flow("s", "a"), flow("a", "e"), root=root)


def user_task(more: str = "", inner: str = "", root: str = "") -> Imported:
    return line(f"<userTask id='a' name='Check' {more}>{inner}</userTask>", root)


def all_wrong(found: Imported) -> tuple[Violation, ...]:
    """What is wrong with the file, and with the graph by the rules."""
    value = {"title": found.title, "start": found.start, "nodes": found.nodes, "edges": found.edges}
    document, astray, _ = document_of(Graph.model_validate(value), **found.more)
    return (*found.violations, *astray, *check(document)[1])


def node(found: Imported, name: str = "a") -> dict[str, Any]:
    return next(one for one in found.nodes if one["id"] == name)


def ways(found: Imported) -> list[tuple[str, str | None, str]]:
    return [(edge["source"], edge["branch"], edge["target"]) for edge in found.edges]


# ------------------------------------------------------------------------------------- who decides


def owner(text: str) -> str:
    expression = (
        f"<resourceAssignmentExpression><formalExpression>{text}</formalExpression></resourceAssignmentExpression>"
    )
    return f"<potentialOwner>{expression}</potentialOwner>"


@pytest.mark.parametrize(
    ("more", "inner", "groups"),
    [
        ("camunda:candidateGroups='board, finance'", "", ["board", "finance"]),
        ("flowable:candidateGroups='board'", "", ["board"]),
        ("activiti:candidateGroups='board'", "", ["board"]),
        ("candidateGroups='board'", "", ["board"]),
        ("", owner("management"), ["management"]),
        ("", owner("group(management)") + owner("group(board)"), ["management", "board"]),
        ("", "<potentialOwner><resourceRef>t:r</resourceRef></potentialOwner>", ["sales-team"]),
        (
            "",
            "<extensionElements><zeebe:assignmentDefinition candidateGroups='Größe, größe, 财务'/></extensionElements>",
            ["groesse", "groesse-2", "u8d22-u52a1"],
        ),
        ("camunda:candidateGroups='Finance, finance'", "", ["finance-2", "finance"]),
    ],
)
def test_groups_that_may_decide_are_those_of_the_gate(more: str, inner: str, groups: list[str]) -> None:
    found = user_task(more, inner, root="<resource id='r' name='Sales team'/>")
    assert all_wrong(found) == ()
    assert node(found)["policy"] == {"groups": groups}


@pytest.mark.parametrize(
    ("more", "inner", "said"),
    [
        ("camunda:assignee='ann'", "", "assignee=ann"),
        ("camunda:candidateUsers='ann'", "", "candidateUsers=ann"),
        ("camunda:candidateGroups='${groups}'", "", "candidateGroups=${groups}"),
        ("camunda:candidateGroups=' , '", "", "candidateGroups="),
        ("t:candidateGroups='board'", "", "candidateGroups=board"),
        ("", owner("user(ann)"), "potentialOwner=user(ann)"),
        ("", "<potentialOwner><resourceRef>gone</resourceRef></potentialOwner>", "potentialOwner=gone"),
        ("", "<potentialOwner/>", "potentialOwner"),
        ("", "<humanPerformer/>", "humanPerformer"),
        ("", "<performer/>", "performer"),
        ("", "<resourceRole/>", "resourceRole"),
        ("", "<extensionElements><zeebe:assignmentDefinition assignee='=x'/></extensionElements>", "assignee==x"),
        ("", "<extensionElements><zeebe:priorityDefinition priority='9'/></extensionElements>", "priorityDefinition"),
        ("", "<extensionElements><zeebe:taskSchedule followUpDate='P1D'/></extensionElements>", "followUpDate=P1D"),
        ("", "<extensionElements><zeebe:formDefinition formId='f'/></extensionElements>", "formDefinition"),
        ("", "<extensionElements><camunda:taskListener event='create'/></extensionElements>", "taskListener"),
        ("camunda:formKey='f'", "", "formKey=f"),
        ("camunda:priority='9'", "", "priority=9"),
        ("camunda:followUpDate='P1D'", "", "followUpDate=P1D"),
        ("camunda:dueDate='${due}'", "", "dueDate=${due}"),
        ("camunda:dueDate='2027-01-01'", "", "dueDate=2027-01-01"),
        (
            "",
            (
                "<ioSpecification><dataInput id='i' name='ActorId'/></ioSpecification><dataInputAssociation>"
                "<targetRef>i</targetRef><assignment><from>ann</from></assignment></dataInputAssociation>"
            ),
            "ActorId=ann",
        ),
    ],
)
def test_what_else_says_who_decides_or_when_is_named_with_its_place(more: str, inner: str, said: str) -> None:
    (wrong,) = user_task(more, inner).violations
    assert (wrong.rule, wrong.node) == ("unsupported_element", "a")
    assert said in wrong.detail
    assert "userTask a (Check)" in wrong.detail


@pytest.mark.parametrize(
    ("element", "said"),
    [
        ("<laneSet><lane partitionElementRef='r'/></laneSet>", "partitionElementRef"),
        ("<laneSet><lane><partitionElement/></lane></laneSet>", "partitionElement"),
        ("<potentialOwner/>", "potentialOwner"),
    ],
)
def test_a_lane_or_a_process_that_says_who_acts_is_named(element: str, said: str) -> None:
    found = process("<userTask id='a'/>", element, more="camunda:candidateStarterGroups='board'")
    assert [said in one.detail for one in found.violations].count(True) == 1
    assert any("candidateStarterGroups=board" in one.detail for one in found.violations)


def test_a_due_date_is_the_deadline_of_which_the_author_says_what_happens_then() -> None:
    found = user_task("camunda:dueDate='PT48H'")
    assert node(found)["policy"] == {"deadline": "PT48H"}
    assert [one.rule for one in all_wrong(found)] == ["on_deadline_refused"]


# ----------------------------------------------------------------------- when, how often, and what


@pytest.mark.parametrize(
    ("element", "said"),
    [
        ("<serviceTask id='a' isForCompensation='true'/>", "isForCompensation=true"),
        ("<task id='a' startQuantity='2'/>", "startQuantity=2"),
        ("<task id='a' completionQuantity='2'/>", "completionQuantity=2"),
        ("<task id='a'><standardLoopCharacteristics/></task>", "standardLoopCharacteristics"),
        ("<task id='a'><multiInstanceLoopCharacteristics/></task>", "multiInstanceLoopCharacteristics"),
        ("<receiveTask id='a' instantiate='true'/>", "instantiate=true"),
        ("<serviceTask id='a' camunda:asyncBefore='true'/>", "asyncBefore=true"),
        ("<serviceTask id='a' camunda:class='x.Y'/>", "class=x.Y"),
        ("<serviceTask id='a' t:often='9'/>", "often=9"),
        ("<serviceTask id='a'><extensionElements><t:x/></extensionElements></serviceTask>", "extension x"),
        (("<serviceTask id='a'><extensionElements><zeebe:taskDefinition type='t' retries='9'/></extensionElements>"
         "</serviceTask>"), "retries=9"),
        ("<scriptTask id='a'><script>x = 1</script></scriptTask>", "script"),
        ("<task id='a'><eventDefinitionRef>x</eventDefinitionRef></task>", "eventDefinitionRef"),
        ("<exclusiveGateway id='a' eventGatewayType='Parallel'/>", "eventGatewayType=Parallel"),
        (
            "<intermediateCatchEvent id='a' parallelMultiple='true'><messageEventDefinition/></intermediateCatchEvent>",
            "parallelMultiple=true",
        ),
    ],
)  # fmt: skip
def test_what_says_when_how_often_or_what_is_caught_is_named(element: str, said: str) -> None:
    assert [said in one.detail for one in line(element).violations] == [True]


@pytest.mark.parametrize(
    "element",
    [
        "<subProcess id='a' triggeredByEvent='true'/>",
        "<callActivity id='a' name='Pay'/>",
        "<inclusiveGateway id='a'/>",
        "<intermediateCatchEvent id='a'><signalEventDefinition/></intermediateCatchEvent>",
        "<intermediateCatchEvent id='a'><eventDefinitionRef>x</eventDefinitionRef></intermediateCatchEvent>",
        "<intermediateCatchEvent id='a'><messageEventDefinition messageRef='gone'/></intermediateCatchEvent>",
        "<intermediateThrowEvent id='a'><escalationEventDefinition/></intermediateThrowEvent>",
        "<endEvent id='a'><errorEventDefinition/></endEvent>",
        "<eventBasedGateway id='a'/>",
    ],
)
def test_an_element_without_a_counterpart_is_named_and_the_graph_has_a_gap_there(element: str) -> None:
    found = line(element)
    assert [one.rule for one in found.violations] == ["unsupported_element"]
    assert " a" in found.violations[0].detail
    assert [one["id"] for one in found.nodes] == ["e"]


def test_a_lone_call_activity_is_named_in_a_clear_sentence() -> None:
    with pytest.raises(NoProcess, match=r"callActivity a \(Pay\) calls another process"):
        process("<callActivity id='a' name='Pay'/>")


@pytest.mark.parametrize("event", ["timer", "signal", "message", "conditional"])
def test_a_start_by_an_event_is_named(event: str) -> None:
    found = process(f"<startEvent id='s'><{event}EventDefinition/></startEvent><task id='a'/>", flow("s", "a"))
    (wrong,) = found.violations
    assert f"{event}EventDefinition at s has no counterpart" in wrong.detail


@pytest.mark.parametrize(
    "event",
    [
        "<boundaryEvent id='b' attachedToRef='a' cancelActivity='false'><errorEventDefinition/></boundaryEvent>",
        "<boundaryEvent id='b' attachedToRef='a'><errorEventDefinition errorRef='x'/></boundaryEvent>",
        "<boundaryEvent id='b' attachedToRef='a'><messageEventDefinition/></boundaryEvent>",
        (
            "<boundaryEvent id='b' attachedToRef='a'><timerEventDefinition><timeDuration>PT1H</timeDuration>"
            "</timerEventDefinition></boundaryEvent>"
        ),
        "<boundaryEvent id='b' attachedToRef='gone'><errorEventDefinition/></boundaryEvent>",
    ],
)
def test_an_event_at_the_border_of_a_task_is_taken_only_for_any_error(event: str) -> None:
    found = process("<task id='a'/><endEvent id='e'/>", event, flow("a", "e"), flow("b", "e"))
    assert [one.rule for one in found.violations] == ["unsupported_element"]


def timed(cancel: str, target: str) -> Imported:
    timer = "<timerEventDefinition><timeDuration>PT48H</timeDuration></timerEventDefinition>"
    return process(
        "<userTask id='a' camunda:candidateGroups='board'/><endEvent id='yes'/><endEvent id='no'/>",
        f"<boundaryEvent id='b' attachedToRef='t:a' {cancel}>{timer}</boundaryEvent>",
        *(flow("a", "yes", "name='Approved'"), flow("a", "no", "name='Denied'"), flow("b", target)),
    )


def test_a_timer_of_a_user_task_that_leads_where_a_denial_does_is_its_deadline() -> None:
    found = timed("", "no")
    assert all_wrong(found) == ()
    assert node(found)["policy"] == {"groups": ["board"], "deadline": "PT48H", "on_deadline": "denied"}
    for cancel, target in (("", "yes"), ("cancelActivity='false'", "no")):
        wrong = timed(cancel, target).violations
        assert [one.node for one in wrong] == ["a"]
        assert "boundaryEvent b" in wrong[0].detail


@pytest.mark.parametrize(
    "time",
    [
        *(f"<timeDate>{one}</timeDate>" for one in ("${due}", "now", "=date", "2027-01-01", "2027-01-01T10:00:00")),
        *(f"<timeDate>{one}</timeDate>" for one in ("2027-02-31T10:00:00Z", 'timestamp("soon")', "#{x}", "1 < 2")),
        *(f"<timeDuration>{one}</timeDuration>" for one in ("${d}", "=duration", "two days", "P0D", "duration('1h')")),
        "<timeCycle>R3/PT1H</timeCycle>",
    ],
)
def test_a_time_that_can_never_come_is_named_and_the_step_cannot_be_published(time: str) -> None:
    timer = f"<timerEventDefinition>{time.replace('1 <', '1 &lt;')}</timerEventDefinition>"
    found = line(f"<intermediateCatchEvent id='a'>{timer}</intermediateCatchEvent>")
    assert [(one.rule, one.node) for one in all_wrong(found)] == [("unsupported_element", "a"), ("wait_refused", "a")]


@pytest.mark.parametrize(
    ("time", "wait"),
    [
        ("<timeDuration>PT1H</timeDuration>", {"duration": "PT1H"}),
        ("<timeDate>2027-01-01T10:00Z</timeDate>", {"until": 'timestamp("2027-01-01T10:00:00Z")'}),
        ("<timeDate>2027-01-01T10:00:00.5+01:00</timeDate>", {"until": 'timestamp("2027-01-01T10:00:00.5+01:00")'}),
        ("<timeDate>timestamp(inputs.at)</timeDate>", {"until": "timestamp(inputs.at)"}),
    ],
)
def test_a_time_that_can_come_is_waited_for(time: str, wait: dict[str, str]) -> None:
    timer = f"<timerEventDefinition>{time}</timerEventDefinition>"
    found = line(f"<intermediateCatchEvent id='a'>{timer}</intermediateCatchEvent>")
    assert all_wrong(found) == ()
    assert node(found)["wait"] == wait


def test_of_two_times_of_a_timer_the_second_is_named() -> None:
    times = "<timeDuration>PT1H</timeDuration><timeDate>2027-01-01T10:00Z</timeDate>"
    timer = f"<timerEventDefinition>{times}</timerEventDefinition>"
    found = line(f"<intermediateCatchEvent id='a'>{timer}</intermediateCatchEvent>")
    assert ["timeDate 2027-01-01T10:00Z" in one.detail for one in found.violations] == [True]
    assert node(found)["wait"] == {"duration": "PT1H"}


def test_a_gateway_that_waits_for_a_message_or_a_time_is_one_wait() -> None:
    timer = "<timerEventDefinition><timeDuration>P3D</timeDuration></timerEventDefinition>"
    found = process(
        f"<intermediateCatchEvent id='t'>{timer}</intermediateCatchEvent><receiveTask id='m' name='Answer'/>",
        "<startEvent id='s'/><eventBasedGateway id='g'/><endEvent id='yes'/><endEvent id='no'/>",
        *(flow("s", "g"), flow("g", "t"), flow("g", "m"), flow("t", "no"), flow("m", "yes")),
    )
    assert all_wrong(found) == ()
    assert (found.start, node(found, "m")["wait"]) == ("m", {"message": "answer", "within": "P3D"})
    assert ways(found) == [("m", "message", "yes"), ("m", "timeout", "no")]


# ------------------------------------------------------------------------- the same in other forms


def choice(*flows: str, default: str = "") -> Imported:
    return process(
        f"<startEvent id='s'/><exclusiveGateway id='g' {default}/><userTask id='a'/><userTask id='b'/>",
        *("<endEvent id='e'/>", flow("s", "g"), *flows, flow("a", "e"), flow("b", "e")),
    )


BIG = flow("g", "b", "name='big'", when("inputs.amount &gt; 100.0"))


@pytest.mark.parametrize(
    "flows",
    [
        (flow("g", "a"), BIG),
        (BIG, flow("g", "a")),
        (flow("g", "a", inner=when("inputs.amount &gt; 0.0")), BIG),
        (flow("g", "a", inner=when("${old}")), BIG),
    ],
    ids=["first", "last", "with a condition", "with a condition of another engine"],
)
def test_the_default_is_taken_last_without_a_name_and_without_its_condition(flows: tuple[str, ...]) -> None:
    for default in ("default='g-a'", "default='t:g-a'"):
        found = choice(*flows, default=default)
        assert all_wrong(found) == ()
        branches = [(edge["branch"], edge["when"], edge["target"]) for edge in found.edges if edge["source"] == "g"]
        assert branches == [("big", "inputs.amount > 100.0", "b"), ("otherwise", None, "a")]


def test_a_default_that_is_no_flow_of_its_gateway_is_named() -> None:
    found = choice(flow("g", "a", "name='small'", when("inputs.amount &lt; 5.0")), BIG, default="default='a-e'")
    assert ["default=a-e" in one.detail for one in found.violations] == [True]


@pytest.mark.parametrize(
    ("inner", "why"),
    [
        (when("${x}"), "${x}"),
        (when("x", "language='groovy'"), "groovy"),
        (when("", "camunda:resource='r'"), "elsewhere"),
    ],
)
def test_a_condition_of_another_language_is_dropped_and_named(inner: str, why: str) -> None:
    found = choice(flow("g", "a", "name='a'", inner), BIG)
    wrong = [one for one in found.violations if one.rule == "condition_refused"]
    assert [(why in one.detail, one.edge is not None) for one in wrong] == [(True, True)]


def test_a_gateway_that_only_merges_and_a_milestone_are_passed() -> None:
    found = process(
        "<startEvent id='s'/><intermediateThrowEvent id='half'/><exclusiveGateway id='g' default='g-m'/>",
        "<userTask id='a'/><exclusiveGateway id='m'/><parallelGateway id='one'/><endEvent id='e'/>",
        *(flow("s", "half"), flow("half", "g"), flow("g", "m"), flow("a", "m"), flow("m", "one"), flow("one", "e")),
        flow("g", "a", "name='yes'", when("inputs.amount &gt; 100.0")),
    )
    assert all_wrong(found) == ()
    assert ways(found) == [("g", "yes", "a"), ("g", "otherwise", "e"), ("a", None, "e")]


def test_a_merge_in_front_of_a_join_stays_since_the_join_waits_for_one_way_of_each_branch() -> None:
    found = process(
        "<startEvent id='s'/><parallelGateway id='f'/><parallelGateway id='j'/><endEvent id='e'/>",
        "<userTask id='a'/><exclusiveGateway id='g' default='g-b'/><userTask id='b'/><userTask id='c'/>",
        *("<exclusiveGateway id='m'/>", flow("s", "f"), flow("f", "a"), flow("f", "g"), flow("g", "b"), flow("b", "m")),
        *(
            flow("g", "c", "name='x'", when("inputs.x == true")),
            flow("c", "m"),
            flow("m", "j"),
            flow("a", "j"),
            flow("j", "e"),
        ),
    )
    assert all_wrong(found) == ()
    assert ("m", "j", "j") in ways(found)


def test_several_ways_on_from_a_task_are_a_fork_and_a_path_without_an_end_ends() -> None:
    found = process(
        "<startEvent id='s'/><userTask id='x'/><userTask id='a'/><userTask id='b'/><parallelGateway id='j'/>",
        *(flow("s", "x"), flow("x", "a"), flow("x", "b"), flow("a", "j"), flow("b", "j")),
    )
    assert all_wrong(found) == ()
    assert ways(found)[:3] == [("x-fork", None, "a"), ("x-fork", None, "b"), ("x", None, "x-fork")]
    assert ways(found)[-1] == ("j", None, "end")


def test_lanes_pools_data_colours_and_notes_are_no_hindrance() -> None:
    diagram = "<signavio:signavioMetaData metaKey='bgcolor' metaValue='#fff'/><camunda:properties/>"
    found = process(
        "<laneSet><lane id='one'><flowNodeRef>a</flowNodeRef><childLaneSet/></lane><lane id='two'/></laneSet>",
        "<startEvent id='s'/><userTask id='a' bioc:fill='#fff' xsi:type='tUserTask' implementation='##unspecified'",
        f" startQuantity='1'><documentation>Why</documentation><extensionElements>{diagram}</extensionElements>",
        "<incoming>x</incoming><dataInputAssociation><sourceRef>d</sourceRef></dataInputAssociation></userTask>",
        "<dataObject id='d'/><dataObjectReference/><dataStoreReference/><textAnnotation/><association/><group/>",
        flow("s", "a"),
        root="<collaboration><participant processRef='p'/><messageFlow id='f'/></collaboration>",
    )
    assert all_wrong(found) == ()


def pools(first: str, second: str) -> Imported:
    return read_bpmn(
        f"<definitions {SPACES}><process id='p' {first}><task id='a'/><task id='b'/></process>"
        f"<process id='q' {second}><userTask id='c'/></process></definitions>"
    )


def test_of_several_pools_the_executable_one_is_taken_and_else_the_others_are_named() -> None:
    found = pools("isExecutable='false'", "isExecutable='true'")
    assert (found.violations, [one["id"] for one in found.nodes]) == ([], ["c", "end"])
    for both in ("", "isExecutable='true'"):
        assert ["second process" in one.detail for one in pools(both, both).violations] == [True]


def test_an_executable_process_that_only_calls_others_is_named() -> None:
    other = "<process id='p' isExecutable='true'><startEvent/><callActivity/></process>"
    found = read_bpmn(f"<definitions {SPACES}>{other}<process id='q'><task id='a'/></process></definitions>")
    assert ["process p is a second process" in one.detail for one in found.violations] == [True]


def test_a_pool_that_there_are_several_of_is_named() -> None:
    several = "<participant processRef='p'><participantMultiplicity id='m' minimum='2' maximum='5'/></participant>"
    found = process("<task id='a'/>", root=f"<collaboration>{several}</collaboration>")
    assert ["participantMultiplicity m" in one.detail for one in found.violations] == [True]


@pytest.mark.parametrize("target", ["s", "b", "d"])
def test_a_flow_to_what_no_flow_enters_is_named(target: str) -> None:
    found = process(
        "<startEvent id='s'/><userTask id='a'/><endEvent id='e'/><dataObject id='d'/>",
        "<boundaryEvent id='b' attachedToRef='a'><errorEventDefinition/></boundaryEvent>",
        *(flow("s", "a"), flow("a", "e", "name='approved'"), flow("b", "e"), flow("a", target, "name='denied'")),
    )
    assert [f"sequenceFlow a-{target} (denied)" in one.detail for one in found.violations] == [True]


@pytest.mark.parametrize("conditional", ["b", "t", "m"])
def test_a_condition_behind_an_event_is_named(conditional: str) -> None:
    timer = "<timerEventDefinition><timeDuration>P3D</timeDuration></timerEventDefinition>"
    inner = {conditional: when("inputs.x == true")}
    found = process(
        "<startEvent id='s'/><serviceTask id='a'/><eventBasedGateway id='g'/><endEvent id='e'/>",
        f"<intermediateCatchEvent id='t'>{timer}</intermediateCatchEvent><receiveTask id='m' name='Answer'/>",
        "<boundaryEvent id='b' attachedToRef='a'><errorEventDefinition/></boundaryEvent>",
        *(flow("s", "a"), flow("a", "g"), flow("g", "t"), flow("g", "m")),
        *(flow(one, "e", inner=inner.get(one, "")) for one in "btm"),
    )
    assert [f"sequenceFlow {conditional}-e has a condition" in one.detail for one in found.violations] == [True]


def test_a_flow_from_or_to_nothing_and_a_circle_without_a_step_are_named() -> None:
    found = process("<task id='a'/>", flow("a", "gone"), flow("gone", "a"))
    assert [one.detail.split(" leads")[1] for one in found.violations] == [" from or to nothing in this process"] * 2
    found = process(
        "<task id='a'/><exclusiveGateway id='x'/><exclusiveGateway id='y'/>",
        *(flow("a", "x"), flow("x", "y"), flow("y", "x")),
    )
    assert ["leads in a circle" in one.detail for one in found.violations] == [True]


def test_an_end_that_ends_all_branches_is_named_where_there_are_several() -> None:
    end = "<endEvent id='e'><terminateEventDefinition/></endEvent>"
    assert process("<task id='a'/>", end, flow("a", "e")).violations == []
    found = process("<parallelGateway id='f'/><task id='a'/>", end, flow("f", "a"), flow("f", "e"), flow("a", "e"))
    assert ["ends all branches at once" in one.detail for one in found.violations] == [True]


def test_a_message_that_is_thrown_is_sent_by_a_task() -> None:
    found = process(
        "<startEvent id='s'/><intermediateThrowEvent id='a' name='Tell'><messageEventDefinition/>",
        "</intermediateThrowEvent><endEvent id='e' name='Told all'><messageEventDefinition/></endEvent>",
        *(flow("s", "a"), flow("a", "e")),
    )
    assert found.violations == []
    assert [(one["id"], one["kind"], one.get("effect"), one.get("outcome")) for one in found.nodes] == [
        ("a", "task", "irreversible", None),
        ("e", "task", "irreversible", None),
        ("e-end", "end", None, "told all"),
    ]
    assert ways(found) == [("a", None, "e"), ("e", None, "e-end")]


def test_the_type_of_a_job_is_the_tool() -> None:
    job = "<extensionElements><zeebe:taskDefinition type='send-mail'/></extensionElements>"
    for task in (
        f"<serviceTask id='a'>{job}</serviceTask>",
        "<serviceTask id='a' camunda:type='external' camunda:topic='send-mail'/>",
    ):
        found = line(task)
        assert (found.violations, node(found)["tool"]) == ([], "send-mail")
    wrong = line(f"<serviceTask id='a'>{job.replace('send-mail', '=x + 1')}</serviceTask>")
    assert (["is no name of a tool" in one.detail for one in wrong.violations], node(wrong)["tool"]) == ([True], "a")


def test_a_time_that_another_tool_changed_counts_before_what_this_service_wrote() -> None:
    said = '{"wait": {"message": "papers", "within": "P1D"}}'
    own = f"<extensionElements><p:step xmlns:p='urn:penstock:bpmn:1'>{said}</p:step></extensionElements>"
    event = "<messageEventDefinition messageRef='m'/>"
    found = line(
        f"<intermediateCatchEvent id='a'>{own}{event}</intermediateCatchEvent>", "<message id='m' name='other'/>"
    )
    assert (found.violations, node(found)["wait"]) == ([], {"message": "other", "within": "P1D"})
