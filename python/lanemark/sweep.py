"""Sweeps: one test at every combination of its axes' values, on threads, processes or a cluster.

Points are submitted in chunks of equal length. A worker returns the rows of a chunk, and the process that started the
sweep appends them to the sweep's CSV file, which is the file of the command ``lanemark sweep``. Points with a row are
not run again: the same call continues a sweep that was interrupted or lost workers. :class:`SweepResult` reads the file
as a table.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any

from . import _lanemark, _toml
from ._ask import seeded
from ._model import Library, Setting, Test, inner, workload
from ._quantity import count, settings
from ._result import Tabular, framed, results_folder
from ._scalar import coerced, plain
from ._spread import Work, is_dask, on_dask, workers_of
from ._table import Table
from .errors import InputError, RunError

__all__ = ["Space", "Sweep", "SweepProgress", "SweepResult", "run_chunk"]

#: The number of chunks per worker. With many chunks per worker, all workers finish at about the same time.
CHUNKS_PER_WORKER = 32
#: The number of chunks that are submitted ahead per worker.
AHEAD = 3
#: The longest wait for a chunk before signals are handled, in seconds.
WAIT_SECONDS = 0.1
#: The number of values of an axis that are checked when a space is made.
CHECKED_MAX = 1000

Values = str | Sequence[object]

#: The open files of sweeps. A forked process closes its copies, so that the lock of a file ends with its owner.
_journals: set[_lanemark.SweepJournal] = set()


def _close_copies() -> None:
    for journal in list(_journals):
        journal.close()


os.register_at_fork(after_in_child=_close_copies)


@dataclass(frozen=True)
class Space:
    """The space of a sweep, as plain values that can be sent to other processes and machines.

    Args:
        system: ``"drive@platform:port"``.
        workload: One test, ``"workload:test"``, or a :class:`lanemark.Test`.
        axes: Each parameter with its values: a list, or text in the syntax of the command's ``--axis``, ``"1..256*2"``.
            A parameter is ``drive``, ``platform``, ``port``, a parameter of the test (``queue_depth``, ``block``, …) or
            a model value, ``drive.flash.channels``. The last axis changes fastest. A quantity is text with a unit.
        set: Model values for all points.
        size: The part of the target that the test uses, such as ``"256 MiB"``.
        duration: The time for which the test runs at each point, such as ``"50 ms"``.
        repeats: The number of times that each point is run.
        seed: The seed of all random numbers.
        full: Whether to simulate the test of each point and its repeats completely, instead of stopping when its
            figures have converged.
        library: The library's folder, which every worker must be able to read. Default: the library that
            :func:`lanemark.library` returns.
    """

    system: str
    workload: str | Test
    axes: Mapping[str, Values]
    set: Mapping[str, Setting] = field(default_factory=lambda: {})
    size: str | None = None
    duration: str | None = None
    repeats: int | None = None
    seed: int = 1
    full: bool = False
    library: str | None = None

    def __post_init__(self) -> None:
        for name in ("system", "workload", "axes", "set", "size", "duration", "repeats", "seed", "full", "library"):
            object.__setattr__(self, name, plain(getattr(self, name)))
        self._check()

    def _check(self) -> None:
        """Check the types of the fields and every value of an axis of model values.

        Raises:
            InputError: If a field has a wrong type, or if the model does not accept a value.
        """
        fields: dict[str, object] = {name: getattr(self, name) for name in self.__dataclass_fields__}
        if not isinstance(fields["system"], str):
            raise InputError(f"system: expected a name, found {self.system!r}", "for example 'drive@platform:port'")
        if not isinstance(fields["workload"], (str, Test)):
            raise InputError(f"workload: expected the name of one test or a Test, found {self.workload!r}")
        axes = fields["axes"]
        if not isinstance(axes, Mapping) or not axes:
            raise InputError(f"axes: expected a mapping of parameters to values, found {axes!r}")
        count("repeats", self.repeats)
        seeded(self.seed)
        if not isinstance(fields["full"], bool):
            raise InputError(f"full: expected True or False, found {self.full!r}")
        object.__setattr__(self, "set", self._with_shares(self._settings()))
        # Other parts have other model values, so their axes are checked when a point runs.
        if self.axes.keys() & {"drive", "platform", "port"}:
            return
        axes_of_values = {name: values for name, values in self.axes.items() if "." in name}
        object.__setattr__(self, "axes", {**self.axes, **self._with_share_axes(axes_of_values)})

    def _settings(self) -> Mapping[str, Setting]:
        settings(self.set)
        return self.set

    def _accepts(self, changes: Mapping[str, object]) -> InputError | None:
        library = inner(None if self.library is None else Library(self.library))
        try:
            _lanemark.System(self.system, settings({**self.set, **changes}), library)
        except InputError as error:
            return error
        return None

    def _with_shares(self, values: Mapping[str, Setting]) -> Mapping[str, Setting]:
        """Return model values in which a number between 0 and 1 is written as the share that the model expects."""
        return {name: self._share({}, name, value) for name, value in values.items()}

    def _share(self, others: Mapping[str, object], name: str, value: Setting) -> Setting:
        if isinstance(value, str) or not 0 <= value <= 1 or isinstance(value, int):
            return value
        wrong = self._accepts({**others, name: value})
        # Only the model's message states that a value is a share.
        return f"{Decimal(repr(value)) * 100:f}%" if wrong and "percentage" in str(wrong) else value

    def _with_share_axes(self, axes: Mapping[str, Values]) -> dict[str, Values]:
        """Check each value of axes of model values, with the first values of the other axes."""
        checked: dict[str, Values] = {}
        firsts: dict[str, object] = {}
        for name, values in axes.items():
            listed: list[Any] = values.split(",") if isinstance(values, str) else list(values)
            shares = [self._share(firsts, name, one) if isinstance(one, float) else one for one in listed]
            for value in shares[:CHECKED_MAX]:
                if isinstance(value, str) and ".." in value:
                    continue
                if isinstance(value, bool) or not isinstance(value, (str, int, float)):
                    raise InputError(f"axis `{name}`: expected text or a number, found {value!r}")
                if (error := self._accepts({**firsts, name: value})) is not None:
                    raise InputError(f"axis `{name}`: {value}: {error}") from error
            checked[name] = values if isinstance(values, str) else shares
            if shares and not (isinstance(shares[0], str) and ".." in shares[0]):
                firsts[name] = shares[0]
        return checked

    @classmethod
    def open(cls, path: str | os.PathLike[str], **changes: Any) -> Space:
        """Read a sweep's file, like ``lanemark sweep NAME.toml``.

        Args:
            path: The file.
            changes: Parameters of :class:`Space` that replace the file's parameters.

        Raises:
            InputError: If the file is invalid. The message describes the first error.
        """
        system, workload, axes, set = _lanemark.Sweep.read(path)
        pairs = dict(setting.split("=", 1) for setting in set)
        parameters: dict[str, Any] = {"system": system, "workload": workload, "axes": dict(axes), "set": pairs}
        return cls(**{**parameters, **changes})

    def _texts(self) -> list[tuple[str, list[str]]]:
        texts: list[tuple[str, list[str]]] = []
        for name, values in self.axes.items():
            if isinstance(values, str):
                texts.append((name, values.split(",")))
                continue
            for value in values:
                if isinstance(value, bool) or not isinstance(value, (str, int, float)):
                    raise InputError(f"axis `{name}`: expected text or a number, found {value!r}")
            texts.append((name, [str(value) for value in values]))
        return texts

    def _made(self) -> _lanemark.Sweep:
        test = self.workload
        source = test if isinstance(test, str) else workload(test, None)._inner
        for name, given in [("size", self.size), ("duration", self.duration)]:
            if given is not None and not isinstance(given, str):
                raise InputError(f"{name} = {given!r} lacks a unit", "use text with a unit")
        library = inner(None if self.library is None else Library(self.library))
        scale = (self.size, self.duration, self.repeats)
        pairs = settings(dict(self.set))
        return _lanemark.Sweep(self.system, source, scale, self._texts(), pairs, seeded(self.seed), self.full, library)

    def _frozen(self) -> str:
        """Return the values of all fields as a string that identifies the space in a cache."""
        test = self.workload
        text = test if isinstance(test, str) else _toml.table(test.name, test.values)
        rest = (self.size, self.duration, self.repeats, self.seed, self.full, self.library)
        return repr((self.system, text, self._texts(), sorted(self.set.items()), rest))


class _CacheKey:
    """A space as the key of a cache, hashed and compared by the values of its fields."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self.text = space._frozen()

    def __hash__(self) -> int:
        return hash(self.text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _CacheKey) and other.text == self.text


@lru_cache(maxsize=8)
def _made(key: _CacheKey) -> _lanemark.Sweep:
    return key.space._made()


@dataclass(frozen=True)
class SweepProgress:
    """The progress of a sweep."""

    #: The number of points with a row in the file.
    points: int
    #: The number of points of the sweep.
    points_total: int
    #: The time since the call, in seconds.
    elapsed_seconds: float


def run_chunk(space: Space, key: str, first: int, last: int, cancel: _lanemark.Cancel | None = None) -> str | None:
    """Run the points from ``first`` to ``last``, and return their rows in the file of the sweep.

    Each worker calls this function. Any worker may run any chunk, because the rows do not depend on the worker.

    Returns:
        The rows, or ``None`` if ``cancel`` stopped the run.

    Raises:
        RunError: If this machine's version of Lanemark or its library yields a different sweep for ``space``.
    """
    sweep = _made(_CacheKey(space))
    if sweep.key != key:
        raise RunError(
            "this worker and the process that started the sweep use different Lanemark versions or libraries",
            "install the same version and the same library on every machine",
        )
    return sweep.run(first, last, cancel or _lanemark.Cancel())


def chunks_of(points: Sequence[int], length: int) -> list[tuple[int, int]]:
    """Divide ascending points into chunks of up to ``length`` consecutive numbers."""
    chunks: list[tuple[int, int]] = []
    for point in points:
        if chunks and point == chunks[-1][1] + 1 and point - chunks[-1][0] < length:
            chunks[-1] = (chunks[-1][0], point)
        else:
            chunks.append((point, point))
    return chunks


class Sweep:
    """A sweep of a space, with checked names and numbered points.

    Args:
        space: The space.

    Raises:
        InputError: If a name is unknown, if there is no axis, or if there are more than a million points.
    """

    def __init__(self, space: Space) -> None:
        self.space = space
        self._inner = space._made()

    def __reduce__(self) -> tuple[Any, ...]:
        return Sweep, (self.space,)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sweep):
            return NotImplemented
        return (self.key, self.axes) == (other.key, other.axes)

    def __hash__(self) -> int:
        return hash(self.key)

    @property
    def points(self) -> int:
        """The number of points."""
        return self._inner.points

    @property
    def key(self) -> str:
        """The hash that identifies the sweep. The command computes the same hash for the same sweep."""
        return self._inner.key

    @property
    def axes(self) -> dict[str, list[str]]:
        """The values of each axis."""
        return dict(self._inner.axes())

    @coerced
    def point(self, number: int) -> dict[str, str]:
        """Return the value of each axis at a point.

        Raises:
            InputError: If there is no such point.
        """
        return dict(zip(self.axes, self._inner.values(number), strict=True))

    @coerced
    def run(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        executor: Executor | Any | None = None,
        workers: int | None = None,
        chunk_points: int | None = None,
        on_progress: Callable[[SweepProgress], object] | None = None,
    ) -> SweepResult:
        """Run all points that the file ``path`` does not contain yet.

        Args:
            path: The CSV file of the points, which ``lanemark sweep`` also reads and continues. Default:
                ``sweep-KEY.csv`` in the folder that :func:`lanemark.results_folder` returns.
            executor: The executor of the chunks: an executor of ``concurrent.futures``, or a ``distributed.Client``.
                Default: a pool with one thread per core, since the simulator releases Python's global lock.
            workers: The number of chunks that run at a time, for an executor that does not report it.
            chunk_points: The number of points of a chunk. Default: a 32nd of a worker's share.
            on_progress: Called when rows are written. An exception in it stops the sweep.

        Returns:
            The complete sweep.

        Raises:
            InputError: If ``chunk_points`` is not a positive number, or if another process is writing the file.
            RefusedError: If the file contains other data or another sweep.
            RunError: If a worker fails, if the executor loses all workers, or if every point failed. The same call
                continues an incomplete sweep.
            KeyboardInterrupt: If Ctrl-C stopped the sweep. The same call continues it.
        """
        if chunk_points is not None and chunk_points <= 0:
            raise InputError(f"chunk_points: expected a number above 0, found {chunk_points!r}")
        file = Path(results_folder() / f"sweep-{self.key[:12]}.csv" if path is None else path)
        cores = len(os.sched_getaffinity(0))
        own_pool = ThreadPoolExecutor(workers or cores) if executor is None else None
        used: Any = own_pool or executor
        count = workers or workers_of(used) or cores
        journal = self._inner.open(file)
        _journals.add(journal)
        try:
            pending = journal.pending()
            length = int(chunk_points or max(1, len(pending) // (CHUNKS_PER_WORKER * count)))
            written = self.points - len(pending)
            began = time.perf_counter()

            def report() -> None:
                if on_progress is not None:
                    on_progress(SweepProgress(written, self.points, time.perf_counter() - began))

            def ended(rows: str) -> None:
                nonlocal written
                journal.append(rows)
                written += rows.count("\n")
                report()

            report()
            work = Work(self.space, self.key, chunks_of(pending, length), count, ended)
            (on_dask if is_dask(used) else _on_executor)(used, work)
            journal.finish()
        finally:
            journal.close()
            _journals.discard(journal)
            if own_pool is not None:
                own_pool.shutdown(wait=True, cancel_futures=True)
        result = SweepResult.open(file)
        errors = result._errors()
        if errors and None not in errors:
            raise RunError(f"all {len(errors)} points failed; the first: {errors[0]}", f"the rows are in {file}")
        return result

    def __repr__(self) -> str:
        axes = " × ".join(f"{name} {len(values)}" for name, values in self.axes.items())
        return f"<Sweep of {self.points} points: {axes}>"


def _on_executor(executor: Executor, work: Work) -> None:
    """Run chunks on an executor of ``concurrent.futures``, with a few chunks submitted ahead."""
    # Only threads of this process can be cancelled. Chunks in other processes run to their end.
    rest = (_lanemark.Cancel(),) if isinstance(executor, ThreadPoolExecutor) else ()
    remaining = iter(work.chunks)
    running: set[Future[str | None]] = set()

    def submit() -> None:
        while len(running) < AHEAD * work.workers and (chunk := next(remaining, None)) is not None:
            running.add(executor.submit(run_chunk, work.space, work.key, *chunk, *rest))

    try:
        submit()
        while running:
            # A signal that arrives just before a wait does not interrupt it, so each wait is short.
            for future in wait(running, WAIT_SECONDS, FIRST_COMPLETED).done:
                running.discard(future)
                work.ended(future.result() or "")
            submit()
    except BaseException as error:
        for cancel in rest:
            cancel.cancel()
        for future in running:
            future.cancel()
        from concurrent.futures.process import BrokenProcessPool

        if isinstance(error, BrokenProcessPool):
            raise RunError("a worker process was killed", "repeat the call to run the missing points") from error
        raise


class SweepResult(Tabular):
    """The points of a sweep's CSV file, as a table with one row per point.

    The columns are ``point``, ``key``, ``system``, ``test``, the axes, ``iops``, ``bytes_per_second``, latencies in us,
    ``busiest``, ``utilisation``, the figures of reads (``read_iops``, …) and of writes (``write_iops``, …),
    ``write_amplification`` and ``error``, the reason why a point lacks figures. An axis of quantities is a column of
    numbers whose name ends in the unit, such as ``block_bytes`` or ``think_us``.
    """

    def __init__(self, path: Path, loaded: tuple[_lanemark.Table, str, str]) -> None:
        table, self._text, self._html = loaded
        self._path = path
        self._table = Table(table)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> SweepResult:
        """Read a sweep's CSV file, which may be incomplete, and which the command may have written.

        Raises:
            InputError: If the file is not a sweep's CSV file.
        """
        return cls(Path(path), _lanemark.load_sweep(Path(path)))

    @property
    def path(self) -> Path:
        """The path of the CSV file."""
        return self._path

    def _main(self) -> Table:
        return self._table

    def _errors(self) -> list[str | None]:
        """Return the error of each point, or ``None`` for a point with figures."""
        columns = {name: values for name, _, values in self._table._inner.parts()}
        return [error or None for error in columns.get("error", [])]

    def chart(self, axis: str, figure: str = "iops", by: str | None = None) -> Any:
        """Return an Altair chart of a figure over an axis, with one line per value of the axis ``by``.

        Raises:
            MissingPackageError: If altair is not installed.
        """
        from .charts import curve

        return curve(self._main(), axis, figure, by)

    def to_text(self) -> str:
        """Return the curves as the command prints them."""
        return self._text

    def to_html(self) -> str:
        """Return the page that the command writes with ``--html``."""
        return self._html

    def _repr_html_(self) -> str:
        return framed(self._html)

    def __repr__(self) -> str:
        return f"<SweepResult of {len(self._table)} points at {self._path}>"
