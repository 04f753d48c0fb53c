"""`make image`: builds the image with the engine of this machine, and tries it as compose.yaml runs
it.

Exit 0: built and tried. 2: there is no engine here that runs a container, or its base images are
not to be had. What an engine needs on this machine alone is given as `BUILD=` and `RUN=`.
"""

from __future__ import annotations

import argparse
import shlex
import shutil
import subprocess
import sys
import time

from daemon import __version__
from tests.house.packages import ROOT

ENGINES = ("docker", "podman")
LIMITS = ("--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges", "--tmpfs=/tmp:size=64m,mode=1777")
HEALTHY_S = 120.0
NOT_HERE = 2


def engine() -> str | None:
    """The first engine that works; a command line alone builds nothing."""
    return next(filter(_works, ENGINES), None)


def _works(name: str) -> bool:
    there = shutil.which(name) is not None
    return there and subprocess.run((name, "info"), capture_output=True, check=False).returncode == 0


def bases() -> list[str]:
    """The images that the build begins with."""
    words = [line.split() for line in (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()]
    named = [line for line in words if line[:1] == ["FROM"]]
    stages = {line[3] for line in named if len(line) > 3}
    return sorted({line[1] for line in named} - stages)


def has(name: str, image: str) -> bool:
    """Whether the engine has an image, or can get it."""
    for ask in (("image", "inspect", image), ("pull", "--quiet", image)):
        if subprocess.run((name, *ask), stdout=subprocess.DEVNULL, check=False).returncode == 0:
            return True
    return False


def why_not(name: str, base: str, options: list[str]) -> str | None:
    """Why the engine runs no container here."""
    ran = subprocess.run((name, "run", "--rm", *options, base, "true"), capture_output=True, text=True, check=False)
    return None if ran.returncode == 0 else ran.stderr.strip().rpartition("\n")[2]


class Container:
    """A container of the image; every command of it has to succeed."""

    def __init__(self, name: str, image: str, options: list[str]) -> None:
        self._engine = name
        self._id = said(name, "run", "--detach", *LIMITS, *options, image)

    def state(self, field: str) -> str:
        return said(self._engine, "inspect", "--format", f"{{{{.State.{field}}}}}", self._id)

    def wait_until_healthy(self) -> None:
        until = time.monotonic() + HEALTHY_S
        while not self._is_healthy():
            if self.state("Status") != "running" or time.monotonic() > until:
                raise SystemExit(said(self._engine, "logs", self._id))
            time.sleep(1)

    def _is_healthy(self) -> bool:
        if self._engine != "podman":
            return self.state("Health.Status") == "healthy"
        # Podman leaves the intervals to systemd, which need not be there.
        asked = subprocess.run((self._engine, "healthcheck", "run", self._id), capture_output=True, check=False)
        return asked.returncode == 0

    def run(self, *command: str) -> str:
        return said(self._engine, "exec", self._id, *command)

    def page(self) -> str:
        ask = "from urllib.request import urlopen; print(urlopen('http://127.0.0.1:8080/', timeout=10).read().decode())"
        return self.run("python", "-c", ask)

    def stop(self) -> str:
        """The exit code after SIGTERM."""
        said(self._engine, "stop", "--time", "30", self._id)
        return self.state("ExitCode")

    def remove(self) -> None:
        said(self._engine, "rm", "--force", "--volumes", self._id)


def said(*command: str) -> str:
    """What a command prints; its errors go where ours go."""
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def size_mb(name: str, image: str) -> float:
    return int(said(name, "image", "inspect", "--format", "{{.Size}}", image)) / 1e6


def tried(name: str, image: str, version: str, options: list[str]) -> None:
    container = Container(name, image, options)
    try:
        container.wait_until_healthy()
        assert container.run("penstock", "version") == version
        assert container.run("id", "--user") == "10001"
        assert '<div id="root">' in container.page()
        assert "completed with the outcome" in container.run("penstock", "demo")
        code = container.stop()
        assert code == "0", code
    finally:
        container.remove()


def main() -> int:
    parser = argparse.ArgumentParser(prog="make image", description=__doc__)
    parser.add_argument("--build", type=shlex.split, default=[], help="options of the engine's build")
    parser.add_argument("--run", type=shlex.split, default=[], help="options of the engine's run")
    given = parser.parse_args()
    name = engine()
    if name is None:
        print("There is no container engine here: the image is neither built nor tried.", file=sys.stderr)
        return NOT_HERE
    missing = next((base for base in bases() if not has(name, base)), None)
    if missing is not None:
        print(f"{name} cannot have {missing} here: the image is neither built nor tried.", file=sys.stderr)
        return NOT_HERE
    refusal = why_not(name, bases()[0], given.run)
    if refusal is not None:
        print(f"{name} runs no container here: the image is neither built nor tried: {refusal}", file=sys.stderr)
        return NOT_HERE
    image = f"localhost/penstock:{__version__}"
    # Podman's own format has no health checks.
    formed = ("--format", "docker") if name == "podman" else ()
    subprocess.run((name, "build", *formed, *given.build, "--tag", image, "."), cwd=ROOT, check=True)
    tried(name, image, __version__, given.run)
    whole, base = size_mb(name, image), size_mb(name, bases()[0])
    print(f"{image} is built, and works without rights on a read-only root file system.")
    print(f"size: {whole:,.0f} MB, {whole - base:,.0f} MB of them above its base")
    return 0


if __name__ == "__main__":
    sys.exit(main())
