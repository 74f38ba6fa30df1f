//! Published single-thread speeds of processors, relative to the Intel Core i7-6700 (`reference/processors.csv`).
//!
//! The time of a request in the host follows the speed of one core, so a host file's times are converted to another
//! platform by this ratio. One benchmark cannot represent every program: the ratio ignores caches, memory and the cost
//! of mitigations.

use std::fmt;

use lanemark_schema::text::csv_fields;

const TABLE: &str = include_str!("../../../reference/processors.csv");

/// A processor with its published speed.
#[derive(Clone, Debug, PartialEq)]
pub struct Processor {
    /// Name of the processor, such as `Intel Core i7-6700`.
    pub name: String,
    /// Single-thread speed, relative to the Intel Core i7-6700.
    pub speed: f64,
    /// Name of the benchmark.
    pub benchmark: String,
}

impl Processor {
    /// Returns the text of a platform or host file with the speed as `key` in its table `[cpu]`.
    pub fn added_to(&self, file: &str, key: &str) -> String {
        let Self { name, speed, benchmark } = self;
        let line =
            format!("[cpu]\n{key} = {{ value = {speed}, source = \"{name}: {benchmark}\" }}\n");
        file.replacen("[cpu]\n", &line, 1)
    }
}

impl fmt::Display for Processor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, speed, benchmark } = self;
        write!(
            f,
            "{name}, {speed} times the single-thread speed of an Intel Core i7-6700 ({benchmark})"
        )
    }
}

/// Returns the processor whose name occurs in `model`, the model name that the kernel reports. Returns `None` if the
/// table does not contain the processor or its speed.
pub fn find(model: &str) -> Option<Processor> {
    let is_separator = |c: char| c.is_whitespace() || "(),@".contains(c);
    let words: Vec<String> = model.split(is_separator).map(str::to_lowercase).collect();
    let is_named = |name: &str| {
        let mut names = name.split(is_separator).filter(|word| !word.is_empty());
        names.all(|word| words.contains(&word.to_lowercase()))
    };
    let candidates = rows().filter(|(processor, _)| is_named(&processor.name));
    candidates.map(|(processor, _)| processor).max_by_key(|processor| processor.name.len())
}

/// Returns the processor of a machine as `measurements.csv` names it, if a published benchmark of it was found.
pub fn of_machine(machine: &str) -> Option<Processor> {
    rows().find(|(_, used_by)| used_by == machine).map(|(processor, _)| processor)
}

/// Returns the rows with a speed, each with the platform or machine that uses the processor.
fn rows() -> impl Iterator<Item = (Processor, String)> {
    TABLE.lines().skip(1).filter_map(|line| {
        let mut cells = csv_fields(line)?.into_iter();
        let name = cells.next()?;
        let used_by = cells.nth(1)?;
        let speed = cells.nth(1)?.parse().ok()?;
        let benchmark = cells.nth(1)?;
        Some((Processor { name, speed, benchmark }, used_by))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_s_name_selects_the_processor() {
        let speed = |model: &str| find(model).map(|processor| processor.speed);
        assert_eq!(speed("Intel(R) Core(TM) i7-6700 CPU @ 3.40GHz"), Some(1.0));
        assert_eq!(speed("AMD EPYC 7302P 16-Core Processor"), Some(0.817));
        assert_eq!(speed("AMD Ryzen 9 3900X 12-Core Processor"), Some(1.185));
        // The table names this processor without a speed.
        assert_eq!(speed("AMD Ryzen 9 9950X 16-Core Processor"), None);
        assert_eq!(speed("a processor"), None);
        let text =
            find("AMD EPYC 7302P").unwrap().added_to("[host]\n[cpu]\nwake = \"1 us\"\n", "speed");
        let wanted = "[host]\n[cpu]\nspeed = { value = 0.817, source = \"AMD EPYC 7302P: PassMark single thread (2022)\" }\nwake";
        assert!(text.starts_with(wanted), "{text}");
    }

    #[test]
    fn a_quoted_cell_may_contain_commas() {
        let found = of_machine("Raspberry Pi 4 Model B Rev 1.4").unwrap();
        assert_eq!((found.name.as_str(), found.speed), ("Cortex-A72, 4 cores at 1.5 GHz", 0.2));
        assert_eq!(of_machine("server, AMD Ryzen 9 9950X"), None, "its speed is not known");
        assert_eq!(of_machine("server, AMD EPYC 7302P").map(|found| found.speed), Some(0.817));
    }
}
