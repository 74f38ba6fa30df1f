//! Columns as an Arrow stream, through the PyCapsule interface: polars, pyarrow, pandas and DuckDB can read the stream
//! without copying it.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{
    ArrayRef, Float64Array, Int64Array, RecordBatch, RecordBatchIterator, RecordBatchOptions,
    StringArray,
};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use lanemark_lab::LabError;
use lanemark_lab::columns::{Column, ColumnValues};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::failure::{Failure, input};

/// Columns of equal length, as an Arrow array.
#[pyclass(frozen, module = "lanemark._lanemark")]
pub(crate) struct Table(RecordBatch);

fn failed(error: &ArrowError) -> Failure {
    LabError::run(format!("the result can't be converted to an Arrow array: {error}")).into()
}

/// A column's name, kind and values.
type ColumnParts<'py> = (String, String, Bound<'py, PyAny>);

impl Table {
    /// Creates the table of `columns`.
    pub(crate) fn new(columns: Vec<Column>) -> Result<Self, Failure> {
        let mut fields = Vec::new();
        let mut arrays = Vec::<ArrayRef>::new();
        for Column { name, values } in columns {
            let (kind, known, array): (_, _, ArrayRef) = match values {
                ColumnValues::Whole(all) => {
                    (DataType::Int64, true, Arc::new(Int64Array::from(all)))
                }
                ColumnValues::MaybeWhole(all) => {
                    (DataType::Int64, false, Arc::new(Int64Array::from(all)))
                }
                ColumnValues::Numbers(all) => {
                    (DataType::Float64, false, Arc::new(Float64Array::from(all)))
                }
                ColumnValues::Texts(all) => {
                    (DataType::Utf8, false, Arc::new(StringArray::from(all)))
                }
            };
            fields.push(Field::new(name, kind, !known));
            arrays.push(array);
        }
        let schema = Arc::new(Schema::new(fields));
        let batch =
            RecordBatch::try_new_with_options(schema, arrays, &RecordBatchOptions::default());
        batch.map(Self).map_err(|error| failed(&error))
    }
}

#[pymethods]
impl Table {
    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    /// The columns as plain lists, each with its name and kind. [`Table::of_parts`] creates the same table from them.
    fn parts<'py>(&self, py: Python<'py>) -> PyResult<Vec<ColumnParts<'py>>> {
        let schema = self.0.schema();
        let columns = schema.fields().iter().zip(self.0.columns());
        columns
            .map(|(field, array)| {
                let (kind, values) = match array.data_type() {
                    DataType::Int64 if field.is_nullable() => {
                        let values: Vec<_> = array.as_primitive::<Int64Type>().iter().collect();
                        ("maybe-whole", values.into_pyobject(py)?)
                    }
                    DataType::Int64 => (
                        "whole",
                        array.as_primitive::<Int64Type>().values().to_vec().into_pyobject(py)?,
                    ),
                    DataType::Float64 => {
                        let values: Vec<_> = array.as_primitive::<Float64Type>().iter().collect();
                        ("numbers", values.into_pyobject(py)?)
                    }
                    _ => {
                        let values: Vec<_> = array.as_string::<i32>().iter().collect();
                        ("texts", values.into_pyobject(py)?)
                    }
                };
                Ok((field.name().clone(), kind.to_owned(), values))
            })
            .collect()
    }

    /// Creates the table from the columns that [`Table::parts`] returned.
    #[staticmethod]
    fn of_parts(parts: Vec<ColumnParts<'_>>) -> PyResult<Self> {
        let column = |(name, kind, values): ColumnParts<'_>| {
            let values = match kind.as_str() {
                "whole" => ColumnValues::Whole(values.extract()?),
                "maybe-whole" => ColumnValues::MaybeWhole(values.extract()?),
                "numbers" => ColumnValues::Numbers(values.extract()?),
                "texts" => ColumnValues::Texts(values.extract()?),
                _ => return Err(input(format!("`{kind}` is not a column type")).into()),
            };
            Ok(Column { name, values })
        };
        let columns = parts.into_iter().map(column).collect::<PyResult<Vec<_>>>()?;
        Ok(Self::new(columns)?)
    }

    fn names(&self) -> Vec<String> {
        self.0.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// The stream; if the consumer requests a schema, it must convert the stream itself.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let batches = RecordBatchIterator::new([Ok(self.0.clone())], self.0.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.0.schema().as_ref());
        let schema = schema.map_err(|error| failed(&error))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }
}
