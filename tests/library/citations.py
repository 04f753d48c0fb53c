"""The sources that a header cites, found by the forms in which laws and standards are cited."""

from __future__ import annotations

import re

PARAGRAPH = r"(?:\([a-z0-9]{1,4}\))*"
FORMS = (
    re.compile(rf"\b\d+ (?:CFR|U\.S\.C\.|USC)(?: [Pp]art)? (\d[\w.]*{PARAGRAPH})"),
    re.compile(rf"(?<![\d.])(\d{{3,4}}\.\d+[a-z]?{PARAGRAPH})"),
    re.compile(rf"\b[Aa]rt(?:icle|icles|s|\.)* (\d+[a-z]?{PARAGRAPH})"),
    re.compile(r"(?<![\w.(])(\d+[a-z]?(?:\([a-z0-9]{1,4}\))+)"),
    re.compile(r"\b((?:[A-Z]{1,3}\d?[-.]|[A-Z]{2}\d\.)\d+(?:\.\d+)*(?:\(\d+\))?)"),
    re.compile(rf"\b(?:[Ss]ections?|§§?|Model|Bulletin|Code|requirement|Rule) ?(\d[\d.A-Za-z-]*{PARAGRAPH})"),
    re.compile(r"\b(?:ISO(?:/IEC)?|NIST SP|PCI DSS|Directive|Regulation \(E[UC]\)) (\d[\d./-]*)"),
    re.compile(r"\bRegulation ([A-Z]{1,3})\b"),
)


def cited(text: str) -> list[str]:
    """The numbers of what a text cites, without the names before them."""
    found = (match[1].rstrip(".-") for form in FORMS for match in form.finditer(text))
    return [*dict.fromkeys(found)]


def uncovered(header: str, sources: list[str]) -> list[str]:
    """What a header cites and no source of a rule says."""
    said = " ".join(sources)
    return [one for one in cited(header) if re.search(rf"(?<![\w.]){re.escape(one)}(?!\d)", said) is None]
