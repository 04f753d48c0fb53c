"""A model of LangChain that pays back what the user says, and tells what came of it."""

from __future__ import annotations

import re
from typing import Any

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult


class Fake(GenericFakeChatModel):
    def bind_tools(self, tools: Any, **how: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *more: Any, **how: Any) -> ChatResult:
        last = messages[-1]
        if isinstance(last, ToolMessage):
            return ChatResult(generations=[ChatGeneration(message=AIMessage(last.text))])
        charge, amount = re.findall(r"\w*\d\w*", last.text)
        wanted = {"id": f"call-{charge}", "name": "refund", "args": {"charge": charge, "amount": int(amount)}}
        found = AIMessage(f"The charge {charge} was doubled.", tool_calls=[wanted])
        return ChatResult(generations=[ChatGeneration(message=found)])


model = Fake(messages=iter(()))
