//! An fio job file is read as valid tests or rejected, and so is the output of iostat, which becomes a job file.

use lanemark_formats::fio::{self, JobEnvironment};
use lanemark_formats::iostat;
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
    if let Ok(load) = iostat::read(text, "iostat.txt", None) {
        let jobs = fio::read(&load.text, &around).unwrap();
        jobs.workload.tests.iter().for_each(|test| test.check().unwrap());
    }
}
