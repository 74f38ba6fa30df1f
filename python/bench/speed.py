"""The package's overhead: a simulation compared with the command, a call, an import, and reading a million rows.

``make python-bench`` runs this program. With ``--check``, it exits with an error if a figure exceeds its bound.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import lanemark

SYSTEM = "samsung-950-pro-512gb@workstation-z170:m2"
TEST = "quick:rnd4k-q32t1-read"
PROGRAMS = Path(os.environ.get("LANEMARK_PROGRAMS", "target/release"))


def seconds_of(command: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - began


def quiet(seconds: list[float]) -> float:
    """Return the 10% quantile. Longer times include delays caused by other processes on the machine."""
    return sorted(seconds)[len(seconds) // 10]


def overhead(turns: int = 7) -> dict[str, float]:
    """Time a simulation of about a second with the command, with a separate Python program, and with a call."""
    duration = "1 s"
    for guess in (10, 20, 40, 80, 160):
        began = time.perf_counter()
        lanemark.simulate(SYSTEM, TEST, duration=f"{guess} s", repeats=1)
        duration = f"{guess} s"
        if time.perf_counter() - began > 0.8:
            break
    code = f"import lanemark; lanemark.simulate({SYSTEM!r}, {TEST!r}, duration={duration!r}, repeats=1)"
    with tempfile.TemporaryDirectory() as folder:
        arguments = ["sim", SYSTEM, TEST, "--duration", duration, "--repeats", "1", "--no-interval", "--out", folder]
        command, program, call = [], [], []
        # The three kinds alternate, so that other programs on the machine affect them equally.
        for _ in range(turns):
            command.append(seconds_of([str(PROGRAMS / "lanemark"), *arguments]))
            program.append(seconds_of([sys.executable, "-c", code]))
            began = time.perf_counter()
            lanemark.simulate(SYSTEM, TEST, duration=duration, repeats=1)
            call.append(time.perf_counter() - began)
    best = [quiet(seconds) for seconds in (command, program, call)]
    return {
        "command_s": best[0],
        "python_program_s": best[1],
        "call_s": best[2],
        "overhead_of_call": best[2] / best[0] - 1,
        "overhead_of_program": best[1] / best[0] - 1,
    }


def calls(times: int = 400) -> dict[str, float]:
    """Time the smallest simulation, with the Rust crates and with the package, and the requests of a custom load."""
    system = lanemark.System(SYSTEM)
    test = lanemark.Workload("quick:rnd4k-q1t1-read").changed(duration="1 us")
    arguments = [str(PROGRAMS / "examples/one_run"), SYSTEM, "quick:rnd4k-q1t1-read", "1 us", "1", str(times)]
    own: list[float] = []
    lab: list[float] = []
    for _ in range(5):
        for _ in range(times):
            began = time.perf_counter()
            lanemark.simulate(system, test)
            own.append(time.perf_counter() - began)
        output = subprocess.run(arguments, capture_output=True, text=True, check=True).stdout
        lab += [float(line) for line in output.split()]
    simulator = lanemark.Simulator(system)
    requests = 200_000
    began = time.perf_counter()
    for tag in range(requests):
        simulator.submit("read", offset_bytes=4096 * (tag % 1000), length_bytes=4096, tag=tag)
        simulator.advance()
    pair = (time.perf_counter() - began) / requests
    return {
        "simulate_us": 1e6 * quiet(own),
        "laboratory_us": 1e6 * quiet(lab),
        "beyond_core_us": 1e6 * (quiet(own) - quiet(lab)),
        "submit_and_advance_us": 1e6 * pair,
    }


def imports(turns: int = 15) -> dict[str, float]:
    """Time the import of the package, as the difference between programs with and without it."""
    bare, own = [], []
    for _ in range(turns):
        bare.append(seconds_of([sys.executable, "-c", "pass"]))
        own.append(seconds_of([sys.executable, "-c", "import lanemark"]))
    return {"import_ms": 1e3 * (statistics.median(own) - statistics.median(bare))}


def rows(count: int = 1_000_000, parts: int = 100) -> dict[str, float]:
    """Time reading the parts of a sweep, with a million rows in total, into polars."""
    import polars
    import pyarrow
    import pyarrow.parquet as files

    from lanemark.sweep import Space, Sweep

    axes = {"queue_depth": "1..64", "block": ["4 KiB", "8 KiB", "16 KiB", "32 KiB"]}
    with tempfile.TemporaryDirectory() as folder:
        sweep = Sweep(Space(SYSTEM, TEST, axes, duration="1 ms")).run(Path(folder) / "sweep")
        own: Any = sweep.to_arrow()
        many: Any = pyarrow.concat_tables([own] * (count // parts // own.num_rows + 1)).slice(0, count // parts)
        million = Path(folder) / "million"
        million.mkdir()
        for part in range(parts):
            files.write_table(many, million / f"part-{part}.parquet", compression="zstd")
        size = sum(file.stat().st_size for file in million.iterdir())
        times = []
        for _ in range(5):
            began = time.perf_counter()
            frame = polars.read_parquet(f"{million}/*.parquet")
            times.append(time.perf_counter() - began)
            assert len(frame) == count
    return {"read_million_rows_s": statistics.median(times), "bytes_a_row": size / count}


BOUNDS = {"overhead_of_call": 0.05, "beyond_core_us": 50.0, "import_ms": 150.0, "read_million_rows_s": 1.0}


def main() -> None:
    """Measure, print the figures as JSON, and compare them with the bounds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail if a figure exceeds its bound")
    args = parser.parse_args()
    figures = {**overhead(), **calls(), **imports(), **rows()}
    print(json.dumps({name: round(value, 4) for name, value in figures.items()}, indent=2))
    exceeded = {name: bound for name, bound in BOUNDS.items() if figures[name] > bound}
    excesses = [f"{name}: {figures[name]:.3g} is above {bound:g}" for name, bound in exceeded.items()]
    print("\n".join(excesses) or "all figures are within their bounds")
    sys.exit(1 if args.check and excesses else 0)


if __name__ == "__main__":
    main()
