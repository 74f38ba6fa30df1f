"""Sweeps: the same points on each executor, without losses or duplicates."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import polars
import pytest
from conftest import SYSTEM, TEST, binary
from conftest import lanemark as command

import lanemark
import lanemark.sweep
from lanemark import InputError, RunError
from lanemark._plan import cut, expected
from lanemark.sweep import Space, Sweep, SweepProgress, SweepResult, run_chunk

AXES: dict[str, Any] = {
    "queue_depth": "1..16*2",
    "drive.flash.read": ["40 us", "60 us"],
    "block": ["4 KiB", "16 KiB", "1000 B"],
}
SPACE = Space(SYSTEM, TEST, AXES, duration="2 ms")


def sweep() -> Sweep:
    return Sweep(SPACE)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> SweepResult:
    os.chdir(Path(__file__).resolve().parents[2])
    return sweep().run(tmp_path_factory.mktemp("whole"), chunk_seconds=1e-4)


def test_points_are_numbered_with_the_last_axis_fastest() -> None:
    assert sweep().points == 30
    assert sweep().point(4) == {"queue_depth": "1", "drive.flash.read": "60 us", "block": "16 KiB"}
    with pytest.raises(InputError):
        sweep().point(30)


def test_a_sweep_has_all_points_once(whole: SweepResult) -> None:
    assert whole.complete
    whole.check()
    frame = whole.to_polars()
    assert frame["point"].to_list() == list(range(30))
    wrong = frame.filter(block_bytes=1000)
    assert wrong["iops"].null_count() == len(wrong) == 10
    assert wrong["error"].null_count() == 0
    again = SweepResult.open(whole.place)
    assert again.to_polars().equals(frame)
    assert polars.read_parquet(whole.parts).sort("point").equals(frame)
    assert duckdb.sql(f"select count(*) from read_parquet({whole.parts})").fetchall() == [(30,)]


@pytest.mark.parametrize("kind", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_any_executor_gives_the_same(kind: Any, whole: SweepResult, tmp_path: Path) -> None:
    executor: Executor
    with kind(2) as executor:
        reports: list[SweepProgress] = []
        result = sweep().run(tmp_path, executor=executor, on_progress=reports.append)
    assert result.to_arrow().equals(whole.to_arrow())
    assert reports[-1].points == reports[-1].points_total == 30
    assert [report.points for report in reports] == sorted(report.points for report in reports)


def test_existing_parts_are_not_run_again(whole: SweepResult) -> None:
    before = {part: Path(part).stat().st_mtime_ns for part in whole.parts}
    gone = whole.parts[1]
    content = Path(gone).read_bytes()
    Path(gone).unlink()
    assert not whole.complete
    with pytest.raises(RunError, match="points are missing, and 0 are duplicates"):
        whole.check()
    sweep().run(whole.place).check()
    after = {part: Path(part).stat().st_mtime_ns for part in whole.parts}
    assert [part for part in before if before[part] != after[part]] == [gone]
    assert Path(gone).read_bytes() == content


def test_a_repeated_chunk_is_stored_once(whole: SweepResult) -> None:
    plan = json.loads((Path(whole.place) / "plan.json").read_text())
    first, last = plan["chunks"][0]
    part = Path(whole.parts[0])
    written = part.stat().st_mtime_ns
    run_chunk(SPACE, plan["sweep"], first, last, whole.place, part.name)
    assert part.stat().st_mtime_ns == written
    whole.check()


def test_another_sweep_is_refused(whole: SweepResult, tmp_path: Path) -> None:
    longer = Sweep(Space(SYSTEM, TEST, AXES, duration="3 ms"))
    with pytest.raises(InputError, match="contains points of another sweep"):
        longer.run(whole.place)
    with pytest.raises(RunError, match="the process that started the sweep"):
        run_chunk(SPACE, longer.key, 0, 0, str(tmp_path), "part")
    assert not list(tmp_path.iterdir())
    with pytest.raises(InputError, match=r"does not contain a plan\.json"):
        SweepResult.open(tmp_path)


KEY = "0123456789abcdef" * 4
PLAN_OF = '{"sweep":"%s","points":2,"chunks":%s,"seconds":%s}'


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        '{"sweep":"k","points":2,"chunks":[[0,0]],"seconds":[1]}',
        '{"sweep":1,"points":"x","chunks":[],"seconds":[]}',
        PLAN_OF % ("../x", "[[0,1]]", "[1]"),
        PLAN_OF % (KEY, "[[0,-1],[0,1]]", "[1,1]"),
        PLAN_OF % (KEY, "[[0,1]]", "[]"),
        '{"sweep":"' + KEY + '","points":0,"chunks":[],"seconds":[]}',
        PLAN_OF % (KEY, "[[0,1]]", "[NaN]"),
        PLAN_OF % (KEY, "[[0,1e999]]", "[1]"),
        "[" * 100_000,
    ],
)
def test_an_invalid_plan_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text(text)
    with pytest.raises(InputError, match=r"plan\.json"):
        sweep().run(tmp_path)


def test_a_plan_that_is_not_a_regular_file_or_too_long_is_refused(tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    os.mkfifo(plan)
    with pytest.raises(InputError, match=r"plan\.json is not a regular file"):
        SweepResult.open(tmp_path)
    plan.unlink()
    with plan.open("wb") as file:
        file.truncate(1 << 30)
    with pytest.raises(InputError, match=r"plan\.json is longer than 64 MiB"):
        SweepResult.open(tmp_path)


def test_the_same_call_continues_a_sweep_that_its_callback_stopped(whole: SweepResult, tmp_path: Path) -> None:
    def stop(progress: SweepProgress) -> None:
        if progress.chunks >= 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep().run(tmp_path, on_progress=stop, chunk_seconds=1e-4, workers=1)
    left = SweepResult.open(tmp_path)
    assert not any(file.name.startswith(".") for file in tmp_path.iterdir())
    # Chunks that were running may have finished.
    assert len(left.parts) >= 2
    assert sweep().run(tmp_path).to_arrow().equals(whole.to_arrow())


def test_a_killed_process_is_an_error_and_loses_nothing(whole: SweepResult, tmp_path: Path) -> None:
    long = Sweep(Space(SYSTEM, TEST, {"queue_depth": "1..64"}, duration="40 ms"))
    with ProcessPoolExecutor(2) as executor:

        def kill(progress: SweepProgress) -> None:
            if progress.chunks == 2:
                os.kill(next(iter(executor._processes)), signal.SIGKILL)

        with pytest.raises(RunError, match="a worker process was killed"):
            long.run(tmp_path, executor=executor, on_progress=kill, chunk_seconds=0.01)
    before = {part: Path(part).stat().st_mtime_ns for part in SweepResult.open(tmp_path).parts}
    assert before
    result = long.run(tmp_path)
    result.check()
    assert all(Path(part).stat().st_mtime_ns == was for part, was in before.items())


def test_parts_are_written_to_any_file_system_of_fsspec(whole: SweepResult) -> None:
    url = "memory://lanemark/sweep"
    result = sweep().run(url, executor=ThreadPoolExecutor(2))
    result.check()
    assert result.to_arrow().equals(whole.to_arrow())
    assert sweep().run(url).complete


def test_chunks_follow_the_cost() -> None:
    values = [[str(a), str(b)] for a in (1, 100) for b in range(50)]
    spent: list[int] = []

    def run(first: int, last: int) -> None:
        spent.append(first)
        time.sleep(sum(0.001 * float(values[point][0]) / 10 for point in range(first, last + 1)))

    cost = expected(100, lambda point: values[point], run, 5.0)
    assert len(spent) <= 7
    assert cost(99) > 5 * cost(0)
    chunks, seconds = cut(100, cost, 2, 10.0)
    assert [point for first, last in chunks for point in range(first, last + 1)] == list(range(100))
    assert max(last - first for first, last in chunks) > min(last - first for first, last in chunks)
    assert sum(seconds) == pytest.approx(sum(cost(point) for point in range(100)), rel=1e-3)


def cluster() -> Any:
    """Return a Dask cluster of two worker processes."""
    from distributed import LocalCluster

    return LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50)


def test_a_lost_worker_of_dask_loses_nothing(tmp_path: Path) -> None:
    from distributed import Client

    long = Sweep(Space(SYSTEM, TEST, {"queue_depth": "1..64", "block": ["4 KiB", "8 KiB"]}, duration="20 ms"))
    killed: list[int] = []
    written: dict[str, int] = {}
    with cluster() as local, Client(local) as client:
        pids: list[int] = list(client.run(os.getpid).values())

        def kill(progress: SweepProgress) -> None:
            if progress.chunks >= 3 and not killed:
                killed.append(pids[0])
                os.kill(pids[0], signal.SIGKILL)
                written.update({part: Path(part).stat().st_mtime_ns for part in SweepResult.open(tmp_path).parts})

        result = long.run(tmp_path, executor=client, on_progress=kill, chunk_seconds=0.05)
        result.check()
        assert killed
        assert written
        # No existing part is written again.
        assert all(Path(part).stat().st_mtime_ns == was for part, was in written.items())
        local_result = long.run(tmp_path / "threads", chunk_seconds=0.05)
        assert result.to_arrow().equals(local_result.to_arrow())
        address = local.scheduler_address
        out = tmp_path / "command"
        arguments = ["sweep", SYSTEM, "--workload", TEST, "--axis", "queue_depth=1..4", "--duration", "2ms"]
        assert _package(*arguments, "--dask", address, "--out", str(out)) == 0
        assert len(SweepResult.open(out).to_polars()) == 4
    assert _package(*arguments, "--dask", "tcp://127.0.0.1:1", "--out", str(out)) == 2


def _package(*arguments: str) -> int:
    import subprocess

    code = "from lanemark._command import main; main()"
    process = [sys.executable, "-c", code, *arguments]
    return subprocess.run(process, capture_output=True, timeout=60, check=False).returncode


def test_a_sweeps_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "one.toml"
    path.write_text(
        f'[sweep]\nsystem = "{SYSTEM}"\nworkload = "{TEST}"\n'
        '[[axis]]\nname = "queue_depth"\nrange = "1..4*2"\n[[set]]\nparameter = "drive.flash.read"\nvalue = "70 us"\n'
    )
    ours = Sweep(Space.open(path, duration="1 ms"))
    out = tmp_path / "one.csv"
    command("sweep", str(path), "--duration", "1ms", "--out", str(out))
    assert ours.key == json.loads(Path(f"{out}.provenance.json").read_text())["sweep"]
    read = lanemark.sweep.load(out)
    assert ours.run(tmp_path / "parts").to_arrow().replace_schema_metadata().to_pylist() == read.to_arrow().to_pylist()
    assert read.to_html().startswith("<!DOCTYPE html>")
    assert binary().exists()


def test_an_unreadable_part_is_an_error(tmp_path: Path) -> None:
    result = sweep().run(tmp_path, chunk_seconds=1e-4)
    part = Path(result.parts[0])
    content = part.read_bytes()
    for spoilt in [b"", content[: len(content) // 2], b"PAR1" + bytes(64) + b"PAR1", bytes(len(content))]:
        part.write_bytes(spoilt)
        with pytest.raises(RunError, match="can't be read"):
            result.check()
    part.unlink()
    sweep().run(tmp_path).check()


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan"), float("inf")])
def test_the_length_of_a_chunk_is_a_positive_number(tmp_path: Path, seconds: float) -> None:
    with pytest.raises(InputError, match="chunk_seconds"):
        sweep().run(tmp_path, chunk_seconds=seconds)
