"""Ctrl-C ends what goes on at once, and other threads go on while something is simulated."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from conftest import SYSTEM, TEST

import lanemark

LONG = "1000 s"


def whole() -> lanemark.Result:
    return lanemark.simulate(SYSTEM, "fit", duration="20 ms")


@pytest.mark.parametrize(
    "call",
    [
        lambda _: lanemark.simulate(SYSTEM, TEST, duration=LONG),
        lambda _: lanemark.whatif(SYSTEM, set={"drive.flash.read": "90 us"}, workload=TEST, duration=LONG),
        lambda run: lanemark.fit(run, "workstation-z170:m2"),
    ],
    ids=["simulate", "whatif", "fit"],
)
def test_ctrl_c_ends_it_at_once(call: Callable[[lanemark.Result], object]) -> None:
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
            pytest.fail("it ended by itself")
    finally:
        timer.cancel()
    # Some milliseconds; a loaded machine is given half a second.
    assert time.monotonic() - sent[0] < 0.5


def test_further_questions_end_too() -> None:
    asked: list[tuple[int, int]] = []

    def stop(ended: int, total: int) -> None:
        # The one test has ended, and further runs of it go on.
        if total > 1 and ended:
            asked.append((ended, total))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lanemark.simulate(SYSTEM, TEST, duration="3 s", repeats=1, bottleneck=True, on_progress=stop)
    (ended, total), *_ = asked
    assert ended < total


def test_what_progress_raises_ends_it() -> None:
    def stop(ended: int, total: int) -> None:
        if ended:
            raise RuntimeError(f"{ended} of {total}")

    with pytest.raises(RuntimeError, match="of 600"):
        lanemark.simulate(SYSTEM, "quick", duration="100 ms", repeats=100, on_progress=stop)


def test_progress_is_told_to_its_end() -> None:
    told: list[tuple[int, int]] = []
    lanemark.simulate(SYSTEM, "quick", duration="1 ms", on_progress=lambda *now: told.append(now))
    assert told[-1] == (18, 18)
    assert told == sorted(told)


def test_simulations_go_on_side_by_side() -> None:
    # Each waits for the other to have told of its own progress: with Python's lock held neither ever would.
    gate = threading.Barrier(2, timeout=30)
    met: list[int] = []

    def one(seed: int) -> float:
        def tell(ended: int, total: int) -> None:
            if not ended and seed not in met:
                met.append(seed)
                gate.wait()

        # A repeat of it takes several of the intervals at which progress is told.
        return lanemark.simulate(SYSTEM, TEST, duration="200 s", seed=seed, threads=1, on_progress=tell).figure("iops")

    with ThreadPoolExecutor(2) as pool:
        figures = list(pool.map(one, [1, 2]))
    assert sorted(met) == [1, 2]
    assert all(figure > 0 for figure in figures)


def test_python_goes_on_meanwhile() -> None:
    with ThreadPoolExecutor(1) as pool:
        run = pool.submit(lanemark.simulate, SYSTEM, TEST, duration="20 s")
        turns = 0
        while not run.done():
            turns += 1
            time.sleep(0.001)
        assert run.result().complete
    assert turns > 5


def test_the_command_ends_with_its_code() -> None:
    words = [sys.executable, "-m", "lanemark", "sim", SYSTEM, TEST, "--duration", LONG, "--out", "/dev/null/none"]
    assert subprocess.run(words, capture_output=True, check=False, timeout=60).returncode in (1, 2)
    words = [sys.executable, "-m", "lanemark", "sim", SYSTEM, TEST, "--duration", LONG, "--json", "--no-interval"]
    at_work = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd="/tmp")
    time.sleep(1.5)
    at_work.send_signal(signal.SIGINT)
    at_work.communicate(timeout=5)
    assert at_work.returncode == 130
