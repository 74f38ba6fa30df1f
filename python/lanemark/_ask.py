"""Questions: simulate, measure, inspect, fit, and what another path would give."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Union

from . import _lanemark
from ._model import Library, Setting, System, Test, Workload, inner, workload
from ._quantity import one_of, settings
from ._result import FittedDrive, Inspection, Result, StudyResult, WhatIf
from ._scalar import coerced
from .errors import InputError

#: What is told while something goes on: how many pieces of the work have ended, of how many.
Progress = Callable[[int, int], object]
#: Whatever names a workload.
Asked = Union[str, "os.PathLike[str]", Workload, Test, Sequence[Test]]


def call(name: str, *words: object) -> list[str]:
    """Return a call for a provenance."""
    return ["python", f"lanemark.{name}", *(str(word) for word in words)]


def seeded(seed: int) -> int:
    """Return ``seed``, which must be a whole number of 64 bits."""
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**64:
        raise InputError(f"seed = {seed!r}: is not a whole number from 0 to {2**64 - 1}")
    return seed


@coerced
def simulate(
    system: System | str,
    workload_: Asked,
    *,
    set: dict[str, Setting] | None = None,
    size: str | None = None,
    size_bytes: int | None = None,
    duration: str | None = None,
    duration_seconds: float | None = None,
    repeats: int | None = None,
    steady: str | None = None,
    interval_length: str | None = None,
    faults: Sequence[str] = (),
    bottleneck: bool = False,
    interval: bool = False,
    full: bool = False,
    seed: int = 1,
    threads: int | None = None,
    library: Library | None = None,
    on_progress: Progress | None = None,
) -> Result:
    """Simulate a workload on a system, as ``lanemark sim`` does.

    One seed gives one result, to the last digit, on any machine and any number of threads. Other threads of Python go
    on meanwhile; Ctrl-C ends it within some milliseconds.

    Args:
        system: A :class:`System`, or its name.
        workload_: A :class:`Workload`, a :class:`Test` or several, or a name or file.
        set: Model values in place of the library's, where the system is given by name.
        size: Part of the target that each test uses, ``"256 MiB"``.
        size_bytes: The same in bytes.
        duration: How long each test runs in simulated time, ``"1 s"``.
        duration_seconds: The same in seconds.
        repeats: How often each test is run, 1 to 1000.
        steady: The length of the rounds in which each test runs until it is steady.
        interval_length: The length of the intervals that are recorded, ``"1 s"``.
        faults: What goes wrong in each test, ``"power-cut at=2s boot=5s"``.
        bottleneck: Whether to say what limits each test, by a dozen further runs of it.
        interval: Whether to add the 80% interval of each figure, as the command does by default.
        full: Whether to simulate each test and its repeats completely, instead of stopping when its figures have
            converged.
        seed: The seed of all random numbers, 0 to 2**64 - 1.
        threads: Threads that simulate; as many as there are cores without it.
        library: The library of the names; the usual one without it.
        on_progress: Called with the number of repeats that have ended, and of all. What it raises ends the run.

    Returns:
        The result, with a row for each test.

    Raises:
        InputError: Whatever does not fit together, before anything runs.
        KeyboardInterrupt: Where Ctrl-C ended it.
    """
    if isinstance(system, str):
        system = System(system, set=set, library=library)
    elif set is not None:
        raise InputError("set: the system is made already", "give its values to System(…, set=…)")
    size = one_of("size", size, "bytes", size_bytes)
    duration = one_of("duration", duration, "seconds", duration_seconds)
    if isinstance(workload_, (str, os.PathLike)):
        target_size = size or f"{system.capacity_bytes} B"
        workload_ = Workload(workload_, library=library or system.library, target_size=target_size)
    asked = workload(workload_, library)
    if any(one is not None for one in (size, duration, repeats, steady, interval_length)) or faults:
        asked = asked.changed(
            size=size,
            duration=duration,
            repeats=repeats,
            steady=steady,
            interval=interval_length,
            faults=faults,
        )
    run = _lanemark.simulate(
        system._inner,
        asked._inner,
        seeded(seed),
        threads,
        {"bottleneck": bottleneck, "interval": interval, "full": full},
        call("simulate", system.name, asked.id),
        on_progress,
    )
    return Result(run)


@coerced
def bench(
    path: str | os.PathLike[str],
    workload_: Asked = "crystaldiskmark-8",
    *,
    size: str | None = None,
    size_bytes: int | None = None,
    duration: str | None = None,
    duration_seconds: float | None = None,
    repeats: int | None = None,
    overwrite: str | os.PathLike[str] | None = None,
    i_will_lose_all_data_on: str | os.PathLike[str] | None = None,
    purge: str | None = None,
    precondition: bool = False,
    explain: bool = False,
    engine: str | None = None,
    buffered: bool = False,
    pin: bool = False,
    seed: int = 1,
    library: Library | None = None,
    on_progress: Progress | None = None,
) -> Result:
    """Measure a workload on a real file, folder or block device, as ``lanemark bench`` does.

    It makes a file of its own and removes it. Ctrl-C ends it when the device has answered, and the file is removed.

    Args:
        path: A file to create, measure and remove; a folder to do so in; or a block device.
        workload_: A workload, or its name or file.
        size: Part of the target that each test uses, ``"256 MiB"``.
        size_bytes: The same in bytes.
        duration: How long each test runs, ``"1 s"``.
        duration_seconds: The same in seconds.
        repeats: How often each test is run, 1 to 1000.
        overwrite: Lets this existing file be overwritten; must name the same file as ``path``.
        i_will_lose_all_data_on: Lets this block device be written, all of it; must name the same device as ``path``.
        purge: How to bring the device back to new first: ``"discard"``, ``"secure-discard"``, or a command of the shell.
        precondition: Whether to write all of the target twice over first.
        explain: Whether to try a deeper queue for each test too, and say what limited it.
        engine: ``"io_uring"``, ``"sync"`` or ``"null"``.
        buffered: Whether to go through the page cache.
        pin: Whether to keep each thread on one processor.
        seed: The seed of all random numbers.
        library: The library of the workload's name.
        on_progress: Called with the number of samples that have ended, and of all.

    Raises:
        RefusedError: Where somebody's data could be lost.
        InputError: Where the target cannot be what is asked.
        RunError: Where a request failed.
    """
    size = one_of("size", size, "bytes", size_bytes)
    if isinstance(workload_, (str, os.PathLike)):
        workload_ = Workload(workload_, library=library, target_size=size)
    asked = workload(workload_, library)
    duration = one_of("duration", duration, "seconds", duration_seconds)
    asked = asked.changed(size=size, duration=duration, repeats=repeats)
    measure: _lanemark.Measure = {
        "overwrite": overwrite,
        "i_will_lose_all_data_on": i_will_lose_all_data_on,
        "purge": purge,
        "precondition": precondition,
        "explain": explain,
        "engine": engine,
        "buffered": buffered,
        "pin": pin,
        "seed": seeded(seed),
    }
    inner_workload = asked._inner
    command = call("bench", os.fspath(path), asked.id)
    return Result(_lanemark.bench(os.fspath(path), inner_workload, measure, command, on_progress))


def inspect(target: str | os.PathLike[str] | None = None, *, sysfs: str | os.PathLike[str] = "/sys") -> Inspection:
    """Show the storage paths of this machine, link by link, and what limits them.

    Args:
        target: A block device, ``"nvme0n1"``, or a path that lies on one; all devices without it.
        sysfs: The sysfs tree to read, this machine's or a captured one.

    Raises:
        InputError: Where there is no such tree or device.
    """
    return Inspection(_lanemark.inspect(None if target is None else os.fspath(target), os.fspath(sysfs)))


@coerced
def whatif(
    source: str | os.PathLike[str],
    *,
    port: str | None = None,
    platform: str | None = None,
    drive: str | None = None,
    queue_depth: int | None = None,
    set: dict[str, Setting] | None = None,
    model: str | None = None,
    fit: str | os.PathLike[str] | None = None,
    workload: str | None = None,
    interval: bool = True,
    full: bool = False,
    size: str | None = None,
    duration: str | None = None,
    seed: int = 1,
    threads: int | None = None,
    library: Library | None = None,
    on_progress: Progress | None = None,
) -> WhatIf:
    """Say what the same work would do in another port, on another platform, with another drive or queue depth.

    Args:
        source: The present system, ``"drive@platform:port"``, or a saved result.
        port: The other port.
        platform: The other platform.
        drive: The other drive.
        queue_depth: The other queue depth, for all tests, 1 to 65536.
        set: Model values of the other system.
        model: The system that stands for the drive of a measured result.
        fit: The fit that the drive's model came from, as ``lanemark fit --json`` prints it.
        workload: The tests; those of the result, else ``data-sheet``.
        interval: Whether to add the 80% interval of each prediction.
        full: Whether to simulate each test and its repeats completely.
        size: Part of the target that each test uses, ``"256 MiB"``.
        duration: How long each test runs, ``"1 s"``.
        seed: The seed of all random numbers.
        threads: Threads that simulate.
        library: The library of the names.
        on_progress: Called with the number of repeats that have ended, and of all.

    Raises:
        InputError: Whatever does not fit together, before anything runs.
    """
    asked: _lanemark.Asked = {
        "model": model,
        "port": port,
        "platform": platform,
        "drive": drive,
        "queue_depth": queue_depth,
        "set": settings(set),
        "fit": fit,
        "workload": workload,
        "interval": interval,
        "full": full,
        "size": one_of("size", size, "bytes", None),
        "duration": one_of("duration", duration, "seconds", None),
        "seed": seeded(seed),
    }
    return WhatIf(_lanemark.what_if(os.fspath(source), asked, inner(library), threads, on_progress))


@coerced
def fit(
    results: Sequence[Result] | Mapping[str, Result] | Result,
    platform: str,
    *,
    like: str | None = None,
    set: dict[str, Setting] | None = None,
    seed: int = 1,
    threads: int | None = None,
    library: Library | None = None,
) -> FittedDrive:
    """Fit a drive's model to measured results, with a range for every value.

    Args:
        results: Results of one drive, also by name; :func:`load_results` reads saved ones.
        platform: The platform and the port that it was measured in, ``"workstation-z170:m2"``.
        like: A drive like it; a generic one of the port's protocol without it.
        set: Model values that are known, and not fitted then.
        seed: The seed of all random numbers.
        threads: Threads that simulate.
        library: The library of the names.

    Raises:
        InputError: Where the results do not tell enough, or contradict each other.
    """
    if isinstance(results, Result):
        results = [results]
    named = results if isinstance(results, Mapping) else {f"result {n + 1}": one for n, one in enumerate(results)}
    for one in named.values():
        if not isinstance(one, Result):
            raise InputError(f"{one!r} is no Result", "read saved ones with lanemark.load_results")
    runs = [(name, one._inner) for name, one in named.items()]
    place, found, port = platform.rpartition(":") if isinstance(platform, str) else ("", "", "")
    if not found:
        raise InputError(
            f"--platform {platform}: expected PLATFORM:PORT",
            "for example --platform workstation-z170:m2",
        )
    command = call("fit", *named, platform)
    inner_library = inner(library)
    return FittedDrive(
        _lanemark.fit(runs, place, port, like, settings(set), seeded(seed), threads, inner_library, command)
    )


def load_results(path: str | os.PathLike[str]) -> Result | StudyResult:
    """Read a saved result of a run or a study.

    Args:
        path: A file that ``lanemark`` or :meth:`Result.save` wrote; ``FILE#SYSTEM`` is one system of a study.

    Raises:
        InputError: Where it is none, is damaged, or is of a newer Lanemark.
    """
    loaded = _lanemark.load(os.fspath(path))
    return Result(loaded) if isinstance(loaded, _lanemark.Run) else StudyResult(loaded)


class Study:
    """A study: systems, tests, and the published figures that they are held against.

    Args:
        path: A study's file, or the name of a built-in study, ``"sata-express"``.
        library: The library of its names; the usual one without it.

    Raises:
        InputError: All that is wrong in the file.
    """

    def __init__(self, path: str | os.PathLike[str], *, library: Library | None = None) -> None:
        self.path = Path(path)
        self.library = library
        self._inner = _lanemark.Study(os.fspath(path), inner(library))
        # The file of the call, not of its links. A built-in study has a name and no file.
        self._named = os.path.abspath(path) if self.path.is_file() else os.fspath(path)  # noqa: PTH100

    def __reduce__(self) -> tuple[Any, ...]:
        return _study, (self._named, self.library)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Study):
            return NotImplemented
        return self._named == other._named and self.library == other.library and self.systems == other.systems

    def __hash__(self) -> int:
        return hash(self._named)

    @property
    def id(self) -> str:
        """The name of its file."""
        return self._inner.id

    @property
    def systems(self) -> dict[str, list[str]]:
        """The tests of each system, by the system's name."""
        return dict(self._inner.systems())

    @coerced
    def run(
        self,
        *,
        bottleneck: bool = False,
        interval: bool = False,
        full: bool = False,
        seed: int = 1,
        threads: int | None = None,
        on_progress: Progress | None = None,
    ) -> StudyResult:
        """Run all systems, and hold them against the published figures.

        Args:
            bottleneck: Whether to say what limits each test.
            interval: Whether to add the 80% intervals, as the command does by default.
            full: Whether to simulate each test and its repeats completely, instead of stopping when its figures have
                converged.
            seed: The seed of all random numbers.
            threads: Threads that simulate.
            on_progress: Called with the number of repeats that have ended, and of all.

        Raises:
            InputError: Where a test does not fit a drive.
        """
        extras: _lanemark.Extras = {"bottleneck": bottleneck, "interval": interval, "full": full}
        command = call("Study.run", self.path)
        return StudyResult(self._inner.run(seeded(seed), threads, extras, command, on_progress))

    def __repr__(self) -> str:
        return f"Study({str(self.path)!r})"


def _study(path: str, library: Library | None) -> Study:
    return Study(path, library=library)
