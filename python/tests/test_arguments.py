"""Wrong arguments are errors of this package, with the argument's name, before anything runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import SYSTEM, TEST

import lanemark
from lanemark import InputError, RunError, Test
from lanemark.sweep import Space, Sweep

SHORT: dict[str, Any] = {"duration": "1 ms", "size": "1 MiB"}


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: lanemark.simulate(5, 5), "system: expected"),  # type: ignore[arg-type]
        (lambda: lanemark.simulate(SYSTEM, 5), "workload: expected"),  # type: ignore[arg-type]
        (lambda: lanemark.simulate(SYSTEM, TEST, set=["a=b"]), "set: expected a mapping"),  # type: ignore[arg-type]
        (lambda: lanemark.System(SYSTEM, set=["a=b"]), "set: expected a mapping"),  # type: ignore[arg-type]
        (lambda: lanemark.System(5), "system: expected"),  # type: ignore[arg-type]
        (lambda: lanemark.simulate(SYSTEM, TEST, threads=-1), "threads: expected"),
        (lambda: lanemark.simulate(SYSTEM, TEST, threads=True), "threads: expected"),
        (lambda: lanemark.simulate(SYSTEM, TEST, faults="power-cut at=2s"), "faults: expected a list"),
        (lambda: lanemark.Workload(TEST).changed(faults="power-cut at=2s"), "faults: expected a list"),
        (lambda: Test(blok="4 KiB"), "blok"),
        (lambda: Test("named", blok="4 KiB"), "blok"),
        (lambda: Space(5, TEST, {"queue_depth": [1]}), "system: expected"),  # type: ignore[arg-type]
        (lambda: Space(SYSTEM, 5, {"queue_depth": [1]}), "workload: expected"),  # type: ignore[arg-type]
        (lambda: Space(SYSTEM, TEST, [1]), "axes: expected a mapping"),  # type: ignore[arg-type]
        (lambda: Space(SYSTEM, TEST, {}), "axes: expected a mapping"),
        (lambda: Space(SYSTEM, TEST, {"queue_depth": [1]}, repeats=0), "repeats: expected"),
        (lambda: Space(SYSTEM, TEST, {"queue_depth": [1]}, set=["a=b"]), "set: expected a mapping"),  # type: ignore[arg-type]
        (
            lambda: Space(SYSTEM, TEST, {"drive.flash.read": ["60 us", "6 furlongs"]}),
            "axis `drive.flash.read`: 6 furlongs",
        ),
        (lambda: Space(SYSTEM, TEST, {"drive.state.filled": [0.6, 0.7]}), "condition is `sequential` or `random`"),
        (lambda: Space(SYSTEM, TEST, {"drive.flash.reed": ["60 us"]}), "axis `drive.flash.reed`"),
    ],
)
def test_a_wrong_argument_is_named_before_anything_runs(call: Any, says: str) -> None:
    with pytest.raises(InputError) as caught:
        call()
    assert says in str(caught.value)


def test_shares_are_numbers(tmp_path: Path) -> None:
    used = {"drive.state.condition": "random"}
    space = Space(SYSTEM, TEST, {"drive.state.filled": [0.25, 0.5]}, set=used, **SHORT)
    frame = Sweep(space).run(tmp_path / "a.csv").to_polars()
    assert frame["iops"].null_count() == 0
    written = Space(SYSTEM, TEST, {"drive.state.filled": ["25%", "50%"]}, set=used, **SHORT)
    assert Sweep(written).run(tmp_path / "b.csv").to_polars()["iops"].equals(frame["iops"])


def test_a_sweep_without_any_figure_is_an_error(tmp_path: Path) -> None:
    space = Space(SYSTEM, TEST, {"block": ["1000 B", "1001 B"]}, **SHORT)
    with pytest.raises(RunError, match="all 2 points failed"):
        Sweep(space).run(tmp_path / "failed.csv")
    # The rows keep the reasons.
    assert len((tmp_path / "failed.csv").read_text().splitlines()) == 3


def test_the_record_of_a_sweep_names_its_parts(tmp_path: Path) -> None:
    space = Space(SYSTEM, TEST, {"queue_depth": [1, 2]}, seed=7, **SHORT)
    path = Sweep(space).run(tmp_path / "a.csv").path
    record = json.loads(path.with_name("a.csv.provenance.json").read_text())
    command = " ".join(record["provenance"]["command"])
    assert SYSTEM in command
    assert TEST in command
    assert "duration=1 ms" in command
    assert record["provenance"]["seed"] == 7


def test_a_bound_is_not_a_minimum_of_repeats() -> None:
    one = lanemark.simulate(SYSTEM, TEST, **SHORT).to_polars()
    assert one["iops_min"].null_count() == one["iops_max"].null_count() == 1
    three = lanemark.simulate(SYSTEM, TEST, repeats=3, full=True, **SHORT).to_polars()
    assert three["iops_min"][0] <= three["iops"][0] <= three["iops_max"][0]
