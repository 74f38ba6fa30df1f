"""Sweeps at work: two cores, a cluster of two workers, a worker that is killed; and the scheduler at a thousand.

Run by ``make python-bench``. The model that is printed at the end is that of docs/sweeps.md.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import lanemark.sweep
from lanemark.sweep import Space, Sweep, SweepProgress, SweepResult

SYSTEM = "samsung-950-pro-512gb@workstation-z170:m2"
TEST = "quick:rnd4k-q32t1-read"
#: 10,000 points of some milliseconds.
AXES: dict[str, Any] = {
    "drive.flash.read": "41us..60us+1us",
    "drive.flash.command_time": "0.1us..1us+0.1us",
    "block": ["4 KiB", "8 KiB", "16 KiB", "32 KiB", "64 KiB"],
    "queue_depth": "1..10",
}
#: How long each is simulated.
DURATION = "50 ms"
CORES = len(os.sched_getaffinity(0))


def processor_s() -> float:
    """Seconds of processors that this process and its ended children have used."""
    both = (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in both)


def ten_thousand() -> dict[str, float]:
    """All points on threads, and on two local workers of Dask; then once more with a worker killed in the middle."""
    from distributed import Client, LocalCluster

    sweep = Sweep(Space(SYSTEM, TEST, AXES, duration=DURATION))
    assert sweep.points == 10_000, sweep.points
    told: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        occupied: list[float] = []
        own = lanemark.sweep.run_chunk

        def timed(*args: Any) -> float | None:
            seconds = own(*args)
            occupied.append(seconds or 0.0)
            return seconds

        lanemark.sweep.run_chunk = timed
        began, used = time.perf_counter(), processor_s()
        whole = sweep.run(Path(folder) / "threads")
        threads = time.perf_counter() - began
        lanemark.sweep.run_chunk = own
        told["threads_occupied"] = sum(occupied) / threads / CORES
        told["threads_s"] = threads
        told["threads_busy"] = (processor_s() - used) / threads / CORES
        told["parts"] = len(whole.parts)
        told["bytes_a_point"] = sum(Path(part).stat().st_size for part in whole.parts) / sweep.points
        told["seconds_a_point"] = (processor_s() - used) / sweep.points
        # The chunks that were planned once, so that both do the same.
        plan = (Path(folder) / "threads" / "plan.json").read_bytes()
        place = Path(folder) / "dask"
        place.mkdir()
        (place / "plan.json").write_bytes(plan)
        options: dict[str, Any] = {"processes": True, "dashboard_address": None, "silence_logs": 50}
        with LocalCluster(n_workers=2, threads_per_worker=1, **options) as cluster, Client(cluster) as client:
            client.run(_warm, folder)
            began = time.perf_counter()
            spread = sweep.run(place, executor=client)
            told["dask_s"] = time.perf_counter() - began
            assert spread.to_arrow().equals(whole.to_arrow())
            told["dask_over_threads"] = told["dask_s"] / threads
            killed = Path(folder) / "killed"
            killed.mkdir()
            (killed / "plan.json").write_bytes(plan)
            pids: list[int] = list(client.run(os.getpid).values())
            written: dict[str, int] = {}

            def kill(progress: SweepProgress) -> None:
                if progress.points > progress.points_total / 2 and not written:
                    os.kill(pids[0], signal.SIGKILL)
                    there = SweepResult.open(killed).parts
                    written.update({part: Path(part).stat().st_mtime_ns for part in there})

            began = time.perf_counter()
            after = sweep.run(killed, executor=client, on_progress=kill)
            told["dask_with_a_loss_s"] = time.perf_counter() - began
            after.check()
            assert after.to_arrow().equals(whole.to_arrow())
            told["parts_before_the_loss"] = len(written)
            told["parts_written_twice"] = sum(Path(p).stat().st_mtime_ns != was for p, was in written.items())
    return told


def _warm(folder: str) -> None:
    """Do once what a worker does once: import, read the library, run something."""
    from lanemark._spread import chunk_on_worker

    space = Space(SYSTEM, TEST, AXES, duration=DURATION)
    chunk_on_worker(space, Sweep(space).key, 0, 9, folder, f"warm-{os.getpid()}.parquet")


def _nothing(number: int) -> int:
    return number


def _sleep(seconds: float, _: int) -> float:
    time.sleep(seconds)
    return seconds


def _took(client: Any, name: str, function: Any, *columns: Any) -> float:
    """Seconds from the first task's submission to the last one's answer."""
    from distributed import as_completed

    began = time.perf_counter()
    keys = [f"{name}-{number}" for number in range(len(columns[-1]))]
    for future in as_completed(client.map(function, *columns, key=keys)):
        future.release()
    return time.perf_counter() - began


def a_thousand() -> tuple[float, list[dict[str, float]]]:
    """Tasks that do nothing, then tasks that sleep, in a thousand places of two processes.

    To a scheduler that is the load of a thousand workers. The first give its time for a task; with that the model
    foretells the others.
    """
    from distributed import Client, LocalCluster

    told: list[dict[str, float]] = []
    options: dict[str, Any] = {"processes": True, "dashboard_address": None, "silence_logs": 50}
    places = 1000
    tasks = 4 * places
    with LocalCluster(n_workers=2, threads_per_worker=places // 2, **options) as cluster, Client(cluster) as client:
        each = [_took(client, f"nothing-{turn}", _nothing, range(tasks)) / tasks for turn in range(3)]
        a_task_s = statistics.median(each)
        for seconds in (0.25, 1.0, 4.0):
            took = _took(client, f"sleep-{seconds}", _sleep, [seconds] * tasks, range(tasks))
            foretold = max(tasks * a_task_s, tasks * seconds / places + places * a_task_s)
            told.append({"task_s": seconds, "took_s": took, "model_s": foretold, "ratio": took / foretold})
    return a_task_s, told


def model(seconds_a_point: float, bytes_a_point: float, a_task_s: float) -> list[dict[str, float]]:
    """On paper: the longest of the points' work, the scheduler's, and both at their ends."""
    rows: list[dict[str, float]] = []
    for points in (10**6, 10**8):
        for workers in (10, 100, 1000):
            # Where the scheduler is at work for a tenth of the time, it holds nobody up.
            chunk_s = max(5.0, 10 * a_task_s * workers)
            work_s = points * seconds_a_point / workers
            rows.append(
                {
                    "points": points,
                    "workers": workers,
                    "work_s": work_s,
                    "saturates_below_chunk_s": a_task_s * workers,
                    "chunk_s": chunk_s,
                    "chunk_points": chunk_s / seconds_a_point,
                    "tasks": points * seconds_a_point / chunk_s,
                    "scheduler_busy": a_task_s * workers / chunk_s,
                    "gigabytes": points * bytes_a_point / 1e9,
                }
            )
    return rows


def main() -> None:
    """Measure, and print all as JSON."""
    sweeps = ten_thousand()
    print(json.dumps(sweeps, indent=2), flush=True)
    a_task_s, thousand = a_thousand()
    print(json.dumps({"scheduler_s_a_task": a_task_s, "a_thousand_places": thousand}, indent=2), flush=True)
    rows = model(sweeps["seconds_a_point"], sweeps["bytes_a_point"], a_task_s)
    print(json.dumps(rows, indent=2))


if __name__ == "__main__":
    main()
