"""Sweeps: the same points on each executor, without losses or duplicates."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from conftest import SYSTEM, TEST
from conftest import lanemark as command

from lanemark import InputError, RefusedError, RunError
from lanemark.sweep import Space, Sweep, SweepProgress, SweepResult, chunks_of, run_chunk

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
    return sweep().run(tmp_path_factory.mktemp("whole") / "points.csv", chunk_points=4)


def test_points_are_numbered_with_the_last_axis_fastest() -> None:
    assert sweep().points == 30
    assert sweep().point(4) == {"queue_depth": "1", "drive.flash.read": "60 us", "block": "16 KiB"}
    with pytest.raises(InputError):
        sweep().point(30)


def test_chunks_are_equal_and_consecutive() -> None:
    assert chunks_of(range(7), 3) == [(0, 2), (3, 5), (6, 6)]
    assert chunks_of([0, 1, 4, 5, 6, 7, 9], 3) == [(0, 1), (4, 6), (7, 7), (9, 9)]
    assert chunks_of([], 3) == []


def test_a_sweep_has_all_points_once(whole: SweepResult) -> None:
    frame = whole.to_polars()
    assert frame["point"].to_list() == list(range(30))
    wrong = frame.filter(block_bytes=1000)
    assert wrong["iops"].null_count() == len(wrong) == 10
    assert wrong["error"].null_count() == 0
    assert SweepResult.open(whole.path).to_polars().equals(frame)


@pytest.mark.parametrize("kind", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_any_executor_gives_the_same(kind: Any, whole: SweepResult, tmp_path: Path) -> None:
    executor: Executor
    with kind(2) as executor:
        reports: list[SweepProgress] = []
        result = sweep().run(tmp_path / "a.csv", executor=executor, on_progress=reports.append)
    assert result.path.read_bytes() == whole.path.read_bytes()
    assert reports[-1].points == reports[-1].points_total == 30
    assert [report.points for report in reports] == sorted(report.points for report in reports)


def test_the_command_continues_a_file_and_is_continued(whole: SweepResult, tmp_path: Path) -> None:
    axes = ["--axis", "queue_depth=1..16*2", "--axis", "drive.flash.read=40us,60us", "--axis", "block=4KiB,16KiB,1000B"]
    arguments = ["sweep", SYSTEM, "--workload", TEST, *axes, "--duration", "2ms"]
    ours = Sweep(Space(SYSTEM, TEST, dict(one.split("=") for one in axes[1::2]), duration="2 ms"))
    out = tmp_path / "points.csv"
    command(*arguments, "--out", str(out))
    theirs = out.read_bytes()
    lines = theirs.splitlines(keepends=True)
    for rows in (lines[1:8], lines[20:]):
        out.write_bytes(lines[0] + b"".join(rows))
        assert ours.run(out).path.read_bytes() == theirs
        out.write_bytes(lines[0] + b"".join(rows) + b"3,torn")
        command(*arguments, "--out", str(out))
        assert out.read_bytes() == theirs


def test_existing_rows_are_not_run_again(whole: SweepResult, tmp_path: Path) -> None:
    lines = whole.path.read_text().splitlines(keepends=True)
    part = tmp_path / "part.csv"
    part.write_text("".join([lines[0], *lines[9:20]]))
    reports: list[SweepProgress] = []
    result = sweep().run(part, on_progress=reports.append)
    assert reports[0].points == 11
    assert result.path.read_bytes() == whole.path.read_bytes()


def test_another_sweep_or_file_is_refused(whole: SweepResult, tmp_path: Path) -> None:
    longer = Sweep(Space(SYSTEM, TEST, AXES, duration="3 ms"))
    with pytest.raises(RefusedError, match="points of another sweep"):
        longer.run(whole.path)
    with pytest.raises(RunError, match="the process that started the sweep"):
        run_chunk(SPACE, longer.key, 0, 0)
    letter = tmp_path / "letter.csv"
    letter.write_text("dear\n")
    with pytest.raises(RefusedError, match="is not a Lanemark sweep"):
        sweep().run(letter)
    assert letter.read_text() == "dear\n"
    with pytest.raises(InputError):
        SweepResult.open(letter)


def test_a_file_has_one_writer(tmp_path: Path) -> None:
    path = tmp_path / "points.csv"

    def second(_: SweepProgress) -> None:
        with pytest.raises(InputError, match="another sweep is writing it"):
            sweep().run(path)

    sweep().run(path, on_progress=second, chunk_points=30)


def test_rows_of_another_sweep_are_rejected_and_repeated_rows_are_dropped(tmp_path: Path) -> None:
    inner = sweep()._inner
    journal = inner.open(tmp_path / "points.csv")
    rows = run_chunk(SPACE, sweep().key, 0, 1)
    assert rows is not None
    for _ in range(2):
        journal.append(rows)
    other = Space(SYSTEM, TEST, AXES, duration="3 ms")
    foreign = run_chunk(other, Sweep(other).key, 2, 2)
    assert foreign is not None
    for wrong in (foreign, "text\n", "9" * 30 + rows[1:]):
        with pytest.raises(RunError, match="another row"):
            journal.append(wrong)
    journal.close()
    assert len((tmp_path / "points.csv").read_text().splitlines()) == 3


def test_the_same_call_continues_a_sweep_that_its_callback_stopped(whole: SweepResult, tmp_path: Path) -> None:
    def stop(progress: SweepProgress) -> None:
        if progress.points >= 8:
            raise KeyboardInterrupt

    path = tmp_path / "points.csv"
    with pytest.raises(KeyboardInterrupt):
        sweep().run(path, on_progress=stop, chunk_points=4, workers=1)
    assert 8 <= len(SweepResult.open(path).to_polars()) < 30
    assert sweep().run(path).path.read_bytes() == whole.path.read_bytes()


def test_a_killed_process_is_an_error_and_loses_nothing(tmp_path: Path) -> None:
    long = Sweep(Space(SYSTEM, TEST, {"queue_depth": "1..64"}, duration="40 ms"))
    path = tmp_path / "points.csv"
    with ProcessPoolExecutor(2) as executor:

        def kill(progress: SweepProgress) -> None:
            # A chunk of the other worker can end after the kill.
            if progress.points >= 4:
                with suppress(ProcessLookupError):
                    os.kill(next(iter(executor._processes)), signal.SIGKILL)

        with pytest.raises(RunError, match="a worker process was killed"):
            long.run(path, executor=executor, on_progress=kill, chunk_points=2)
    before = set(path.read_text().splitlines())
    assert 4 <= len(before) - 1 < 64
    result = long.run(path)
    assert result.to_polars()["point"].to_list() == list(range(64))
    assert before <= set(path.read_text().splitlines())


def test_a_killed_driver_leaves_a_file_that_can_be_continued(tmp_path: Path) -> None:
    path = tmp_path / "points.csv"
    code = (
        "from concurrent.futures import ProcessPoolExecutor\n"
        "from lanemark.sweep import Space, Sweep\n"
        "import os, signal\n"
        "def kill(progress):\n"
        "    if progress.points >= 8: os.kill(os.getpid(), signal.SIGKILL)\n"
        f"sweep = Sweep(Space({SYSTEM!r}, {TEST!r}, {{'queue_depth': '1..64'}}, duration='20 ms'))\n"
        "with ProcessPoolExecutor(2) as executor:\n"
        f"    sweep.run({str(path)!r}, executor=executor, on_progress=kill, chunk_points=2)\n"
    )
    # The workers outlive the driver, so that their copies of its files stay open until they notice.
    done = subprocess.run([sys.executable, "-c", code], timeout=60, check=False, stderr=subprocess.DEVNULL)
    assert done.returncode == -signal.SIGKILL
    result = Sweep(Space(SYSTEM, TEST, {"queue_depth": "1..64"}, duration="20 ms")).run(path)
    assert result.to_polars()["point"].to_list() == list(range(64))


def cluster() -> Any:
    """Return a Dask cluster of two worker processes."""
    from distributed import LocalCluster

    return LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50)


def test_a_lost_worker_of_dask_loses_nothing(tmp_path: Path) -> None:
    from distributed import Client

    long = Sweep(Space(SYSTEM, TEST, {"queue_depth": "1..64", "block": ["4 KiB", "8 KiB"]}, duration="20 ms"))
    killed: list[int] = []
    with cluster() as local, Client(local) as client:
        pids: list[int] = list(client.run(os.getpid).values())

        def kill(progress: SweepProgress) -> None:
            if progress.points >= 12 and not killed:
                killed.append(pids[0])
                os.kill(pids[0], signal.SIGKILL)

        result = long.run(tmp_path / "dask.csv", executor=client, on_progress=kill, chunk_points=4)
        assert killed
        assert result.path.read_bytes() == long.run(tmp_path / "threads.csv").path.read_bytes()
        address = local.scheduler_address
        out = tmp_path / "command.csv"
        arguments = ["sweep", SYSTEM, "--workload", TEST, "--axis", "queue_depth=1..4", "--duration", "2ms"]
        assert _package(*arguments, "--dask", address, "--out", str(out)) == 0
        assert len(SweepResult.open(out).to_polars()) == 4
    assert _package(*arguments, "--dask", "tcp://127.0.0.1:1", "--out", str(out)) == 2


def _package(*arguments: str) -> int:
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
    read = SweepResult.open(out)
    assert ours.run(tmp_path / "ours.csv").to_arrow().equals(read.to_arrow())
    assert read.to_html().startswith("<!DOCTYPE html>")


@pytest.mark.parametrize("points", [0, -1])
def test_the_length_of_a_chunk_is_a_positive_number(tmp_path: Path, points: int) -> None:
    with pytest.raises(InputError, match="chunk_points"):
        sweep().run(tmp_path / "points.csv", chunk_points=points)
    assert not list(tmp_path.iterdir())
