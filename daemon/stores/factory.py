"""Opens the store that the settings name."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from actors.ports import INLINE, Compute
from daemon.keys.commit_keys import CommitKeys, open_commit_keys
from daemon.model import LostHistory
from daemon.runtime.background import Background
from daemon.runtime.durable_files import check_folder, make_folder
from daemon.settings import Settings, database_address
from daemon.stores.sqlite.connection import DATABASE
from daemon.stores.sqlite.store import SqliteStore
from daemon.stores.store import Store

if TYPE_CHECKING:
    from daemon.observability.metrics import Metrics
    from daemon.stores.postgres.store import PostgresStore


@asynccontextmanager
async def open_store(
    settings: Settings,
    *,
    keys: CommitKeys | None = None,
    on_failed: Callable[[], None],
    on_superseded: Callable[[], None] | None = None,
    on_rewound: Callable[[LostHistory], None] = lambda _: None,
    awaiting: Callable[[str], Awaitable[None]] | None = None,
    metrics: Metrics | None,
    background: Background,
    compute: Compute = INLINE,
) -> AsyncIterator[tuple[Store, PostgresStore | None]]:
    """The store, and the same again when several daemons can share it.

    `awaiting` is told why PostgreSQL cannot be reached, and waits for the next try; without it the
    first failure counts.
    """
    make_folder(settings.data_dir)
    check_folder(settings.data_dir)
    keys = keys or open_commit_keys(settings)
    url = database_address(settings)
    if url is None:
        async with SqliteStore.open(
            settings.data_dir / DATABASE,
            keys=keys,
            batch_max=settings.batch_max,
            free_bytes_min=settings.disk_free_bytes_min,
            on_failed=on_failed,
            metrics=metrics,
            compute=compute,
        ) as store:
            yield store, None
        return
    from daemon.stores.postgres.connection import reachable  # noqa: PLC0415 - most do without
    from daemon.stores.postgres.store import PostgresStore  # noqa: PLC0415 - most do without, and it takes time to import
    from daemon.stores.postgres.timelines import FILE  # noqa: PLC0415 - most do without

    if awaiting is not None:
        await reachable(url, awaiting)
    async with PostgresStore.open(
        url,
        keys,
        batch_max=settings.batch_max,
        lease_s=settings.lease_s,
        on_failed=on_failed,
        on_superseded=on_superseded,
        on_rewound=on_rewound,
        timeline_file=settings.data_dir / FILE,
        beside_others=settings.migrate_beside_others,
        metrics=metrics,
        background=background,
        compute=compute,
    ) as shared:
        yield shared, shared
