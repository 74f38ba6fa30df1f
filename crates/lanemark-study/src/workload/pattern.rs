//! The `pattern` of a test: a word, or a table with the parameters of the pattern.

use lanemark_schema::units::Ratio;
use lanemark_schema::workload::{Pattern, PatternZone};

use crate::document::Section;
use crate::error::StudyError;

/// The patterns without parameters.
const WORDS: [(&str, Pattern); 4] = [
    ("sequential", Pattern::Sequential),
    ("backward", Pattern::Backward),
    ("random", Pattern::Uniform),
    ("shuffled", Pattern::Shuffled),
];
/// Syntax of the patterns with parameters.
const TABLES: &str = "{ zipf = … }, { pareto = … }, { normal = … }, { zones = … }, { hot_span, hot_share }, { random_share = … }";

pub(super) fn read(section: &Section<'_>) -> Result<Pattern, StudyError> {
    if !section.is_table("pattern") {
        return section.choice("pattern", &WORDS).map_err(|error| match error.hint {
            Some(hint) if hint.starts_with("one of") => {
                StudyError { hint: Some(format!("{hint}, {TABLES}")), ..error }
            }
            _ => error,
        });
    }
    let table = section.table("pattern")?;
    let pattern = if table.has("zipf") {
        Pattern::Zipf { theta: table.number("zipf")? }
    } else if table.has("pareto") {
        Pattern::Pareto { h: table.number("pareto")? }
    } else if table.has("normal") {
        Pattern::Normal { deviation: table.quantity("normal")? }
    } else if table.has("zones") {
        let zones = table.texts("zones")?;
        let zones = zones.iter().map(|text| zone(&table, text)).collect::<Result<_, _>>()?;
        Pattern::Zones { zones }
    } else if table.has("random_share") {
        Pattern::PartlyRandom { random_share: table.quantity("random_share")? }
    } else {
        Pattern::HotCold {
            hot_span: table.quantity("hot_span")?,
            hot_share: table.quantity("hot_share")?,
        }
    };
    table.finish()?;
    Ok(pattern)
}

/// Parses a zone such as `"50% in 5%"`: a share of the requests, and a share of the span.
fn zone(table: &Section<'_>, text: &str) -> Result<PatternZone, StudyError> {
    let parts = text.split_once(" in ").and_then(|(share, span)| {
        let read = |part: &str| part.trim().parse::<Ratio>().ok();
        Some(PatternZone { share: read(share)?, span: read(span)? })
    });
    parts.ok_or_else(|| {
        table
            .error("zones", format!("zones: `{text}` is not a zone"))
            .hint("write the share of requests and the share of the span, \"50% in 5%\"")
    })
}
