//! Sentences about measurements that contradict the model of the measured system.

use lanemark_schema::result::{
    Contradiction, ContradictionCause, PathSection, WhatIf, WhatIfFigures,
};

use lanemark_schema::text::shell_word;

use crate::text::number::{fixed, grouped, significant};

/// The maximum number of tests that are described. Tests of one run usually have one cause.
const TESTS_MAX: usize = 3;

/// Returns one sentence per contradicted test with what probably differs, and the ways to resolve it.
pub(super) fn sentences(whatif: &WhatIf) -> Option<String> {
    let contradictions = &whatif.contradictions;
    let file = whatif.measured.as_deref().filter(|_| !contradictions.is_empty())?;
    let described = contradictions.iter().take(TESTS_MAX).map(|one| sentence(one, whatif));
    let mut text = described.collect::<Vec<_>>().join(" ");
    let more: Vec<&str> =
        contradictions.iter().skip(TESTS_MAX).map(|one| one.test.as_str()).collect();
    if !more.is_empty() {
        text += &format!(" The same applies to {}.", more.join(", "));
    }
    let file = shell_word(file);
    text += &format!(
        " Fit the drive (`lanemark drive NAME --from {file}`), or correct the test or the model (--model, --set)"
    );
    let is_forced = contradictions.iter().any(|one| is_predicted(one, whatif));
    text += if is_forced { "." } else { ", or add --force." };
    Some(text)
}

fn is_predicted(contradiction: &Contradiction, whatif: &WhatIf) -> bool {
    whatif.tests.iter().any(|test| test.test == contradiction.test)
}

fn sentence(contradiction: &Contradiction, whatif: &WhatIf) -> String {
    let Contradiction { test, random, measured, present, interval, cause } = contradiction;
    let number = |figures: &WhatIfFigures, ratio: f64| {
        if *random {
            grouped(&fixed(figures.iops * ratio, 0))
        } else {
            grouped(&significant(figures.bytes_per_second * ratio / 1e6))
        }
    };
    let predicted = if is_predicted(contradiction, whatif) {
        "is predicted against its measurement"
    } else {
        "is not predicted"
    };
    format!(
        "{test} {predicted}: {} {} were measured, and the model of {} gives {} (80% interval {} to {}). {}",
        number(measured, 1.0),
        if *random { "IOPS" } else { "MB/s" },
        whatif.present,
        number(present, 1.0),
        number(present, interval.low_ratio),
        number(present, interval.high_ratio),
        cause_text(*cause),
    )
}

fn cause_text(cause: ContradictionCause) -> String {
    match cause {
        ContradictionCause::Outstanding { mean, stated } => {
            let requests = if mean < 1.5 { "request was" } else { "requests were" };
            format!(
                "On average {} {requests} outstanding instead of {stated}, so the program waited for requests.",
                significant(mean)
            )
        }
        ContradictionCause::PageCache => {
            "The measurement used the page cache, which the model does not contain.".to_owned()
        }
        ContradictionCause::AboveLinks => {
            "The measured rate is above the rate of the modelled links, so the drive is in another port, or a cache answered."
                .to_owned()
        }
        ContradictionCause::Section(PathSection::Host) => {
            "The host limits the model, so the processor or the driver probably differs.".to_owned()
        }
        ContradictionCause::Section(PathSection::Link) => {
            "A link limits the model, so the width or the rate of a link probably differs.".to_owned()
        }
        ContradictionCause::Section(PathSection::Drive) => {
            "The drive limits the model, so the drive or its state (cache, fill) probably differs.".to_owned()
        }
        ContradictionCause::Unknown => {
            "The cause is not known; the queue depth, the page cache, the processor or another limit may differ."
                .to_owned()
        }
    }
}
