"""The package's top-level functions, such as ``simulate`` and ``bench``, and the class ``Study``."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Union

from . import _lanemark
from ._model import Library, Setting, System, Test, Workload, inner, workload
from ._quantity import count, one_of, settings, texts
from ._result import FittedDrive, Inspection, Result, StudyResult, WhatIf
from ._scalar import coerced
from .errors import InputError

#: Examples for messages.
SYSTEM = "samsung-950-pro-512gb@workstation-z170:m2"
FAULT = "power-cut at=500ms boot=5s"

#: A callback that receives the number of finished items of work, with the finished shares of running items, and the
#: total number of items.
Progress = Callable[[float, int], object]
#: Anything from which a :class:`Workload` can be made.
WorkloadSource = Union[str, "os.PathLike[str]", Workload, Test, Sequence[Test]]


def call(name: str, *arguments: object) -> list[str]:
    """Return a call of this package as a result's provenance records it."""
    return ["python", f"lanemark.{name}", *(str(argument) for argument in arguments)]


def seeded(seed: int) -> int:
    """Return ``seed`` if it is an unsigned 64-bit integer.

    Raises:
        InputError: If ``seed`` is not such an integer.
    """
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**64:
        raise InputError(f"seed: expected an integer from 0 to {2**64 - 1}, found {seed!r}")
    return seed


@coerced
def simulate(
    system: System | str,
    workload_: WorkloadSource,
    *,
    set: Mapping[str, Setting] | None = None,
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
    """Simulate a workload on a system, like ``lanemark sim``.

    The same seed produces an identical result on any machine and with any number of threads. Other Python
    threads keep running during the simulation. Ctrl-C stops the simulation within a few milliseconds.

    Args:
        system: A :class:`System`, or a system's name.
        workload_: A :class:`Workload`, a :class:`Test`, a sequence of tests, or a workload's name or file.
        set: Model values that override library values. Allowed only if ``system`` is a name.
        size: The part of the target that each test uses, such as ``"256 MiB"``.
        size_bytes: The same size in bytes.
        duration: The simulated time for which each test runs, such as ``"1 s"``.
        duration_seconds: The same time in seconds.
        repeats: The number of times that each test is run, 1 to 1000.
        steady: The length of a round, such as ``"60 s"``. Each test then runs in rounds until it reaches SNIA's steady
            state.
        interval_length: The length of the recorded intervals, such as ``"1 s"``.
        faults: The faults to inject into each test, such as ``"power-cut at=500ms boot=5s"``.
        bottleneck: Whether to find the bottleneck of each test, which takes about a dozen additional runs of the test.
        interval: Whether to add the 80% interval of each figure, which the command adds by default.
        full: Whether to simulate each test and its repeats completely, instead of stopping when its figures have
            converged.
        seed: The seed of all random numbers, 0 to 2**64 - 1.
        threads: The number of threads. Default: the number of cores.
        library: The library that contains the names. Default: the library that :func:`library` returns.
        on_progress: Called with the number of finished repeats, with the finished shares of others, and their total
            number. An exception in it stops the
            run.

    Returns:
        The result, with a row for each test.

    Raises:
        InputError: If an argument is invalid, or if the arguments are inconsistent. Raised before anything runs.
        KeyboardInterrupt: If Ctrl-C stopped the run.
    """
    thread_count = count("threads", threads)
    fault_texts = texts("faults", faults, FAULT)
    if isinstance(system, str):
        system = System(system, set=set, library=library)
    elif not isinstance(system, System):
        raise InputError(f"system: expected a System or its name, found {system!r}", f"for example {SYSTEM!r}")
    elif set is not None:
        raise InputError("set: expected the name of a system, found a System", "pass the values to System(…, set=…)")
    size = one_of("size", size, "bytes", size_bytes)
    duration = one_of("duration", duration, "seconds", duration_seconds)
    if isinstance(workload_, (str, os.PathLike)):
        target_size = size or f"{system.capacity_bytes} B"
        workload_ = Workload(workload_, library=library or system.library, target_size=target_size)
    prepared = workload(workload_, library)
    if any(change is not None for change in (size, duration, repeats, steady, interval_length)) or fault_texts:
        prepared = prepared.changed(
            size=size,
            duration=duration,
            repeats=repeats,
            steady=steady,
            interval=interval_length,
            faults=fault_texts,
        )
    run = _lanemark.simulate(
        system._inner,
        prepared._inner,
        seeded(seed),
        thread_count,
        {"bottleneck": bottleneck, "interval": interval, "full": full},
        call("simulate", system.name, prepared.id),
        on_progress,
    )
    return Result(run)


@coerced
def bench(
    path: str | os.PathLike[str],
    workload_: WorkloadSource = "crystaldiskmark-8",
    *,
    size: str | None = None,
    size_bytes: int | None = None,
    duration: str | None = None,
    duration_seconds: float | None = None,
    repeats: int | None = None,
    overwrite: str | os.PathLike[str] | None = None,
    i_will_lose_all_data_on: str | os.PathLike[str] | None = None,
    purge: str | None = None,
    precondition: str | None = None,
    explain: bool = False,
    engine: str | None = None,
    buffered: bool = False,
    pin: bool = False,
    seed: int = 1,
    library: Library | None = None,
    on_progress: Progress | None = None,
) -> Result:
    """Measure a workload on a real file, folder or block device, like ``lanemark bench``.

    The test file that the call creates is removed when the measurement ends. Ctrl-C stops the measurement once the
    device has completed the outstanding requests, and then the test file is also removed.

    Args:
        path: A file to create, measure and remove; a folder in which to create it; or a block device.
        workload_: A workload, or a workload's name or file.
        size: The part of the target that each test uses, such as ``"256 MiB"``.
        size_bytes: The same size in bytes.
        duration: The time for which each test runs, such as ``"1 s"``.
        duration_seconds: The same time in seconds.
        repeats: The number of times that each test is run, 1 to 1000.
        overwrite: The existing file that may be overwritten. Must be the same file as ``path``.
        i_will_lose_all_data_on: The block device that may be overwritten completely. Must be the same device as
            ``path``.
        purge: How to return the device to its fresh state before the tests: ``"discard"``, ``"secure-discard"`` or a
            shell command.
        precondition: How to write the whole target before the tests: ``"snia"`` writes it twice in order, ``"fast"``
            once at random into the steady state of random writes, and ``"fast:28%"`` does so for 28% spare flash.
        explain: Whether to run each test also with a deeper queue, and report the test's limit.
        engine: The I/O engine: ``"io_uring"``, ``"sync"`` or ``"null"``.
        buffered: Whether to use the page cache.
        pin: Whether to pin each thread to one processor.
        seed: The seed of all random numbers.
        library: The library that contains the workload's name.
        on_progress: Called with the number of finished samples and their total number.

    Raises:
        RefusedError: If existing data could be lost.
        InputError: If the workload cannot run on the target.
        RunError: If a request fails.
    """
    size = one_of("size", size, "bytes", size_bytes)
    if isinstance(workload_, (str, os.PathLike)):
        workload_ = Workload(workload_, library=library, target_size=size)
    prepared = workload(workload_, library)
    duration = one_of("duration", duration, "seconds", duration_seconds)
    prepared = prepared.changed(size=size, duration=duration, repeats=repeats)
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
    command = call("bench", os.fspath(path), prepared.id)
    return Result(_lanemark.bench(os.fspath(path), prepared._inner, measure, command, on_progress))


def inspect(target: str | os.PathLike[str] | None = None, *, sysfs: str | os.PathLike[str] = "/sys") -> Inspection:
    """Return the storage paths of this machine, link by link, and the limit of each path.

    Args:
        target: A block device, ``"nvme0n1"``, or a path on one. Default: all devices.
        sysfs: The sysfs tree to read: the tree of this machine, or a captured tree.

    Raises:
        InputError: If there is no such tree or device.
    """
    return Inspection(_lanemark.inspect(None if target is None else os.fspath(target), os.fspath(sysfs)))


@coerced
def compare(
    first: str | os.PathLike[str],
    second: str | None = None,
    *,
    queue_depth: int | None = None,
    set: Mapping[str, Setting] | None = None,
    model: str | None = None,
    fit: str | os.PathLike[str] | None = None,
    workload: str | None = None,
    interval: bool = True,
    force: bool = False,
    full: bool = False,
    size: str | None = None,
    duration: str | None = None,
    seed: int = 1,
    threads: int | None = None,
    library: Library | None = None,
    on_progress: Progress | None = None,
) -> WhatIf:
    """Compare the same work on two systems: which is faster, by how much, and how sure that is.

    Args:
        first: The first system, ``"drive@platform:port"``, or a saved result.
        second: The second system. It takes each part that it does not name from the first: ``":port"``,
            ``"@platform:port"`` or ``"drive"``. Default: the first system after the changes of ``queue_depth`` and
            ``set``.
        queue_depth: The queue depth of all tests on the second system, 1 to 65536.
        set: Model values of the second system.
        model: The system that represents the drive of a measured result.
        fit: The file that contains the output of ``lanemark drive --from … --json`` for the drive's model.
        workload: The tests. Default: the tests of the result, or ``data-sheet`` if ``first`` is a system.
        interval: Whether to add the 80% interval of each prediction.
        force: Whether to predict tests whose measurement contradicts the model of the measured system.
        full: Whether to simulate each test and its repeats completely.
        size: The part of the target that each test uses, such as ``"256 MiB"``.
        duration: The time for which each test runs, such as ``"1 s"``.
        seed: The seed of all random numbers.
        threads: The number of threads. Default: the number of cores.
        library: The library that contains the names.
        on_progress: Called with the number of finished repeats, with the finished shares of others, and their total
            number.

    Raises:
        InputError: If an argument is invalid, or if the arguments are inconsistent. Raised before anything runs.
    """
    options: _lanemark.CompareOptions = {
        "model": model,
        "second": second,
        "queue_depth": queue_depth,
        "set": settings(set),
        "fit": fit,
        "workload": workload,
        "interval": interval,
        "force": force,
        "full": full,
        "size": one_of("size", size, "bytes", None),
        "duration": one_of("duration", duration, "seconds", None),
        "seed": seeded(seed),
    }
    return WhatIf(_lanemark.compare(os.fspath(first), options, inner(library), count("threads", threads), on_progress))


@coerced
def fit(
    results: Sequence[Result] | Mapping[str, Result] | Result,
    platform: str,
    *,
    like: str | None = None,
    set: Mapping[str, Setting] | None = None,
    seed: int = 1,
    threads: int | None = None,
    library: Library | None = None,
) -> FittedDrive:
    """Fit a drive's model to measured results, with a range for each value.

    Args:
        results: One or several results from one drive, or a mapping of names to results. :func:`load_results` reads
            saved results.
        platform: The platform and port in which the drive was measured, such as ``"workstation-z170:m2"``.
        like: A similar drive, for values that the results do not determine. Default: a generic drive with the port's
            protocol.
        set: Model values that are known and therefore not fitted.
        seed: The seed of all random numbers.
        threads: The number of threads. Default: the number of cores.
        library: The library that contains the names.

    Raises:
        InputError: If the results are insufficient or contradict each other.
    """
    if isinstance(results, Result):
        results = [results]
    named = results if isinstance(results, Mapping) else {f"result {n + 1}": result for n, result in enumerate(results)}
    for result in named.values():
        if not isinstance(result, Result):
            raise InputError(f"expected a Result, found {result!r}", "read saved results with lanemark.load_results")
    runs = [(name, result._inner) for name, result in named.items()]
    platform_name, separator, port = platform.rpartition(":") if isinstance(platform, str) else ("", "", "")
    if not separator:
        raise InputError(
            f"--platform {platform}: expected PLATFORM:PORT",
            "for example --platform workstation-z170:m2",
        )
    command = call("fit", *named, platform)
    inner_library = inner(library)
    return FittedDrive(
        _lanemark.fit(
            runs,
            platform_name,
            port,
            like,
            settings(set),
            seeded(seed),
            count("threads", threads),
            inner_library,
            command,
        )
    )


def load_results(path: str | os.PathLike[str]) -> Result | StudyResult:
    """Read the saved result of a run or a study.

    Args:
        path: A file that ``lanemark`` or :meth:`Result.save` wrote. ``FILE#SYSTEM`` selects one system of a study.

    Raises:
        InputError: If the file is not a result, is damaged, or was written by a newer version of Lanemark.
    """
    loaded = _lanemark.load(os.fspath(path))
    return Result(loaded) if isinstance(loaded, _lanemark.Run) else StudyResult(loaded)


class Study:
    """A study: systems, tests, and the published figures that are compared with their results.

    Args:
        path: A study's file, or the name of a built-in study, such as ``"sata-express"``.
        library: The library that contains the study's names. Default: the library that :func:`library` returns.

    Raises:
        InputError: If the file is invalid. The message lists all mistakes.
    """

    def __init__(self, path: str | os.PathLike[str], *, library: Library | None = None) -> None:
        self.path = Path(path)
        self.library = library
        self._inner = _lanemark.Study(os.fspath(path), inner(library))
        # Symbolic links in the path are not resolved. A built-in study has only a name.
        self._source = os.path.abspath(path) if self.path.is_file() else os.fspath(path)  # noqa: PTH100

    def __reduce__(self) -> tuple[Any, ...]:
        return _study, (self._source, self.library)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Study):
            return NotImplemented
        return self._source == other._source and self.library == other.library and self.systems == other.systems

    def __hash__(self) -> int:
        return hash(self._source)

    @property
    def id(self) -> str:
        """The name of the study's file."""
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
        """Run all systems, and compare the results with the published figures.

        Args:
            bottleneck: Whether to find the bottleneck of each test.
            interval: Whether to add the 80% intervals, which the command adds by default.
            full: Whether to simulate each test and its repeats completely, instead of stopping when its figures have
                converged.
            seed: The seed of all random numbers.
            threads: The number of threads. Default: the number of cores.
            on_progress: Called with the number of finished repeats, with the finished shares of others, and their total
            number.

        Raises:
            InputError: If a test does not fit a drive.
        """
        extras: _lanemark.Extras = {"bottleneck": bottleneck, "interval": interval, "full": full}
        command = call("Study.run", self.path)
        return StudyResult(self._inner.run(seeded(seed), count("threads", threads), extras, command, on_progress))

    def __repr__(self) -> str:
        return f"Study({str(self.path)!r})"


def _study(path: str, library: Library | None) -> Study:
    return Study(path, library=library)
