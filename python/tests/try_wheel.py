"""Smoke test of an installed wheel. `make wheels` runs it in an environment without other packages."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import lanemark

SYSTEM = "samsung-950-pro-512gb@workstation-z170:m2"

assert Path(lanemark.__file__).is_relative_to(sys.prefix), lanemark.__file__
assert Path(lanemark.__file__).with_name("py.typed").exists()
run = lanemark.simulate(SYSTEM, "quick", duration="10 ms")
tests = run.to_dict()["tests"]
command = Path(sys.executable).with_name("lanemark")
arguments = [command, "sim", SYSTEM, "quick", "--duration", "10ms", "--json", "--no-interval", "--out", "run.json"]
printed = subprocess.run(arguments, capture_output=True, text=True, check=True).stdout
again = lanemark.load_results("run.json")
assert isinstance(again, lanemark.Result)
assert again.to_dict()["tests"] == tests
assert printed.strip()
try:
    run.to_polars()
except lanemark.MissingPackageError as error:
    print(error)
else:
    raise SystemExit("polars is installed, although the wheel does not require it")
print(f"lanemark {lanemark.__version__}: the package and its command give the same results for {len(tests)} tests")
