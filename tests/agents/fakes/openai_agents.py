"""A model of OpenAI Agents that pays back what the user says, and tells what came of it."""

from __future__ import annotations

import json
import re
from typing import Any

from agents import Model, ModelResponse, Usage, set_tracing_disabled
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText


def said(text: str) -> ResponseOutputMessage:
    content = ResponseOutputText(text=text, type="output_text", annotations=[])
    return ResponseOutputMessage(id="text", content=[content], role="assistant", status="completed", type="message")


class Fake(Model):
    async def get_response(self, *more: Any, **how: Any) -> ModelResponse:
        last = how["input"][-1]
        if "output" in last:
            output = last["output"]
            found: list[Any] = [said(output if isinstance(output, str) else output[0]["text"])]
        else:
            charge, amount = re.findall(r"\w*\d\w*", last["content"])
            arguments = json.dumps({"charge": charge, "amount": int(amount)})
            wanted = {"id": "call", "call_id": f"call-{charge}", "name": "refund", "arguments": arguments}
            found = [
                said(f"The charge {charge} was doubled."),
                ResponseFunctionToolCall(type="function_call", **wanted),
            ]
        return ModelResponse(output=found, usage=Usage(), response_id=None)

    def stream_response(self, *more: Any, **how: Any) -> Any:
        raise NotImplementedError


set_tracing_disabled(disabled=True)
model = Fake()
