"""What the tests share: a system, the command, and a way to run it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import settings

# In CI the same examples each time; elsewhere others each time.
settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")

ROOT = Path(__file__).resolve().parents[2]
SYSTEM = "samsung-950-pro-512gb@workstation-z170:m2"
TEST = "quick:rnd4k-q1t1-read"


def binary(name: str = "lanemark") -> Path:
    """The program of the tree, which `make` has built."""
    folder = Path(os.environ.get("LANEMARK_PROGRAMS", ROOT / "target" / "debug"))
    program = folder / name
    if not program.exists():
        pytest.fail(f"{program} is not built: cargo build --workspace --examples")
    return program


def lanemark(*words: str, folder: Path | None = None, code: int = 0) -> subprocess.CompletedProcess[str]:
    """Run the command, and fail where it does not end as it should."""
    told = subprocess.run(
        [binary(), *words],
        cwd=folder or ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        # As wide as where no terminal tells a width.
        env={name: value for name, value in os.environ.items() if name != "COLUMNS"},
    )
    assert told.returncode == code, f"{words}: {told.returncode}\n{told.stderr}"
    return told


@pytest.fixture(autouse=True)
def _in_the_tree(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Every test begins in the tree, whose library is the one that the command takes there too.

    Results without a path are saved in a temporary folder, and not among the user's own results.
    """
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("LANEMARK_RESULTS", str(tmp_path / "results"))
