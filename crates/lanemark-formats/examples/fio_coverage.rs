//! What of a folder of fio's job files is supported: a table by file, and the share of option uses.
//!
//! `cargo run -p lanemark-formats --example fio_coverage -- FOLDER`

use std::collections::BTreeMap;
use std::{env, fs};

use lanemark_core::units::Bytes;
use lanemark_formats::fio::{self, Surroundings};

fn main() {
    let folder = env::args().nth(1).expect("a folder of job files");
    let mut files: Vec<_> =
        fs::read_dir(&folder).expect("a folder").flatten().map(|e| e.path()).collect();
    files.retain(|path| path.extension().is_some_and(|end| end == "fio"));
    files.sort();
    let usual = |name: &str| match name {
        "FIO_RW" => Some("randread".to_owned()),
        "FIO_IODEPTH" => Some("8".to_owned()),
        _ => Some("4k".to_owned()),
    };
    let (mut read, mut elsewhere, mut uses, mut refused) = (0, 0, 0, 0);
    let mut options: BTreeMap<String, u32> = BTreeMap::new();
    for path in &files {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let text = fs::read_to_string(path).expect("a job file");
        let around = Surroundings {
            file: &name,
            target_size: Some(Bytes(8 << 40)),
            environment: &usual,
            include: &|_| Err("is not there".to_owned()),
        };
        let count = text.lines().map(|line| line.split([';', '#']).next().unwrap_or("").trim());
        let count = count.filter(|line| !line.is_empty() && !line.starts_with('[')).count();
        match fio::read(&text, &around) {
            Ok(jobs) => {
                read += 1;
                uses += count;
                println!("{name} | yes | {} options, {} notes", count, jobs.notes.len());
            }
            Err(errors) if errors.0.iter().any(|error| error.message.contains("ioengine=")) => {
                elsewhere += 1;
                let error = errors.0.iter().find(|error| error.message.contains("ioengine="));
                println!("{name} | engine | {}", error.map_or("", |error| &error.message));
            }
            Err(errors) => {
                uses += count;
                let mut lines: Vec<_> = errors.0.iter().map(|error| error.line).collect();
                lines.sort_unstable();
                lines.dedup();
                refused += lines.len();
                for error in &errors.0 {
                    *options.entry(error.message.clone()).or_default() += 1;
                }
                println!(
                    "{name} | no | {} of {count}: {}",
                    lines.len(),
                    errors.to_string().replace('\n', "; ")
                );
            }
        }
    }
    println!("\n{} files: {read} run, {elsewhere} are for other engines", files.len());
    println!(
        "{uses} option uses in the others, {refused} refused: {:.1}% supported",
        100.0 * (1.0 - refused as f64 / uses.max(1) as f64)
    );
    for (option, count) in options {
        println!("  {count:>3} {option}");
    }
}
