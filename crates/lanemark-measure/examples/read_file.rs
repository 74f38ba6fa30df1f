//! Reads an existing file or block device in one pattern, and prints the figures for comparison with another tool.
//!
//! `cargo run --release -p lanemark-measure --example read_file -- PATH random|sequential BLOCK DEPTH TIME` for example
//! `... -- /mnt/file random "4 KiB" 32 "3 s"`. The program never writes to the target. The equivalent fio command is
//! `fio --name=x --filename=PATH --rw=randread --bs=4k --iodepth=32 --ioengine=io_uring --direct=1 --registerfiles
//! --fixedbufs --time_based --runtime=3`.

use std::error::Error;
use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::path::Path;
use std::sync::atomic::AtomicBool;

use lanemark_measure::{Bench, MeasureSettings};
use lanemark_schema::units::Bytes;
use lanemark_schema::workload::{AverageMethod, Pattern, Test, TestOrder, Workload};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, pattern, block, depth, time] = &arguments[..] else {
        return Err("usage: read_file PATH random|sequential BLOCK DEPTH TIME".into());
    };
    let block: Bytes = block.parse()?;
    // Here, only a seek to the end returns the size of a block device.
    let end = File::open(path)?.seek(SeekFrom::End(0))?;
    let sequential = pattern == "sequential";
    let depth: u32 = depth.parse()?;
    let test = Test {
        name: format!("{pattern} {block} Q{depth}T1 read"),
        span: Bytes(end / block.get() * block.get()),
        duration: Some(time.parse()?),
        ..Test::of_blocks(block)
    }
    .with(|requests| {
        requests.pattern = if sequential { Pattern::Sequential } else { Pattern::Uniform };
        requests.queue_depth = depth;
    });
    test.check()?;
    let workload = Workload {
        faults: Vec::new(),
        id: "read-file".to_owned(),
        name: test.name.clone(),
        repeats: 1,
        average: AverageMethod::Mean,
        order: TestOrder::Listed,
        precondition: None,
        tests: vec![test],
    };
    let stop = AtomicBool::new(false);
    let bench = Bench {
        path: Path::new(path),
        workload: &workload,
        seed: 1,
        overwrite: None,
        offered: None,
        purge: None,
        settings: MeasureSettings::default(),
        stop: &stop,
    };
    let outcome = bench.run(&mut |_| ())?;
    for result in &outcome.tests {
        let cpu = result.samples[0].cpu.ok_or("nothing was read")?;
        println!(
            "{}: {:.1} MB/s, {:.0} IOPS, p50 {:.1} us, CPU {:.2} us/request (user {:.2}, system {:.2})",
            result.test.name,
            result.megabytes_per_second(),
            result.iops.value,
            result.latency().percentile_ns(50.0).unwrap_or(0) as f64 / 1e3,
            (cpu.user_ns_per_request + cpu.system_ns_per_request) / 1e3,
            cpu.user_ns_per_request / 1e3,
            cpu.system_ns_per_request / 1e3,
        );
    }
    for warning in &outcome.warnings {
        eprintln!("warning: {warning}");
    }
    Ok(())
}
