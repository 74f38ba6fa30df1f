"""Altair charts of results. The functions need the extra ``charts``, and draw the columns of the tables unchanged."""

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
    """Return the altair field of the numeric column ``name``. The unit at the end of the name may be omitted.

    Raises:
        InputError: If there is no such column, or if its values are strings, for which altair would draw an empty
            chart.
    """
    column = _column(table, name)
    kind = str(table.to_arrow().schema.field(column).type)
    if kind == "string":
        raise InputError(
            f"`{name}`: expected a column of numbers, found a column of text",
            "use a column of numbers, or draw one line per value with by=",
        )
    return _field(column)


def _column(table: Table, name: str) -> str:
    """Return the full name of the column ``name``, whose unit may be omitted.

    Raises:
        InputError: If there is no such column.
    """
    if name in table.columns:
        return name
    units = ("bytes", "us", "bytes_per_second", "bits_per_second", "ratio", "watts")
    with_unit = [f"{name}_{unit}" for unit in units if f"{name}_{unit}" in table.columns]
    if len(with_unit) != 1:
        raise InputError(f"there is no column `{name}`", f"the columns are {', '.join(table.columns)}")
    return with_unit[0]


def _field(column: str) -> str:
    """Return a column's name, escaped for altair, in which dots select subfields and colons precede types."""
    return "".join(f"\\{letter}" if letter in ".[]:" else letter for letter in column)


def _data(table: Table) -> tuple[Any, Any]:
    """Return the altair module and the table as altair data."""
    altair: Any = package("altair", "charts")
    return altair, altair.Data(values=table.to_arrow().to_pylist())


def bars(result: Result, figure: str = "iops") -> Any:
    """Draw a figure of each test as a bar. For ``iops``, also draw the range of the repeats.

    Raises:
        InputError: If ``figure`` is not a column of numbers.
        MissingPackageError: If altair or pyarrow is not installed.
    """
    altair, data = _data(result.tests)
    field = _numbers(result.tests, figure)
    base = altair.Chart(data).encode(y=altair.Y("test:N", sort=None, title=None))
    drawn = base.mark_bar().encode(x=altair.X(f"{field}:Q", title=_title(figure)))
    if figure != "iops":
        return drawn
    return drawn + base.mark_rule().encode(x="iops_min:Q", x2="iops_max:Q")


def hops_chart(result: Result) -> Any:
    """Draw the mean service time of each test at each hop, in us.

    Raises:
        MissingPackageError: If altair or pyarrow is not installed.
    """
    altair, data = _data(result.hops)
    chart = altair.Chart(data).transform_filter("datum.repeat == 1").mark_bar()
    return chart.encode(
        y=altair.Y("test:N", sort=None, title=None),
        x=altair.X("service_mean_us:Q", title="service, us per request"),
        color=altair.Color("name:N", sort=None, title="hop"),
    )


def series_chart(result: Result, figure: str = "latency_mean_us") -> Any:
    """Draw a figure of each test over time.

    Raises:
        InputError: If ``figure`` is not a column of numbers.
        MissingPackageError: If altair or pyarrow is not installed.
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
    """Draw the simulated value of each figure over its published value, coloured by role."""
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
    """Draw a figure of a sweep over one of its axes, with one line per value of the axis ``by``.

    The unit in the name of an axis of quantities may be omitted: ``block_bytes`` or ``block``.

    Raises:
        InputError: If ``axis`` or ``figure`` is not a column of numbers, or if ``by`` is not a column.
        MissingPackageError: If altair or pyarrow is not installed.
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
