"""BPMN as a graph that is checked by all rules; of a large file by a process."""

from __future__ import annotations

from functools import partial

from msgspec.structs import replace

from daemon.bpmn.reading import MalformedXml, NoProcess, TooManySteps, imported
from daemon.templates.graphs import Graph, document_of
from daemon.templates.publishing import Checked, NotATemplate, by_process, examined, well_formed

KINDS = {MalformedXml: "malformed_xml", NoProcess: "no_process", TooManySteps: "too_large"}
"""Why there is no graph, as the kind of a fault."""
INLINE_CHARS_MAX = 8 * 1024


def graph_of(xml: str) -> Checked:
    """The graph of a BPMN document and its violations; NotATemplate where there is none."""
    if len(xml) > INLINE_CHARS_MAX:
        return by_process("bpmn", None, xml, partial(graph_here, xml))
    found = graph_here(xml)
    if found.faults:
        raise NotATemplate(found.faults)
    return found


def graph_here(xml: str) -> Checked:
    """The same, here; what is none has faults."""
    try:
        found = imported(xml)
        value = {"title": found.title, "start": found.start, "nodes": found.nodes, "edges": found.edges}
        with well_formed():  # what this service wrote may have been changed since
            document, astray, implied = document_of(Graph.model_validate(value), **found.more)
    except (MalformedXml, NoProcess, TooManySteps) as none:
        return Checked(faults=(((), KINDS[type(none)], str(none)),))
    except NotATemplate as other:
        return Checked(faults=other.faults)
    checked = examined(document, astray, implied)
    return replace(checked, violations=(*found.violations, *checked.violations))
