"""Tables: columns that polars, pandas, pyarrow and DuckDB take without a copy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _lanemark
from ._missing import package

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


class Table:
    """Columns of equal length, of 64-bit whole numbers, 64-bit floats or texts. What is not known is null.

    Whatever speaks the Arrow PyCapsule interface takes it as it is: ``polars.DataFrame(table)``,
    ``pyarrow.table(table)``, ``duckdb.sql("from table")``.
    """

    def __init__(self, inner: _lanemark.Table) -> None:
        self._inner = inner

    def __reduce__(self) -> tuple[Any, ...]:
        return _table, (self._inner.parts(),)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Table):
            return NotImplemented
        return self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash(tuple(self.columns))

    def _parts(self) -> list[tuple[str, str, list[Any]]]:
        return self._inner.parts()

    @property
    def columns(self) -> list[str]:
        """The names of the columns; a unit ends the name."""
        return self._inner.names()

    def __len__(self) -> int:
        return len(self._inner)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Give the table as a stream of Arrow."""
        return self._inner.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        """Give the table's schema."""
        return self._inner.__arrow_c_schema__()

    def to_arrow(self) -> Any:
        """Return the table of pyarrow, without a copy.

        Raises:
            MissingPackageError: Where pyarrow is not installed.
        """
        arrow: Any = package("pyarrow", "tables")
        return arrow.table(self)

    def to_polars(self) -> pl.DataFrame:
        """Return the data frame of polars, without a copy of numbers.

        Raises:
            MissingPackageError: Where polars is not installed.
        """
        polars: Any = package("polars", "tables")
        return polars.DataFrame(self)

    def to_pandas(self) -> pd.DataFrame:
        """Return the data frame of pandas.

        Raises:
            MissingPackageError: Where pandas or pyarrow is not installed.
        """
        package("pandas", "tables")
        arrow: Any = self.to_arrow()
        return arrow.to_pandas()

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{name}</th>" for name in self.columns)
        return f"<table><tr>{head}</tr><tr><td colspan='{len(self.columns)}'>{len(self)} rows</td></tr></table>"

    def __repr__(self) -> str:
        return f"<Table of {len(self)} rows: {', '.join(self.columns)}>"


def _table(parts: list[tuple[str, str, list[Any]]]) -> Table:
    return Table(_lanemark.Table.of_parts(parts))
