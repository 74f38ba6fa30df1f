#!/usr/bin/env python3
"""Count false alarms and detections of the gate of `lanemark compare --baseline`.

A modelled drive is served as a file and measured repeatedly. In the first half nothing changes, so each failure of the
gate is a false alarm. In the second half a fault of the server adds a tenth to the latency, so each success of the gate
is a miss. The baseline is the ten results before the first counted run of each half.

usage: gate.py PROGRAM [RUNS]    (RUNS per half, 100 by default)
"""

import json
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SYSTEM = "samsung-850-pro-1tb@workstation-z170:sata"
GATE = "slower by 3%"
BASELINE = 10
TEST = """[workload]
name = "Random reads, one at a time"
repeats = 3
average = "mean"

[[test]]
name = "read"
block = "4 KiB"
pattern = "random"
read = "100%"
queue_depth = 1
threads = 1
span = "64 MiB"
duration = "300 ms"
"""


def measure(program: str, disk: Path, folder: Path, number: int) -> Path:
    """Measure the disk, and return the result's file."""
    out = folder / f"run-{number}.json"
    words = [program, "bench", disk, folder / "test.toml", "--name", "disk", "--out", out]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return out


def fails(program: str, result: Path, baseline: Path) -> bool:
    """Return whether the gate fails. The result stays out of the baseline, whose ten results are the same for all."""
    words = [program, "compare", result, "--baseline", baseline, "--fail-if", GATE]
    code = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode
    if code not in (0, 1):
        raise SystemExit(f"compare ended with exit code {code}")
    return code == 1


def main() -> int:
    """Run both halves, and print the counts."""
    program = str(Path(sys.argv[1]).resolve())
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    with tempfile.TemporaryDirectory(prefix="lanemark-gate-") as name:
        folder = Path(name)
        (folder / "test.toml").write_text(TEST, encoding="utf-8")
        disk = folder / "disk"
        control = folder / "control"
        words = [program, "serve", SYSTEM, "--size", "64 MiB", "--memory", "--mount", disk, "--control", control]
        server = subprocess.Popen([*words, "--out", folder / "served.json"], stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout is not None
            assert server.stdout.readline()
            alarms = half(program, disk, folder, runs, "a")
            tenth = f"extra={mean_latency(folder / 'baseline-a') / 10_000:.1f}us"
            subprocess.run([program, "serve", "fault", control, "latency", tenth], check=True)
            found = sum(
                fails(program, measure(program, disk, folder, 10_000 + number), copy(folder, "a"))
                for number in range(runs)
            )
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(timeout=60)
    print(f"{alarms} of {runs} equal runs failed the gate `{GATE}`")
    print(f"{found} of {runs} runs with a fault of a tenth failed it")
    return 0 if alarms * 50 <= runs and found * 20 >= runs * 19 else 1


def mean_latency(baseline: Path) -> float:
    """Return the mean latency of the baseline in nanoseconds."""
    results = [json.loads(file.read_text(encoding="utf-8")) for file in baseline.glob("*.json")]
    return statistics.mean(result["tests"][0]["latency_mean_ns"]["value"] for result in results)


def half(program: str, disk: Path, folder: Path, runs: int, name: str) -> int:
    """Measure the baseline and then equal runs, and return the number of alarms."""
    baseline = folder / f"baseline-{name}"
    for number in range(BASELINE):
        result = measure(program, disk, folder, number)
        # Without a gate each result is added.
        subprocess.run([program, "compare", result, "--baseline", baseline], check=True, stdout=subprocess.DEVNULL)
    return sum(
        fails(program, measure(program, disk, folder, 100 + number), copy(folder, name)) for number in range(runs)
    )


def copy(folder: Path, name: str) -> Path:
    """Return a copy of the baseline, to which the comparison may add its result."""
    target = folder / f"copy-{time.monotonic_ns()}"
    target.mkdir()
    for file in (folder / f"baseline-{name}").glob("*.json"):
        (target / file.name).write_bytes(file.read_bytes())
    return target


if __name__ == "__main__":
    sys.exit(main())
