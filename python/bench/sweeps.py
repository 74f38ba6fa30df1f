"""Sweeps on two cores, on a cluster of two workers and with a killed worker, and the scheduler with 1000 workers.

``make python-bench`` runs this program. docs/sweeps.md describes the model that it prints at the end.
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
from lanemark.sweep import Space, Sweep, SweepProgress

SYSTEM = "samsung-950-pro-512gb@workstation-z170:m2"
TEST = "quick:rnd4k-q32t1-read"
#: 10,000 points of a few milliseconds each.
AXES: dict[str, Any] = {
    "drive.flash.read": "41us..60us+1us",
    "drive.flash.command_time": "0.1us..1us+0.1us",
    "block": ["4 KiB", "8 KiB", "16 KiB", "32 KiB", "64 KiB"],
    "queue_depth": "1..10",
}
#: The simulated time of each point.
DURATION = "50 ms"
CORES = len(os.sched_getaffinity(0))


def processor_s() -> float:
    """Return the processor time of this process and its finished children, in seconds."""
    usages = (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def ten_thousand() -> dict[str, float]:
    """Run all points on threads, on two local Dask workers, and on two Dask workers, one of them killed halfway."""
    from distributed import Client, LocalCluster

    sweep = Sweep(Space(SYSTEM, TEST, AXES, duration=DURATION))
    assert sweep.points == 10_000, sweep.points
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        occupied: list[float] = []
        own = lanemark.sweep.run_chunk

        def timed(*args: Any) -> str | None:
            began = time.perf_counter()
            rows = own(*args)
            occupied.append(time.perf_counter() - began)
            return rows

        lanemark.sweep.run_chunk = timed
        began, used = time.perf_counter(), processor_s()
        whole = sweep.run(Path(folder) / "threads.csv").path
        threads = time.perf_counter() - began
        lanemark.sweep.run_chunk = own
        figures["threads_occupied"] = sum(occupied) / threads / CORES
        figures["threads_s"] = threads
        figures["threads_busy"] = (processor_s() - used) / threads / CORES
        figures["chunks"] = len(occupied)
        figures["bytes_a_point"] = whole.stat().st_size / sweep.points
        figures["seconds_a_point"] = (processor_s() - used) / sweep.points
        options: dict[str, Any] = {"processes": True, "dashboard_address": None, "silence_logs": 50}
        with LocalCluster(n_workers=2, threads_per_worker=1, **options) as cluster, Client(cluster) as client:
            client.run(_warm)
            began = time.perf_counter()
            on_dask = sweep.run(Path(folder) / "dask.csv", executor=client).path
            figures["dask_s"] = time.perf_counter() - began
            assert on_dask.read_bytes() == whole.read_bytes()
            figures["dask_over_threads"] = figures["dask_s"] / threads
            pids: list[int] = list(client.run(os.getpid).values())
            killed: list[int] = []

            def kill(progress: SweepProgress) -> None:
                if progress.points > progress.points_total / 2 and not killed:
                    killed.append(pids[0])
                    os.kill(pids[0], signal.SIGKILL)

            began = time.perf_counter()
            after = sweep.run(Path(folder) / "killed.csv", executor=client, on_progress=kill).path
            figures["dask_with_a_loss_s"] = time.perf_counter() - began
            assert killed
            assert after.read_bytes() == whole.read_bytes()
    return figures


def _warm() -> None:
    """Import the package, read the library and run a few points, so that later tasks do not include this time."""
    from lanemark._spread import chunk_on_worker

    space = Space(SYSTEM, TEST, AXES, duration=DURATION)
    chunk_on_worker(space, Sweep(space).key, 0, 9)


def _nothing(number: int) -> int:
    return number


def _sleep(seconds: float, _: int) -> float:
    time.sleep(seconds)
    return seconds


def _took(client: Any, name: str, function: Any, *columns: Any) -> float:
    """Return the time from the submission of the first task to the result of the last task, in seconds."""
    from distributed import as_completed

    began = time.perf_counter()
    keys = [f"{name}-{number}" for number in range(len(columns[-1]))]
    for future in as_completed(client.map(function, *columns, key=keys)):
        future.release()
    return time.perf_counter() - began


def a_thousand() -> tuple[float, list[dict[str, float]]]:
    """Run empty tasks, then tasks that sleep, in a thousand slots of two processes.

    For the scheduler, this is the load of a thousand workers. The empty tasks measure the scheduler's time per task,
    from which the model predicts the time of the sleeping tasks.
    """
    from distributed import Client, LocalCluster

    rows: list[dict[str, float]] = []
    options: dict[str, Any] = {"processes": True, "dashboard_address": None, "silence_logs": 50}
    slots = 1000
    tasks = 4 * slots
    with LocalCluster(n_workers=2, threads_per_worker=slots // 2, **options) as cluster, Client(cluster) as client:
        each = [_took(client, f"nothing-{turn}", _nothing, range(tasks)) / tasks for turn in range(3)]
        a_task_s = statistics.median(each)
        for seconds in (0.25, 1.0, 4.0):
            took = _took(client, f"sleep-{seconds}", _sleep, [seconds] * tasks, range(tasks))
            predicted = max(tasks * a_task_s, tasks * seconds / slots + slots * a_task_s)
            rows.append({"task_s": seconds, "took_s": took, "model_s": predicted, "ratio": took / predicted})
    return a_task_s, rows


def model(seconds_a_point: float, bytes_a_point: float, a_task_s: float) -> list[dict[str, float]]:
    """Return the model's predictions for large sweeps, from the time per point and the scheduler's time per task."""
    rows: list[dict[str, float]] = []
    for points in (10**6, 10**8):
        for workers in (10, 100, 1000):
            # A scheduler that is busy for a tenth of the time does not delay the workers.
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
    """Measure, and print the figures as JSON."""
    sweeps = ten_thousand()
    print(json.dumps(sweeps, indent=2), flush=True)
    a_task_s, thousand = a_thousand()
    print(json.dumps({"scheduler_s_a_task": a_task_s, "a_thousand_slots": thousand}, indent=2), flush=True)
    rows = model(sweeps["seconds_a_point"], sweeps["bytes_a_point"], a_task_s)
    print(json.dumps(rows, indent=2))


if __name__ == "__main__":
    main()
