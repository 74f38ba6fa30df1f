"""Columns: separate columns for reads and writes, numeric axes, and charts of numeric columns only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import SYSTEM
from conftest import lanemark as command

import lanemark
from lanemark import InputError, charts
from lanemark.sweep import Space, Sweep, SweepResult

FIGURES = ["iops", "bytes_per_second"] + [f"latency_{name}_us" for name in ("mean", "p50", "p99", "p999", "max")]


@pytest.fixture(scope="module")
def mixed() -> lanemark.Result:
    test = lanemark.Test("mixed", block="4 KiB", read="70%", queue_depth=16, duration="50 ms")
    return lanemark.simulate(SYSTEM, lanemark.Workload(test, repeats=2))


def test_reads_and_writes_have_separate_columns(mixed: lanemark.Result) -> None:
    first_test = mixed.to_dict()["tests"][0]
    for table in (mixed.tests, mixed.table("samples")):
        row = table.to_polars().to_dicts()[0]
        assert row["iops"] == pytest.approx(row["read_iops"] + row["write_iops"], rel=1e-6)
        both = row["read_bytes_per_second"] + row["write_bytes_per_second"]
        assert row["bytes_per_second"] == pytest.approx(both, rel=1e-6)
        # The mean over both directions is not the mean of either direction.
        mean, share = row["latency_mean_us"], row["read_iops"] / row["iops"]
        assert share == pytest.approx(0.7, abs=0.03)
        apart = share * row["read_latency_mean_us"] + (1 - share) * row["write_latency_mean_us"]
        assert mean == pytest.approx(apart, rel=1e-3)
        assert row["write_latency_mean_us"] < 0.9 * mean < 0.9 * row["read_latency_mean_us"]
        assert row["write_amplification"] >= 1
    sample = first_test["samples"][0]
    row = mixed.table("samples").to_polars().to_dicts()[0]
    for name, direction in (("read", "reads"), ("write", "writes")):
        own = sample[direction]["latency"]
        assert row[f"{name}_iops"] * row["elapsed_seconds"] == pytest.approx(own["count"])
        assert row[f"{name}_latency_mean_us"] == pytest.approx(own["mean_ns"] / 1e3)
        assert row[f"{name}_latency_max_us"] == pytest.approx(own["max_ns"] / 1e3, rel=1e-3)


def test_a_test_of_one_direction_leaves_the_other_unknown() -> None:
    reads = lanemark.simulate(SYSTEM, lanemark.Test("r", block="4 KiB", duration="2 ms")).tests.to_polars()
    for figure in FIGURES:
        assert reads[f"write_{figure}"].item() is None
    for figure in ("iops", "bytes_per_second", "latency_mean_us", "latency_max_us"):
        assert reads[f"read_{figure}"].item() == pytest.approx(reads[figure].item())
    assert reads["write_amplification"].item() is None


def test_latency_bins_count_reads_and_writes_separately(mixed: lanemark.Result) -> None:
    bins = mixed.latencies.to_polars()
    assert (bins["reads"] + bins["writes"] == bins["requests"]).all()
    samples = mixed.table("samples").to_polars()
    for name in ("read", "write"):
        requests = (samples[f"{name}_iops"] * samples["elapsed_seconds"]).sum()
        assert bins[f"{name}s"].sum() == pytest.approx(requests, abs=0.1)


AXES: dict[str, list[Any]] = {
    "think": ["100 us", "20 us", "1 ms"],
    "block": ["16 KiB", "4 KiB"],
    "read": ["70%", "100%"],
}


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Any:
    test = lanemark.Test("t", block="4 KiB", queue_depth=4, duration="20 ms")
    return Sweep(Space(SYSTEM, test, AXES)).run(tmp_path_factory.mktemp("sweep") / "points.csv")


def test_axes_of_quantities_are_numbers_with_their_units(swept: Any) -> None:
    frame = swept.to_polars()
    assert frame["think_us"].dtype == frame["block_bytes"].dtype == frame["read_ratio"].dtype == pl.Float64
    assert frame["think_us"].unique().sort().to_list() == [20.0, 100.0, 1000.0]
    assert frame["block_bytes"].unique().sort().to_list() == [4096.0, 16384.0]
    assert frame["read_ratio"].unique().sort().to_list() == [0.7, 1.0]
    assert not {"think", "block", "read"} & set(frame.columns)
    mixed = frame.filter(pl.col("read_ratio") < 1)
    assert mixed["write_iops"].is_not_null().all()
    assert frame.filter(read_ratio=1.0)["write_iops"].is_null().all()
    assert {f"{direction}_{figure}" for direction in ("read", "write") for figure in FIGURES} <= set(frame.columns)


def test_the_commands_file_is_read_with_the_same_columns(swept: Any, tmp_path: Path) -> None:
    out = tmp_path / "sweep.csv"
    arguments = ["sweep", SYSTEM, "--workload", "quick:rnd4k-q1t1-read", "--duration", "2ms", "--out", str(out)]
    command(*arguments, "--axis", "think=100us,20us,120us", "--axis", "read=70%,100%")
    frame = SweepResult.open(out).to_polars()
    assert frame["think_us"].sort().to_list() == [20.0, 20.0, 100.0, 100.0, 120.0, 120.0]
    assert set(frame.columns) - {"think_us", "read_ratio"} == set(swept.to_polars().columns) - {
        "think_us", "block_bytes", "read_ratio",
    }  # fmt: skip
    head = out.read_text().splitlines()[0].split(",")
    assert {"read_latency_p99_us", "write_iops", "write_amplification"} <= set(head)


def marks(chart: Any) -> list[tuple[float, float]]:
    """Return the points that the chart draws."""
    content = chart.to_dict()
    x, y = (content["encoding"][axis]["field"].replace("\\", "") for axis in ("x", "y"))
    rows = [(row[x], row[y]) for row in content["data"]["values"]]
    assert all(isinstance(value, (int, float)) for row in rows for value in row)
    return rows


def test_a_chart_of_an_axis_with_a_unit_has_its_points(swept: Any) -> None:
    for axis in ("block", "block_bytes"):
        assert {x for x, _ in marks(swept.chart(axis, by="think"))} == {4096.0, 16384.0}
    assert len(marks(swept.chart("think_us", "read_latency_mean_us"))) == 12


def test_a_chart_of_a_model_value_escapes_its_dots(tmp_path: Path) -> None:
    test = lanemark.Test("t", block="4 KiB", duration="1 ms")
    result = Sweep(Space(SYSTEM, test, {"drive.flash.read": ["40 us", "60 us"]})).run(tmp_path / "points.csv")
    chart = result.chart("drive.flash.read")
    assert chart.to_dict()["encoding"]["x"]["field"] == "drive\\.flash\\.read_us"
    assert [x for x, _ in marks(chart)] == [40.0, 60.0]


def test_a_chart_of_texts_is_refused(swept: Any, mixed: lanemark.Result) -> None:
    for draw in (
        lambda: swept.chart("system"),
        lambda: swept.chart("block", "busiest"),
        lambda: swept.chart("block", by="nothing"),
        lambda: swept.chart("nothing"),
        lambda: mixed.chart("test"),
        lambda: mixed.chart("iopss"),
        lambda: charts.series_chart(mixed, "test"),
    ):
        with pytest.raises(InputError, match=r"column"):
            draw()
