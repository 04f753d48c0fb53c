"""Attributes and parts of BPMN elements that are read, or say nothing of way, rights or time.

Everything else is named: who decides, which way is taken, when, how often and what is caught must
never be lost in silence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from xml.etree.ElementTree import Element

from daemon.bpmn.names import BPMN, EXTRA, GATES, GATEWAYS, PENSTOCK, TASKS, WHOLE, local, split

ANY: frozenset[str] = frozenset()
NO = frozenset({"false", "0"})
YES = frozenset({"true", "1"})
ONE = frozenset({"1"})
Values = Mapping[str, frozenset[str]]
"""Attributes, and the values with which they say nothing more; all with ANY."""

_COMMON: Values = {"id": ANY, "name": ANY}
_ACTIVITY: Values = {
    "isForCompensation": NO,
    "startQuantity": ONE,
    "completionQuantity": ONE,
    "default": ANY,
    "implementation": ANY,
    "operationRef": ANY,
}
_TEXT: Values = {"language": ANY, "evaluatesToTypeRef": ANY}
ATTRIBUTES: Mapping[str, Values] = {
    **dict.fromkeys(TASKS | GATES, _ACTIVITY),
    "sendTask": {**_ACTIVITY, "messageRef": ANY},
    "receiveTask": {**_ACTIVITY, "messageRef": ANY, "instantiate": NO},
    "scriptTask": {**_ACTIVITY, "scriptFormat": ANY},
    "startEvent": {"isInterrupting": ANY, "parallelMultiple": NO},
    "endEvent": {},
    "intermediateThrowEvent": {},
    "intermediateCatchEvent": {"parallelMultiple": NO},
    "boundaryEvent": {"parallelMultiple": NO, "attachedToRef": ANY, "cancelActivity": YES},
    "exclusiveGateway": {"gatewayDirection": ANY, "default": ANY},
    "parallelGateway": {"gatewayDirection": ANY},
    "eventBasedGateway": {"gatewayDirection": ANY, "instantiate": NO, "eventGatewayType": frozenset({"Exclusive"})},
    "sequenceFlow": {"sourceRef": ANY, "targetRef": ANY, "isImmediate": ANY},
    "process": {"isExecutable": ANY, "processType": ANY, "isClosed": ANY, "definitionalCollaborationRef": ANY},
    "laneSet": {},
    "lane": {},
    "messageEventDefinition": {"messageRef": ANY},
    "timerEventDefinition": {},
    "terminateEventDefinition": {},
    "errorEventDefinition": {},
    "linkEventDefinition": {},
    "conditionExpression": _TEXT,
    "timeDuration": _TEXT,
    "timeDate": _TEXT,
}
_ABOUT = frozenset(["documentation", "extensionElements", "categoryValueRef", "auditing", "monitoring"])
_FLOWS = frozenset({"incoming", "outgoing"})
_DATA = frozenset(["property", "ioSpecification", "dataInputAssociation", "dataOutputAssociation"])
_DATA_OF_EVENT = _DATA | {"dataInput", "dataOutput", "inputSet", "outputSet"}
DATA = frozenset(
    ["dataObject", "dataObjectReference", "dataStoreReference", "textAnnotation", "association", "group", "artifact"]
)
"""What a process shows beside its way."""
PARTS: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(TASKS | GATES | {"receiveTask"}, _FLOWS | _DATA),
    **dict.fromkeys({*GATEWAYS, "eventBasedGateway"}, _FLOWS),
    **dict.fromkeys(
        ("startEvent", "endEvent", "intermediateThrowEvent", "intermediateCatchEvent", "boundaryEvent"),
        _FLOWS | _DATA_OF_EVENT,
    ),
    "sequenceFlow": frozenset({"conditionExpression"}),
    "process": DATA | {"property", "ioSpecification", "supports", "supportedInterfaceRef", "ioBinding"},
    "laneSet": frozenset({"lane"}),
    "lane": frozenset({"flowNodeRef", "childLaneSet"}),
    "timerEventDefinition": frozenset({"timeDuration", "timeDate"}),
    "messageEventDefinition": frozenset({"operationRef"}),
    "linkEventDefinition": frozenset({"source", "target"}),
}

CAMUNDA = "http://camunda.org/schema/1.0/bpmn"
ZEEBE = "http://camunda.org/schema/zeebe/1.0"
ENGINES = frozenset({CAMUNDA, "http://activiti.org/bpmn", "http://flowable.org/bpmn", ""})
"""Engines that say with the same words who decides, and by when; files without namespaces, too."""
BIZAGI = "http://www.bizagi.com/bpmn20"
_BIZAGI = frozenset({"BizagiExtensions", "BizagiProperties", "BizagiProperty"})
SIGNAVIO = "http://www.signavio.com"
_SHOWS = frozenset(
    [
        "http://www.w3.org/2001/XMLSchema-instance",
        "http://www.w3.org/XML/1998/namespace",
        "http://bpmn.io/schema/bpmn/biocolor/1.0",
        "http://www.omg.org/spec/BPMN/non-normative/color/1.0",
        "http://www.omg.org/spec/BPMN/non-normative/extensions/i18n/1.0",
        "http://www.omg.org/spec/BPMN/20100524/DI",
        "http://www.omg.org/spec/DD/20100524/DC",
        "http://www.omg.org/spec/DD/20100524/DI",
        "http://camunda.org/schema/modeler/1.0",
        "http://www.w4.eu/spec/BPMN/20110930/GRAPH",
        "http://bpmn.sourceforge.net",
    ]
)
"""Namespaces of colours, coordinates, translations and the settings of drawing tools."""
_MODELER: Values = {"modelerTemplate": ANY, "modelerTemplateVersion": ANY, "modelerTemplateIcon": ANY}
_PLAIN: Values = {
    **_MODELER,
    "exclusive": YES,
    "asyncBefore": NO,
    "asyncAfter": NO,
    "async": NO,
    "versionTag": ANY,
    "historyTimeToLive": ANY,
    "diagramRelationId": ANY,
}
FOREIGN: Mapping[str, Values] = {
    **{uri: _PLAIN for uri in ENGINES if uri},
    ZEEBE: _MODELER,
    "http://aeneis.de/bpmn20/ext": {"aenuid": ANY},
    "http://www.omninet.de/ot/bpmn/v1": {"alias": ANY, "displayName": ANY},
    "http://www.ibo.de/XML/BPMN": {"iboName": ANY},
}
EXTENSIONS = frozenset(
    [
        (PENSTOCK, EXTRA),
        (PENSTOCK, WHOLE),
        (CAMUNDA, "properties"),
        (ZEEBE, "properties"),
        (ZEEBE, "userTask"),
        (ZEEBE, "versionTag"),
        (SIGNAVIO, "signavioLabel"),
        (SIGNAVIO, "signavioDiagramMetaData"),
        (SIGNAVIO, "signavioStencil"),
        ("http://www.visual-paradigm.com/bpmn/vpspecificcontent", "bounds"),
        ("http://open-bpmn.org/XMLSchema", "auto-align"),
        ("http://www.igrafx.com/2011/bpmn", "name"),
    ]
)
"""Extension elements that are read, or are of the drawing and of documentation."""
META = frozenset(
    ["bgcolor", "bordercolor", "userstory", "messageposition", "revisionid", "documentationlink", "externaldocuments"]
)
"""Names of Signavio's metadata of the same kind."""


def strange(element: Element, read: frozenset[str] = frozenset()) -> Iterator[str]:
    """The attributes and parts that are neither read nor known to say nothing, each with its place.

    `read` are those that this element's reader takes: attributes, parts and extensions by name.
    """
    kind = local(element)
    for name, value in element.attrib.items():
        uri, plain = split(name)
        if plain not in read and not _silent(kind, uri, plain, value):
            yield f"the attribute {plain}={shortened(value)}"
    parts = _ABOUT | PARTS.get(kind, frozenset()) | read
    for part in element:
        plain = local(part)
        if plain and plain not in parts:
            yield f"the part {plain}"
        elif plain == "extensionElements":
            yield from (f"the extension {local(one)}" for one in part if _extends(one) and local(one) not in read)


def _silent(kind: str, uri: str, plain: str, value: str) -> bool:
    """Whether an attribute is read elsewhere, or says nothing."""
    if uri in _SHOWS:
        return True
    known = {**_COMMON, **ATTRIBUTES.get(kind, {})} if uri in ("", BPMN) else FOREIGN.get(uri, {})
    if plain not in known:
        return False
    return not known[plain] or value.strip() in known[plain]


def _extends(one: Element) -> bool:
    """Whether an extension element says something that is not read."""
    uri, plain = split(one.tag)
    if not plain or uri in _SHOWS or (uri, plain) in EXTENSIONS or (not uri and plain in (EXTRA, WHOLE)):
        return False
    if (uri, plain) == (BIZAGI, "BizagiExtensions"):
        return any(local(p) == "BizagiProperty" and not p.get("name", "").endswith("Color") for p in one.iter()) or any(
            local(p) not in _BIZAGI for p in one.iter()
        )
    if (uri, plain) == (SIGNAVIO, "signavioMetaData"):
        return one.get("metaValue", "").strip() not in ("", "[]") and one.get("metaKey") not in META
    return True


def shortened(value: str) -> str:
    """A text by its beginning, in one line."""
    text = " ".join(value.split())
    return f"{text[:60]}…" if len(text) > 60 else text  # noqa: PLR2004 - enough to find it by
