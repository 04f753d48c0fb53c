"""What examples are made of: texts and values that someone has once got wrong."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

ODD_TEXTS = (
    "",
    "\x00",
    "a\x00b",
    "\x1b[2J",
    "\u202e",
    "\ufeff",
    "\x7f\x85",
    "..",
    "../../etc/passwd",
    "%00",
    "%2e%2e%2f",
    "' OR 1=1 --",
    "{}",
    "[]",
    "null",
    "NaN",
    "-0",
    "1e400",
    "9" * 400,
    "0x10",
    "\U0001f419",
    "\u0661",
    "a" * 1_000,
    "é" * 300,
    "2026-02-30T25:61:61Z",
    "01990000-0000-7000-8000-000000000000",
    "prior-auth",
    "signoff",
    "approved",
)
NUMBERS = (0, 1, -1, 2**31, 2**53, 2**63 - 1, -(2**63), 0.5, -0.0, 1e308, 5e-324)

texts = st.one_of(st.sampled_from(ODD_TEXTS), st.text(max_size=40))
plain_texts = texts.filter(lambda text: text.encode("utf-8", "surrogatepass").decode("utf-8", "ignore") == text)
leaves = st.one_of(st.none(), st.booleans(), st.sampled_from(NUMBERS), st.integers(-(2**63), 2**63 - 1), plain_texts)
values: st.SearchStrategy[Any] = st.recursive(
    leaves,
    lambda inner: st.one_of(st.lists(inner, max_size=5), st.dictionaries(plain_texts, inner, max_size=5)),
    max_leaves=20,
)


@st.composite
def mutated(draw: st.DrawFn, whole: bytes) -> bytes:
    """Bytes with a few places changed, doubled or cut out."""
    raw = bytearray(whole)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(raw)))
        match draw(st.integers(0, 4)):
            case 0:
                raw[at:at] = draw(st.binary(min_size=1, max_size=8))
            case 1:
                del raw[at : at + draw(st.integers(1, 12))]
            case 2:
                raw[at:at] = raw[at : at + draw(st.integers(1, 40))] * draw(st.integers(1, 3))
            case 3:
                raw[at : at + 1] = draw(
                    st.sampled_from((b"\x00", b"\r", b"\n", b"\t", b" ", b":", b",", b"\xff", b'"'))
                )
            case _:
                raw[at : at + draw(st.integers(0, 6))] = draw(st.sampled_from(ODD_TEXTS)).encode()
    return bytes(raw)


@st.composite
def changed(draw: st.DrawFn, value: Any) -> Any:
    """A value with one place in it exchanged, removed or added."""
    if isinstance(value, dict) and value and draw(st.booleans()):
        name = draw(st.sampled_from(sorted(value)))
        return {**value, name: draw(changed(value[name]))}
    if isinstance(value, list) and value and draw(st.booleans()):
        at = draw(st.integers(0, len(value) - 1))
        return [*value[:at], draw(changed(value[at])), *value[at + 1 :]]
    if isinstance(value, dict):
        match draw(st.integers(0, 2)):
            case 0:
                return {**value, draw(plain_texts): draw(values)}
            case 1 if value:
                gone = draw(st.sampled_from(sorted(value)))
                return {name: one for name, one in value.items() if name != gone}
            case _:
                pass
    return draw(values)
