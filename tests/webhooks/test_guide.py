"""The guide is true: its example tells genuine messages from others, and what it promises is what
is set.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest

from daemon.contract.events import EventType
from daemon.model.webhooks import KEPT_MAX, KEPT_S, WEBHOOKS_MAX, WINDOW_MAX
from daemon.webhooks.sender import PAUSES_S
from tests.histories import NOON
from tests.webhooks.conftest import Post, Receiver

GUIDE = (Path(__file__).parents[2] / "docs" / "guides" / "webhooks.md").read_text(encoding="utf-8")
PROSE = " ".join(GUIDE.split())
UNITS = {"s": 1, "min": 60, "h": 3_600}


@pytest.fixture
def verified(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, dict[str, str], bytes], bool]:
    scope: dict[str, Any] = {}
    exec(re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)[0], scope)  # noqa: S102 - our own guide
    monkeypatch.setattr(time, "time", NOON.timestamp)
    found: Callable[[str, dict[str, str], bytes], bool] = scope["verified"]
    return found


async def test_the_example_takes_what_is_genuine_and_nothing_else(
    post: Post, receiver: Receiver, verified: Callable[..., bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    hook, secret = await post.hook(receiver.url())
    _, other = await post.hook(receiver.url("/else"))
    await post.book.test(*hook.key)
    (got,) = receiver.got
    assert verified(secret, got.headers, got.raw)
    assert not verified(other, got.headers, got.raw)
    assert not verified(secret, got.headers, got.raw + b" ")
    assert not verified(secret, {**got.headers, "webhook-id": "msg_else"}, got.raw)
    assert not verified(secret, {**got.headers, "webhook-timestamp": str(int(NOON.timestamp()) + 1)}, got.raw)
    assert not verified(secret, {**got.headers, "webhook-signature": got.headers["webhook-signature"][3:]}, got.raw)
    monkeypatch.setattr(time, "time", lambda: NOON.timestamp() + 301)
    assert not verified(secret, got.headers, got.raw)


def test_the_guide_names_every_pause_type_and_bound() -> None:
    sentence = PROSE[PROSE.index("the next attempt comes after") : PROSE.index("; a `Retry-After`")]
    assert [int(number) * UNITS[unit] for number, unit in re.findall(r"(\d+) (min|s|h)\b", sentence)] == list(PAUSES_S)
    assert all(f"`{kind}`" in PROSE for kind in (*get_args(EventType), "history_rewound"))
    assert f"at most {WEBHOOKS_MAX}." in PROSE
    assert f"Up to {WINDOW_MAX} deliveries" in PROSE
    assert f"for {KEPT_S // 86_400} days, and the last {KEPT_MAX:,}" in PROSE
