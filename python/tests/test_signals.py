"""Ctrl-C stops a running call immediately, and other threads keep running during a simulation."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from conftest import SYSTEM, TEST

import lanemark
from lanemark.sweep import Space, Sweep

LONG = "1000 s"


def new_file() -> Path:
    return Path(tempfile.mkdtemp()) / "sweep.csv"


def whole() -> lanemark.Result:
    return lanemark.simulate(SYSTEM, "fit", duration="20 ms")


@pytest.mark.parametrize(
    "call",
    [
        lambda _: lanemark.simulate(SYSTEM, TEST, duration=LONG, full=True),
        lambda _: lanemark.compare(SYSTEM, set={"drive.flash.read": "90 us"}, workload=TEST, duration=LONG, full=True),
        lambda run: lanemark.fit(run, "workstation-z170:m2"),
        lambda _: lanemark.Study("oltp-value-sas").run(full=True, bottleneck=True, interval=True),
        lambda _: Sweep(Space(SYSTEM, TEST, {"queue_depth": [1, 2]}, duration=LONG, full=True)).run(
            Path(tempfile.mkdtemp()) / "a.csv"
        ),
    ],
    ids=["simulate", "compare", "fit", "study", "sweep"],
)
def test_ctrl_c_stops_a_call_at_once(call: Callable[[lanemark.Result], object]) -> None:
    run = whole()
    sent: list[float] = []

    def press() -> None:
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(0.5, press)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            call(run)
            pytest.fail("the call ended before the signal")
    finally:
        timer.cancel()
    # The call usually takes a few milliseconds. The limit allows for a loaded machine.
    assert time.monotonic() - sent[0] < 0.5


def test_further_runs_are_stopped_too() -> None:
    calls: list[tuple[float, int]] = []

    def stop(ended: float, total: int) -> None:
        # The test itself has finished, and its additional runs are in progress.
        if total > 1 and ended:
            calls.append((ended, total))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lanemark.simulate(SYSTEM, TEST, duration="2 s", repeats=1, bottleneck=True, full=True, on_progress=stop)
    (ended, total), *_ = calls
    assert ended < total


def test_an_exception_in_the_progress_callback_stops_a_run() -> None:
    def stop(ended: float, total: int) -> None:
        if ended:
            raise RuntimeError(f"{ended} of {total}")

    with pytest.raises(RuntimeError, match="of 600"):
        lanemark.simulate(SYSTEM, "quick", duration="100 ms", repeats=100, full=True, on_progress=stop)


def test_progress_is_reported_until_the_end() -> None:
    reports: list[tuple[float, int]] = []
    lanemark.simulate(SYSTEM, "quick", duration="1 ms", full=True, on_progress=lambda *now: reports.append(now))
    assert reports[-1] == (18, 18)
    assert reports == sorted(reports)


def test_progress_is_reported_within_a_repeat() -> None:
    reports: list[float] = []
    lanemark.simulate(
        SYSTEM, TEST, duration="60 s", repeats=1, full=True, on_progress=lambda now, _: reports.append(now)
    )
    assert reports[-1] == 1
    assert any(0 < now < 1 for now in reports)
    assert reports == sorted(reports)


def test_simulations_run_in_parallel() -> None:
    # Each waits for the other's progress report. If either held Python's global lock, both would wait forever.
    gate = threading.Barrier(2, timeout=30)
    met: list[int] = []

    def rate(seed: int) -> float:
        def report(ended: float, total: int) -> None:
            if ended < 1 and seed not in met:
                met.append(seed)
                gate.wait()

        # A repeat takes several times as long as the interval between progress reports.
        run = lanemark.simulate(SYSTEM, TEST, duration="200 s", seed=seed, full=True, threads=1, on_progress=report)
        return run.figure("iops")

    with ThreadPoolExecutor(2) as pool:
        figures = list(pool.map(rate, [1, 2]))
    assert sorted(met) == [1, 2]
    assert all(figure > 0 for figure in figures)


def test_python_keeps_running_during_a_simulation() -> None:
    with ThreadPoolExecutor(1) as pool:
        run = pool.submit(lanemark.simulate, SYSTEM, TEST, duration="2 s", full=True)
        turns = 0
        while not run.done():
            turns += 1
            time.sleep(0.001)
        assert run.result().complete
    assert turns > 5


def test_the_command_ends_with_its_code() -> None:
    arguments = [sys.executable, "-m", "lanemark", "sim", SYSTEM, TEST, "--duration", LONG, "--out", "/dev/null/none"]
    assert subprocess.run(arguments, capture_output=True, check=False, timeout=60).returncode in (1, 2)
    arguments = [
        sys.executable,
        "-m",
        "lanemark",
        "sim",
        SYSTEM,
        TEST,
        "--duration",
        LONG,
        "--full",
        "--json",
        "--no-interval",
    ]
    at_work = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd="/tmp")
    time.sleep(1.5)
    at_work.send_signal(signal.SIGINT)
    at_work.communicate(timeout=5)
    assert at_work.returncode == 130
