# ruff: noqa: RUF001 - letters of other scripts
"""The names that BPMN 2.0 and this service have for the same things."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Container, Iterable
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
)
"""The members of a node that BPMN has no word for."""
WRITTEN = ("needs", "dry_run", "quorum")
"""The same of a document's step, which a node has not, or has in another form."""
OF_PROCESS = ("vertical", "version", "description", "inputs_schema", "example", "tools", "rules", "judges")
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
