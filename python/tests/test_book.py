"""The Python code blocks of the book run without changes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

import lanemark

BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
PAGES = sorted(page for page in (ROOT / "docs").rglob("*.md") if BLOCK.search(page.read_text()))

# The file of prices that the pages expect their readers to have.
PRICES = "name,price\nsamsung-980-pro-1tb,120\nworkstation-x570,300\n" + "".join(
    f"platform.port.m2.pcie.lanes={lanes},{lanes}\n" for lanes in (1, 2, 4)
)


def name(page: Path) -> str:
    return str(page.relative_to(ROOT / "docs"))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_the_blocks_of_a_page_run_one_after_the_other(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "prices.csv").write_text(PRICES)
    monkeypatch.chdir(tmp_path)
    scope: dict[str, Any] = {}
    for block in BLOCK.findall(page.read_text()):
        exec(compile(block, name(page), "exec"), scope)
    results = [value for value in scope.values() if isinstance(value, lanemark.Result)]
    for result in results:
        assert all(iops > 0 for iops in result.to_polars()["iops"])
    if "best" in scope:
        assert scope["best"][0].figures["iops"] >= 500_000
        assert int(scope["best"][0].point["platform.port.m2.pcie.lanes"]) == 2
    if "Sweep" in scope:
        assert scope["result"].to_polars().height == 45


def test_the_book_has_python() -> None:
    assert {name(page) for page in PAGES} >= {"python.md", "sweeps.md", "tasks/python.md"}
