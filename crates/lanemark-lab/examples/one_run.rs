//! A run from a Rust program. `one_run SYSTEM WORKLOAD DURATION SEED` prints the tests of its result as JSON. With a
//! number of runs as an additional argument, it prints the seconds that each run takes.
//!
//! The tests of the Python package compare its output with the outputs of the command and of the package. The package's
//! benchmark compares their run times.

use lanemark_lab::scale::{WorkloadScale, scaled_workload};
use lanemark_lab::{Lab, assemble, open_library, opened};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [system, workload, duration, seed, times @ ..] = words.as_slice() else {
        return Err("usage: one_run SYSTEM WORKLOAD DURATION SEED [TIMES]".into());
    };
    let library = open_library(None)?;
    let system = assemble(&library, system, &[])?;
    let opened = opened::open(&library, workload, Some(system.capacity()))?;
    let scale = WorkloadScale { duration: Some(duration.parse()?), ..WorkloadScale::default() };
    let workload = scaled_workload(opened.workload, &scale)?;
    let provenance =
        lanemark_schema::result::Provenance { seed: seed.parse()?, ..Default::default() };
    let run = || Lab::default().run(&system, &workload, &provenance, &mut |_| ());
    if let Some(times) = times.first() {
        for _ in 0..times.parse::<u32>()? {
            let began = std::time::Instant::now();
            run()?;
            println!("{}", began.elapsed().as_secs_f64());
        }
        return Ok(());
    }
    let result = run()?;
    println!("{}", serde_json::to_string(&result.tests)?);
    Ok(())
}
