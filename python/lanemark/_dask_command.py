"""``lanemark sweep … --dask ADDRESS``: run a sweep on a Dask cluster, and write its points to a CSV file.

The options have the same meaning as without ``--dask``.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from ._missing import package
from .errors import InputError, LanemarkError, RefusedError


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="lanemark sweep",
        description="Run a sweep on a Dask cluster. This command writes the points to the file given by --out.",
        epilog="Run the same command again to continue an interrupted sweep. No point in the file is run again.",
        allow_abbrev=False,
    )
    parser.add_argument("system", help="the system, DRIVE@PLATFORM:PORT, or a sweep file, NAME.toml")
    parser.add_argument("--dask", required=True, metavar="ADDRESS", help="the scheduler's address, tcp://HOST:8786")
    parser.add_argument("--workload", metavar="WORKLOAD:TEST", help="the test to run at each point")
    parser.add_argument(
        "--axis", action="append", default=[], metavar="NAME=VALUES", help="an axis, such as queue_depth=1..256*2"
    )
    parser.add_argument("--set", action="append", default=[], metavar="PARAMETER=VALUE", help="a value for all points")
    parser.add_argument("--out", metavar="FILE", help="the CSV file of the points")
    parser.add_argument("--seed", type=int, default=1, help="the seed of all random numbers")
    parser.add_argument("--size", help='the part of the target that the test uses, such as "256MiB"')
    parser.add_argument("--duration", help='the run time of the test at each point, such as "1s"')
    parser.add_argument("--repeats", type=int, help="the number of repeats of each point")
    parser.add_argument("--library", metavar="FOLDER", help="the library's folder, which all workers share")
    parser.add_argument("--chunk-points", type=int, help="the number of points of a chunk")
    return parser


def _pair(option: str, text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not separator:
        syntax = "NAME=VALUES" if option == "--axis" else "PARAMETER=VALUE"
        raise InputError(f"{option} {text}: expected {syntax}")
    return name.strip(), value.strip()


def main(arguments: list[str]) -> int:
    """Run the command, and return the exit code that ``lanemark`` returns for the same outcome."""
    args = _parser().parse_args(arguments)
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
        subject: dict[str, Any] = {"system": space.system, "workload": args.workload or space.workload}
        space = Space(**subject, axes={**space.axes, **axes}, set={**space.set, **set}, **changes)
    elif args.workload is None:
        raise InputError("--workload is missing", "add, for example, --workload data-sheet:rnd4k-q32t1-read")
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
            f"--dask {args.dask}: no scheduler answers at this address", "use, for example, tcp://127.0.0.1:8786"
        ) from error
    with client:
        outcome = sweep.run(args.out, executor=client, chunk_points=args.chunk_points, on_progress=show)
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr)
    print(f"saved {sweep.points} points to {outcome.path}", file=sys.stderr)
