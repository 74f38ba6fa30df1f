"""Search: the best system for a purpose, by Optuna, and what a prediction depends on, by Sobol's indices (SALib).

Of the extra ``search``. A search asks the simulator, one trial after another; it finds good points and proves nothing of
those that it did not try. Prices are read from a file, since the library knows none.
"""

from __future__ import annotations

import csv
import io
import os
import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ._ask import Asked, simulate
from ._missing import package
from ._model import Library, Setting, System
from ._places import content_of
from ._result import Result
from ._scalar import coerced, plain
from .errors import InputError

__all__ = ["Choice", "Prices", "Range", "Sensitivity", "Trial", "search", "sensitivity"]


@dataclass(frozen=True)
class Range:
    """Numbers from ``low`` to ``high``, both included.

    Args:
        low: The least.
        high: The greatest.
        unit: The unit of a quantity, ``"us"``; none for a count.
        log: Whether doubling is the same step anywhere.
        whole: Whether only whole numbers are meant.
    """

    low: float
    high: float
    unit: str = ""
    log: bool = False
    whole: bool = False

    def __post_init__(self) -> None:
        for name in ("low", "high", "log", "whole"):
            object.__setattr__(self, name, plain(getattr(self, name)))
        if not self.low < self.high or (self.log and self.low <= 0):
            raise InputError(f"{self.low} to {self.high}: is no range" + (" of logarithms" if self.log else ""))

    def text(self, number: float) -> str | int | float:
        """Return a number of the range as a value of the model."""
        value = round(number) if self.whole else float(f"{number:.9g}")
        return f"{value} {self.unit}" if self.unit else value


@dataclass(frozen=True)
class Choice:
    """One of several values, ``Choice("m2", "pcie-slot")``."""

    values: tuple[str | int | float, ...]

    @coerced
    def __init__(self, *values: str | int | float) -> None:
        if not values:
            raise InputError("a choice of nothing")
        object.__setattr__(self, "values", values)


Space = Mapping[str, Range | Choice]
#: Parameters of the system's name; all others with a dot are model values, and those without are of the test.
OF_SYSTEM = ("drive", "platform", "port")


class UnknownFigureError(InputError):
    """A figure that too little ran to tell, or a price that no file has."""


class Prices:
    """Prices by name, of a file of CSV with the columns ``name`` and ``price``.

    A name is that of a drive or a platform, or ``parameter=value`` for what a value of the model costs.

    Raises:
        InputError: Where the file cannot be read, has no such columns, a price is no number, or a name has two.
    """

    @coerced
    def __init__(self, prices: Mapping[str, float]) -> None:
        self._prices = dict(prices)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Prices:
        """Read the file ``path``."""
        prices: dict[str, float] = {}
        try:
            rows = csv.DictReader(io.StringIO(content_of(Path(path)).decode(), newline=""))
            if not {"name", "price"} <= set(rows.fieldnames or ()):
                raise InputError(f"{path}:1: the columns `name` and `price` are missing")
            for row in rows:
                where = f"{path}:{rows.line_num}"
                if row["name"] in prices:
                    raise InputError(f"{where}: `{row['name']}` has a price already")
                prices[row["name"]] = _price(where, row["price"])
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            raise InputError(f"{path}: can't be read: {error}") from error
        return cls(prices)

    def of(self, point: Mapping[str, str | int | float]) -> float:
        """Return the price of a point: of its drive, its platform, and all values that have one.

        Raises:
            InputError: Where a drive or a platform that the point names has none.
        """
        total = 0.0
        for name, value in point.items():
            if name in ("drive", "platform"):
                if str(value) not in self._prices:
                    raise UnknownFigureError(f"no price of the {name} {value}")
                total += self._prices[str(value)]
            else:
                total += self._prices.get(f"{name}={value}", 0.0)
        return total


def _price(where: str, text: str) -> float:
    try:
        price = float(text)
    except (TypeError, ValueError) as error:
        raise InputError(f"{where}: `{text}` is no price") from error
    if not 0 <= price < float("inf"):
        raise InputError(f"{where}: `{text}` is no price")
    return price


@dataclass(frozen=True)
class Trial:
    """A point that was tried."""

    #: The value of each parameter.
    point: dict[str, str | int | float]
    #: The value of each objective.
    objectives: tuple[float, ...]
    #: Whether it keeps all bounds.
    feasible: bool
    #: The figures of its test.
    figures: dict[str, float]


@dataclass
class Problem:
    """A search: its system, test, space, objectives and bounds, as :func:`search` has them."""

    system: str
    workload: Asked
    space: Space
    objectives: Sequence[tuple[str, str]]
    bounds: Sequence[tuple[str, str, float]] = ()
    prices: Prices | None = None
    set: Mapping[str, Setting] = field(default_factory=lambda: {})
    duration: str | None = None
    size: str | None = None
    seed: int = 1
    library: Library | None = None

    def run(self, point: Mapping[str, str | int | float]) -> Result:
        """Simulate a point."""
        return simulate(
            System(_named(self.system, point), set={**self.set, **_settings(point)}, library=self.library),
            self.workload if not _of_test(point) else _changed(self.workload, point),
            duration=self.duration,
            size=self.size,
            repeats=1,
            seed=self.seed,
            threads=1,
            library=self.library,
        )

    def figures(self, point: Mapping[str, str | int | float]) -> dict[str, float]:
        """Return the figures of a point's first test, and its price."""
        told: dict[str, Any] = {name: column[0] for name, column in self.run(point).to_arrow().to_pydict().items()}
        if self.prices is not None:
            told["price"] = self.prices.of({**_parts(self.system), **point})
        return {name: float(value) for name, value in told.items() if isinstance(value, (int, float))}


def _parts(system: str) -> dict[str, str]:
    """Return the drive, the platform and the port of a system's name."""
    drive, _, rest = system.partition("@")
    platform, _, port = rest.rpartition(":")
    return {"drive": drive, "platform": platform, "port": port}


def _named(system: str, point: Mapping[str, str | int | float]) -> str:
    parts = {**_parts(system), **{name: str(value) for name, value in point.items() if name in OF_SYSTEM}}
    return f"{parts['drive']}@{parts['platform']}:{parts['port']}"


def _settings(point: Mapping[str, str | int | float]) -> dict[str, Setting]:
    return {name: value for name, value in point.items() if "." in name}


def _of_test(point: Mapping[str, str | int | float]) -> dict[str, str | int | float]:
    return {name: value for name, value in point.items() if "." not in name and name not in OF_SYSTEM}


def _changed(workload: Asked, point: Mapping[str, str | int | float]) -> Asked:
    from ._model import Test

    if not isinstance(workload, Test):
        changed = ", ".join(_of_test(point))
        raise InputError(f"{changed}: parameters of a test need a lanemark.Test to be changed in")
    return Test(workload.name, **{**workload.values, **_of_test(point)})


@coerced
def search(
    system: str,
    workload: Asked,
    space: Space,
    *,
    objectives: Sequence[tuple[str, str]] | Mapping[str, str],
    bounds: Sequence[tuple[str, str, float]] = (),
    prices: Prices | str | os.PathLike[str] | None = None,
    trials: int = 100,
    set: Mapping[str, Setting] | None = None,
    duration: str | None = None,
    size: str | None = None,
    seed: int = 1,
    threads: int = 1,
    library: Library | None = None,
    on_trial: Callable[[Trial], object] | None = None,
) -> list[Trial]:
    """Search a space for the best points.

    "The cheapest path that gives 500,000 IOPS below 450 us at p99" is ``objectives=[("price", "min")]`` with
    ``bounds=[("iops", ">=", 500_000), ("latency_p99_us", "<=", 450)]``.

    Args:
        system: The system in which nothing is changed yet.
        workload: One test; a :class:`lanemark.Test` where parameters of the test are searched.
        space: Each parameter with its :class:`Range` or :class:`Choice`: ``drive``, ``platform``, ``port``, a model value
            ``drive.flash.channels``, or a parameter of the test, ``queue_depth``.
        objectives: Figures with ``"min"`` or ``"max"``: columns of the table of tests, or ``price``.
        bounds: Figures with ``"<="`` or ``">="`` and a number, which a point must keep to be any good.
        prices: Prices, or their file.
        trials: How many points are tried.
        set: Model values of all points.
        duration: How long each test runs.
        size: Part of the target that each test uses.
        seed: The seed of the search and of the simulator.
        threads: Trials at a time. One gives the same search each time; more do not, since they end in another order.
        library: The library of the names.
        on_trial: Told of each trial. What it raises ends the search.

    Returns:
        The best points that were found and keep the bounds, best first: of one objective one, of several those of which
        no other is better in all (Pareto). None where no point keeps the bounds. A point that no system can be is tried
        and is none.

    Raises:
        InputError: Where a figure, a bound or a parameter is none, or a price is missing.
        MissingPackageError: Where optuna or pyarrow is not installed.
    """
    optuna: Any = package("optuna", "search")
    wanted = list(objectives.items() if isinstance(objectives, Mapping) else objectives)
    if not isinstance(prices, Prices) and prices is not None:
        prices = Prices.open(prices)
    problem = Problem(system, workload, space, wanted, bounds, prices, set or {}, duration, size, seed, library)
    _check(problem, trials)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    directions = ["minimize" if way == "min" else "maximize" for _, way in wanted]
    tried: list[Trial] = []
    last: list[InputError] = []

    def broken(trial: Any) -> Sequence[float]:
        return trial.user_attrs.get("broken", (1.0,) * max(len(bounds), 1))

    with _unremarked():
        sampler = (
            optuna.samplers.TPESampler(seed=seed % 2**32, constraints_func=broken)
            if len(wanted) == 1
            else optuna.samplers.NSGAIISampler(seed=seed % 2**32, constraints_func=broken)
        )
    study = optuna.create_study(directions=directions, sampler=sampler)

    def objective(trial: Any) -> tuple[float, ...]:
        point = {name: _suggest(trial, name, one) for name, one in space.items()}
        try:
            figures = problem.figures(point)
        except UnknownFigureError:
            raise
        except InputError as error:
            last.append(error)
            # No system is so: a trial that optuna leaves out.
            raise optuna.TrialPruned(error.message) from error
        values = tuple(_known(figures, name) for name, _ in wanted)
        over = tuple(_broken(figures, bound) for bound in bounds)
        trial.set_user_attr("broken", over or (0.0,))
        one = Trial(point, values, all(gap <= 0 for gap in over), figures)
        tried.append(one)
        if on_trial is not None:
            on_trial(one)
        return one.objectives

    study.optimize(objective, n_trials=trials, n_jobs=threads)
    if not tried and last:
        # Not one of them can be: what is wrong is no point's own.
        raise last[0]
    good = [one for one in tried if one.feasible]
    signs = [1.0 if way == "min" else -1.0 for _, way in wanted]
    best = [one for one in good if not any(_better(other, one, signs) for other in good)]
    unique = {one.objectives: one for one in reversed(best)}
    return sorted(unique.values(), key=lambda one: tuple(s * v for s, v in zip(signs, one.objectives, strict=True)))


@contextmanager
def _unremarked() -> Generator[None, None, None]:
    """Leave out what optuna remarks on parts of its own that may still change."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _suggest(trial: Any, name: str, one: Range | Choice) -> str | int | float:
    if isinstance(one, Choice):
        return trial.suggest_categorical(name, one.values)
    if one.whole:
        return one.text(trial.suggest_int(name, round(one.low), round(one.high), log=one.log))
    return one.text(trial.suggest_float(name, one.low, one.high, log=one.log))


def _broken(figures: Mapping[str, float], bound: tuple[str, str, float]) -> float:
    """Return by how much a bound is broken; at most zero where it is kept."""
    name, way, limit = bound
    value = _known(figures, name)
    return limit - value if way == ">=" else value - limit


def _known(figures: Mapping[str, float], name: str) -> float:
    """Return a figure that has to be known.

    Raises:
        UnknownFigureError: Where too little ran to tell it.
    """
    if name not in figures:
        raise UnknownFigureError(f"{name} is not known of so few requests", "give a longer duration=")
    return figures[name]


def _better(one: Trial, other: Trial, signs: Sequence[float]) -> bool:
    """Whether a trial is no worse in any objective, and better in one."""
    pairs = [(s * a, s * b) for s, a, b in zip(signs, one.objectives, other.objectives, strict=True)]
    return all(a <= b for a, b in pairs) and any(a < b for a, b in pairs)


def _check(problem: Problem, trials: int) -> None:
    if not problem.space:
        raise InputError("the space has no parameter")
    if not problem.objectives:
        raise InputError("there is no objective", 'for example objectives=[("latency_p99_us", "min")]')
    if not isinstance(trials, int) or trials < 1:
        raise InputError(f"trials = {trials!r}: is not a whole number from 1 on")
    for name, way in problem.objectives:
        if way not in ("min", "max"):
            raise InputError(f"objective {name}: `{way}` is neither `min` nor `max`")
    for bound in problem.bounds:
        if len(bound) != 3 or bound[1] not in ("<=", ">="):
            raise InputError(f"bound {bound!r}: expected (FIGURE, '<=' or '>=', NUMBER)")
    # A test that moves little tells what figures there are.
    figures = {*_figures(), *(("price",) if problem.prices is not None else ())}
    for name in [*(name for name, _ in problem.objectives), *(bound[0] for bound in problem.bounds)]:
        if name not in figures:
            hint = "give prices=" if name == "price" else f"one of {', '.join(sorted(figures))}"
            raise InputError(f"`{name}` is no figure", hint)
    for name, one in problem.space.items():
        if not isinstance(one, (Range, Choice)):
            raise InputError(f"{name}: {one!r} is neither a Range nor a Choice")


def _figures() -> set[str]:
    return {
        "iops",
        "bytes_per_second",
        "latency_mean_us",
        "latency_p50_us",
        "latency_p99_us",
        "latency_p999_us",
        "latency_max_us",
    }


@dataclass(frozen=True)
class Sensitivity:
    """The dependence of a figure on uncertain values: Sobol's indices of each."""

    #: The figure.
    figure: str
    #: The share of the figure's variance that each value has by itself.
    first: dict[str, float]
    #: The same with all that it has together with others.
    total: dict[str, float]
    #: Half of the 95% confidence interval of each total.
    total_confidence: dict[str, float]
    #: The figure's mean and standard deviation over the draws.
    mean: float
    deviation: float
    #: Simulations that it took.
    simulations: int

    def to_rows(self) -> list[dict[str, str | float]]:
        """Return a row for each value, the one with the greatest total first."""
        rows: list[dict[str, str | float]] = [
            {"parameter": name, "first": self.first[name], "total": total, "confidence_95": self.total_confidence[name]}
            for name, total in self.total.items()
        ]
        return sorted(rows, key=lambda row: -float(row["total"]))


@coerced
def sensitivity(
    system: str,
    workload: Asked,
    space: Mapping[str, Range],
    *,
    figure: str = "iops",
    draws: int = 64,
    set: Mapping[str, Setting] | None = None,
    duration: str | None = None,
    size: str | None = None,
    seed: int = 1,
    threads: int | None = None,
    library: Library | None = None,
) -> Sensitivity:
    """Say what a prediction depends on: Sobol's indices of a figure, by Saltelli's draws.

    Args:
        system: The system.
        workload: One test.
        space: Each uncertain value with its :class:`Range`, over which it is taken as even.
        figure: A column of numbers of the table of tests.
        draws: The number of base draws, a power of two; it takes ``draws * (len(space) + 2)`` simulations.
        set: Model values of all draws.
        duration: How long each test runs.
        size: Part of the target that each test uses.
        seed: The seed of the draws and of the simulator.
        threads: Simulations at a time; as many as there are cores without it. The outcome does not depend on it.
        library: The library of the names.

    Raises:
        InputError: Where a draw cannot be simulated, or ``draws`` is no power of two.
        MissingPackageError: Where SALib or pyarrow is not installed.
    """
    if not isinstance(draws, int) or draws < 2 or draws & (draws - 1):
        raise InputError(f"draws = {draws!r}: is no power of two", "for example draws=64")
    problem = Problem(system, workload, space, [(figure, "min")], (), None, set or {}, duration, size, seed, library)
    _check(problem, 1)
    for name, one in space.items():
        if not isinstance(one, Range):
            raise InputError(f"{name}: {one!r} is no Range")
    sample: Any = package("SALib.sample.sobol", "search")
    analyse: Any = package("SALib.analyze.sobol", "search")
    numpy: Any = package("numpy", "search")
    names = list(space)
    # Ranges of logarithms are even in the logarithm.
    ends = [[numpy.log(one.low), numpy.log(one.high)] if one.log else [one.low, one.high] for one in space.values()]
    asked = {"num_vars": len(names), "names": names, "bounds": ends}
    points: Any = sample.sample(asked, draws, calc_second_order=False, seed=seed % 2**32)

    def simulated(row: Any) -> float:
        numbers = [float(numpy.exp(x)) if space[name].log else float(x) for name, x in zip(names, row, strict=True)]
        point = {name: space[name].text(x) for name, x in zip(names, numbers, strict=True)}
        return _known(problem.figures(point), figure)

    with ThreadPoolExecutor(threads or len(os.sched_getaffinity(0))) as pool:
        figures: Any = numpy.array(list(pool.map(simulated, points)))
    deviation = float(figures.std())
    if deviation == 0.0:
        none = dict.fromkeys(names, 0.0)
        return Sensitivity(figure, none, none, none, float(figures.mean()), 0.0, len(points))
    told: Any = analyse.analyze(asked, figures, calc_second_order=False, seed=seed % 2**32)

    def column(key: str) -> dict[str, float]:
        return {name: float(value) for name, value in zip(names, told[key], strict=True)}

    return Sensitivity(
        figure, column("S1"), column("ST"), column("ST_conf"), float(figures.mean()), deviation, len(points)
    )
