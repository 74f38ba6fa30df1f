"""Charts of results by Altair, of the extra ``charts``. All read the tables of results, and compute nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._missing import package
from .errors import InputError

if TYPE_CHECKING:
    from ._result import Result, StudyResult
    from ._table import Table

_TITLES = {
    "iops": "requests a second",
    "bytes_per_second": "bytes a second",
    "latency_mean_us": "mean latency, us",
    "latency_p99_us": "p99 latency, us",
}


def _title(figure: str) -> str:
    return _TITLES.get(figure, figure)


def _numbers(table: Table, name: str) -> str:
    """Return the column ``name`` of numbers, or the one that is ``name`` with its unit, as altair names a field.

    Raises:
        InputError: Where there is no such column, or it is none of numbers, of which altair would draw nothing.
    """
    column = _column(table, name)
    kind = str(table.to_arrow().schema.field(column).type)
    if kind == "string":
        raise InputError(
            f"`{name}` is a column of texts, and a chart needs numbers",
            "give a column of numbers, or draw a line for each text with by=",
        )
    return _field(column)


def _column(table: Table, name: str) -> str:
    """Return the name of the column ``name``, which may lack its unit.

    Raises:
        InputError: Where there is no such column.
    """
    if name in table.columns:
        return name
    units = ("bytes", "us", "bytes_per_second", "bits_per_second", "ratio", "watts")
    with_unit = [f"{name}_{unit}" for unit in units if f"{name}_{unit}" in table.columns]
    if len(with_unit) != 1:
        raise InputError(f"there is no column `{name}`", f"the columns are {', '.join(table.columns)}")
    return with_unit[0]


def _field(column: str) -> str:
    """Return a column as altair names it: a dot would look into a field, and a colon gives a type."""
    return "".join(f"\\{letter}" if letter in ".[]:" else letter for letter in column)


def _data(table: Table) -> tuple[Any, Any]:
    """Return altair, and the table as it draws it."""
    altair: Any = package("altair", "charts")
    return altair, altair.Data(values=table.to_arrow().to_pylist())


def bars(result: Result, figure: str = "iops") -> Any:
    """Draw a figure of each test of a run as bars, with the least and the greatest of the repeats.

    Raises:
        InputError: Where ``figure`` is no column of numbers.
        MissingPackageError: Where altair or pyarrow is not installed.
    """
    altair, data = _data(result.tests)
    field = _numbers(result.tests, figure)
    base = altair.Chart(data).encode(y=altair.Y("test:N", sort=None, title=None))
    drawn = base.mark_bar().encode(x=altair.X(f"{field}:Q", title=_title(figure)))
    if figure != "iops":
        return drawn
    return drawn + base.mark_rule().encode(x="iops_min:Q", x2="iops_max:Q")


def hops_chart(result: Result) -> Any:
    """Draw where the time of each test goes: the mean service at each hop, in us.

    Raises:
        MissingPackageError: Where altair or pyarrow is not installed.
    """
    altair, data = _data(result.hops)
    chart = altair.Chart(data).transform_filter("datum.repeat == 0").mark_bar()
    return chart.encode(
        y=altair.Y("test:N", sort=None, title=None),
        x=altair.X("service_mean_us:Q", title="service, us a request"),
        color=altair.Color("name:N", sort=None, title="hop"),
    )


def series_chart(result: Result, figure: str = "latency_mean_us") -> Any:
    """Draw a figure of each test over its time.

    Raises:
        InputError: Where ``figure`` is no column of numbers.
        MissingPackageError: Where altair or pyarrow is not installed.
    """
    altair, data = _data(result.series)
    field = _numbers(result.series, figure)
    return (
        altair.Chart(data)
        .mark_line()
        .encode(
            x=altair.X("start_seconds:Q", title="s"),
            y=altair.Y(f"{field}:Q", title=_title(figure)),
            color="test:N",
        )
    )


def latencies_chart(result: Result) -> Any:
    """Draw the distribution of each test's latencies."""
    altair, data = _data(result.latencies)
    return (
        altair.Chart(data)
        .mark_bar()
        .encode(
            x=altair.X("latency_us:Q", scale=altair.Scale(type="log"), title="latency, us"),
            y=altair.Y("requests:Q"),
            row=altair.Row("test:N", title=None),
        )
    )


def figures_chart(study: StudyResult) -> Any:
    """Draw what was simulated against what was published, each figure by its role."""
    altair, data = _data(study.figures)
    return (
        altair.Chart(data)
        .mark_point()
        .encode(
            x=altair.X("published:Q", scale=altair.Scale(type="log")),
            y=altair.Y("simulated:Q", scale=altair.Scale(type="log")),
            color="role:N",
            shape="system:N",
            tooltip=["figure:N", "test:N", "system:N", "error_ratio:Q"],
        )
    )


def curve(table: Table, axis: str, figure: str = "iops", by: str | None = None) -> Any:
    """Draw a figure of a sweep over one of its axes, with a line for each value of the axis ``by``.

    An axis of quantities may be named with or without its unit, ``block_bytes`` or ``block``.

    Raises:
        InputError: Where ``axis`` or ``figure`` is no column of numbers, or ``by`` is no column.
        MissingPackageError: Where altair or pyarrow is not installed.
    """
    altair, data = _data(table)
    x, y = _numbers(table, axis), _numbers(table, figure)
    chart = (
        altair.Chart(data)
        .mark_line(point=True)
        .encode(
            x=altair.X(f"{x}:Q", title=_column(table, axis)),
            y=altair.Y(f"{y}:Q", title=_title(figure)),
        )
    )
    return chart if by is None else chart.encode(color=altair.Color(f"{_field(_column(table, by))}:N", title=by))
