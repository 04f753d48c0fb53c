"""What an admin says of an API key beside its role: which models use it, and how little it may."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from actors.core.actions.deciding import matches
from actors.core.reading.scope import Reads


class Scopes(Struct, frozen=True, omit_defaults=True):
    """What a key may do at most of what its role lets it, by globs; None for all of that.

    It may `start` runs of these verticals, `call` these tools, and `read` these verticals or what
    it started itself. A call of a server is named by both, as `server/tool`.
    """

    start: tuple[str, ...] | None = None
    call: tuple[str, ...] | None = None
    read: Literal["own", "all"] | tuple[str, ...] | None = None

    @property
    def reads(self) -> Reads | None:
        """What it reads at most; None for everything."""
        return None if self.read == "all" else self.read

    def may_start(self, vertical: str) -> bool:
        """Whether it may start runs of a vertical."""
        return self.start is None or any(matches(one, vertical) for one in self.start)

    def may_call(self, name: str) -> bool:
        """Whether it may call a tool; the server has a glob of its own, before the slash."""
        return self.call is None or any(_names(one, name) for one in self.call)


def _names(glob: str, name: str) -> bool:
    globs, names = glob.partition("/"), name.partition("/")
    return all(matches(one, other) for one, other in zip(globs, names, strict=True))


class KeyTerms(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an admin says of a key and may change: which models use it, and its scopes."""

    model: str | None = None
    models: tuple[str, ...] = ()
    scopes: Scopes | None = None

    def lets_say(self, model: str) -> bool:
        """Whether a call may say that this model makes it."""
        return any(matches(one, model) for one in self.models)


NO_TERMS = KeyTerms()
