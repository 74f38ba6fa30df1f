#!/usr/bin/env python3
"""Run all test programs of the workspace, with as many programs in parallel as there are processors.

`cargo test` runs one program after another, and many of our programs wait for databases, servers and browsers. The
programs that compare measured times run last, one at a time. A program in RETRIED that fails runs a second time, and is
reported as flaky if it then succeeds. Any other program fails at its first failure. The arguments are passed to
`cargo test`.
"""

import json
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import NamedTuple


class Program(NamedTuple):
    """A test program with its package, the path of its file, and the folder of the package."""

    package: str
    name: str
    path: str
    folder: Path


class Outcome(NamedTuple):
    """The output of a program, its exit code, and its elapsed time in seconds."""

    program: Program
    printed: str
    code: int
    seconds: float


ROOT = Path(__file__).parents[2]
# The slowest programs, which start first so that the last programs end together.
FIRST = ("readme", "disk", "book", "collection", "recovery", "lanemark_sim", "postgres", "golden")
# The programs that compare measured times, which other programs would disturb.
TIMED = ("served", "serve", "trial", "verdicts", "oltp_live", "oltp_throttled", "measuring", "warnings", "beside_fio")
# The programs whose outcome depends on the speed of the machine, each with the reason.
RETRIED = {
    "serve": "some of its tests require that a served disk answers in time, and other programs delay it",
    "served": "some of its tests compare delivered with modelled latencies, and other programs delay them",
    "trial": "some of its tests require that a served disk answers in time, and other programs delay it",
    "verdicts": "it compares the time of real requests with the model, and other programs delay them",
    "measuring": "it compares measured rates with limits of the kernel, and other programs use the processors",
    "warnings": "it compares measured latencies with a limit of the kernel, and other programs use the processors",
    "beside_fio": "it compares two measurements, between which the speed of the machine can change",
    "oltp_live": "it requires that a served disk answers in time, and other programs delay it",
    "oltp_throttled": "it requires that a served disk answers in time, and other programs delay it",
}


def programs(arguments: list[str]) -> list[Program]:
    """Build the test programs, and return them, the slowest first."""
    command = ["cargo", "test", "--no-run", "--message-format=json-render-diagnostics", *arguments]
    build = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if build.returncode:
        sys.exit(build.returncode)
    found = []
    for line in build.stdout.splitlines():
        message = json.loads(line)
        is_test = message.get("profile", {}).get("test") and message.get("executable")
        if message["reason"] == "compiler-artifact" and is_test:
            folder = Path(message["manifest_path"]).parent
            found.append(Program(folder.name, message["target"]["name"], message["executable"], folder))
    return sorted(found, key=lambda program: program.name not in FIRST)


def settings() -> dict[str, str]:
    """Return the environment variables that cargo sets for the programs that it runs."""
    return dict(re.findall(r'^(\w+) = "(.*)"$', (ROOT / ".cargo/config.toml").read_text(), re.MULTILINE))


def outcome(program: Program) -> Outcome:
    """Run a program until it ends."""
    begin = time.monotonic()
    environment = os.environ | settings() | {"CARGO_MANIFEST_DIR": str(program.folder)}
    run = subprocess.run(
        [program.path],
        cwd=program.folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    printed = run.stdout.decode(errors="replace")
    return Outcome(program, printed, run.returncode, time.monotonic() - begin)


def show(ended: Outcome, note: str = "") -> None:
    """Print a whole outcome, so that outputs do not mix."""
    verdict = "ok" if ended.code == 0 else f"FAILED with code {ended.code}"
    print(f"\n--- {ended.program.package}: {ended.program.name}: {verdict} in {ended.seconds:.1f} s{note}", flush=True)
    print(ended.printed, end="", flush=True)


def main() -> int:
    """Run the programs in parallel, the timed programs one at a time, and the failed programs of RETRIED again."""
    all_programs = programs(sys.argv[1:])
    if not all_programs:
        print("no test program was built", file=sys.stderr)
        return 1
    timed = [program for program in all_programs if program.name in TIMED]
    ended = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        others = [pool.submit(outcome, program) for program in all_programs if program not in timed]
        for done in as_completed(others):
            ended.append(done.result())
            show(ended[-1])
    for program in timed:
        ended.append(outcome(program))
        show(ended[-1], ", without another program in parallel")
    failed, flaky = [], []
    for first in (one for one in ended if one.code):
        name = first.program.name
        if name not in RETRIED:
            failed.append(name)
            continue
        second = outcome(first.program)
        show(second, f", a second time: {RETRIED[name]}")
        (failed if second.code else flaky).append(name)
    print(f"\n{len(all_programs)} programs; failed: {failed}; flaky: {flaky}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
