"""Results of runs, studies and the other commands."""

from __future__ import annotations

import html as escaping
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from . import _lanemark
from ._scalar import coerced
from ._table import Table
from .errors import InputError, RefusedError

if TYPE_CHECKING:
    import os

    import pandas as pd
    import polars as pl


def framed(page: str, height_px: int = 640) -> str:
    """Return a page in a separate frame, so that its styles do not affect the notebook."""
    return (
        f'<iframe srcdoc="{escaping.escape(page)}" sandbox="" '
        f'style="width:100%;height:{height_px}px;border:0"></iframe>'
    )


def results_folder() -> Path:
    """Return the folder in which this package and the command save results if no path is given.

    The folder is the value of ``LANEMARK_RESULTS``, otherwise ``lanemark`` in the user's state folder:
    ``XDG_STATE_HOME``, by default ``~/.local/state``. The folder may not exist yet.

    Raises:
        RunError: If the user does not have a home folder and neither variable is set.
    """
    return _lanemark.results_folder()


class Tabular:
    """A result with a main table."""

    def _main(self) -> Table:
        raise NotImplementedError

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the main table as an Arrow stream."""
        return self._main().__arrow_c_stream__(requested_schema)

    def to_arrow(self) -> Any:
        """Return the main table as a pyarrow table, without a copy."""
        return self._main().to_arrow()

    def to_polars(self) -> pl.DataFrame:
        """Return the main table as a polars data frame, without a copy of numbers."""
        return self._main().to_polars()

    def to_pandas(self) -> pd.DataFrame:
        """Return the main table as a pandas data frame."""
        return self._main().to_pandas()


class Result(Tabular):
    """The result of one workload on one target, simulated or measured.

    The main table has one row per test. Latencies are in us, and rates in requests or bytes per second. Columns
    whose names begin with ``read_`` or ``write_`` cover one direction. The other columns cover both directions
    together. In a test that mixes reads and writes, their latency describes neither direction.
    """

    def __init__(self, inner: _lanemark.Run) -> None:
        self._inner = inner

    def __reduce__(self) -> tuple[Any, ...]:
        return _run, (self._inner.json(),)

    def __eq__(self, other: object) -> bool:
        return self._inner.json() == other._inner.json() if isinstance(other, Result) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._inner.json())

    def _main(self) -> Table:
        return self.table("tests")

    @property
    def complete(self) -> bool:
        """Whether the run was complete. False if it was interrupted."""
        return self._inner.complete

    def table(self, name: str) -> Table:
        """Return a table of the run.

        Args:
            name: ``"tests"``, with one row per test; ``"samples"``, per repeat; ``"hops"``, per hop of
                each repeat, with its utilisation and the mean time that requests spent in it; ``"series"``, per
                recorded interval; or ``"latencies"``, per non-empty bin of each test's histogram.

        Raises:
            InputError: If there is no such table.
        """
        return Table(self._inner.table(name))

    @property
    def tests(self) -> Table:
        """The table with one row per test."""
        return self.table("tests")

    @property
    def hops(self) -> Table:
        """The table with one row per hop of each repeat of each test. Empty for measured runs."""
        return self.table("hops")

    @property
    def series(self) -> Table:
        """The table with one row per recorded interval."""
        return self.table("series")

    @property
    def latencies(self) -> Table:
        """The table with one row per non-empty bin of each test's latency histogram."""
        return self.table("latencies")

    @coerced
    def figure(self, name: str, test: str | int = 0) -> float:
        """Return one figure of one test.

        Args:
            name: A numeric column of the table of tests, such as ``"iops"`` or ``"latency_p99_us"``.
            test: The test's name or index.

        Raises:
            InputError: If there is no such figure or test, or if the figure is unknown.
        """
        names = [result["test"]["name"] for result in self.to_dict()["tests"]]
        index = test if isinstance(test, int) else (names.index(test) if test in names else -1)
        if not 0 <= index < len(names):
            raise InputError(f"the run does not contain a test {test!r}", f"its tests are {', '.join(names)}")
        columns = self.tests.columns
        if name not in columns:
            raise InputError(f"the run does not contain a figure {name!r}", f"its figures are {', '.join(columns)}")
        value = self.to_arrow().column(name)[index].as_py()
        if not isinstance(value, (int, float)):
            raise InputError(f"{name} of test {names[index]!r}: expected a number, found {value!r}")
        return float(value)

    def to_dict(self) -> dict[str, Any]:
        """Return the content of the result's file. The name of a field with a unit ends in the unit."""
        return cast("dict[str, Any]", json.loads(self._inner.json()))

    def to_json(self) -> str:
        """Return the text that the command prints with ``--json``."""
        return self._inner.json_text()

    def to_html(self) -> str:
        """Return the page that the command writes with ``--html``."""
        return self._inner.html()

    def to_text(self, *, detail: bool = False) -> str:
        """Return the table that the command prints. With ``detail``, include the time per hop."""
        return self._inner.text(detail)

    def save(self, out: str | os.PathLike[str] | None = None) -> Path:
        """Save the result, and return the file's path.

        Args:
            out: A file whose name ends in ``.json``, or a folder in which a new file is created. Default: the folder
                that :func:`results_folder` returns. An existing file is overwritten only if it is a result.

        Raises:
            RefusedError: If the existing file is not a result.
            RunError: If the file cannot be written.
        """
        return self._inner.save(results_folder() if out is None else out)

    def chart(self, figure: str = "iops") -> Any:
        """Return an Altair chart with a figure of all tests.

        Raises:
            MissingPackageError: If altair is not installed.
        """
        from .charts import bars

        return bars(self, figure)

    def _repr_html_(self) -> str:
        return framed(self.to_html())

    def __repr__(self) -> str:
        return self.to_text()


def _run(text: str) -> Result:
    return Result(_lanemark.Run.of_json(text))


def _study_run(text: str) -> StudyResult:
    return StudyResult(_lanemark.StudyRun.of_json(text))


class StudyResult(Tabular):
    """The result of a study. The main table has one row per published figure, with the simulated value."""

    def __init__(self, inner: _lanemark.StudyRun) -> None:
        self._inner = inner

    def __reduce__(self) -> tuple[Any, ...]:
        return _study_run, (self._inner.json(),)

    def __eq__(self, other: object) -> bool:
        return self._inner.json() == other._inner.json() if isinstance(other, StudyResult) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._inner.json())

    def _main(self) -> Table:
        return Table(self._inner.figures())

    @property
    def figures(self) -> Table:
        """The table with one row per published figure. ``error_ratio`` is simulated / published - 1."""
        return self._main()

    @property
    def systems(self) -> dict[str, Result]:
        """The result of each system, by the system's name."""
        return {name: Result(run) for name, run in self._inner.systems()}

    def to_dict(self) -> dict[str, Any]:
        """Return the content of the result's file."""
        return cast("dict[str, Any]", json.loads(self._inner.json()))

    def to_html(self) -> str:
        """Return the page that the command writes with ``--html``."""
        return self._inner.html()

    def to_text(self) -> str:
        """Return the table that the command prints."""
        return self._inner.text()

    def save(self, out: str | os.PathLike[str] | None = None) -> Path:
        """Save the result, like :meth:`Result.save`."""
        return self._inner.save(results_folder() if out is None else out)

    def _repr_html_(self) -> str:
        return framed(self.to_html())

    def __repr__(self) -> str:
        return self.to_text()


class Answer:
    """The answer to a question, in the formats that the command prints."""

    def __init__(self, inner: _lanemark.Answer | _lanemark.Fit) -> None:
        self._inner = inner

    def to_dict(self) -> dict[str, Any]:
        """Return the data that the command prints with ``--json``."""
        return cast("dict[str, Any]", json.loads(self._inner.json()))

    def to_text(self) -> str:
        """Return the text that the command prints."""
        return self._inner.text()

    def _repr_html_(self) -> str:
        svg = self._inner.svg() if isinstance(self._inner, _lanemark.Answer) else None
        return svg or f"<pre>{escaping.escape(self.to_text())}</pre>"

    def __repr__(self) -> str:
        return self.to_text()


class Inspection(Answer):
    """The storage paths of a machine, link by link, and the limit of each path."""

    def to_svg(self) -> str:
        """Return the drawing of the paths as SVG."""
        return (self._inner.svg() if isinstance(self._inner, _lanemark.Answer) else None) or ""


class WhatIf(Answer):
    """A prediction of the performance of the same work on a different path."""

    @property
    def tests(self) -> list[dict[str, Any]]:
        """Each predicted test, with the figures of both systems and the interval of the prediction."""
        return cast("list[dict[str, Any]]", self.to_dict()["tests"])

    @property
    def contradictions(self) -> list[dict[str, Any]]:
        """Each test whose measurement lies outside the interval of the measured system's model, with the cause."""
        return cast("list[dict[str, Any]]", self.to_dict().get("contradictions", []))


class FittedDrive(Answer):
    """A drive's model that was fitted to measurements, with a range for each value."""

    def to_toml(self, name: str = "fitted") -> str:
        """Return the content of the drive's library file.

        Raises:
            InputError: If ``name`` is not a valid name of a library file.
        """
        return cast("_lanemark.Fit", self._inner).file(name)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the drive's file, ``NAME.toml``, which is accepted wherever a drive's name is.

        Raises:
            RefusedError: If the file exists.
        """
        target = Path(path)
        try:
            with target.open("x", encoding="utf-8") as file:
                file.write(self.to_toml(target.stem))
        except FileExistsError as error:
            raise RefusedError(f"{target} already exists", "use a different path, or remove the file") from error
