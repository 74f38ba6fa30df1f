"""Simulate, measure and predict the performance of storage paths.

Lanemark shows how much of a drive's speed reaches the application, where the rest is lost, and what another path would
deliver.

>>> import lanemark
>>> result = lanemark.simulate("samsung-950-pro-512gb@workstation-z170:m2", "quick:rnd4k-q1t1-read", duration="10 ms")
>>> result.tests.columns[:3]
['test', 'block_bytes', 'read_share']

A quantity is text with a unit, such as ``"4 KiB"``, or a number in a parameter whose name ends in the unit,
such as ``size_bytes=4096``. A number without a unit is an error. Errors are instances of :class:`LanemarkError`, with
the messages of the ``lanemark`` command.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _lanemark
from ._ask import Study, bench, compare, fit, inspect, load_results, simulate
from ._emulate import Server, Trial, drive, report, trial
from ._model import Library, System, Test, Workload, library
from ._result import Answer, FittedDrive, Inspection, Result, StudyResult, WhatIf, results_folder
from ._simulator import Completion, Simulator
from ._table import Table
from .errors import InputError, LanemarkError, MissingPackageError, RefusedError, RunError

if TYPE_CHECKING:
    from .sweep import Space, Sweep, SweepResult

__version__ = _lanemark.version()

__all__ = [
    "Answer",
    "Completion",
    "FittedDrive",
    "InputError",
    "Inspection",
    "LanemarkError",
    "Library",
    "MissingPackageError",
    "RefusedError",
    "Result",
    "RunError",
    "Server",
    "Simulator",
    "Space",
    "Study",
    "StudyResult",
    "Sweep",
    "SweepResult",
    "System",
    "Table",
    "Test",
    "Trial",
    "WhatIf",
    "Workload",
    "bench",
    "compare",
    "drive",
    "fit",
    "inspect",
    "library",
    "load_results",
    "report",
    "results_folder",
    "simulate",
    "trial",
]


def __getattr__(name: str) -> Any:
    # The dependencies of sweeps take longer to import than the rest of the package.
    if name in ("Space", "Sweep", "SweepResult"):
        from . import sweep

        return getattr(sweep, name)
    raise AttributeError(f"module 'lanemark' has no attribute {name!r}")
