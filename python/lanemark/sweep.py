"""Sweeps: one test at every combination of its axes' values, on threads, processes or a cluster.

Points are submitted in chunks of about equal expected cost. A worker writes the results of a chunk as one Parquet file,
a *part*, to the sweep's folder, and returns only the run time. The name of a part states its points, and a part in the
folder is always complete. Parts in the folder are not run again: the same call continues a sweep that was interrupted
or lost workers. :class:`SweepResult` reads the parts as one table.
"""

from __future__ import annotations

import io
import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from . import _lanemark, _toml
from ._ask import seeded
from ._missing import package
from ._model import Library, Setting, Test, inner, workload
from ._places import PartFolder
from ._plan import PLAN, Interrupted, Plan, cut, expected
from ._quantity import settings
from ._result import Tabular, framed, results_folder
from ._scalar import coerced, plain
from ._spread import Work, is_dask, on_dask, workers_of
from ._table import Table
from .errors import InputError, RunError

__all__ = ["Interrupted", "Space", "Sweep", "SweepProgress", "SweepResult", "run_chunk"]

#: The maximum expected run time of a chunk, in seconds.
CHUNK_S = 5.0
#: The time spent on estimating run times, in seconds.
PILOT_S = 1.0
#: The number of chunks that are submitted ahead per worker.
AHEAD = 3

Values = str | Sequence[object]


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

    #: The number of points whose parts are written.
    points: int
    #: The number of points of the sweep.
    points_total: int
    #: The number of chunks whose parts are written.
    chunks: int
    #: The number of chunks of the sweep.
    chunks_total: int
    #: The time since the call, in seconds.
    elapsed_seconds: float
    #: The expected run time of the remaining chunks, in worker-seconds.
    work_left_seconds: float


def run_chunk(
    space: Space,
    key: str,
    first: int,
    last: int,
    folder: str,
    name: str,
    cancel: _lanemark.Cancel | None = None,
) -> float | None:
    """Run the points from ``first`` to ``last``, and write their results to ``folder`` as the part ``name``.

    Each worker calls this function. Any worker may run any chunk, because a part does not depend on the worker that
    writes it. A chunk whose part exists is not run again: a cluster repeats a chunk if its worker was lost after it had
    written the part.

    Returns:
        The run time in seconds, or ``None`` if ``cancel`` stopped the run. In that case no part is written.

    Raises:
        RunError: If this machine's version of Lanemark or its library yields a different sweep for ``space``.
    """
    began = time.perf_counter()
    sweep = _made(_CacheKey(space))
    if sweep.key != key:
        raise RunError(
            "this worker and the process that started the sweep use different Lanemark versions or libraries",
            "install the same version and the same library on every machine",
        )
    parts = PartFolder(folder)
    if parts.has(name):
        return time.perf_counter() - began
    table = sweep.run(first, last, cancel or _lanemark.Cancel())
    if table is None:
        return None
    parts.write(name, _parquet(Table(table), key))
    return time.perf_counter() - began


def _parquet(table: Table, key: str) -> bytes:
    """Return a table as a Parquet file whose metadata contains the key of the sweep."""
    files: Any = package("pyarrow.parquet", "sweep")
    arrow: Any = table.to_arrow()
    content = io.BytesIO()
    files.write_table(arrow.replace_schema_metadata({"lanemark_sweep": key}), content, compression="zstd")
    return content.getvalue()


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
        place: str | os.PathLike[str] | None = None,
        *,
        executor: Executor | Any | None = None,
        workers: int | None = None,
        chunk_seconds: float = CHUNK_S,
        on_progress: Callable[[SweepProgress], object] | None = None,
    ) -> SweepResult:
        """Run all points that ``place`` does not contain yet.

        Args:
            place: The folder of the parts: a path or an fsspec URL that all workers can access. Default: ``sweep-KEY``
                in the folder that :func:`lanemark.results_folder` returns.
            executor: The executor of the chunks: an executor of ``concurrent.futures``, or a ``distributed.Client``.
                Default: a pool with one thread per core, since the simulator releases Python's global lock.
            workers: The number of chunks that run at a time, for an executor that does not report it.
            chunk_seconds: The maximum expected run time of a chunk. Chunks are shorter if that keeps all workers busy
                until the end.
            on_progress: Called when parts are written. An exception in it stops the sweep.

        Returns:
            The complete sweep.

        Raises:
            InputError: If the folder contains another sweep, or if ``chunk_seconds`` is not a positive number.
            RunError: If a worker fails, or if the executor loses all workers. The same call continues the sweep.
            KeyboardInterrupt: If Ctrl-C stopped the sweep. The same call continues it.
        """
        if not 0 < chunk_seconds < float("inf"):
            raise InputError(f"chunk_seconds: expected a finite number above 0, found {chunk_seconds!r}")
        folder = PartFolder(results_folder() / f"sweep-{self.key[:12]}" if place is None else place)
        cores = len(os.sched_getaffinity(0))
        own_pool = ThreadPoolExecutor(workers or cores) if executor is None else None
        used: Any = own_pool or executor
        count = workers or workers_of(used) or cores
        try:
            plan = self._plan(folder, count, chunk_seconds)
            missing = self._missing(folder, plan)
            progress = _Progress(plan, missing, on_progress)
            progress.report()
            work = Work(self.space, plan, missing, str(folder), count, progress.ended)
            (on_dask if is_dask(used) else _on_executor)(used, work)
            lost = self._missing(folder, plan)
            if lost:
                raise RunError(
                    f"{folder}: {len(lost)} parts are missing after they were written, such as {plan.part(lost[0])}",
                    "use a folder that all workers can access and that no other process changes",
                )
        finally:
            if own_pool is not None:
                own_pool.shutdown(wait=True, cancel_futures=True)
        return SweepResult(folder, plan, self)

    def _plan(self, folder: PartFolder, workers: int, chunk_seconds: float) -> Plan:
        text = folder.read(PLAN)
        if text is None:
            if any(name.startswith("part-") for name in folder.names()):
                raise InputError(f"{folder} contains parts but no {PLAN}", "use a different folder")
            cancel = _lanemark.Cancel()
            cost = expected(
                self.points,
                self._inner.values,
                lambda first, last: (self._inner.run(first, last, cancel), None)[1],
                PILOT_S,
            )
            chunks, seconds = cut(self.points, cost, workers, chunk_seconds)
            text = folder.write_once(PLAN, Plan(self.key, self.points, chunks, seconds).to_json())
        plan = Plan.of(text, folder)
        if (plan.key, plan.points) != (self.key, self.points):
            raise InputError(
                f"{folder} contains points of another sweep: the system, workload, library, seed, settings, axes or "
                "version differ",
                "use a different folder",
            )
        return plan

    def _missing(self, folder: PartFolder, plan: Plan) -> list[int]:
        existing = set(folder.names())
        return [chunk for chunk in range(len(plan.chunks)) if plan.part(chunk) not in existing]

    def __repr__(self) -> str:
        axes = " × ".join(f"{name} {len(values)}" for name, values in self.axes.items())
        return f"<Sweep of {self.points} points: {axes}>"


class _Progress:
    """A counter of finished chunks, which calls ``on_progress``."""

    def __init__(self, plan: Plan, missing: list[int], on_progress: Callable[[SweepProgress], object] | None) -> None:
        self._plan = plan
        self._left = set(missing)
        self._points = plan.points - sum(_size(plan, chunk) for chunk in missing)
        self._work = sum(plan.seconds[chunk] for chunk in missing)
        self._began = time.perf_counter()
        self._on_progress = on_progress

    def ended(self, chunk: int) -> None:
        """Record that the part of a chunk is written."""
        if chunk in self._left:
            self._left.discard(chunk)
            self._points += _size(self._plan, chunk)
            self._work -= self._plan.seconds[chunk]
            self.report()

    def report(self) -> None:
        """Call ``on_progress`` with the current progress."""
        if self._on_progress is None:
            return
        total = len(self._plan.chunks)
        elapsed = time.perf_counter() - self._began
        finished = total - len(self._left)
        work_left = max(self._work, 0.0)
        self._on_progress(SweepProgress(self._points, self._plan.points, finished, total, elapsed, work_left))


def _size(plan: Plan, chunk: int) -> int:
    first, last = plan.chunks[chunk]
    return last - first + 1


def _on_executor(executor: Executor, work: Work) -> None:
    """Run chunks on an executor of ``concurrent.futures``, with a few chunks submitted ahead."""
    # Only threads of this process can be cancelled. Chunks in other processes run to their end.
    shared = isinstance(executor, ThreadPoolExecutor)
    cancel = _lanemark.Cancel()
    remaining = iter(work.missing)
    running: dict[Future[float | None], int] = {}

    def submit() -> None:
        while len(running) < AHEAD * work.workers and (chunk := next(remaining, None)) is not None:
            rest = (cancel,) if shared else ()
            future = executor.submit(run_chunk, *work.arguments(chunk), *rest)
            running[future] = chunk

    try:
        submit()
        while running:
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                future.result()
                work.ended(running.pop(future))
            submit()
    except BaseException as error:
        cancel.cancel()
        for future in running:
            future.cancel()
        from concurrent.futures.process import BrokenProcessPool

        if isinstance(error, BrokenProcessPool):
            raise RunError(
                "a worker process was killed", f"repeat the call to run the chunks that {work.folder} lacks"
            ) from error
        raise


class SweepResult(Tabular):
    """The result of a sweep: a folder of parts, read as one table with one row per point.

    The columns are ``point``, ``key``, ``system``, ``test``, the axes, ``iops``, ``bytes_per_second``, latencies in us,
    ``busiest``, ``utilisation``, the figures of reads (``read_iops``, …) and of writes (``write_iops``, …),
    ``write_amplification`` and ``error``, the reason why a point lacks figures. An axis of quantities is a column of
    numbers whose name ends in the unit, such as ``block_bytes`` or ``think_us``.
    """

    def __init__(self, place: PartFolder, plan: Plan, sweep: Sweep | None = None) -> None:
        self._place = place
        self._plan = plan
        self._sweep = sweep

    @classmethod
    def open(cls, place: str | os.PathLike[str]) -> SweepResult:
        """Open a folder of parts.

        Raises:
            InputError: If the folder does not contain a sweep, or if its plan is invalid.
        """
        folder = PartFolder(place)
        text = folder.read(PLAN)
        if text is None:
            raise InputError(f"{folder} does not contain a {PLAN}", "use a folder that Sweep.run wrote")
        return cls(folder, Plan.of(text, folder))

    @property
    def place(self) -> str:
        """The folder of the parts."""
        return str(self._place)

    @property
    def parts(self) -> list[str]:
        """The paths or URLs of all existing parts, for any reader of Parquet."""
        existing = set(self._place.names())
        names = (self._plan.part(chunk) for chunk in range(len(self._plan.chunks)))
        return [f"{self._place}/{name}" for name in names if name in existing]

    @property
    def complete(self) -> bool:
        """Whether all parts exist."""
        return len(self.parts) == len(self._plan.chunks)

    def dataset(self) -> Any:
        """Return the parts as a pyarrow dataset, which reads only the requested columns and rows.

        Raises:
            MissingPackageError: If pyarrow is not installed.
        """
        sets: Any = package("pyarrow.dataset", "sweep")
        if "://" not in self.place:
            return sets.dataset(self.parts, format="parquet")
        fsspec: Any = package("fsspec", "sweep")
        system, _ = fsspec.core.url_to_fs(self.place)
        paths = [fsspec.core.url_to_fs(part)[1] for part in self.parts]
        return sets.dataset(paths, format="parquet", filesystem=system)

    def _main(self) -> Any:
        return _ArrowTable(self.dataset().to_table().sort_by("point"))

    def check(self) -> None:
        """Check that the parts contain each point of the sweep exactly once, with the point's key.

        Raises:
            RunError: If a point is missing, is duplicated or belongs to another sweep, or if a part cannot be read.
        """
        try:
            columns = self.dataset().to_table(columns=["point", "key"]).to_pydict()
        except (OSError, ValueError, KeyError) as error:
            hint = "remove the part, and run the sweep again"
            raise RunError(f"{self.place}: a part can't be read: {error}", hint) from error
        points: list[int] = columns["point"]
        duplicates = len(points) - len(set(points))
        missing = self._plan.points - len(set(points))
        if duplicates or missing:
            raise RunError(f"{self.place}: {missing} points are missing, and {duplicates} are duplicates")
        if self._sweep is not None:
            key_of = self._sweep._inner.point_key
            wrong = [point for point, key in zip(points, columns["key"], strict=True) if key_of(point) != key]
            if wrong:
                raise RunError(f"{self.place}: point {wrong[0]} belongs to another sweep")

    def chart(self, axis: str, figure: str = "iops", by: str | None = None) -> Any:
        """Return an Altair chart of a figure over an axis, with one line per value of the axis ``by``.

        Raises:
            MissingPackageError: If altair is not installed.
        """
        from .charts import curve

        return curve(self._main(), axis, figure, by)

    def __repr__(self) -> str:
        return f"<SweepResult of {self._plan.points} points in {len(self.parts)} parts at {self.place}>"


class _ArrowTable(Table):
    """A pyarrow table with the interface of :class:`Table`."""

    def __init__(self, arrow: Any) -> None:
        self._arrow = arrow

    def __reduce__(self) -> tuple[Any, ...]:
        return _ArrowTable, (self._arrow,)

    def _parts(self) -> list[tuple[str, str, list[Any]]]:
        kinds = {"int64": "whole", "double": "numbers"}
        columns = zip(self._arrow.schema, self._arrow.columns, strict=True)
        return [(head.name, kinds.get(str(head.type), "texts"), column.to_pylist()) for head, column in columns]

    @property
    def columns(self) -> list[str]:
        return self._arrow.column_names

    def __len__(self) -> int:
        return self._arrow.num_rows

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._arrow.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self._arrow.schema.__arrow_c_schema__()


class SweepFile(Tabular):
    """A sweep's CSV file, as the command writes it."""

    def __init__(self, loaded: tuple[_lanemark.Table, str, str]) -> None:
        table, self._text, self._html = loaded
        self._table = Table(table)

    def _main(self) -> Table:
        return self._table

    def to_text(self) -> str:
        """Return the curves as the command prints them."""
        return self._text

    def to_html(self) -> str:
        """Return the page that the command writes with ``--html``."""
        return self._html

    def _repr_html_(self) -> str:
        return framed(self._html)

    def __repr__(self) -> str:
        return self._text


def load(path: str | os.PathLike[str]) -> SweepFile:
    """Read a sweep's CSV file, which may be incomplete.

    Raises:
        InputError: If the file is not a sweep's CSV file.
    """
    return SweepFile(_lanemark.load_sweep(path))
