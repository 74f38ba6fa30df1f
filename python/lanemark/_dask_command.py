"""``lanemark sweep … --dask ADDRESS``: a sweep on a cluster of Dask, into a folder of parts.

It takes what ``lanemark sweep`` takes that a folder of parts can have, with the same meaning.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from ._missing import package
from .errors import InputError, LanemarkError, RefusedError


def _words() -> argparse.ArgumentParser:
    words = argparse.ArgumentParser(
        prog="lanemark sweep",
        description="Run a sweep on a cluster of Dask, each worker writing its parts to the folder --out.",
        epilog="A sweep that was interrupted goes on when it is asked for again; nothing is run twice.",
        allow_abbrev=False,
    )
    words.add_argument("system", help="the system, written DRIVE@PLATFORM:PORT, or a sweep's file, NAME.toml")
    words.add_argument("--dask", required=True, metavar="ADDRESS", help="the scheduler, tcp://HOST:8786")
    words.add_argument("--workload", metavar="WORKLOAD:TEST", help="the test")
    words.add_argument("--axis", action="append", default=[], metavar="NAME=VALUES", help="queue_depth=1..256*2")
    words.add_argument("--set", action="append", default=[], metavar="PARAMETER=VALUE", help="for all points")
    words.add_argument("--out", metavar="FOLDER", help="a path or URL that all workers reach")
    words.add_argument("--seed", type=int, default=1, help="the seed of all random numbers")
    words.add_argument("--size", help='use this much of the target, "256MiB"')
    words.add_argument("--duration", help='run the test for this time, "1s"')
    words.add_argument("--repeats", type=int, help="run each point so often")
    words.add_argument("--library", metavar="FOLDER", help="the library's folder, which all workers reach")
    words.add_argument("--chunk-seconds", type=float, default=5.0, help="seconds that a chunk takes at most")
    return words


def _pair(option: str, text: str) -> tuple[str, str]:
    name, found, value = text.partition("=")
    if not found:
        written = "NAME=VALUES" if option == "--axis" else "PARAMETER=VALUE"
        raise InputError(f"{option} {text}: expected {written}")
    return name.strip(), value.strip()


def main(words: list[str]) -> int:
    """Run the command, and return its exit code: that of ``lanemark`` for the same end."""
    args = _words().parse_args(words)
    try:
        _run(args)
    except KeyboardInterrupt:
        print("interrupted; run the same command to continue", file=sys.stderr)
        return 130
    except LanemarkError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2 if isinstance(error, InputError) else 3 if isinstance(error, RefusedError) else 1
    return 0


def _run(args: argparse.Namespace) -> None:
    from .sweep import Space, Sweep, SweepProgress

    changes: dict[str, Any] = {
        "size": args.size,
        "duration": args.duration,
        "repeats": args.repeats,
        "seed": args.seed,
        "library": args.library,
    }
    axes = dict(_pair("--axis", text) for text in args.axis)
    set = dict(_pair("--set", text) for text in args.set)
    if args.system.endswith(".toml") and "@" not in args.system:
        space = Space.open(args.system)
        told: dict[str, Any] = {"system": space.system, "workload": args.workload or space.workload}
        space = Space(**told, axes={**space.axes, **axes}, set={**space.set, **set}, **changes)
    elif args.workload is None:
        raise InputError("--workload is missing", "for example --workload data-sheet:rnd4k-q32t1-read")
    else:
        space = Space(args.system, args.workload, axes, set, **changes)
    sweep = Sweep(space)
    distributed: Any = package("distributed", "dask")

    def show(progress: SweepProgress) -> None:
        if sys.stderr.isatty():
            line = f"{progress.points} of {progress.points_total} points"
            print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)

    try:
        client: Any = distributed.Client(args.dask, timeout=10)
    except (OSError, ValueError) as error:
        raise InputError(
            f"--dask {args.dask}: no scheduler answers there", "for example tcp://127.0.0.1:8786"
        ) from error
    with client:
        outcome = sweep.run(args.out, executor=client, chunk_seconds=args.chunk_seconds, on_progress=show)
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr)
    print(f"saved {sweep.points} points in {len(outcome.parts)} parts at {outcome.place}", file=sys.stderr)
