"""The systemd units: what they promise, and what systemd itself makes of them."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from daemon.runtime import exit_codes
from daemon.settings import Settings
from tests.house.packages import ROOT
from tests.house.units import PREFIX, installed, said, tool

EXPOSURE_MAX = 1.3
CLOSED = """
    DynamicUser LockPersonality MemoryDenyWriteExecute NoNewPrivileges PrivateDevices PrivateIPC PrivateMounts
    PrivateTmp PrivateUsers ProtectClock ProtectControlGroups ProtectHome ProtectHostname ProtectKernelLogs
    ProtectKernelModules ProtectKernelTunables RemoveIPC RestrictNamespaces RestrictRealtime RestrictSUIDSGID
"""
HARDENING = {
    "IPAddressDeny": ["link-local"],
    **{name: ["yes"] for name in CLOSED.split()},
    "AmbientCapabilities": [""],
    "CapabilityBoundingSet": [""],
    "DevicePolicy": ["closed"],
    "KeyringMode": ["private"],
    "LimitCORE": ["0"],
    "ProcSubset": ["pid"],
    "ProtectProc": ["invisible"],
    "ProtectSystem": ["strict"],
    "RestrictAddressFamilies": ["AF_INET AF_INET6 AF_UNIX"],
    "StateDirectory": ["penstock"],
    "StateDirectoryMode": ["0700"],
    "SystemCallArchitectures": ["native"],
    "SystemCallErrorNumber": ["EPERM"],
    "SystemCallFilter": ["@system-service", "~@privileged @resources @keyring @memlock @aio"],
    "UMask": ["0077"],
}
LIMITS = ("LimitNOFILE", "MemoryMax", "TasksMax", "TimeoutStartSec", "TimeoutStopSec", "WatchdogSec")


def seconds(text: str) -> int:
    number, unit = re.fullmatch(r"(\d+)(s|min)", text).groups()  # type: ignore[union-attr]
    return int(number) * {"s": 1, "min": 60}[unit]


def test_the_unit_may_do_no_more_than_the_service_needs() -> None:
    unit = said("penstock.service")
    assert {key: unit.get(key) for key in HARDENING} == HARDENING
    assert [key for key in LIMITS if len(unit.get(key, [])) != 1] == []


def test_the_unit_is_notified_watched_and_started_again() -> None:
    unit = said("penstock.service")
    assert unit["Type"] == ["notify"]
    assert unit["Restart"] == ["on-failure"]
    assert unit["RestartPreventExitStatus"] == [f"{exit_codes.SUPERSEDED} {exit_codes.CONFIG}"]
    assert str(exit_codes.STORE_FAILED) not in unit["SuccessExitStatus"] + unit["RestartPreventExitStatus"]
    assert seconds(unit["TimeoutStopSec"][0]) > Settings.model_fields["drain_timeout_s"].default + 5
    assert unit["StartLimitIntervalSec"] == ["0"]  # it never gives up
    assert "StartLimitBurst" not in unit


def test_only_a_database_elsewhere_makes_the_start_wait_for_the_network() -> None:
    assert "network-online.target" not in (ROOT / "systemd" / "penstock.service").read_text(encoding="utf-8")
    drop_in = (ROOT / "docs" / "deploy" / "systemd" / "postgresql.conf").read_text(encoding="utf-8")
    assert "\nWants=network-online.target\nAfter=network-online.target\n" in drop_in
    guide = (ROOT / "docs" / "guides" / "scaling.md").read_text(encoding="utf-8")
    assert "docs/deploy/systemd/postgresql.conf\n  /etc/systemd/system/penstock.service.d/" in guide


def test_the_reference_names_every_credential_of_the_unit() -> None:
    settings = (ROOT / "docs" / "reference" / "settings.md").read_text(encoding="utf-8")
    named = [value.split(":")[0] for value in said("penstock.service")["LoadCredential"]]
    assert len(named) == 7
    assert [name for name in named if f"`{name}`" not in settings] == []


def test_a_credential_is_there_for_each_key_file_and_none_of_them_has_to_be() -> None:
    credentials = dict(value.split(":") for value in said("penstock.service")["LoadCredential"])
    wanted = {name.removesuffix("_file").replace("_", ".") for name in Settings.model_fields if name.endswith("_file")}
    assert set(credentials) >= wanted
    # A name, not a path: it is looked up in /etc/credstore, and passed over when it is not there.
    assert credentials == {name: f"penstock.{name}" for name in credentials}


def test_the_service_needs_its_socket_and_both_start_with_the_machine() -> None:
    service, door = said("penstock.service"), said("penstock.socket")
    assert service["Requires"] == service["Also"] == ["penstock.socket"]
    assert "penstock.socket" in service["After"]
    assert (service["WantedBy"], door["WantedBy"]) == (["multi-user.target"], ["sockets.target"])
    host, port = (Settings.model_fields[name].default for name in ("host", "port"))
    assert door["ListenStream"] == [f"{host}:{port}"]
    assert service["ExecStart"] == [f"{PREFIX}/bin/penstock serve --data-dir %S/penstock"]


def test_systemd_finds_nothing_wrong_with_the_units(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    program = tool("systemd-analyze", capfd)
    if program is not None:
        units = installed(tmp_path)
        found = subprocess.run(
            [program, "verify", "--man=no", *map(str, units)], capture_output=True, text=True, timeout=60, check=False
        )
        assert (found.returncode, found.stdout, found.stderr) == (0, "", "")


def test_systemd_sees_the_service_exposed_to_very_little(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    program = tool("systemd-analyze", capfd)
    if program is not None:
        (unit,) = (unit for unit in installed(tmp_path) if unit.suffix == ".service")
        arguments = [program, "security", "--offline=true", "--no-pager", str(unit)]
        found = subprocess.run(arguments, capture_output=True, text=True, timeout=60, check=True)
        (level,) = re.findall(r"exposure level for penstock\.service: ([0-9.]+)", found.stdout)
        assert float(level) <= EXPOSURE_MAX, found.stdout
