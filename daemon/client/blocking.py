"""The client for code without asyncio: the methods of `Penstock`, which wait for their results."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterator
from functools import wraps
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload

from daemon.client.api import Penstock
from daemon.client.transport import TIMEOUT_S, Patience

P = ParamSpec("P")
T = TypeVar("T")
END: Any = object()


class LoopThread:
    """An event loop in a thread of its own; any other thread may wait for coroutines in it."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name="penstock-client", daemon=True)
        self._thread.start()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """The result of a coroutine, which Ctrl-C in the waiting thread cancels."""
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result()
        finally:
            future.cancel()

    @property
    def closed(self) -> bool:
        return self._loop.is_closed()

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _serve(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.get_loop().run_forever()


class Blocking(Generic[P, T]):
    """A method of the client that waits for its result."""

    def __init__(self, method: Callable[Concatenate[Penstock, P], Coroutine[Any, Any, T]]) -> None:
        self._method = method
        self.__doc__ = method.__doc__

    @overload
    def __get__(self, client: None, owner: type[SyncPenstock]) -> Self: ...
    @overload
    def __get__(self, client: SyncPenstock, owner: type[SyncPenstock]) -> Callable[P, T]: ...
    def __get__(self, client: SyncPenstock | None, owner: type[SyncPenstock]) -> Self | Callable[P, T]:
        if client is None:
            return self

        @wraps(self._method)
        def wait(*args: P.args, **kwargs: P.kwargs) -> T:
            return client.loop.run(self._method(client.api, *args, **kwargs))

        return wait


class BlockingList(Generic[P, T]):
    """A method of the client whose results are read one after the other."""

    def __init__(self, method: Callable[Concatenate[Penstock, P], AsyncIterator[T]]) -> None:
        self._method = method
        self.__doc__ = method.__doc__

    @overload
    def __get__(self, client: None, owner: type[SyncPenstock]) -> Self: ...
    @overload
    def __get__(self, client: SyncPenstock, owner: type[SyncPenstock]) -> Callable[P, Iterator[T]]: ...
    def __get__(self, client: SyncPenstock | None, owner: type[SyncPenstock]) -> Self | Callable[P, Iterator[T]]:
        if client is None:
            return self

        @wraps(self._method)
        def read(*args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
            return _read(client.loop, self._method(client.api, *args, **kwargs))

        return read


class SyncPenstock:
    """A service, as `Penstock` sees it: `with SyncPenstock(address, token) as api: …`.

    Threads may share one. Lists and streams are iterators; leaving a loop early ends its stream.
    """

    def __init__(
        self, base_url: str, token: str = "", *, patience: Patience | None = None, timeout_s: float = TIMEOUT_S
    ) -> None:
        self.api = Penstock(base_url, token, patience=patience, timeout_s=timeout_s)
        self._loop: LoopThread | None = None

    def __enter__(self) -> Self:
        self._loop = LoopThread()
        self._loop.run(self.api.__aenter__())
        return self

    def __exit__(self, *_: object) -> None:
        loop, self._loop = self.loop, None
        try:
            loop.run(self.api.__aexit__())
        finally:
            loop.close()

    @property
    def loop(self) -> LoopThread:
        if self._loop is None:
            raise RuntimeError("the client is used outside of `with`")
        return self._loop

    @property
    def token(self) -> str:
        """The token of each request: as given, or of the last log-in; empty for none."""
        return self.api.token

    register = Blocking(Penstock.register)
    login = Blocking(Penstock.login)
    sign_on = Blocking(Penstock.sign_on)
    logout = Blocking(Penstock.logout)
    me = Blocking(Penstock.me)
    change_password = Blocking(Penstock.change_password)
    begin_second_factor = Blocking(Penstock.begin_second_factor)
    confirm_second_factor = Blocking(Penstock.confirm_second_factor)
    remove_second_factor = Blocking(Penstock.remove_second_factor)
    reset_second_factor = Blocking(Penstock.reset_second_factor)
    policy = Blocking(Penstock.policy)
    put_policy = Blocking(Penstock.put_policy)
    sessions = BlockingList(Penstock.sessions)
    end_session = Blocking(Penstock.end_session)
    end_other_sessions = Blocking(Penstock.end_other_sessions)
    health = Blocking(Penstock.health)
    report = Blocking(Penstock.report)
    report_days = BlockingList(Penstock.report_days)
    report_gates = BlockingList(Penstock.report_gates)
    report_people = BlockingList(Penstock.report_people)
    report_steps = BlockingList(Penstock.report_steps)
    report_connectors = BlockingList(Penstock.report_connectors)
    report_clocks = BlockingList(Penstock.report_clocks)
    reported_decisions = BlockingList(Penstock.reported_decisions)
    reported_clearings = BlockingList(Penstock.reported_clearings)
    reported_failures = BlockingList(Penstock.reported_failures)
    reported_promotions = BlockingList(Penstock.reported_promotions)
    reported_gates = BlockingList(Penstock.reported_gates)
    csv = BlockingList(Penstock.csv)
    start = Blocking(Penstock.start)
    runs = BlockingList(Penstock.runs)
    run = Blocking(Penstock.run)
    hold_run = Blocking(Penstock.hold_run)
    break_glass = Blocking(Penstock.break_glass)
    release_run = Blocking(Penstock.release_run)
    redact_run = Blocking(Penstock.redact_run)
    archive = Blocking(Penstock.archive)
    cancel = Blocking(Penstock.cancel)
    retry = Blocking(Penstock.retry)
    api_keys = BlockingList(Penstock.api_keys)
    create_api_key = Blocking(Penstock.create_api_key)
    put_api_key = Blocking(Penstock.put_api_key)
    delete_api_key = Blocking(Penstock.delete_api_key)
    events = BlockingList(Penstock.events)
    watch = BlockingList(Penstock.watch)
    follow = BlockingList(Penstock.follow)
    connectors = BlockingList(Penstock.connectors)
    connector = Blocking(Penstock.connector)
    put_connector = Blocking(Penstock.put_connector)
    delete_connector = Blocking(Penstock.delete_connector)
    test_connector = Blocking(Penstock.test_connector)
    connector_changes = BlockingList(Penstock.connector_changes)
    checkpoints = BlockingList(Penstock.checkpoints)
    audit_log = BlockingList(Penstock.audit_log)
    agent_log = BlockingList(Penstock.agent_log)
    run_rows = BlockingList(Penstock.run_rows)
    find_events = BlockingList(Penstock.find_events)
    views = BlockingList(Penstock.views)
    put_view = Blocking(Penstock.put_view)
    delete_view = Blocking(Penstock.delete_view)
    audit_keys = Blocking(Penstock.audit_keys)
    run_audit = Blocking(Penstock.run_audit)
    verdict_receipt = Blocking(Penstock.verdict_receipt)
    audit_export = BlockingList(Penstock.audit_export)
    happened = BlockingList(Penstock.happened)
    listen = BlockingList(Penstock.listen)
    webhooks = BlockingList(Penstock.webhooks)
    webhook = Blocking(Penstock.webhook)
    add_webhook = Blocking(Penstock.add_webhook)
    put_webhook = Blocking(Penstock.put_webhook)
    delete_webhook = Blocking(Penstock.delete_webhook)
    test_webhook = Blocking(Penstock.test_webhook)
    rotate_webhook = Blocking(Penstock.rotate_webhook)
    deliveries = BlockingList(Penstock.deliveries)
    redeliver = Blocking(Penstock.redeliver)

    notifications = BlockingList(Penstock.notifications)
    notification = Blocking(Penstock.notification)
    add_notification = Blocking(Penstock.add_notification)
    put_notification = Blocking(Penstock.put_notification)
    delete_notification = Blocking(Penstock.delete_notification)
    test_notification = Blocking(Penstock.test_notification)
    notification_deliveries = BlockingList(Penstock.notification_deliveries)
    redeliver_notification = Blocking(Penstock.redeliver_notification)

    members = BlockingList(Penstock.members)
    invite = Blocking(Penstock.invite)
    change_role = Blocking(Penstock.change_role)
    remove_member = Blocking(Penstock.remove_member)
    hand_over = Blocking(Penstock.hand_over)
    invitation = Blocking(Penstock.invitation)
    accept_invitation = Blocking(Penstock.accept_invitation)
    switch = Blocking(Penstock.switch)
    groups = BlockingList(Penstock.groups)
    put_group = Blocking(Penstock.put_group)
    delete_group = Blocking(Penstock.delete_group)
    request_action = Blocking(Penstock.request_action)
    action = Blocking(Penstock.action)
    actions = BlockingList(Penstock.actions)
    action_summaries = BlockingList(Penstock.action_summaries)
    cancel_action = Blocking(Penstock.cancel_action)
    action_rules = Blocking(Penstock.action_rules)
    put_action_rules = Blocking(Penstock.put_action_rules)
    try_action_rules = Blocking(Penstock.try_action_rules)
    propose_action_rule = Blocking(Penstock.propose_action_rule)
    pause_actions = Blocking(Penstock.pause_actions)
    resume_actions = Blocking(Penstock.resume_actions)
    mcp_servers = BlockingList(Penstock.mcp_servers)
    mcp_server = Blocking(Penstock.mcp_server)
    put_mcp_server = Blocking(Penstock.put_mcp_server)
    delete_mcp_server = Blocking(Penstock.delete_mcp_server)
    mcp_server_changes = BlockingList(Penstock.mcp_server_changes)
    functions = Blocking(Penstock.functions)
    put_functions = Blocking(Penstock.put_functions)
    changes = BlockingList(Penstock.changes)
    approve_change = Blocking(Penstock.approve_change)
    deny_change = Blocking(Penstock.deny_change)
    autonomy = Blocking(Penstock.autonomy)
    calibration = Blocking(Penstock.calibration)
    put_autonomy = Blocking(Penstock.put_autonomy)
    calendar = Blocking(Penstock.calendar)
    put_calendar = Blocking(Penstock.put_calendar)
    holidays = Blocking(Penstock.holidays)
    delegations = BlockingList(Penstock.delegations)
    delegate = Blocking(Penstock.delegate)
    end_delegation = Blocking(Penstock.end_delegation)

    gates = BlockingList(Penstock.gates)
    gate_rows = BlockingList(Penstock.gate_rows)
    count_gates = Blocking(Penstock.count_gates)
    gate = Blocking(Penstock.gate)
    preview = Blocking(Penstock.preview)
    claim = Blocking(Penstock.claim)
    release = Blocking(Penstock.release)
    resume = Blocking(Penstock.resume)
    propose = Blocking(Penstock.propose)
    ask = Blocking(Penstock.ask)
    answer = Blocking(Penstock.answer)
    withdraw = Blocking(Penstock.withdraw)
    give_verdicts = Blocking(Penstock.give_verdicts)
    deliver = Blocking(Penstock.deliver)

    templates = BlockingList(Penstock.templates)
    template = Blocking(Penstock.template)
    canvas = Blocking(Penstock.canvas)
    rules = Blocking(Penstock.rules)
    check_template = Blocking(Penstock.check_template)
    drafts = BlockingList(Penstock.drafts)
    draft = Blocking(Penstock.draft)
    put_draft = Blocking(Penstock.put_draft)
    delete_draft = Blocking(Penstock.delete_draft)
    publish = Blocking(Penstock.publish)
    versions = BlockingList(Penstock.versions)
    version = Blocking(Penstock.version)
    retire = Blocking(Penstock.retire)
    migrate = Blocking(Penstock.migrate)
    promote = Blocking(Penstock.promote)


def _read(loop: LoopThread, found: AsyncIterator[T]) -> Iterator[T]:
    try:
        while (one := loop.run(_next(found))) is not END:
            yield one
    finally:
        if isinstance(found, AsyncGenerator) and not loop.closed:
            loop.run(found.aclose())


async def _next(found: AsyncIterator[T]) -> T:
    return await anext(found, END)
