"""Requests that nobody should send, made from a seed: each kind is a function from a source of
chance to bytes.
"""

from __future__ import annotations

from tests.attack.bodies import bomb, deep, odd_body, odd_json, odd_text
from tests.attack.heads import chunks, fields, framing, hosts, large_heads, methods, mutated, noise, paths, versions
from tests.attack.made import Kind

KINDS: tuple[Kind, ...] = (
    noise,
    mutated,
    mutated,
    bomb,
    deep,
    odd_json,
    odd_json,
    odd_text,
    odd_body,
    odd_body,
    framing,
    chunks,
    hosts,
    large_heads,
    methods,
    paths,
    paths,
    fields,
    fields,
    versions,
)
