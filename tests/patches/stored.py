"""The stored patches: which files each touches, and how one is tried and renewed."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.house.test_house import ROOT

FOLDER = ROOT / "tests" / "patches"
GENERATED = (
    "docs/openapi.json",
    "docs/reference/",
    "docs/roles.md",
    "docs/guides/audit.md",
    "daemon/ui/src/api/contract.d.ts",
    "daemon/web/static/",
)
"""What commands write anew; a patch has nothing of it."""
FILE = re.compile(r"^diff --git a/(\S+) b/\1$", re.MULTILINE)


@dataclass(frozen=True)
class Patch:
    """A change that is whole; `also` are tests beside its own that it could break."""

    name: str
    title: str
    also: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        return FOLDER / f"{self.name}.patch"

    @property
    def files(self) -> list[str]:
        return FILE.findall(self.path.read_text(encoding="utf-8"))

    @property
    def python(self) -> list[str]:
        return [name for name in self.files if name.endswith(".py")]

    @property
    def proofs(self) -> list[str]:
        return [*(name for name in self.python if name.startswith("tests/") and "/test_" in name), *self.also]


CATALOG = "tests/templates/test_catalog.py::"
COLUMNS = "tests/audit/test_columns.py::"
DECLARED = "tests/stores/contract/test_tables.py::test_a_declaration_has_the_columns_and_the_key_of_the_table"
PATCHES = (
    Patch(
        "gate-policy-field",
        "a field of a gate's policy",
        (f"{CATALOG}test_documents_and_the_contract_have_each_field_of_a_policy_with_its_default",),
    ),
    Patch(
        "step-kind",
        "a step kind",
        ("tests/bpmn/test_bpmn.py::test_a_random_process_survives_canvas_yaml_canvas_bpmn_canvas",),
    ),
    Patch(
        "listed-thing",
        "a listed thing",
        (
            "tests/postgresql/test_schema.py",
            "tests/postgresql/test_migrate.py::test_everything_is_there_afterwards_and_goes_on",
            f"{DECLARED}[sqlite-bookmarks]",
            f"{COLUMNS}test_a_changed_column_is_found_or_listed[bookmarks.note]",
            f"{COLUMNS}test_a_deleted_row_is_found_or_listed[bookmarks]",
            f"{COLUMNS}test_an_inserted_row_is_found_or_listed[bookmarks]",
            f"{COLUMNS}test_every_gap_names_columns_that_there_are",
        ),
    ),
)


def git(*words: str, tree: Path = ROOT) -> str:
    return subprocess.run(["git", "-C", str(tree), *words], capture_output=True, text=True, check=True).stdout


def tracked() -> list[str]:
    """The files of the tree that git knows, or would take."""
    names = git("ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
    return [name for name in names if (ROOT / name).is_file()]


@contextmanager
def copied() -> Iterator[Path]:
    """A copy of the tree in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="penstock-patch-") as folder:
        for name in tracked():
            target = Path(folder) / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target)
        yield Path(folder)


class StalePatch(Exception):
    """A patch does not apply to the tree any more."""

    def __init__(self, patch: Patch, why: str) -> None:
        super().__init__(
            f"{why}\n{patch.path.relative_to(ROOT)} does not apply any more. Renew it, beginning with a clean tree:\n"
            f"  git apply --3way {patch.path.relative_to(ROOT)}   # then mend what it marks, and see its tests pass\n"
            f"  make patches RENEW={patch.name}   # writes the patch, and takes the change out of the tree"
        )


def apply(patch: Patch, tree: Path, *options: str) -> None:
    """Apply a patch to a tree; StalePatch where it does not fit."""
    command = ["git", "apply", *options, str(patch.path)]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
    if done.returncode:
        raise StalePatch(patch, done.stderr.strip())


def renew(patch: Patch) -> None:
    """Write what the tree has beside its commit as the patch, and take it out of the tree again."""
    own = patch.path.relative_to(ROOT).as_posix()
    left_out = [f":(exclude){name}" for name in (*GENERATED, own)]
    git("add", "--all")
    change = git("diff", "--cached", "HEAD", "--", ".", *left_out)
    if not change:
        git("reset", "--quiet")
        raise SystemExit(f"The tree has no change that could be {patch.title}.")
    git("reset", "--quiet", "--hard")
    patch.path.write_text(change, encoding="utf-8")
