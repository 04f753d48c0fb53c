"""The process that checks large inputs against the schema of a template."""

from __future__ import annotations

import msgspec

from daemon.runtime.worker_process import serve
from daemon.templates.input_schema import InputsSchema


def _answer(request: bytes) -> bytes:
    schema, inputs = msgspec.json.decode(request)
    return msgspec.json.encode(InputsSchema.of(schema).errors(inputs))


if __name__ == "__main__":
    serve(_answer)
