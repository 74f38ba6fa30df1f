"""Results: runs, studies, and the answers to other questions."""

from __future__ import annotations

import html as escaping
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from . import _lanemark
from ._scalar import coerced
from ._table import Table
from .errors import InputError

if TYPE_CHECKING:
    import os

    import pandas as pd
    import polars as pl


def framed(page: str, height_px: int = 640) -> str:
    """Return a whole page in a frame of its own, so that its style is not the notebook's."""
    return (
        f'<iframe srcdoc="{escaping.escape(page)}" sandbox="" '
        f'style="width:100%;height:{height_px}px;border:0"></iframe>'
    )


def results_folder() -> Path:
    """Return the folder in which results are saved if no path is given, for this package and for the command.

    It is the folder that ``LANEMARK_RESULTS`` names, otherwise ``lanemark`` in the user's state folder:
    ``XDG_STATE_HOME``, by default ``~/.local/state``. It may not exist yet.

    Raises:
        RunError: If the user has no home folder, and no variable names a folder.
    """
    return _lanemark.results_folder()


class Tabular:
    """A result with a table that stands for it."""

    def _main(self) -> Table:
        raise NotImplementedError

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Give the main table as a stream of Arrow."""
        return self._main().__arrow_c_stream__(requested_schema)

    def to_arrow(self) -> Any:
        """Return the main table as pyarrow has it, without a copy."""
        return self._main().to_arrow()

    def to_polars(self) -> pl.DataFrame:
        """Return the main table as polars has it, without a copy of numbers."""
        return self._main().to_polars()

    def to_pandas(self) -> pd.DataFrame:
        """Return the main table as pandas has it."""
        return self._main().to_pandas()


class Result(Tabular):
    """The result of one workload on one target, simulated or measured.

    Its main table has a row for each test. Figures of latency are in us, rates in requests or bytes a second. Columns that
    begin with ``read_`` and ``write_`` are of one direction; those of both together have no such beginning. Of a test that
    mixes reads and writes, the latency of both together is that of neither.
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
        """False where the run was cut short."""
        return self._inner.complete

    def table(self, name: str) -> Table:
        """Return a table of the run.

        Args:
            name: ``"tests"``, a row for each test; ``"samples"``, for each repeat; ``"hops"``, for each hop of each
                repeat, with its use and the mean time spent there; ``"series"``, for each interval that was recorded;
                ``"latencies"``, for each filled bin of each test's histogram.

        Raises:
            InputError: Where there is no such table.
        """
        return Table(self._inner.table(name))

    @property
    def tests(self) -> Table:
        """A row for each test."""
        return self.table("tests")

    @property
    def hops(self) -> Table:
        """A row for each hop of each repeat of each test; empty for measured runs."""
        return self.table("hops")

    @property
    def series(self) -> Table:
        """A row for each interval that was recorded."""
        return self.table("series")

    @property
    def latencies(self) -> Table:
        """A row for each filled bin of each test's latencies."""
        return self.table("latencies")

    @coerced
    def figure(self, name: str, test: str | int = 0) -> float:
        """Return one figure of one test.

        Args:
            name: A column of numbers of the table of tests, ``"iops"`` or ``"latency_p99_us"``.
            test: The test's name or number.

        Raises:
            InputError: Where there is no such figure or test, or the figure is not known.
        """
        told = self.to_dict()["tests"]
        names = [one["test"]["name"] for one in told]
        place = test if isinstance(test, int) else (names.index(test) if test in names else -1)
        if not 0 <= place < len(names):
            raise InputError(f"the run has no test {test!r}", f"its tests are {', '.join(names)}")
        columns = self.tests.columns
        if name not in columns:
            raise InputError(f"the run has no figure {name!r}", f"its figures are {', '.join(columns)}")
        value = self.to_arrow().column(name)[place].as_py()
        if not isinstance(value, (int, float)):
            raise InputError(f"{name} of test {names[place]!r} is no number that is known")
        return float(value)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as its file has it; units end the names of fields."""
        return cast("dict[str, Any]", json.loads(self._inner.json()))

    def to_json(self) -> str:
        """Return the text that the command prints with ``--json``."""
        return self._inner.json_text()

    def to_html(self) -> str:
        """Return the page that the command writes with ``--html``."""
        return self._inner.html()

    def to_text(self, *, detail: bool = False) -> str:
        """Return the table that the command prints; with ``detail`` also where the time of each test goes."""
        return self._inner.text(detail)

    def save(self, out: str | os.PathLike[str] | None = None) -> Path:
        """Save the result, and return the file's path.

        Args:
            out: A file that ends in ``.json``, or a folder in which a new file is made. Only a former result is
                written over. Without it the folder of :func:`results_folder`.

        Raises:
            RefusedError: Where something else is there.
            RunError: Where it cannot be written.
        """
        return self._inner.save(results_folder() if out is None else out)

    def chart(self, figure: str = "iops") -> Any:
        """Return an Altair chart of a figure of all tests.

        Raises:
            MissingPackageError: Where altair is not installed.
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
    """The outcome of a study. Its main table has a row for each published figure, with what was simulated."""

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
        """A row for each published figure. ``error_ratio`` is simulated over published, less one."""
        return self._main()

    @property
    def systems(self) -> dict[str, Result]:
        """The run of each system by the system's name."""
        return {name: Result(run) for name, run in self._inner.systems()}

    def to_dict(self) -> dict[str, Any]:
        """Return the outcome as its file has it."""
        return cast("dict[str, Any]", json.loads(self._inner.json()))

    def to_html(self) -> str:
        """Return the page that the command writes with ``--html``."""
        return self._inner.html()

    def to_text(self) -> str:
        """Return the table that the command prints."""
        return self._inner.text()

    def save(self, out: str | os.PathLike[str] | None = None) -> Path:
        """Save the outcome as :meth:`Result.save` does."""
        return self._inner.save(results_folder() if out is None else out)

    def _repr_html_(self) -> str:
        return framed(self.to_html())

    def __repr__(self) -> str:
        return self.to_text()


class Answer:
    """The answer to a question, with the views that the command has of it."""

    def __init__(self, inner: _lanemark.Answer | _lanemark.Fit) -> None:
        self._inner = inner

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as the command prints it with ``--json``."""
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
    """The storage paths of a machine, link by link, and what limits them."""

    def to_svg(self) -> str:
        """Return the drawing of the paths."""
        return (self._inner.svg() if isinstance(self._inner, _lanemark.Answer) else None) or ""


class WhatIf(Answer):
    """A prediction of the same work on another path."""

    @property
    def tests(self) -> list[dict[str, Any]]:
        """Each test with the figures of both systems, and the interval of the prediction."""
        return cast("list[dict[str, Any]]", self.to_dict()["tests"])


class FittedDrive(Answer):
    """A drive's model that was fitted to measurements, with a range for every value."""

    def to_toml(self, name: str = "fitted") -> str:
        """Return the drive as a file of the library.

        Raises:
            InputError: Where the file cannot be made under that name.
        """
        return cast("_lanemark.Fit", self._inner).file(name)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the drive's file, ``NAME.toml``, which can be named wherever a drive can.

        Raises:
            RefusedError: Where another file is there.
        """
        from pathlib import Path

        from .errors import RefusedError

        place = Path(path)
        try:
            with place.open("x", encoding="utf-8") as file:
                file.write(self.to_toml(place.stem))
        except FileExistsError as error:
            raise RefusedError(f"{place}: exists", "give another path, or remove the file") from error
