//! The columns of a sweep, of a part of a sweep, or of a run as a Parquet file. An axis becomes a column of numbers if
//! all of its values are plain numbers.
//!
//! This module requires the `full` feature. A file has one uncompressed row group: a million points take about 100 MB.

use std::path::Path;
use std::sync::Arc;

use lanemark_lab::columns::{Column, ColumnValues};
use lanemark_lab::input;
use lanemark_lab::reserved::ReservedName;
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

use crate::failure::Failure;

/// Program that wrote the file, named in the footer.
const AUTHOR: &str = concat!("lanemark version ", env!("CARGO_PKG_VERSION"));

/// Refuses to overwrite a file at `path` that Lanemark did not write.
pub(crate) fn refuse_other(path: &Path) -> Result<(), Failure> {
    let old = input::bytes(path, input::RESULT_MAX).unwrap_or_default();
    let ours = old.starts_with(b"PAR1") && old.windows(8).any(|part| part == b"lanemark");
    if std::fs::symlink_metadata(path).is_ok() && !ours {
        let message =
            format!("{} exists and is not a Parquet file that Lanemark wrote", path.display());
        return Err(Failure::refused(message).hint("use a different file for --out"));
    }
    Ok(())
}

/// Writes `columns` to `reserved`; after an interruption either the old file or the new file exists.
pub(crate) fn write(reserved: &ReservedName, columns: &[Column]) -> Result<(), Failure> {
    refuse_other(reserved.path())?;
    let bytes = bytes(columns).map_err(|error| {
        Failure::run(format!("{}: can't be written: {error}", reserved.path().display()))
    })?;
    Ok(reserved.write(&bytes)?)
}

fn bytes(columns: &[Column]) -> Result<Vec<u8>, ParquetError> {
    let fields = columns.iter().map(field).collect::<Result<Vec<_>, _>>()?;
    let schema = Type::group_type_builder("sweep").with_fields(fields).build()?;
    let properties = WriterProperties::builder().set_created_by(AUTHOR.to_owned()).build();
    let mut file = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties))?;
    let mut rows = file.next_row_group()?;
    for column in columns {
        let Some(mut writer) = rows.next_column()? else { break };
        match &column.values {
            ColumnValues::Whole(values) => {
                writer.typed::<Int64Type>().write_batch(values, None, None)?;
            }
            ColumnValues::Numbers(values) => {
                let (known, levels) = known_values(values);
                writer.typed::<DoubleType>().write_batch(&known, Some(&levels), None)?;
            }
            ColumnValues::Texts(values) => {
                let (known, levels) = known_values(values);
                let known: Vec<ByteArray> =
                    known.iter().map(|text| ByteArray::from(text.as_str())).collect();
                writer.typed::<ByteArrayType>().write_batch(&known, Some(&levels), None)?;
            }
        }
        writer.close()?;
    }
    rows.close()?;
    file.into_inner()
}

fn field(column: &Column) -> Result<Arc<Type>, ParquetError> {
    let (physical, repetition, logical) = match column.values {
        ColumnValues::Whole(_) => (Physical::INT64, Repetition::REQUIRED, None),
        ColumnValues::Numbers(_) => (Physical::DOUBLE, Repetition::OPTIONAL, None),
        ColumnValues::Texts(_) => {
            (Physical::BYTE_ARRAY, Repetition::OPTIONAL, Some(LogicalType::String))
        }
    };
    let builder = Type::primitive_type_builder(&column.name, physical);
    builder.with_repetition(repetition).with_logical_type(logical).build().map(Arc::new)
}

/// Returns the known values, and for each row whether its value is known.
fn known_values<T: Clone>(values: &[Option<T>]) -> (Vec<T>, Vec<i16>) {
    let levels = values.iter().map(|value| i16::from(value.is_some())).collect();
    (values.iter().flatten().cloned().collect(), levels)
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use lanemark_lab::columns::{self, AxisKind, AxisUnit};
    use lanemark_schema::result::{Sweep, SweepFigures, SweepPoint};

    use parquet::file::reader::{FileReader, SerializedFileReader};

    use super::*;

    #[test]
    fn written_rows_are_read_again() {
        let figures = SweepFigures { iops: 1234.5, ..SweepFigures::default() };
        let point = |number: u64, outcome| SweepPoint {
            number,
            system: "d@p:q".to_owned(),
            test: "4K".to_owned(),
            values: vec![(number + 1).to_string(), "4 KiB".to_owned()],
            outcome,
        };
        let axes = vec!["queue_depth".to_owned(), "drive.flash.page".to_owned()];
        let points = vec![point(0, Ok(figures)), point(1, Err("no".to_owned()))];
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sweep.parquet");
        let reserved = ReservedName::exactly(&path).unwrap();
        let kinds = [AxisKind::Number, AxisKind::Quantity(AxisUnit::Bytes)];
        let columns = columns::sweep(&Sweep { axes, points }, &kinds, |_| Some("k".into()));
        write(&reserved, &columns).unwrap();
        let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
        let rows = reader.get_row_iter(None).unwrap().map(|row| row.unwrap());
        let rows: Vec<parquet::record::Row> = rows.collect();
        assert_eq!(rows.len(), 2);
        let named = |row: &parquet::record::Row, name: &str| {
            let found = row.get_column_iter().find(|(known, _)| *known == name);
            found.map(|(_, field)| field.to_string()).unwrap_or_else(|| panic!("no {name}"))
        };
        assert_eq!(named(&rows[0], "iops"), "1234.5");
        assert_eq!(named(&rows[0], "queue_depth"), "1.0");
        assert_eq!(named(&rows[0], "drive.flash.page_bytes"), "4096.0");
        assert_eq!(named(&rows[0], "error"), "null");
        assert_eq!(named(&rows[1], "iops"), "null");
        assert_eq!(named(&rows[1], "error"), "\"no\"");
        // A file that Lanemark wrote is replaced; any other file is kept.
        write(&reserved, &columns).unwrap();
        std::fs::write(&path, "important").unwrap();
        assert!(write(&reserved, &columns).is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"important");
    }
}
