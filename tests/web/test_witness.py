"""A place outside is sent each new checkpoint of the service."""

from __future__ import annotations

import pytest

from daemon.settings import Settings
from tests.web.support import FarSide, House, Person


@pytest.fixture
def settings(settings: Settings, far: FarSide) -> Settings:
    return settings.model_copy(update={"witness_url": f"{far.url}/kept"})


async def test_a_witness_is_sent_each_new_checkpoint_of_the_service(ann: Person, house: House, far: FarSide) -> None:
    await ann.start("line", {"amount": 1})
    services = house.services
    assert services.witness is not None
    await services.sealer.tick()
    await services.witness.run_once()
    (newest,) = await services.store.checkpoints("", None, 1)
    seen = far.seen[-1]
    assert (seen.method, seen.target, seen.body) == ("POST", "/kept", newest.document())


@pytest.mark.parametrize("given", ["witness.example", "ftp://witness.example", "file://host/folder", "https://"])
def test_an_address_that_is_none_is_refused(given: str) -> None:
    with pytest.raises(ValueError, match="it is no address such as https://witness"):
        Settings(witness_url=given)
