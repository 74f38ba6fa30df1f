//! A job file of fio is read as valid tests or refused.
#![no_main]

use lanemark_schema::units::Bytes;
use lanemark_formats::fio::{JobEnvironment, read};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let around = JobEnvironment {
        file: "job.fio",
        target_size: Some(Bytes::mebi(1024)),
        environment: &|_| Some("4k".to_owned()),
        include: &|_| Err("no includes".to_owned()),
    };
    if let Ok(jobs) = read(text, &around) {
        jobs.workload.tests.iter().for_each(|test| test.check().unwrap());
    }
});
