"""Reports changes of a gate while the user decides."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress

import typer

from daemon.client import Gate, GateChanged, Penstock
from daemon.commands import display

# The thread ends at once when it is cancelled; a name that does not resolve is not waited for.
JOIN_S = 2.0


@contextmanager
def reporting_changes(
    perform: Callable[[Callable[[Penstock], Awaitable[None]]], None], run_id: str, shown_gate: Gate
) -> Iterator[None]:
    """Follow a run from another thread while this one reads input; `perform` runs a request."""
    seen = {shown_gate.digest}
    over = threading.Event()
    cancels: list[Callable[[], object]] = []

    async def work(api: Penstock) -> None:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None  # noqa: S101 - this is one
        cancels.append(lambda: None if loop.is_closed() else loop.call_soon_threadsafe(task.cancel))
        if over.is_set():
            return
        async for event in api.follow(run_id, after=(await api.run(run_id)).version):
            if not isinstance(event, GateChanged) or event.gate.step_id != shown_gate.step_id:
                continue
            if event.gate.digest not in seen:
                seen.add(event.gate.digest)
                display.ask(
                    display.text(f"{event.gate.step_id} has changed; it is shown again before anything is decided.")
                )

    def follow() -> None:
        with suppress(asyncio.CancelledError, typer.Exit):
            perform(work)

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        for cancel in cancels:
            cancel()
        thread.join(JOIN_S)
