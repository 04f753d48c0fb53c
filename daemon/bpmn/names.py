# ruff: noqa: RUF001 - letters of other scripts
"""What BPMN 2.0 and this service call the same things, and which parts of BPMN may be left out.

Everything else is named: who decides, which way is taken, when, how often and what is caught must
never be lost in silence.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from xml.etree.ElementTree import Element

BPMN = "http://www.omg.org/spec/BPMN/20100524/MODEL"
DIAGRAM = "http://www.omg.org/spec/BPMN/20100524/DI"
SHAPES = "http://www.omg.org/spec/DD/20100524/DC"
LINES = "http://www.omg.org/spec/DD/20100524/DI"
PENSTOCK = "urn:penstock:bpmn:1"
"""The namespace of what BPMN has no word for: JSON in one element of a step or of the process."""
PREFIXES = {"bpmn": BPMN, "bpmndi": DIAGRAM, "dc": SHAPES, "di": LINES, "penstock": PENSTOCK}
EXTRA = "step"
WHOLE = "process"
START = "_start"
"""No step-id begins with a dash below, so that what is added cannot clash with one."""
GATEWAYS = {"exclusiveGateway": "exclusive", "parallelGateway": "parallel"}
TASKS = frozenset({"serviceTask", "task", "sendTask", "businessRuleTask", "scriptTask"})
GATES = frozenset({"userTask", "manualTask"})
EVENTS = frozenset({"endEvent", "intermediateCatchEvent", "intermediateThrowEvent"})
STEPS = TASKS | GATES | EVENTS | {*GATEWAYS, "receiveTask"}
SAID = (
    "tier",
    "tool",
    "effect",
    "role",
    "outcome",
    "signal_when",
    "policy",
    "wait",
    "compensate",
    "compensates",
    "question",
    "duty",
    "ends_clocks",
)
"""The members of a node that BPMN has no word for."""
WRITTEN = ("needs", "dry_run", "quorum")
"""The same of a document's step, which a node has not, or has in another form."""
OF_PROCESS = (
    "vertical",
    "version",
    "description",
    "inputs_schema",
    "example",
    "tools",
    "rules",
    "rehearsals",
    "judges",
    "clocks",
    "functions",
    "readers",
    "subjects",
)
"""The members of a document that its graph has not."""
NAME_MAX = 58
_LEGAL = re.compile(r"[a-z][a-z0-9-]{0,63}")
_OTHER = re.compile(r"[^a-z0-9]+")
_CYRILLIC = "а:a б:b в:v г:g д:d е:e ё:yo ж:zh з:z и:i й:j к:k л:l м:m н:n о:o п:p р:r с:s т:t у:u ф:f х:kh ц:ts \
ч:ch ш:sh щ:shch ъ:- ы:y ь:- э:e ю:yu я:ya і:i ї:yi є:ye ґ:g"
_GREEK = "α:a β:v γ:g δ:d ε:e ζ:z η:i θ:th ι:i κ:k λ:l μ:m ν:n ξ:x ο:o π:p ρ:r σ:s ς:s τ:t υ:y φ:f χ:ch ψ:ps ω:o"
_MORE = "ä:ae ö:oe ü:ue ß:ss æ:ae œ:oe ø:o đ:d ð:d ł:l ı:i þ:th"
_LETTERS = {one[0]: one[2:].strip("-") for one in f"{_CYRILLIC} {_GREEK} {_MORE}".split()}


def local(element: Element) -> str:
    """The name of an element without its namespace; comments have none."""
    return split(element.tag)[1]


def definitions_of(event: Element) -> list[Element]:
    """What an event catches or throws."""
    return [one for one in event if local(one).endswith(("EventDefinition", "eventDefinitionRef"))]


def split(name: object) -> tuple[str, str]:
    """The namespace and the name of an element or an attribute."""
    if not isinstance(name, str):
        return "", ""
    uri, _, plain = name.rpartition("}")
    return uri.removeprefix("{"), plain


def reference(given: str | None, known: Container[str]) -> str | None:
    """What a reference names: as it stands, or without the prefix of a qualified name."""
    if given is None or given in known:
        return given
    plain = given.strip().rpartition(":")[2]
    return plain if plain in known else None


def latin(name: str) -> str:
    """A name in the letters a to z, digits and dashes; a sign of another script by its number."""
    found = []
    for sign in unicodedata.normalize("NFC", name.lower()):
        plain = _LETTERS.get(sign)
        if plain is None:
            base = unicodedata.normalize("NFKD", sign)
            base = "".join(_LETTERS.get(one, one) for one in base if not unicodedata.combining(one))
            plain = base if base.isascii() else f"-u{ord(sign):x}-" if sign.isalnum() else "-"
        found.append(plain)
    return _OTHER.sub("-", "".join(found).lower()).strip("-")


def slug(name: str, word: str) -> str:
    """A legal name, which begins with a letter; `word` stands in front where the name does not."""
    plain = latin(name)[:NAME_MAX].strip("-")
    return plain if plain[:1].isalpha() else f"{word}-{plain}"[:NAME_MAX].strip("-")


def step_id(given: str, name: str, taken: Container[str]) -> str:
    """The id as it is where it may be a step's, else one made of the name."""
    if _LEGAL.fullmatch(given) and given not in ("inputs", "facts") and given not in taken:
        return given
    plain = slug(name or given, "step")
    return free(plain if plain not in ("inputs", "facts") else f"step-{plain}", taken)


def free(plain: str, taken: Container[str], between: str = "-") -> str:
    """The name with the first number that makes it one of its own."""
    number, found = 1, plain
    while found in taken:
        number += 1
        found = f"{plain}{between}{number}"
    return found


def apart(names: Iterable[str], made: Callable[[str], str], between: str = "-") -> dict[str, str]:
    """What is made of each name: what differs stays apart, and what may stay as it is does."""
    wanted = {name: made(name) for name in names}
    found = {name: name for name, plain in wanted.items() if plain == name}
    taken, last = {*found}, dict[str, int]()
    for name, plain in wanted.items():
        if name not in found:
            own = plain
            while own in taken:
                last[plain] = last.get(plain, 1) + 1
                own = f"{plain}{between}{last[plain]}"
            found[name] = own
            taken.add(own)
    return found


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
