//! `[transactions]` in a workload: the requests of each user of a database.

use lanemark_schema::units::{Bytes, Duration, Ratio};
use lanemark_schema::workload::bound::PAGE_WRITERS;
use lanemark_schema::workload::{DatabaseLog, PageClass, RequestsPerTransaction, TransactionLoad};

use crate::document::Section;
use crate::error::StudyError;

/// Reads the table, including its tables of pages and of the log.
pub(super) fn read(section: &Section<'_>) -> Result<TransactionLoad, StudyError> {
    let pages = section.tables("pages")?;
    let pages = pages.iter().map(page_class).collect::<Result<_, _>>()?;
    let log = section.table("log")?;
    let flush = log.setting("flush", &[("after-each-write", true), ("never", false)])?;
    let number =
        |key: &str| section.optional_parsed(key, "a number", |text| text.parse::<f64>().ok());
    let counted = match (number("reads")?, number("writes")?, number("awaited")?) {
        (Some(reads), Some(writes), awaited) => {
            Some(RequestsPerTransaction { reads, writes, awaited: awaited.unwrap_or(0.0) })
        }
        (None, None, None) => None,
        (_, _, Some(_)) => {
            return Err(section.error(
                "awaited",
                "`awaited` requires `reads` and `writes`, because it is a part of `writes`",
            ));
        }
        _ => return Err(section.error("reads", "`reads` and `writes` must be given together")),
    };
    let of_buffer = counted.is_none();
    let transactions = TransactionLoad {
        counted,
        locks: number("locks")?.unwrap_or(0.0),
        elsewhere: section.quantity("elsewhere")?,
        processor: section.quantity("processor")?,
        buffer: if of_buffer { section.quantity("buffer")? } else { Bytes::ZERO },
        checkpoint: if of_buffer { section.quantity("checkpoint")? } else { Duration::ZERO },
        page_writers: section.bounded("page_writers", PAGE_WRITERS)?,
        gather: section.optional_quantity("gather")?.unwrap_or(Bytes::ZERO),
        in_use: section.optional_quantity("in_use")?.unwrap_or(Ratio::ONE),
        pages,
        log: DatabaseLog {
            share: log.quantity("share")?,
            record: log.quantity("record")?,
            write_max: log.quantity("write_max")?,
            outstanding: log.integer("outstanding", 1, 1024)? as u32,
            flush: flush.unwrap_or(false),
            area: log.quantity("area")?,
        },
    };
    log.finish()?;
    section.finish()?;
    Ok(transactions)
}

fn page_class(section: &Section<'_>) -> Result<PageClass, StudyError> {
    let visits =
        section.optional_parsed("visits", "a number of visits", |text| text.parse().ok())?;
    let class = PageClass {
        name: section.text("name")?,
        size: section.quantity("size")?,
        visits: visits.ok_or_else(|| section.error("visits", "`visits` is missing"))?,
        changed: section.optional_quantity("changed")?.unwrap_or(Ratio::ZERO),
    };
    section.finish()?;
    Ok(class)
}
