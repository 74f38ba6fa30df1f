"""Tables that polars, pandas, pyarrow and DuckDB read without a copy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _lanemark
from ._missing import package

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


class Table:
    """Columns of equal length: 64-bit integers, 64-bit floats or strings. Unknown values are null.

    Any library that supports the Arrow PyCapsule interface accepts a table: ``polars.DataFrame(table)``,
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
        """The names of the columns. The name of a quantity ends in its unit."""
        return self._inner.names()

    def __len__(self) -> int:
        return len(self._inner)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the table as an Arrow stream."""
        return self._inner.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        """Return the table's Arrow schema."""
        return self._inner.__arrow_c_schema__()

    def to_arrow(self) -> Any:
        """Return the table as a pyarrow table, without a copy.

        Raises:
            MissingPackageError: If pyarrow is not installed.
        """
        arrow: Any = package("pyarrow", "tables")
        return arrow.table(self)

    def to_polars(self) -> pl.DataFrame:
        """Return the table as a polars data frame, without a copy of numbers.

        Raises:
            MissingPackageError: If polars is not installed.
        """
        polars: Any = package("polars", "tables")
        return polars.DataFrame(self)

    def to_pandas(self) -> pd.DataFrame:
        """Return the table as a pandas data frame.

        Raises:
            MissingPackageError: If pandas or pyarrow is not installed.
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
