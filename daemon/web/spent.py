"""Errors that have been answered: what they hold on to is let go."""

from __future__ import annotations


def untangle(error: BaseException) -> None:
    """Take the frames from an error and from those that led to it.

    Frames hold their requests and all that arrived with them, and a request or its connection holds the error. Such a
    ring that was under way when the garbage collector looked twice is not found for a very long time.
    """
    chain: list[BaseException | None] = [error]
    while chain:
        one = chain.pop()
        if one is not None:
            chain += one.__cause__, one.__context__
            one.__traceback__ = one.__cause__ = one.__context__ = None
