"""One service for each test, on a SQLite file of its own; passwords are hashed as cheaply as argon2
allows.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Iterator, Sequence
from functools import cache, partial
from pathlib import Path

import pytest
from argon2 import PasswordHasher
from pydantic import SecretStr

from daemon.app import Lifecycle, opened
from daemon.settings import Settings
from daemon.templates.loading import CatalogEntry, LazyTemplate, load_folder
from daemon.templates.shipped import library
from tests.openid_provider import OpenIdProvider
from tests.post_office import PostOffice
from tests.postgres import Server
from tests.web.operators import Operator
from tests.web.sign_on import BOB, Browser, browsing, configured
from tests.web.support import Clients, FarSide, House, Person

TEMPLATES = Path(__file__).parent / "templates"
# Where the service keeps everything: in SQLite, or with `make test-postgres` in PostgreSQL; and how
# many daemons serve.
ON_POSTGRES = os.environ.get("TESTS_ON") == "postgres"
DAEMONS = int(os.environ.get("TESTS_DAEMONS", "1"))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what cannot be asked of where the service keeps everything this time."""
    out = [name for name, is_out in (("sqlite", ON_POSTGRES), ("one_daemon", DAEMONS > 1)) if is_out]
    gone = [item for item in items if any(item.get_closest_marker(name) for name in out)]
    if gone:
        config.hook.pytest_deselected(items=gone)
        items[:] = [item for item in items if item not in gone]


@cache
def _loaded(folder: Path) -> Sequence[CatalogEntry]:
    return tuple(load_folder(folder))


@cache
def _library() -> Sequence[LazyTemplate]:
    return tuple(library())


@pytest.fixture(autouse=True)
def _fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read each template once per process, and do not make guessing passwords hard."""
    monkeypatch.setattr("daemon.templates.catalog.library", lambda: list(_library()))
    monkeypatch.setattr("daemon.templates.catalog.load_folder", lambda folder: list(_loaded(folder)))
    cheap = partial(PasswordHasher, time_cost=1, memory_cost=8, parallelism=1)
    monkeypatch.setattr("daemon.identity.passwords.PasswordHasher", cheap)


@pytest.fixture(scope="session")
def blank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data folder of a service that was opened once and never used; to make it takes longer
    than most tests.
    """
    folder = tmp_path_factory.mktemp("blank") / "data"

    async def make() -> None:
        async with opened(Settings(data_dir=folder, templates_dir=TEMPLATES), Lifecycle()):
            pass

    asyncio.run(make())
    return folder


@pytest.fixture
def database_url(request: pytest.FixtureRequest) -> Iterator[str | None]:
    """A database of the test's own; None where SQLite is asked for."""
    if not ON_POSTGRES:
        yield None
        return
    server: Server = request.getfixturevalue("postgres")
    url = asyncio.run(server.made(request.getfixturevalue("template")))
    yield url
    asyncio.run(server.dropped(url))


@pytest.fixture(scope="session")
def usual() -> Settings:
    """What the settings of all tests have in common; to look at the environment takes longer than
    many of them.
    """
    return Settings(templates_dir=TEMPLATES, egress_allow="127.0.0.0/8", rate_limits=False, drain_timeout_s=1.0)


@pytest.fixture
def settings(tmp_path: Path, blank: Path, usual: Settings, database_url: str | None) -> Settings:
    """What a test may override by a fixture of its own."""
    shutil.copytree(blank, tmp_path / "data")
    url = None if database_url is None else SecretStr(database_url)
    return usual.model_copy(update={"database_url": url, "data_dir": tmp_path / "data"})


@pytest.fixture
async def house(settings: Settings, aiohttp_client: Clients) -> AsyncIterator[House]:
    one = House(settings, aiohttp_client, DAEMONS)
    await one.open()
    yield one
    await one.close()


@pytest.fixture
async def ann(house: House) -> Person:
    """The owner of a company."""
    return await house.register("ann")


@pytest.fixture
async def eve(house: House) -> Person:
    """The owner of another company."""
    return await house.register("eve")


@pytest.fixture
async def far() -> AsyncIterator[FarSide]:
    async with FarSide() as side:
        yield side
        side.open.set()


@pytest.fixture
def stranger(house: House, tmp_path: Path) -> Operator:
    """Somebody at a terminal whom the service does not know."""
    return Operator(str(house.client.make_url("")).rstrip("/"), tmp_path / "home")


@pytest.fixture
def operator(stranger: Operator, ann: Person) -> Operator:
    """Somebody at a terminal with the token of ann."""
    return Operator(stranger.url, stranger.home, ann.token)


@pytest.fixture
async def provider() -> AsyncIterator[OpenIdProvider]:
    async with OpenIdProvider() as one:
        one.claims = dict(BOB)
        yield one


@pytest.fixture
async def browser(house: House, ann: Person, provider: OpenIdProvider) -> AsyncIterator[Browser]:
    await configured(house, provider.url, ann.session["company"]["id"])
    async with browsing(house) as one:
        yield one


@pytest.fixture
async def office() -> AsyncIterator[PostOffice]:
    async with PostOffice() as one:
        yield one
