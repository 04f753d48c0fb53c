"""Every command says with --json what it has to say, as JSON alone; and the commands of
webhooks.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import typer
from structlog.testing import capture_logs

from daemon.cli import app
from daemon.runtime.clock import utc_now
from tests.postgres import Server
from tests.web.operators import Operator
from tests.web.people import colleague, company, delegate, invited, member_id
from tests.web.support import PASSWORD, FarSide, Person
from tests.web.test_change_gates import gated
from tests.web.test_makers import LIVE

GRACE = "grace@grace.test"
END = {"kind": "end", "label": "Done", "outcome": "done"}
SOON = (utc_now() + timedelta(days=2)).strftime("%Y-%m-%d")
LINE = Path(__file__).parent / "templates" / "line.yaml"
# They have nothing to say: what they do is seen, or is JSON as it is.
SILENT = {"serve", "demo", "audit checkpoint", "audit export", "audit trace", "mcp", "mcp gateway"}
# They need more than the rest, and have a test of their own.
APART = {"migrate", "sessions end", "connectors test", "runs archive", "webhooks test", "gates ask", "gates answer"}
APART |= {f"notifications {word}" for word in ("add", "deliveries", "ls", "redeliver", "rm", "test")}


@dataclass(frozen=True)
class World:
    """What commands are about: runs, a webhook and its delivery, a key, a data folder that nobody
    uses.
    """

    parked: str
    over: str
    failed: str
    signed: str
    verdict: str
    webhook: str
    delivery: str
    key: str
    delegation: str
    invitation: str
    folder: Path
    backup: Path
    connector: Path
    rules: Path
    change: str
    action: str

    @property
    def data(self) -> tuple[str, str]:
        return "--data-dir", str(self.folder)


Words = Callable[[World], Sequence[object]]
COMMANDS: dict[str, Words] = {
    "actions cancel": lambda it: (it.action, "--yes"),
    "actions ls": lambda _: ("--tool", "refund"),
    "actions show": lambda it: (it.action,),
    "actions pause": lambda _: ("support-bot", "--reason", "It refunds twice."),
    "actions resume": lambda _: (),
    "actions rules propose": lambda it: (it.action,),
    "actions rules set": lambda it: (it.rules,),
    "actions rules show": lambda _: (),
    "actions rules try": lambda _: ("refund", "--arguments", '{"amount": 1}'),
    "api-keys change": lambda it: (it.key, "--read", "own"),
    "api-keys create": lambda _: ("triage",),
    "api-keys ls": lambda _: (),
    "api-keys rm": lambda it: (it.key, "--yes"),
    "audit agents": lambda _: (),
    "audit rotate": lambda it: it.data,
    "autonomy set": lambda _: ("--confidence-floor", "0.9"),
    "autonomy show": lambda _: (),
    "backup": lambda it: (it.folder.parent / "new.db", *it.data),
    "calendar holidays": lambda _: ("AT", "--year", "2027"),
    "calendar set": lambda _: ("--timezone", "Europe/Vienna"),
    "calendar show": lambda _: (),
    "commits adopt": lambda it: it.data,
    "commits rotate": lambda it: it.data,
    "companies hand-over": lambda _: ("kim@kim.test", "--yes"),
    "companies join": lambda it: (it.invitation,),
    "companies ls": lambda _: (),
    "companies switch": lambda _: ("ann inc",),
    "company changes approve": lambda it: (it.change,),
    "company changes deny": lambda it: (it.change,),
    "company changes ls": lambda _: (),
    "company functions bind": lambda _: ("director", "--group", "nurses"),
    "company functions show": lambda _: (),
    "connectors ls": lambda _: (),
    "connectors rm": lambda _: ("answers", "--yes"),
    "connectors set": lambda it: ("other", it.connector),
    "connectors show": lambda _: ("answers",),
    "delegations add": lambda _: ("kim@kim.test", "--until", SOON),
    "delegations ls": lambda _: (),
    "delegations rm": lambda it: (it.delegation,),
    "doctor": lambda it: it.data,
    "gates claim": lambda it: (it.parked,),
    "gates ls": lambda _: (),
    "gates release": lambda it: (it.parked,),
    "gates show": lambda it: (it.parked,),
    "gates withdraw": lambda it: (it.signed,),
    "inbox": lambda _: (),
    "groups ls": lambda _: (),
    "groups put": lambda _: ("physicians",),
    "groups rm": lambda _: ("nurses", "--yes"),
    "keys create": lambda it: (it.folder.parent / "keys",),
    "keys prune": lambda it: it.data,
    "keys rotate": lambda it: it.data,
    "login": lambda _: ("ann@ann.test", "--password-stdin"),
    "logout": lambda _: (),
    "members invite": lambda _: ("bob@bob.test",),
    "members ls": lambda _: (),
    "members rm": lambda _: (GRACE, "--yes"),
    "members role": lambda _: (GRACE, "manager"),
    "register": lambda _: ("bob@bob.test", "Bob inc", "--password-stdin"),
    "restore": lambda it: (it.backup, "--replace", *it.data),
    "runs break-glass": lambda it: (it.parked, "--reason", "The auditor waits."),
    "runs cancel": lambda it: (it.parked, "--yes"),
    "runs hold": lambda it: (it.parked, "litigation"),
    "runs ls": lambda _: (),
    "runs message": lambda it: (it.parked, "note"),
    "runs migrate": lambda it: (it.parked, 1),
    "runs promote": lambda it: (it.over,),
    "runs receipt": lambda it: (it.signed, it.verdict),
    "runs redact": lambda it: (it.over, "/facts", "--reason", "a request", "--yes"),
    "runs release": lambda it: (it.parked, "--yes"),
    "runs resume": lambda it: (it.parked, "approved", "--yes"),
    "runs retry": lambda it: (it.failed,),
    "runs show": lambda it: (it.parked,),
    "runs start": lambda _: ("line", "--example"),
    "runs watch": lambda it: (it.over,),
    "secrets prune": lambda it: it.data,
    "secrets rotate": lambda it: it.data,
    "templates check": lambda _: (LINE,),
    "templates diff": lambda _: (LINE,),
    "templates ls": lambda _: (),
    "templates publish": lambda _: ("cash",),
    "templates pull": lambda _: ("line",),
    "templates push": lambda _: (LINE,),
    "templates retire": lambda _: ("cash", 1),
    "templates rules": lambda _: ("line",),
    "templates versions": lambda _: ("line",),
    "templates show": lambda _: ("line",),
    "verify": lambda it: it.data,
    "version": lambda _: (),
    "webhooks add": lambda _: ("http://127.0.0.1:9/", "--event", "run_ended", "--event", "gate_opened"),
    "webhooks deliveries": lambda it: (it.webhook,),
    "webhooks ls": lambda _: (),
    "webhooks redeliver": lambda it: (it.webhook, it.delivery),
    "webhooks rotate": lambda it: (it.webhook, "--overlap", "60"),
    "webhooks rm": lambda it: (it.webhook, "--yes"),
    "whoami": lambda _: (),
}


@pytest.fixture(autouse=True)
def _silent() -> Iterator[None]:
    """The service runs beside the commands, whose output is theirs alone."""
    with capture_logs():
        yield


@pytest.fixture
async def world(operator: Operator, ann: Person, eve: Person, far: FarSide, tmp_path: Path, blank: Path) -> World:
    hook = (await ann.post("/webhooks/", {"url": far.url, "events": ["run_ended"]})).json["id"]
    over = await ann.start("quick")
    await far.arrived.wait()
    delivery = (await ann.get(f"/webhooks/{hook}/deliveries")).json[0]["id"]
    far.status = 422
    await ann.connect("answers", far.url)
    failed, parked = await ann.start("quick"), await ann.start("line", {"amount": 1})
    await invited(ann, GRACE)
    kim = await colleague(ann, "kim")
    await ann.send("PUT", f"{company(ann)}/groups/finance", {"members": [await member_id(ann)]})
    signed = (await kim.start("signatures"))["id"]
    form = {"units": 1, "reason": "ordered"}
    first = await ann.post(f"/process-runs/{signed}/resume", {"gate": "sign", "decision": "approved", "form": form})
    verdict = first.json["gate"]["verdicts"][0]["verdict_id"]
    invitation = (await invited(eve, ann.email))["invitation"]["token"]
    await ann.send("PUT", f"{company(ann)}/groups/nurses", {"members": []})
    delegation = await delegate(ann, kim)
    key = (await ann.post("/api-keys/", {"name": "intake", "role": "member", "kind": "agent"})).json["id"]
    await _drafted_and_published(ann)
    folder, backup = tmp_path / "stopped", tmp_path / "kept.db"
    shutil.copytree(blank, folder)
    assert (await operator.says("backup", backup, "--data-dir", folder)).exit_code == 0
    connector = tmp_path / "connector.yaml"
    rules = tmp_path / "rules.yaml"
    rules.write_text("- {id: refunds, tool: refund, decision: ask}")
    connector.write_text(f"base_url: {far.url}")
    return World(
        parked["id"],
        over["id"],
        failed["id"],
        signed,
        verdict,
        hook,
        delivery,
        key,
        delegation.json["id"],
        invitation,
        folder,
        backup,
        connector,
        rules,
        await _asked_for(ann, await colleague(ann, "lou", "admin")),
        (await ann.post("/actions/", {"tool": "refund"}, Idempotency_Key="refund")).json["id"],
    )


async def _asked_for(ann: Person, lou: Person) -> str:
    """The id of a change that somebody asked for, and that another admin has to approve."""
    await gated(ann, "go_live")
    return str((await lou.put("/connectors/cash-box", LIVE)).json["id"])


async def _drafted_and_published(ann: Person) -> None:
    """A process of one's own, of which the next version is being written."""
    steps = [{"id": "ok", "kind": "gate", "label": "OK", "next": "done"}]
    cash = {"vertical": "cash", "title": "Cash", "steps": [*steps, {**END, "id": "done"}]}
    for _ in range(2):
        await ann.put("/process-templates/cash/draft", cash)
        await ann.post("/process-templates/cash/publish")
    await ann.put("/process-templates/cash/draft", cash)


def leaves(command: Any, path: str = "") -> Iterator[str]:
    """Every command, by all of its words."""
    if not hasattr(command, "commands"):
        yield path
        return
    for name, one in command.commands.items():
        yield from leaves(one, f"{path} {name}".strip())


def test_every_command_is_looked_at_here() -> None:
    assert sorted(COMMANDS) == sorted(set(leaves(typer.main.get_command(app))) - SILENT - APART)


@pytest.mark.parametrize("command", COMMANDS)
async def test_each_command_says_json_and_nothing_else_to_machines(
    operator: Operator, world: World, command: str
) -> None:
    words = (*command.split(), *COMMANDS[command](world), "--json")
    result = await operator.says(*words, types=f"{PASSWORD}\n")
    assert result.exit_code == 0, result.output
    said = [json.loads(line) for line in result.stdout.splitlines()] if command == "runs watch" else None
    assert said or json.loads(result.stdout) is not None


async def test_a_move_to_postgresql_is_told_to_machines(operator: Operator, world: World, postgres: Server) -> None:
    url = await postgres.made()
    said = await operator.reads("migrate", "--from", f"sqlite:{world.folder}", "--to", url)
    assert (said["folder"], said["steps"][0]) == (str(world.folder), "companies: 0 rows")
    await postgres.dropped(url)


def ring_in(file: str) -> Any:
    return json.loads(Path(file).read_text(encoding="utf-8"))


async def test_what_machines_are_told_of_keys_are_their_ids_alone(operator: Operator, world: World) -> None:
    for words in (("keys", "rotate"), ("secrets", "rotate"), ("audit", "rotate")):
        said = await operator.reads(*words, *world.data)
        ring = ring_in(said["file"])
        assert (said["current"], said["keys"]) == (ring["current"], list(ring["keys"]))
        assert not any(key in json.dumps(said) for key in ring["keys"].values())


async def test_a_history_that_is_not_sound_is_told_to_machines_with_its_code(
    operator: Operator, ann: Person, tmp_path: Path
) -> None:
    export, keys = tmp_path / "export.jsonl", tmp_path / "audit.pub"
    export.write_bytes((await ann.get("/audit/export")).raw.replace(b"ann inc", b"eve inc"))
    keys.write_bytes((await ann.get("/audit/keys")).raw)
    result = await operator.says("verify", export, "--key", keys, "--json")
    said = json.loads(result.stdout)
    assert (result.exit_code, said["sound"]) == (1, False)
    assert any(finding.startswith("chain:") for finding in said["findings"])


async def test_an_operator_has_somebody_told_looks_what_became_of_it_and_ends_it(
    operator: Operator, ann: Person, far: FarSide
) -> None:
    added = await operator.says("webhooks", "add", far.url, "--event", "run_ended", "--description", "the phone")
    assert added.exit_code == 0, added.output
    (hook,) = await operator.reads("webhooks", "ls")
    assert (hook["url"], hook["events"], hook["description"]) == (far.url, ["run_ended"], "the phone")
    secret: Any = added.stdout.split("secret: ")[1].strip()
    assert secret.startswith("whsec_")
    assert secret not in (await operator.says("webhooks", "ls")).output
    run = await ann.start("quick")
    await far.arrived.wait()
    listed = await operator.says("webhooks", "deliveries", hook["id"])
    assert (run["id"] in listed.stdout, "run_ended" in listed.stdout) == (True, True)
    (delivery,) = await operator.reads("webhooks", "deliveries", hook["id"], "--limit", "1")
    far.arrived.clear()
    assert (await operator.says("webhooks", "redeliver", hook["id"], delivery["id"])).exit_code == 0
    await far.arrived.wait()
    assert (await operator.says("webhooks", "rm", hook["id"], types="n\n")).exit_code == 1
    assert (await operator.says("webhooks", "rm", hook["id"], types="y\n")).exit_code == 0
    assert await operator.reads("webhooks", "ls") == []
