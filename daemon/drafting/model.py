"""A new graph by a language model: what it says counts only when it keeps all rules."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from actors.core.rules import Violation
from actors.ports import LIGHT_BYTES_MAX, Asker, Evaluations
from daemon.templates.loading import CatalogEntry
from daemon.templates.publishing import Checked, NotATemplate, checked

Ask = Callable[[dict[str, Any]], Awaitable[Any]]
"""Sends a body to the endpoint; its answer, or None."""
Made = Callable[[str, str], Awaitable[CatalogEntry]]
"""Makes the template of a company's checked document."""
TRIES, AT_ONCE_MAX = 2, 4
SHOWN_MAX = 20
SYSTEM = """You draw business processes. Answer with one JSON object and nothing else:
{"title": string, "nodes": [node], "edges": [edge]}
A node has "id" (a-z, 0-9, dashes), "kind" and "label". Kinds:
- "task": calls a tool; "tool" (a name), "effect": "read", "reversible" or "irreversible"
- "gate": a person approves or denies
- "gateway": "flow": "exclusive" (one way is taken) or "parallel" (all are, and a second one joins them)
- "wait": "wait": {"duration": "PT24H"}
- "end": "outcome": a word
An edge has "source", "target", and "branch" where there are several: "approved" or "denied" behind a gate.
Behind an exclusive gateway each edge but one has "when", CEL over inputs and facts.
The process starts at the first node. Every way leads to an end. A gate stands before every irreversible task."""


class DraftModel:
    """Asks a chat-completions endpoint for graphs."""

    def __init__(self, ask: Ask, name: str, evaluations: Evaluations, made: Made) -> None:
        self._ask = ask
        self._name = name
        self._evaluations = evaluations
        self._made = made
        self._few = asyncio.Semaphore(AT_ONCE_MAX)

    async def drafted(self, company_id: str, text: str) -> CatalogEntry | None:
        """A process of a text; None without a valid one. What was wrong is said to it once."""
        async with self._few:
            return await self._drafted(company_id, text)

    async def _drafted(self, company_id: str, text: str) -> CatalogEntry | None:
        messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": text}]
        for _ in range(TRIES):
            content = _content(await self._ask({"model": self._name, "messages": messages, "temperature": 0}))
            if content is None:
                return None
            read = partial(_read, content)
            found = await self._evaluations.evaluated(Asker(company_id), LIGHT_BYTES_MAX + 1, read)
            if isinstance(found, Checked) and found.document is not None and not found.violations:
                return await self._made(company_id, found.document)
            wrong = _told(found.violations) if isinstance(found, Checked) else found
            messages += [{"role": "assistant", "content": content}, {"role": "user", "content": wrong}]
        return None


def _content(answer: Any) -> str | None:
    """The text of an answer in the form of chat completions."""
    try:
        content = answer["choices"][0]["message"]["content"]
    except (KeyError, IndexError, TypeError):
        return None
    return content if isinstance(content, str) else None


def _read(content: str) -> Checked | str:
    """What the process is worth that a text says, or why it says none."""
    begin, end = content.find("{"), content.rfind("}")
    try:
        return checked(json.loads(content[begin : end + 1]), large=len(content) > LIGHT_BYTES_MAX)
    except NotATemplate as other:
        places = (f"{'/'.join(map(str, where))}: {why}" for where, _, why in other.faults[:SHOWN_MAX])
        return f"This has another form: {'; '.join(places)}"
    except (AttributeError, ValueError, TypeError, RecursionError):
        return "This is no JSON object."


def _told(wrong: tuple[Violation, ...]) -> str:
    return f"These rules are broken: {'; '.join(map(str, wrong[:SHOWN_MAX]))}"
