"""Search for the best system (Optuna), and sensitivity of a prediction to uncertain values (Sobol's indices, SALib).

This module needs the extra ``search``. A search chooses each trial from the results of earlier trials. It finds good
points, but shows nothing about points that it did not try. Prices are read from a file, because the library does not
contain prices.
"""

from __future__ import annotations

import csv
import io
import os
import stat
import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ._ask import WorkloadSource, simulate
from ._missing import package
from ._model import Library, Setting, System
from ._result import Result
from ._scalar import coerced, plain
from .errors import InputError

__all__ = ["Choice", "Prices", "Range", "Sensitivity", "Trial", "search", "sensitivity"]


@dataclass(frozen=True)
class Range:
    """Numbers from ``low`` to ``high``, both included.

    Args:
        low: The minimum.
        high: The maximum.
        unit: The unit of a quantity, such as ``"us"``. Empty for a count.
        log: Whether values are drawn on a logarithmic scale.
        whole: Whether the range contains only whole numbers.
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
            bounds = "0 < low < high" if self.log else "low < high"
            raise InputError(f"range: expected {bounds}, found low = {self.low!r} and high = {self.high!r}")

    def text(self, number: float) -> str | int | float:
        """Return a number of the range as a model value."""
        value = round(number) if self.whole else float(f"{number:.9g}")
        return f"{value} {self.unit}" if self.unit else value


@dataclass(frozen=True)
class Choice:
    """One of several values, ``Choice("m2", "pcie-slot")``."""

    values: tuple[str | int | float, ...]

    @coerced
    def __init__(self, *values: str | int | float) -> None:
        if not values:
            raise InputError("choice: expected at least one value, found an empty list")
        object.__setattr__(self, "values", values)


Space = Mapping[str, Range | Choice]
#: The parameters of the system's name. Any other parameter is a model value if its name has a dot, otherwise a
#: parameter of the test.
OF_SYSTEM = ("drive", "platform", "port")


#: The maximum size of a file of prices, in bytes.
PRICES_MAX = 64 << 20


def _content(path: Path) -> bytes:
    """Return the content of a regular file of up to ``PRICES_MAX`` bytes."""
    # Without O_NONBLOCK, opening a pipe without a writer would block.
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise InputError(f"{path} is not a regular file")
        content = file.read(PRICES_MAX + 1)
    if len(content) > PRICES_MAX:
        raise InputError(f"{path} is longer than {PRICES_MAX >> 20} MiB")
    return content


class UnknownFigureError(InputError):
    """A figure that requires more requests, or a price that the file does not contain."""


class Prices:
    """Prices by name, from a CSV file with the columns ``name`` and ``price``.

    A name is the name of a drive or a platform, or ``parameter=value`` for the price of a model value.
    """

    @coerced
    def __init__(self, prices: Mapping[str, float]) -> None:
        self._prices = dict(prices)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Prices:
        """Read the file ``path``.

        Raises:
            InputError: If the file cannot be read, if a column is missing, if a price is invalid, or if a name appears
                twice.
        """
        prices: dict[str, float] = {}
        try:
            rows = csv.DictReader(io.StringIO(_content(Path(path)).decode(), newline=""))
            if not {"name", "price"} <= set(rows.fieldnames or ()):
                raise InputError(f"{path}:1: the columns `name` and `price` are missing")
            for row in rows:
                location = f"{path}:{rows.line_num}"
                if row["name"] in prices:
                    raise InputError(f"{location}: `{row['name']}` has two prices", "remove one of the two rows")
                prices[row["name"]] = _price(location, row["price"])
        except (OSError, ValueError, csv.Error) as error:
            raise InputError(f"{path}: can't be read: {error}") from error
        return cls(prices)

    def of(self, point: Mapping[str, str | int | float]) -> float:
        """Return the price of a point: the sum of the prices of its drive, its platform and its model values.

        Raises:
            InputError: If the drive or the platform of the point lacks a price.
        """
        total = 0.0
        for name, value in point.items():
            if name in ("drive", "platform"):
                if str(value) not in self._prices:
                    raise UnknownFigureError(f"no price for the {name} {value}", "add it to the prices")
                total += self._prices[str(value)]
            else:
                total += self._prices.get(f"{name}={value}", 0.0)
        return total


def _price(location: str, text: str) -> float:
    try:
        price = float(text)
    except (TypeError, ValueError) as error:
        raise InputError(f"{location}: expected a price of 0 or more, found `{text}`") from error
    if not 0 <= price < float("inf"):
        raise InputError(f"{location}: expected a price of 0 or more, found `{text}`")
    return price


@dataclass(frozen=True)
class Trial:
    """A simulated point."""

    #: The value of each parameter.
    point: dict[str, str | int | float]
    #: The value of each objective.
    objectives: tuple[float, ...]
    #: Whether the point satisfies all bounds.
    feasible: bool
    #: The figures of the test.
    figures: dict[str, float]


@dataclass
class Problem:
    """A search problem. The fields are parameters of :func:`search`."""

    system: str
    workload: WorkloadSource
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
        """Return the figures of a point's first test, and the price of the point."""
        row: dict[str, Any] = {name: column[0] for name, column in self.run(point).to_arrow().to_pydict().items()}
        if self.prices is not None:
            row["price"] = self.prices.of({**_parts(self.system), **point})
        return {name: float(value) for name, value in row.items() if isinstance(value, (int, float))}


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


def _changed(workload: WorkloadSource, point: Mapping[str, str | int | float]) -> WorkloadSource:
    from ._model import Test

    if not isinstance(workload, Test):
        names = ", ".join(_of_test(point))
        raise InputError(
            f"workload: expected a lanemark.Test, found {workload!r}",
            f"the space contains parameters of the test: {names}",
        )
    return Test(workload.name, **{**workload.values, **_of_test(point)})


@coerced
def search(
    system: str,
    workload: WorkloadSource,
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

    "The cheapest path with at least 500,000 IOPS and a p99 latency of up to 450 us" is
    ``objectives=[("price", "min")]`` with ``bounds=[("iops", ">=", 500_000), ("latency_p99_us", "<=", 450)]``.

    Args:
        system: The base system, which the points change.
        workload: One test. Must be a :class:`lanemark.Test` if the space contains parameters of the test.
        space: Each parameter with its :class:`Range` or :class:`Choice`: ``drive``, ``platform``, ``port``, a model
            value such as ``drive.flash.channels``, or a parameter of the test such as ``queue_depth``.
        objectives: Figures with ``"min"`` or ``"max"``: columns of the table of tests, or ``price``.
        bounds: Figures with ``"<="`` or ``">="`` and a number. A point is feasible if it satisfies all bounds.
        prices: Prices, or the file that contains them.
        trials: The number of trials.
        set: Model values of all points.
        duration: The time for which each test runs.
        size: The part of the target that each test uses.
        seed: The seed of the search and of the simulator.
        threads: The number of parallel trials. With one thread, the search is reproducible. With several threads, it is
            not, because the trials finish in varying order.
        library: The library that contains the names.
        on_trial: Called with each trial. An exception in it stops the search.

    Returns:
        The best feasible points, best first: one point for one objective, and the Pareto front for several objectives.
        The list is empty if no point is feasible. A point whose system is invalid counts as a trial and is skipped.

    Raises:
        InputError: If a figure, a bound or a parameter is invalid, if a price is missing, or if all points are invalid.
        MissingPackageError: If optuna or pyarrow is not installed.
    """
    optuna: Any = package("optuna", "search")
    goals = list(objectives.items() if isinstance(objectives, Mapping) else objectives)
    if not isinstance(prices, Prices) and prices is not None:
        prices = Prices.open(prices)
    problem = Problem(system, workload, space, goals, bounds, prices, set or {}, duration, size, seed, library)
    _check(problem, trials)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    directions = ["minimize" if direction == "min" else "maximize" for _, direction in goals]
    finished: list[Trial] = []
    failures: list[InputError] = []

    def violations(trial: Any) -> Sequence[float]:
        return trial.user_attrs.get("violations", (1.0,) * max(len(bounds), 1))

    with _without_warnings():
        sampler = (
            optuna.samplers.TPESampler(seed=seed % 2**32, constraints_func=violations)
            if len(goals) == 1
            else optuna.samplers.NSGAIISampler(seed=seed % 2**32, constraints_func=violations)
        )
    study = optuna.create_study(directions=directions, sampler=sampler)

    def objective(trial: Any) -> tuple[float, ...]:
        point = {name: _suggest(trial, name, domain) for name, domain in space.items()}
        try:
            figures = problem.figures(point)
        except UnknownFigureError:
            raise
        except InputError as error:
            failures.append(error)
            # The system is invalid. Optuna ignores pruned trials.
            raise optuna.TrialPruned(error.message) from error
        values = tuple(_known(figures, name) for name, _ in goals)
        excesses = tuple(_violation(figures, bound) for bound in bounds)
        trial.set_user_attr("violations", excesses or (0.0,))
        simulated = Trial(point, values, all(excess <= 0 for excess in excesses), figures)
        finished.append(simulated)
        if on_trial is not None:
            on_trial(simulated)
        return values

    study.optimize(objective, n_trials=trials, n_jobs=threads)
    if not finished and failures:
        # All points are invalid, so the mistake is not specific to one point.
        raise failures[0]
    feasible = [trial for trial in finished if trial.feasible]
    signs = [1.0 if direction == "min" else -1.0 for _, direction in goals]
    best = [trial for trial in feasible if not any(_dominates(rival, trial, signs) for rival in feasible)]
    unique = {trial.objectives: trial for trial in reversed(best)}
    return sorted(unique.values(), key=lambda trial: tuple(s * v for s, v in zip(signs, trial.objectives, strict=True)))


@contextmanager
def _without_warnings() -> Generator[None, None, None]:
    """Suppress optuna's warnings about experimental features."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _suggest(trial: Any, name: str, domain: Range | Choice) -> str | int | float:
    if isinstance(domain, Choice):
        return trial.suggest_categorical(name, domain.values)
    if domain.whole:
        return domain.text(trial.suggest_int(name, round(domain.low), round(domain.high), log=domain.log))
    return domain.text(trial.suggest_float(name, domain.low, domain.high, log=domain.log))


def _violation(figures: Mapping[str, float], bound: tuple[str, str, float]) -> float:
    """Return the amount by which a bound is violated. The amount is zero or negative if the bound is satisfied."""
    name, relation, limit = bound
    value = _known(figures, name)
    return limit - value if relation == ">=" else value - limit


def _known(figures: Mapping[str, float], name: str) -> float:
    """Return a figure.

    Raises:
        UnknownFigureError: If too few requests ran to determine the figure.
    """
    if name not in figures:
        raise UnknownFigureError(f"too few requests to determine {name}", "use a longer duration=")
    return figures[name]


def _dominates(trial: Trial, rival: Trial, signs: Sequence[float]) -> bool:
    """Return whether ``trial`` is at least as good as ``rival`` in each objective, and better in at least one."""
    pairs = [(s * a, s * b) for s, a, b in zip(signs, trial.objectives, rival.objectives, strict=True)]
    return all(a <= b for a, b in pairs) and any(a < b for a, b in pairs)


def _check(problem: Problem, trials: int) -> None:
    if not problem.space:
        raise InputError("space: expected at least one parameter, found an empty list")
    if not problem.objectives:
        raise InputError(
            "objectives: expected one or more, found an empty list",
            'use, for example, objectives=[("latency_p99_us", "min")]',
        )
    if not isinstance(trials, int) or trials < 1:
        raise InputError(f"trials: expected an integer of 1 or more, found {trials!r}")
    for name, direction in problem.objectives:
        if direction not in ("min", "max"):
            raise InputError(f"objective {name}: expected 'min' or 'max', found {direction!r}")
    for bound in problem.bounds:
        if len(bound) != 3 or bound[1] not in ("<=", ">="):
            raise InputError(f"bounds: expected (FIGURE, '<=' or '>=', NUMBER), found {bound!r}")
    figures = {*_figures(), *(("price",) if problem.prices is not None else ())}
    for name in [*(name for name, _ in problem.objectives), *(bound[0] for bound in problem.bounds)]:
        if name not in figures:
            hint = "add prices=" if name == "price" else f"one of {', '.join(sorted(figures))}"
            raise InputError(f"unknown figure `{name}`", hint)
    for name, domain in problem.space.items():
        if not isinstance(domain, (Range, Choice)):
            raise InputError(f"{name}: expected a Range or a Choice, found {domain!r}")


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
    """The dependence of a figure on uncertain values, as Sobol's indices of each value."""

    #: The figure.
    figure: str
    #: The first-order index of each value: its share of the figure's variance without interactions.
    first: dict[str, float]
    #: The total index of each value: its share of the variance including interactions with other values.
    total: dict[str, float]
    #: The half-width of the 95% confidence interval of each total index.
    total_confidence: dict[str, float]
    #: The figure's mean over the draws.
    mean: float
    #: The figure's standard deviation over the draws.
    deviation: float
    #: The number of simulations.
    simulations: int

    def to_rows(self) -> list[dict[str, str | float]]:
        """Return one row per value, sorted by descending total index."""
        rows: list[dict[str, str | float]] = [
            {"parameter": name, "first": self.first[name], "total": total, "confidence_95": self.total_confidence[name]}
            for name, total in self.total.items()
        ]
        return sorted(rows, key=lambda row: -float(row["total"]))


@coerced
def sensitivity(
    system: str,
    workload: WorkloadSource,
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
    """Compute Sobol's indices of a figure with Saltelli's sampling scheme.

    Args:
        system: The system.
        workload: One test.
        space: Each uncertain value with its :class:`Range`, over which it is distributed uniformly.
        figure: A numeric column of the table of tests.
        draws: The number of base draws, a power of two. The call runs ``draws * (len(space) + 2)`` simulations.
        set: Model values of all draws.
        duration: The time for which each test runs.
        size: The part of the target that each test uses.
        seed: The seed of the draws and of the simulator.
        threads: The number of parallel simulations, which does not affect the result. Default: the number of cores.
        library: The library that contains the names.

    Raises:
        InputError: If a draw cannot be simulated, or if ``draws`` is not a power of two.
        MissingPackageError: If SALib or pyarrow is not installed.
    """
    if not isinstance(draws, int) or draws < 2 or draws & (draws - 1):
        raise InputError(f"draws: expected a power of two, 2 or more, found {draws!r}", "use, for example, draws=64")
    problem = Problem(system, workload, space, [(figure, "min")], (), None, set or {}, duration, size, seed, library)
    _check(problem, 1)
    for name, domain in space.items():
        if not isinstance(domain, Range):
            raise InputError(f"{name}: expected a Range, found {domain!r}")
    sample: Any = package("SALib.sample.sobol", "search")
    analyse: Any = package("SALib.analyze.sobol", "search")
    numpy: Any = package("numpy", "search")
    names = list(space)
    # A logarithmic range is sampled uniformly in the logarithm.
    ends = [
        [numpy.log(domain.low), numpy.log(domain.high)] if domain.log else [domain.low, domain.high]
        for domain in space.values()
    ]
    model = {"num_vars": len(names), "names": names, "bounds": ends}
    points: Any = sample.sample(model, draws, calc_second_order=False, seed=seed % 2**32)

    def simulated(row: Any) -> float:
        numbers = [float(numpy.exp(x)) if space[name].log else float(x) for name, x in zip(names, row, strict=True)]
        point = {name: space[name].text(x) for name, x in zip(names, numbers, strict=True)}
        return _known(problem.figures(point), figure)

    with ThreadPoolExecutor(threads or len(os.sched_getaffinity(0))) as pool:
        figures: Any = numpy.array(list(pool.map(simulated, points)))
    deviation = float(figures.std())
    if deviation == 0.0:
        zeros = dict.fromkeys(names, 0.0)
        return Sensitivity(figure, zeros, zeros, zeros, float(figures.mean()), 0.0, len(points))
    indices: Any = analyse.analyze(model, figures, calc_second_order=False, seed=seed % 2**32)

    def column(key: str) -> dict[str, float]:
        return {name: float(value) for name, value in zip(names, indices[key], strict=True)}

    return Sensitivity(
        figure, column("S1"), column("ST"), column("ST_conf"), float(figures.mean()), deviation, len(points)
    )
