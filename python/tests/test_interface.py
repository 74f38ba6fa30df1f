"""The package's classes and functions: their arguments, results and errors."""

from __future__ import annotations

import importlib.util
import json
import pickle
import subprocess
import sys
from pathlib import Path

import duckdb
import polars
import pyarrow
import pytest
from conftest import SYSTEM, TEST
from conftest import lanemark as command

import lanemark
from lanemark import InputError, RefusedError


@pytest.fixture(scope="module")
def result() -> lanemark.Result:
    return lanemark.simulate(SYSTEM, "quick", duration="5 ms")


def test_the_library_lists_names() -> None:
    library = lanemark.library()
    assert "samsung-950-pro-512gb" in library.drives
    assert "workstation-z170" in library.platforms
    assert "quick" in library.workloads
    assert library.hosts
    assert library.summary("workloads", "quick") == "A quick look"


def test_a_systems_path_is_drawn() -> None:
    system = lanemark.System(SYSTEM, set={"drive.flash.read": "60 us"})
    assert "PCIe" in system.path(TEST)
    assert system._repr_html_().startswith("<svg")
    assert system.capacity_bytes > 500e9


@pytest.mark.parametrize(
    ("arguments", "call"),
    [
        (["sim", "x@y:z", "quick"], lambda: lanemark.simulate("x@y:z", "quick")),
        (["sim", SYSTEM, "quik"], lambda: lanemark.simulate(SYSTEM, "quik")),
        (["sim", SYSTEM, "quick:nothing"], lambda: lanemark.simulate(SYSTEM, "quick:nothing")),
        (
            ["sim", SYSTEM, "quick", "--set", "drive.flash.read=60"],
            lambda: lanemark.simulate(SYSTEM, "quick", set={"drive.flash.read": 60}),
        ),
        (["sim", SYSTEM, "quick", "--size", "10TB"], lambda: lanemark.simulate(SYSTEM, "quick", size="10 TB")),
        (["sim", SYSTEM, "quick", "--fault", "fire"], lambda: lanemark.simulate(SYSTEM, "quick", faults=["fire"])),
        (["study", "studies/none.toml"], lambda: lanemark.Study("studies/none.toml")),
        (["report", "none.json"], lambda: lanemark.load_results("none.json")),
        (["compare", SYSTEM], lambda: lanemark.compare(SYSTEM)),
        (["inspect", "nothing0"], lambda: lanemark.inspect("nothing0")),
        (["drive", "d", "--from", "none.json", "--platform", "p"], lambda: lanemark.fit([], "p")),
        (["sweep", SYSTEM, "--workload", "quick"], lambda: _sweep("quick", {"queue_depth": [1]})),
    ],
)
def test_errors_have_the_messages_of_the_command(arguments: list[str], call: object) -> None:
    process = subprocess.run(
        [sys.executable, "-m", "lanemark", *arguments], capture_output=True, text=True, timeout=60, check=False
    )
    if arguments[0] == "sweep":
        process = command(*arguments, "--axis", "queue_depth=1", code=2)
    assert process.returncode == 2
    with pytest.raises(InputError) as caught:
        call()  # type: ignore[operator]
    assert f"error: {caught.value}\n" == process.stderr


def _sweep(workload: str, axes: dict[str, list[int]]) -> object:
    from lanemark.sweep import Space, Sweep

    return Sweep(Space(SYSTEM, workload, axes))


def test_a_quantity_has_a_unit() -> None:
    from_texts = lanemark.simulate(SYSTEM, TEST, duration="5 ms", size="1 GiB").to_dict()["tests"]
    from_numbers = lanemark.simulate(SYSTEM, TEST, duration_seconds=0.005, size_bytes=2**30).to_dict()["tests"]
    assert from_texts == from_numbers
    for wrong in ({"duration": 5}, {"size": 4096}, {"duration": "5"}, {"duration": "1 s", "duration_seconds": 1.0}):
        with pytest.raises(InputError):
            lanemark.simulate(SYSTEM, TEST, **wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="lacks a unit"):
        lanemark.Workload(lanemark.Test(block=4096))
    texts = lanemark.Test("t", block="4 KiB", duration="2 ms", read="70%")
    numbers = lanemark.Test("t", block_bytes=4096, duration_seconds=0.002, read_ratio=0.7)
    ours = [lanemark.simulate(SYSTEM, test).to_dict()["tests"] for test in (texts, numbers)]
    assert ours[0] == ours[1]


def test_tables_convert_to_all_data_frames(result: lanemark.Result) -> None:
    arrow = pyarrow.table(result)
    assert arrow.equals(result.to_arrow())
    assert arrow.num_rows == 6
    frame = polars.DataFrame(result)
    assert frame.equals(result.to_polars())
    assert frame["iops"].dtype == polars.Float64
    assert frame["block_bytes"].dtype == polars.Int64
    assert result.to_pandas()["test"].tolist() == arrow.column("test").to_pylist()
    rates = [test["iops"]["value"] for test in result.to_dict()["tests"]]
    assert arrow.column("iops").to_pylist() == rates
    tests = result.tests
    assert duckdb.sql("select max(iops) from tests").fetchall() == [(max(frame["iops"]),)]
    assert len(tests) == 6


def test_hops_add_up_to_the_latency(result: lanemark.Result) -> None:
    hops = result.hops.to_polars()
    for (test, repeat), own in hops.group_by("test", "repeat"):
        spent = own["wait_mean_us"].sum() + own["service_mean_us"].sum()
        mean = result.table("samples").to_polars().filter(test=test, repeat=repeat)["latency_mean_us"].item()
        assert spent == pytest.approx(mean, abs=1e-3)  # Latencies are recorded in ns.


def test_every_request_has_a_latency(result: lanemark.Result) -> None:
    counted = result.latencies.to_polars().group_by("test").agg(polars.col("requests").sum())
    samples = result.table("samples").to_polars()
    for test in samples["test"].unique():
        own = counted.filter(test=test)["requests"].item()
        requests = samples.filter(test=test).select(polars.col("iops") * polars.col("elapsed_seconds")).sum().item()
        assert own == pytest.approx(requests, abs=0.01)


def test_a_series_is_as_long_as_its_test() -> None:
    run = lanemark.simulate(SYSTEM, TEST, duration="20 ms", interval_length="2 ms", repeats=1)
    series = run.series.to_polars()
    assert len(series) == 10
    assert series["length_seconds"].sum() == pytest.approx(0.02)


def test_figures_are_named(result: lanemark.Result) -> None:
    assert result.figure("iops", "RND4K Q1T1 read") == result.figure("iops", 2)
    for figure, test in [("iopss", 0), ("iops", "none"), ("iops", 6), ("iops", -1), ("test", 0)]:
        with pytest.raises(InputError):
            result.figure(figure, test)


def test_a_result_is_saved_and_read(result: lanemark.Result, tmp_path: Path) -> None:
    path = result.save(tmp_path / "run.json")
    again = lanemark.load_results(path)
    assert isinstance(again, lanemark.Result)
    assert again.to_dict() == result.to_dict()
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(RefusedError):
        result.save(tmp_path / "other.json")
    assert json.loads(result.to_json()) == result.to_dict()
    assert command("compare", str(path), str(path)).stdout


def test_views_are_whole_pages(result: lanemark.Result) -> None:
    assert result.to_html().startswith("<!DOCTYPE html>")
    shown = result._repr_html_()
    assert shown.startswith("<iframe")
    assert "&lt;svg" in shown
    assert "<script" not in shown


def test_charts_are_drawn(result: lanemark.Result) -> None:
    from lanemark import charts

    drawn = [
        result.chart(),
        result.chart("latency_p99_us"),
        charts.hops_chart(result),
        charts.series_chart(result),
        charts.latencies_chart(result),
    ]
    for chart in drawn:
        assert "encoding" in json.dumps(chart.to_dict())


def test_a_bottleneck_is_reported() -> None:
    run = lanemark.simulate(SYSTEM, TEST, duration="5 ms", bottleneck=True)
    assert "sensitivity" in run.to_dict()["tests"][0]


def test_a_study_has_figures() -> None:
    study = lanemark.Study("studies/sata-express.toml")
    outcome = study.run()
    assert set(outcome.systems) == set(study.systems)
    figures = outcome.to_polars()
    assert {"predicted"} <= set(figures["role"])
    checks = outcome.to_dict()["figures"]
    assert figures["error_ratio"].to_list() == [check["error"] for check in checks]
    assert figures["published"].to_list() == [check["published"] for check in checks]


def test_a_built_in_study_needs_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built_in = lanemark.Study("sata-express")
    assert built_in == pickle.loads(pickle.dumps(built_in))
    monkeypatch.chdir(tmp_path)
    assert built_in == lanemark.Study("sata-express") == pickle.loads(pickle.dumps(built_in))
    with pytest.raises(InputError, match="sata-expres"):
        lanemark.Study("sata-expres")


def test_results_without_a_path_are_saved_in_the_results_folder(
    result: lanemark.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LANEMARK_RESULTS")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert lanemark.results_folder() == tmp_path / "state" / "lanemark"
    assert result.save().parent == tmp_path / "state" / "lanemark"
    space = lanemark.Space(SYSTEM, TEST, {"queue_depth": [1]}, duration="5 ms")
    assert lanemark.Sweep(space).run().path.parent == tmp_path / "state" / "lanemark"
    assert [path.name for path in tmp_path.iterdir()] == ["state"]


def test_a_measurement_and_a_fit(tmp_path: Path) -> None:
    target = tmp_path / "bench.dat"
    run = lanemark.bench(target, TEST, size="4 MiB", duration="50 ms", repeats=1, engine="sync", buffered=True)
    assert run.complete
    assert run.figure("iops") > 0
    assert not target.exists()
    sequential = "crystaldiskmark-8:seq1m-q1t1-read"
    lacking = lanemark.bench(
        target, sequential, size="4 MiB", duration="50 ms", repeats=1, engine="sync", buffered=True
    )
    with pytest.raises(InputError, match="the results lack"):
        lanemark.fit(lacking, "workstation-z170:m2")
    target.write_bytes(b"important" * 2**20)
    with pytest.raises(RefusedError):
        lanemark.bench(target, "quick:rnd4k-q1t1-write", size="4 MiB", duration="50 ms")
    assert target.read_bytes() == b"important" * 2**20


def test_the_budget_of_a_custom_load_sums_to_its_latency() -> None:
    simulator = lanemark.Simulator(SYSTEM)
    for tag in range(16):
        simulator.submit("read", offset_bytes=tag * 4096, length="4 KiB", tag=tag, thread=tag)
    assert simulator.outstanding == 16
    assert simulator.advance(until="1 us") is None
    completions = list(simulator)
    assert sorted(done.tag for done in completions) == list(range(16))
    assert [done.completed_ps for done in completions] == sorted(done.completed_ps for done in completions)
    for done in completions:
        assert sum(wait + service for _, wait, service in done.budget()) == done.latency_ps
        assert done.completed_ps - done.submitted_ps == done.latency_ps > 0
        assert (done.offset_bytes, done.length_bytes, done.operation) == (done.tag * 4096, 4096, "read")
        assert done.error is None
    assert simulator.outstanding == 0
    with pytest.raises(InputError, match="already"):
        simulator.submit("read", offset="0 B", length="4 KiB", at="1 us")


def test_import_is_light() -> None:
    code = (
        "import sys, lanemark; print([m for m in ('polars','pandas','pyarrow','numpy','altair') if m in sys.modules])"
    )
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert process.stdout.strip() == "[]"


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, result: lanemark.Result) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(lanemark.MissingPackageError, match=r"pip install 'lanemark\[tables\]'"):
        result.to_polars()


def test_the_package_has_the_command() -> None:
    arguments = [sys.executable, "-m", "lanemark", "--version"]
    process = subprocess.run(arguments, capture_output=True, text=True, check=True)
    assert process.stdout.strip() == f"lanemark {lanemark.__version__}"
    assert importlib.util.find_spec("lanemark") is not None


def test_tables_of_the_library_and_of_model_values() -> None:
    drives = lanemark.library().table("drives").to_polars()
    assert drives["name"].to_list() == lanemark.library().drives
    row = drives.row(by_predicate=polars.col("name") == "samsung-950-pro-512gb", named=True)
    assert (row["maker"], row["kind"], row["connector"]) == ("Samsung", "SSD", "PCIe 3.0 x4")
    assert lanemark.library().table("workloads").columns == ["name", "title"]
    with pytest.raises(lanemark.InputError, match="library kind"):
        lanemark.library().table("nothing")
    system = lanemark.System(SYSTEM, set={"drive.flash.read": "60 us"})
    values = system.values.to_polars()
    read = values.row(by_predicate=polars.col("parameter") == "drive.flash.read", named=True)
    assert (read["value"], read["unit"], read["origin"]) == ("60 us", "us", "set")
    known = lanemark.System(SYSTEM).values.to_polars().filter(polars.col("low").is_not_null())
    assert len(known) > 0
    assert (known["low"] < known["high"]).all()
