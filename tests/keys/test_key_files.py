"""The key files that are made before there is a service: `penstock keys create`."""

from __future__ import annotations

import json
from pathlib import Path

from daemon.keys.keyring import read_ring
from daemon.settings import KEY_FILES, key_file_name
from tests.crash.service import command, environment
from tests.programs import announced

NAMES = {key_file_name(setting) for setting in KEY_FILES.values()}


async def test_four_key_files_are_created_once_for_their_owner_alone(tmp_path: Path) -> None:
    folder = tmp_path / "keys"
    code, out, _ = await command("keys", "create", str(folder), "--json", env=environment(tmp_path))
    assert (code, {*json.loads(out)["created"]}) == (0, NAMES)
    made = {path.name: (path.read_bytes(), path.stat().st_mode & 0o777) for path in folder.iterdir()}
    assert made.keys() == NAMES
    assert {mode for _, mode in made.values()} == {0o600}
    assert len({read_ring(folder / name).current for name in NAMES}) == 4

    (folder / "jwt.keys").unlink()
    code, out, _ = await command("keys", "create", str(folder), "--json", env=environment(tmp_path))
    assert (code, json.loads(out)["created"]) == (0, ["jwt.keys"])
    assert {(folder / name).read_bytes() for name in NAMES} & {content for content, _ in made.values()} == {
        content for name, (content, _) in made.items() if name != "jwt.keys"
    }


async def test_a_service_starts_with_them(tmp_path: Path) -> None:
    folder, data = tmp_path / "keys", tmp_path / "data"
    await command("keys", "create", str(folder), env=environment(tmp_path))
    named = {f"PENSTOCK_{setting.upper()}": str(folder / key_file_name(setting)) for setting in KEY_FILES.values()}
    serve = ("daemon", "serve", "--port", "0", "--data-dir", str(data), "--log-level", "error")
    async with announced(*serve, env=named) as (_, port):
        assert port > 0
    assert not {path.name for path in data.iterdir()} & NAMES


async def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    code, _, said = await command("keys", "create", str(tmp_path / "file" / "keys"), env=environment(tmp_path))
    assert code != 0
    assert str(tmp_path / "file") in said
