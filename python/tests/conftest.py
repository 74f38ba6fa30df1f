"""Names and functions that all tests share: a system, and a function that runs the command."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import settings

# CI runs the same examples each time. Other runs use random examples.
settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")

ROOT = Path(__file__).resolve().parents[2]
SYSTEM = "samsung-950-pro-512gb@workstation-z170:m2"
TEST = "quick:rnd4k-q1t1-read"


def binary(name: str = "lanemark") -> Path:
    """Return the path of a program that `make` has built in the source tree."""
    folder = Path(os.environ.get("LANEMARK_PROGRAMS", ROOT / "target" / "debug"))
    program = folder / name
    if not program.exists():
        pytest.fail(f"{program} is not built: cargo build --workspace --examples")
    return program


def lanemark(*arguments: str, folder: Path | None = None, code: int = 0) -> subprocess.CompletedProcess[str]:
    """Run the command, and fail if its exit code is not `code`."""
    process = subprocess.run(
        [binary(), *arguments],
        cwd=folder or ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        # Without COLUMNS, the output has its default width.
        env={name: value for name, value in os.environ.items() if name != "COLUMNS"},
    )
    assert process.returncode == code, f"{arguments}: {process.returncode}\n{process.stderr}"
    return process


@pytest.fixture(autouse=True)
def _in_the_tree(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Start each test in the source tree, so that the package and the command use the tree's library.

    Results without a path are saved in a temporary folder instead of the user's results folder.
    """
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("LANEMARK_RESULTS", str(tmp_path / "results"))
