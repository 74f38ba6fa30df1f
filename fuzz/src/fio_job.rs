//! An fio job file is read as valid tests or rejected.

use lanemark_formats::fio::{self, JobEnvironment};
use lanemark_schema::units::Bytes;

pub(crate) fn read(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let around = JobEnvironment {
        file: "job.fio",
        target_size: Some(Bytes::mebi(1024)),
        environment: &|_| Some("4k".to_owned()),
        include: &|_| Err("no includes".to_owned()),
    };
    if let Ok(jobs) = fio::read(text, &around) {
        jobs.workload.tests.iter().for_each(|test| test.check().unwrap());
    }
}
