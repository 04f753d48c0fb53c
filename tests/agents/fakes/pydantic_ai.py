"""A model of Pydantic AI that pays back what the user says, and tells what came of it."""

from __future__ import annotations

import re

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel


async def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    last = messages[-1].parts[-1]
    if isinstance(last, ToolReturnPart):
        return ModelResponse(parts=[TextPart(str(last.content))])
    charge, amount = re.findall(r"\w*\d\w*", str(last.content))
    wanted = ToolCallPart("refund", {"charge": charge, "amount": int(amount)}, tool_call_id=f"call-{charge}")
    return ModelResponse(parts=[TextPart(f"The charge {charge} was doubled."), wanted])


model = FunctionModel(answer)
