"""Secrets that are shown once are found nowhere in clear: stored, logged, measured or exported."""

from __future__ import annotations

import asyncio
from pathlib import Path

import aiohttp
import pytest
from structlog.testing import capture_logs

from daemon.settings import Settings
from daemon.stores.sqlite.backups import back_up
from daemon.stores.sqlite.connection import DATABASE
from tests.web.people import company, invited
from tests.web.support import PASSWORD, House, Person
from tests.web.test_second_factors import enrolled


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"metrics_port": 0, "log_level": "debug"})


async def secrets_of(ann: Person, eve: Person) -> list[str]:
    """One of each secret that somebody is shown once, used and repeated under a key."""
    key, invitation = {"name": "triage", "role": "member", "kind": "agent"}, {"email": eve.email, "role": "viewer"}
    made = [await ann.post("/api-keys", key, Idempotency_Key="key") for _ in range(2)]
    asked = [await ann.post(f"{company(ann)}/members", invitation, Idempotency_Key="asked") for _ in range(2)]
    token = asked[0].json["invitation"]["token"]
    entered = [await eve.post("/invitations/accept", {"token": token}, Idempotency_Key="enter") for _ in range(2)]
    open_one = (await invited(ann, "kim@kim.test"))["invitation"]["token"]
    await Person(ann.house, {**ann.session, "token": made[0].json["key"]}).start("line", {"amount": 5})
    factor, codes = await enrolled(ann)
    for answers in (made, asked, entered):
        assert answers[0].json == answers[1].json
    plain = [*codes, *(code.replace("-", "") for code in codes), factor, PASSWORD]
    return [made[0].json["key"].removeprefix("psk_"), token, open_one, entered[0].json["token"], *plain]


@pytest.mark.sqlite
async def test_secrets_are_found_nowhere_in_clear(
    settings: Settings, ann: Person, eve: Person, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with capture_logs() as lines:
        house: House = ann.house
        await house.restart()
        secrets = await secrets_of(ann, eve)
        (address,) = (line["address"] for line in lines if line["event"] == "metrics_listening")
        async with aiohttp.ClientSession() as session, session.get(address) as answer:
            texts = {"metrics": await answer.read()}
        for path in ("/audit/log?limit=200", "/audit/export", "/events?limit=200", "/api-keys", "/auth/sessions"):
            texts[path] = (await ann.get(path)).raw
        await asyncio.to_thread(back_up, settings.data_dir / DATABASE, tmp_path / "backup.db")
        files = [path for folder in (settings.data_dir, tmp_path) for path in folder.rglob("*") if path.is_file()]
        texts |= {path.name: path.read_bytes() for path in files}
    texts |= {"log": str(lines).encode(), "output": "".join(capfd.readouterr()).encode()}
    assert {"penstock.db", "penstock.db-wal", "backup.db"} <= set(texts)
    needles = {form for one in secrets for form in (one.encode(), one.encode().hex().encode())}
    assert [(name, needle) for name, text in texts.items() for needle in needles if needle in text] == []
