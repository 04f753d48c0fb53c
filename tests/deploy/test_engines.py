"""`make image` where there is an engine, but nothing that it could build from."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.deploy import image

ENGINE = """#!/bin/sh
echo "$@" >> {log}
case "$1" in info) exit 0;; *) echo "no route to host" >&2; exit 125;; esac
"""


@pytest.mark.parametrize("name", image.ENGINES)
def test_an_engine_without_the_base_image_is_none_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], name: str
) -> None:
    engine, log = tmp_path / name, tmp_path / "log"
    engine.write_text(ENGINE.format(log=log))
    engine.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(image, "ENGINES", (name,))
    assert image.main() == 2
    (base,) = image.bases()
    assert f"{name} cannot have {base} here" in capfd.readouterr().err
    assert not any(line.startswith("build") for line in log.read_text().splitlines())
