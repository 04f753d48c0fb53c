"""The service in a process of its own, on a free port, with its own data directory."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PASSWORD = "correct horse"
READY = re.compile(r"at http://127\.0\.0\.1:(\d+)")
STOP_S = 15.0


@dataclass
class Service:
    """A service that can be stopped and restarted with its data and port."""

    folder: Path
    templates: Path
    port: int = 0
    process: subprocess.Popen[str] | None = None
    count: int = 0
    program: tuple[str, ...] = ("-m", "daemon")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        environment = {
            **os.environ,
            "PENSTOCK_RATE_LIMITS": "off",
            "PENSTOCK_EGRESS_ALLOW": "127.0.0.0/8",
            "PENSTOCK_DATA_DIR": str(self.folder / "data"),
            "PENSTOCK_TEMPLATES_DIR": str(self.templates),
        }
        command = [sys.executable, *self.program, "serve", "--port", str(self.port)]
        with (self.folder / "stderr").open("a") as log:
            self.process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=log, text=True)
        assert self.process.stdout is not None
        found = next(filter(None, map(READY.search, self.process.stdout)), None)
        assert found is not None, (self.folder / "stderr").read_text()
        self.port = int(found[1])

    def stop(self) -> None:
        if self.process is None:
            return
        self.process.terminate()
        self.process.wait(STOP_S)
        assert self.process.stdout is not None
        self.process.stdout.close()
        self.process = None

    def company(self, name: str = "Example Health", email: str | None = None) -> Company:
        """Register a company, so that tests share only the process."""
        self.count += 1
        email = email or f"ada-{self.count}@example.test"
        body = {"email": email, "password": PASSWORD, "company_name": name, "name": "Ada Marsh"}
        return Company(self, email, self.send("POST", "/auth/register", body)["token"])

    def known(self, email: str) -> Company:
        """The company of somebody who registered here before."""
        body = {"email": email, "password": PASSWORD}
        return Company(self, email, self.send("POST", "/auth/login", body)["token"])

    def send(self, method: str, path: str, body: Any = None, token: str | None = None, **more: str) -> Any:
        """Send a request that must succeed; `more` are headers."""
        headers = {"Content-Type": "application/json", **{name.replace("_", "-"): one for name, one in more.items()}}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        raw = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, raw, headers, method=method)  # noqa: S310 - loopback
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310 - loopback
                text = answer.read()
        except urllib.error.HTTPError as refused:
            raise AssertionError(f"{method} {path}: {refused.code} {refused.read().decode()}") from None
        return json.loads(text) if text else None


@dataclass
class Company:
    """The owner of a company, as a client of the API."""

    service: Service
    email: str
    token: str

    def send(self, method: str, path: str, body: Any = None) -> Any:
        return self.service.send(method, path, body, self.token)

    def start(self, vertical: str, inputs: Any = None, *, auto: bool = True) -> Any:
        """Start a run, with the example's inputs unless others are given."""
        given = self.send("GET", f"/process-templates/{vertical}")["inputs"] if inputs is None else inputs
        body = {"vertical": vertical, "inputs": given, "auto_resolve": auto}
        return self.send("POST", "/process-runs/", body)

    def resume(self, run: Any, gate: str, decision: str = "approved", **more: Any) -> Any:
        return self.send("POST", f"/process-runs/{run['id']}/resume", {"gate": gate, "decision": decision, **more})

    def run(self, run: Any) -> Any:
        return self.send("GET", f"/process-runs/{run['id']}")
