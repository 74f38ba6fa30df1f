//! Cut and damaged texts are errors or results that can be.

use super::*;

/// Reads `text`, and checks the result if it is accepted.
fn survives(text: &str) {
    // The name of a log determines the meaning of its values.
    let names: &[&str] = match text.lines().next() {
        Some(line) if line.matches(',').count() >= 3 => &["it_bw.log", "it_iops.log", "it_lat.log"],
        _ => &["it"],
    };
    names.iter().for_each(|name| survives_as(text, name));
}

fn survives_as(text: &str, file: &str) {
    let Ok(runs) = foreign::read(text, file) else { return };
    let Ok(all) = foreign::results(runs, &SuppliedSettings::default()) else { return };
    for one in all {
        one.result.check().unwrap();
        for test in &one.result.tests {
            assert!(
                test.iops.value.is_finite() && test.throughput_bytes_per_second.value.is_finite()
            );
        }
        assert!(matches!(one.result.workload.average, AverageMethod::Mean | AverageMethod::Median));
    }
}

#[test]
fn cut_and_damaged_texts_are_errors_or_results_that_can_be() {
    for (name, text) in SAMPLES {
        survives(text);
        survives(&text.replace('\n', "\r\n"));
        survives(&format!("\u{feff}{text}"));
        for line in text.lines() {
            let at = line.as_ptr() as usize - text.as_ptr() as usize;
            survives(&text[..at + line.len() / 2]);
            survives(&text.replacen(line, "", 1));
        }
        // Each number in turn is replaced by an impossible number.
        let digits: Vec<usize> = text
            .char_indices()
            .filter(|(at, letter)| {
                letter.is_ascii_digit()
                    && !text[..*at].ends_with(|before: char| before.is_ascii_digit())
            })
            .map(|(at, _)| at)
            .collect();
        for at in digits {
            let end = at + text[at..].find(|letter: char| !letter.is_ascii_digit()).unwrap_or(1);
            for other in ["0", "-1", "99999999999999999999999999", "1e999", "nan", "", "é"] {
                survives(&format!("{}{other}{}", &text[..at], &text[end..]));
            }
        }
        assert!(!name.is_empty());
    }
}

#[test]
fn texts_of_very_many_tests_are_refused() {
    let line = "  SEQ    1MiB (Q=  8, T= 1):  2097.152 MB/s [   2000.0 IOPS] <  3990.25 us>\n";
    let text = format!("[Read]\n{}", line.repeat(2000));
    assert!(foreign::read(&text, "f").unwrap_err().to_string().contains("more than 1024 tests"));
    let rows = "a: (groupid=0, jobs=1): err= 0: pid=1: x\n  read: IOPS=1, BW=4KiB/s (4kB/s)(4KiB/1000msec)\n";
    survives(&rows.repeat(20_000));
    survives(&"|  1.00th=[   70],".repeat(100_000));
    survives(&format!("<Results><TimeSpan>{}", "<a>".repeat(100_000)));
}
