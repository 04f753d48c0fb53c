"""The limit of open files."""

from __future__ import annotations

import resource

import structlog

KEPT = 384  # for the database, the listeners, calls, and spare connections
LEAST = 64
_log = structlog.get_logger("penstock")


def room_for(connections_max: int) -> int:
    """Raise the soft limit of open files; returns how many connections it allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections_max + KEPT
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return connections_max
    fewer = max(soft - KEPT, LEAST)
    _log.warning("connections_limited", connections_max=fewer, hint="raise the limit of open files (LimitNOFILE=)")
    return fewer
