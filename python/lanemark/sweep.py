"""Sweeps: one test at every combination of its axes' values, on threads, processes or a cluster.

Points go out in chunks of about the same expected cost. Each worker writes what it ran as one Parquet file, a *part*,
to the sweep's folder, and answers with nothing but how long it took. A part is named for its points, and is there whole
or not at all. What a folder has is not run again: a sweep that was interrupted, or that lost workers, goes on with the
same call. :class:`SweepResult` reads the parts as one table.
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
from ._ask import call, seeded
from ._missing import package
from ._model import Library, Setting, Test, inner, workload
from ._places import Place
from ._plan import PLAN, Interrupted, Plan, cut, expected
from ._quantity import settings
from ._result import Tabular, framed, results_folder
from ._scalar import coerced, plain
from ._spread import Work, is_dask, on_dask, workers_of
from ._table import Table
from .errors import InputError, RunError

__all__ = ["Interrupted", "Space", "Sweep", "SweepProgress", "SweepResult", "merge", "run_chunk"]

#: Seconds that a chunk takes at most, as far as can be foretold.
CHUNK_S = 5.0
#: Seconds that are spent on foretelling.
PILOT_S = 1.0
#: Chunks that are handed out for each worker at a time.
AHEAD = 3

Values = str | Sequence[object]


@dataclass(frozen=True)
class Space:
    """The space of a sweep: plain values, which go to other processes and machines as they are.

    Args:
        system: ``"drive@platform:port"``.
        workload: One test, ``"workload:test"``, or a :class:`lanemark.Test`.
        axes: Each parameter with its values: a list, or text as the command's ``--axis`` takes it, ``"1..256*2"``. A
            parameter is one of the test (``queue_depth``, ``block``, …), ``drive``, ``platform``, ``port``, or a model
            value, ``drive.flash.channels``. The last one changes fastest. Texts of quantities carry their units.
        set: Model values that are set for all points.
        size: Part of the target that the test uses, ``"256 MiB"``.
        duration: How long the test runs at each point, ``"50 ms"``.
        repeats: How often each point is run.
        seed: The seed of all random numbers.
        full: Whether to simulate the test of each point and its repeats completely, instead of stopping when its
            figures have converged.
        library: The library's folder, which every worker must reach; the usual one without it.
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
        """Read a sweep's file, as ``lanemark sweep NAME.toml`` does; ``changes`` are further parameters.

        Raises:
            InputError: The first thing wrong in it.
        """
        system, workload, axes, set = _lanemark.Sweep.read(path)
        pairs = dict(one.split("=", 1) for one in set)
        told: dict[str, Any] = {"system": system, "workload": workload, "axes": dict(axes), "set": pairs}
        return cls(**{**told, **changes})

    def _texts(self) -> list[tuple[str, list[str]]]:
        texts: list[tuple[str, list[str]]] = []
        for name, values in self.axes.items():
            if isinstance(values, str):
                texts.append((name, values.split(",")))
                continue
            for value in values:
                if isinstance(value, bool) or not isinstance(value, (str, int, float)):
                    raise InputError(f"axis `{name}`: {value!r} is neither a text nor a number")
            texts.append((name, [str(value) for value in values]))
        return texts

    def _made(self) -> _lanemark.Sweep:
        one = self.workload
        asked = one if isinstance(one, str) else workload(one, None)._inner
        for name, given in [("size", self.size), ("duration", self.duration)]:
            if given is not None and not isinstance(given, str):
                raise InputError(f"{name} = {given!r}: has no unit", "write text with a unit")
        own = inner(None if self.library is None else Library(self.library))
        scale = (self.size, self.duration, self.repeats)
        return _lanemark.Sweep(
            self.system, asked, scale, self._texts(), settings(dict(self.set)), seeded(self.seed), self.full, own
        )

    def _frozen(self) -> str:
        """Return a text that says all of it, by which a worker knows it again."""
        one = self.workload
        test = one if isinstance(one, str) else _toml.table(one.name, one.values)
        rest = (self.size, self.duration, self.repeats, self.seed, self.full, self.library)
        return repr((self.system, test, self._texts(), sorted(self.set.items()), rest))


class _Known:
    """A space that a cache knows by what it says."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self.text = space._frozen()

    def __hash__(self) -> int:
        return hash(self.text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Known) and other.text == self.text


@lru_cache(maxsize=8)
def _made(known: _Known) -> _lanemark.Sweep:
    return known.space._made()


@dataclass(frozen=True)
class SweepProgress:
    """How far a sweep is."""

    #: Points whose parts are written.
    points: int
    #: Points of the sweep.
    points_total: int
    #: Chunks whose parts are written.
    chunks: int
    #: Chunks of the sweep.
    chunks_total: int
    #: Seconds since the call.
    elapsed_seconds: float
    #: Seconds of workers that the chunks which are left are expected to take.
    work_left_seconds: float


def run_chunk(
    space: Space,
    key: str,
    first: int,
    last: int,
    place: str,
    name: str,
    cancel: _lanemark.Cancel | None = None,
) -> float | None:
    """Run the points from ``first`` to ``last``, write them as the part ``name``, and return the seconds that took.

    Every worker calls it, and any worker may run any chunk, since the part does not depend on who writes it. A part that
    is already there is not run again: a cluster repeats a chunk whose worker was lost after writing it. ``None`` means that
    ``cancel`` ended the run, and nothing is written.

    Raises:
        RunError: Where this machine's Lanemark or library makes another sweep of ``space``.
    """
    began = time.perf_counter()
    sweep = _made(_Known(space))
    if sweep.key != key:
        raise RunError(
            "a worker's Lanemark or library differs from that of whoever began the sweep",
            "install the same version everywhere, and the same library",
        )
    folder = Place(place)
    if folder.has(name):
        return time.perf_counter() - began
    table = sweep.run(first, last, cancel or _lanemark.Cancel())
    if table is None:
        return None
    folder.write(name, _parquet(Table(table), key))
    return time.perf_counter() - began


def _parquet(table: Table, key: str) -> bytes:
    """Return a table as a file of Parquet that tells of which sweep it is."""
    files: Any = package("pyarrow.parquet", "sweep")
    arrow: Any = table.to_arrow()
    content = io.BytesIO()
    files.write_table(arrow.replace_schema_metadata({"lanemark_sweep": key}), content, compression="zstd")
    return content.getvalue()


class Sweep:
    """A sweep of a space, whose points are numbered and whose names are checked.

    Raises:
        InputError: A name that neither tests nor systems know, no axis, or more than a million points.
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
        """The hash that tells the sweep from all others: the binary's of the same sweep is the same."""
        return self._inner.key

    @property
    def axes(self) -> dict[str, list[str]]:
        """The values of each axis."""
        return dict(self._inner.axes())

    @coerced
    def point(self, number: int) -> dict[str, str]:
        """Return the value of each axis at a point.

        Raises:
            InputError: Where there is no such point.
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
        """Run all points that ``place`` does not have yet.

        Args:
            place: The folder of the parts: a path, or a URL of fsspec that all workers reach. Without it
                ``sweep-KEY`` in the folder of :func:`results_folder`.
            executor: Where chunks run: anything of ``concurrent.futures``, or a ``distributed.Client``. Without it as
                many threads as there are cores; the simulator needs no lock of Python's.
            workers: How many chunks run at a time, where the executor does not tell.
            chunk_seconds: How long a chunk takes at most, as far as can be foretold; less where that keeps all workers
                busy to the end.
            on_progress: Told when parts are written. What it raises ends the sweep.

        Returns:
            The whole sweep.

        Raises:
            InputError: Where the folder holds another sweep, or ``chunk_seconds`` is no time.
            RunError: Where a worker failed, or the executor lost them all. The same call goes on.
            KeyboardInterrupt: Where Ctrl-C ended it. The same call goes on.
        """
        if not 0 < chunk_seconds < float("inf"):
            raise InputError(f"chunk_seconds = {chunk_seconds}: must be a number above 0")
        spot = Place(results_folder() / f"sweep-{self.key[:12]}" if place is None else place)
        cores = len(os.sched_getaffinity(0))
        own = ThreadPoolExecutor(workers or cores) if executor is None else None
        at_work: Any = own or executor
        count = workers or workers_of(at_work) or cores
        try:
            plan = self._plan(spot, count, chunk_seconds)
            missing = self._missing(spot, plan)
            told = _Told(plan, missing, on_progress)
            told.tell()
            work = Work(self.space, plan, missing, str(spot), count, told.ended)
            (on_dask if is_dask(at_work) else _on_executor)(at_work, work)
            gone = self._missing(spot, plan)
            if gone:
                raise RunError(
                    f"{spot}: {len(gone)} parts that were written are not there, {plan.part(gone[0])} for one",
                    "give a folder that all workers reach, and that nobody empties meanwhile",
                )
        finally:
            if own is not None:
                own.shutdown(wait=True, cancel_futures=True)
        return SweepResult(spot, plan, self)

    def _plan(self, place: Place, workers: int, chunk_seconds: float) -> Plan:
        text = place.read(PLAN)
        if text is None:
            if any(name.startswith("part-") for name in place.names()):
                raise InputError(f"{place}: holds parts and no {PLAN}", "give another folder")
            cancel = _lanemark.Cancel()
            cost = expected(
                self.points,
                self._inner.values,
                lambda first, last: (self._inner.run(first, last, cancel), None)[1],
                PILOT_S,
            )
            chunks, seconds = cut(self.points, cost, workers, chunk_seconds)
            text = place.write_once(PLAN, Plan(self.key, self.points, chunks, seconds).to_json())
        plan = Plan.of(text, place)
        if (plan.key, plan.points) != (self.key, self.points):
            raise InputError(
                f"{place}: contains points of another sweep: system, workload, library, seed, settings, axes or version "
                "differ",
                "give another folder",
            )
        return plan

    def _missing(self, place: Place, plan: Plan) -> list[int]:
        there = set(place.names())
        return [chunk for chunk in range(len(plan.chunks)) if plan.part(chunk) not in there]

    def __repr__(self) -> str:
        axes = " × ".join(f"{name} {len(values)}" for name, values in self.axes.items())
        return f"<Sweep of {self.points} points: {axes}>"


class _Told:
    """The progress of a sweep, for whoever looks on."""

    def __init__(self, plan: Plan, missing: list[int], on_progress: Callable[[SweepProgress], object] | None) -> None:
        self._plan = plan
        self._left = set(missing)
        self._points = plan.points - sum(_size(plan, chunk) for chunk in missing)
        self._work = sum(plan.seconds[chunk] for chunk in missing)
        self._began = time.perf_counter()
        self._on_progress = on_progress

    def ended(self, chunk: int) -> None:
        """Note that the part of a chunk is written."""
        if chunk in self._left:
            self._left.discard(chunk)
            self._points += _size(self._plan, chunk)
            self._work -= self._plan.seconds[chunk]
            self.tell()

    def tell(self) -> None:
        if self._on_progress is None:
            return
        total = len(self._plan.chunks)
        elapsed = time.perf_counter() - self._began
        left = max(self._work, 0.0)
        self._on_progress(SweepProgress(self._points, self._plan.points, total - len(self._left), total, elapsed, left))


def _size(plan: Plan, chunk: int) -> int:
    first, last = plan.chunks[chunk]
    return last - first + 1


def _on_executor(executor: Executor, work: Work) -> None:
    """Run chunks on an executor of ``concurrent.futures``, a few ahead of what its workers are at."""
    # A wish to end reaches threads of this process; chunks in others end by themselves.
    shared = isinstance(executor, ThreadPoolExecutor)
    cancel = _lanemark.Cancel()
    left = iter(work.missing)
    at_work: dict[Future[float | None], int] = {}

    def hand_out() -> None:
        while len(at_work) < AHEAD * work.workers and (chunk := next(left, None)) is not None:
            rest = (cancel,) if shared else ()
            future = executor.submit(run_chunk, *work.asked(chunk), *rest)
            at_work[future] = chunk

    try:
        hand_out()
        while at_work:
            for future in wait(at_work, return_when=FIRST_COMPLETED).done:
                future.result()
                work.ended(at_work.pop(future))
            hand_out()
    except BaseException as error:
        cancel.cancel()
        for future in at_work:
            future.cancel()
        from concurrent.futures.process import BrokenProcessPool

        if isinstance(error, BrokenProcessPool):
            raise RunError(
                "a worker process was killed", f"the same call goes on with what {work.place} does not have"
            ) from error
        raise


class SweepResult(Tabular):
    """A sweep that was run: a folder of parts, read as one table with a row for each point.

    The columns are ``point``, ``key``, ``system``, ``test``, the axes, ``iops``, ``bytes_per_second``, latencies in us,
    ``busiest``, ``utilisation``, the same figures of reads (``read_iops``) and of writes apart, ``write_amplification`` and
    ``error``: why a point has no figures. An axis of quantities is a column of numbers whose name ends in the unit,
    ``block_bytes``, ``think_us``.
    """

    def __init__(self, place: Place, plan: Plan, sweep: Sweep | None = None) -> None:
        self._place = place
        self._plan = plan
        self._sweep = sweep

    @classmethod
    def open(cls, place: str | os.PathLike[str]) -> SweepResult:
        """Open a folder of parts.

        Raises:
            InputError: Where it is none.
        """
        spot = Place(place)
        text = spot.read(PLAN)
        if text is None:
            raise InputError(f"{spot}: is no folder of a sweep", "give a folder that Sweep.run wrote")
        return cls(spot, Plan.of(text, spot))

    @property
    def place(self) -> str:
        """The folder of the parts."""
        return str(self._place)

    @property
    def parts(self) -> list[str]:
        """The paths or URLs of all parts that are there, for whatever reads Parquet."""
        there = set(self._place.names())
        names = (self._plan.part(chunk) for chunk in range(len(self._plan.chunks)))
        return [f"{self._place}/{name}" for name in names if name in there]

    @property
    def complete(self) -> bool:
        """Whether all parts are there."""
        return len(self.parts) == len(self._plan.chunks)

    def dataset(self) -> Any:
        """Return the parts as a dataset of pyarrow, which reads no more than it is asked for.

        Raises:
            MissingPackageError: Where pyarrow is not installed.
        """
        sets: Any = package("pyarrow.dataset", "sweep")
        if "://" not in self.place:
            return sets.dataset(self.parts, format="parquet")
        fsspec: Any = package("fsspec", "sweep")
        system, _ = fsspec.core.url_to_fs(self.place)
        paths = [fsspec.core.url_to_fs(part)[1] for part in self.parts]
        return sets.dataset(paths, format="parquet", filesystem=system)

    def _main(self) -> Any:
        return _Read(self.dataset().to_table().sort_by("point"))

    def check(self) -> None:
        """Hold the parts against the sweep: every point is there, once, and has its key.

        Raises:
            RunError: Where that is not so, or a part cannot be read.
        """
        try:
            read = self.dataset().to_table(columns=["point", "key"]).to_pydict()
        except (OSError, ValueError, KeyError) as error:
            hint = "remove that part, and run the sweep again"
            raise RunError(f"{self.place}: a part can't be read: {error}", hint) from error
        points: list[int] = read["point"]
        twice = len(points) - len(set(points))
        missing = self._plan.points - len(set(points))
        if twice or missing:
            raise RunError(f"{self.place}: {missing} points are missing, and {twice} are there twice")
        if self._sweep is not None:
            own = self._sweep._inner.point_key
            wrong = [one for one, key in zip(points, read["key"], strict=True) if own(one) != key]
            if wrong:
                raise RunError(f"{self.place}: point {wrong[0]} has the key of another sweep")

    def chart(self, axis: str, figure: str = "iops", by: str | None = None) -> Any:
        """Return an Altair chart of a figure over an axis, with a line for each value of the axis ``by``.

        Raises:
            MissingPackageError: Where altair is not installed.
        """
        from .charts import curve

        return curve(self._main(), axis, figure, by)

    def __repr__(self) -> str:
        return f"<SweepResult of {self._plan.points} points in {len(self.parts)} parts at {self.place}>"


class _Read(Table):
    """A table of pyarrow, where a table of a result is asked for."""

    def __init__(self, arrow: Any) -> None:
        self._arrow = arrow

    def __reduce__(self) -> tuple[Any, ...]:
        return _Read, (self._arrow,)

    def _parts(self) -> list[tuple[str, str, list[Any]]]:
        kinds = {"int64": "whole", "double": "numbers"}
        columns = zip(self._arrow.schema, self._arrow.columns, strict=True)
        return [(one.name, kinds.get(str(one.type), "texts"), column.to_pylist()) for one, column in columns]

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
    """A sweep's file of CSV, as the command writes it."""

    def __init__(self, read: tuple[_lanemark.Table, str, str]) -> None:
        table, self._text, self._html = read
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
    """Read a sweep's file of CSV, or a part of one.

    Raises:
        InputError: Where it is none.
    """
    return SweepFile(_lanemark.load_sweep(path))


def merge(parts: Sequence[str | os.PathLike[str]], out: str | os.PathLike[str]) -> SweepFile:
    """Put parts that ``lanemark sweep --points`` wrote as CSV together, as ``lanemark sweep --merge`` does.

    Raises:
        InputError: A part of another sweep, a point that is there twice or not at all.
        RefusedError: Where ``out`` holds something else.
    """
    return SweepFile(_lanemark.merge(list(parts), out, call("sweep.merge")))
