//! A custom load on a simulated drive: users look up keys in a tree that the drive stores.
//!
//! A `Test` cannot describe this load: each lookup consists of three reads, and each read begins when the previous read
//! is complete, at an offset that depends on the data of that read. Run it with
//! `cargo run --release -p lanemark-sim --example own_load`.

use lanemark_schema::result::LatencyHistogram;
use lanemark_schema::rng::{Rng, StreamKey};
use lanemark_schema::units::{Bytes, Instant};
use lanemark_schema::workload::{Access, Operation};
use lanemark_sim::Submission;
use lanemark_sim::{Completion, SimError, Simulator, SystemSpec};

/// Number of pages of the tree at each level, from the children of the root; the root is in memory.
const PAGES: [u64; 3] = [16, 512, 8192];
const PAGE: Bytes = Bytes::kibi(4);

/// A user who looks up keys.
#[derive(Clone, Default)]
struct User {
    level: usize,
    began: Instant,
}

/// The latencies of all lookups, and the total time.
struct LoadReport {
    latency: LatencyHistogram,
    elapsed_s: f64,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = SystemSpec::example().checked()?;
    for users in [1, 4, 16, 64] {
        let report =
            look_up(Simulator::new(&system, tree().into(), StreamKey::from_seed(1)), users)?;
        let iops = report.latency.count() as f64 * PAGES.len() as f64 / report.elapsed_s;
        let p99_us = report.latency.percentile_ns(99.0).unwrap_or_default() as f64 / 1e3;
        println!("{users:>3} users: {iops:>6.0} IOPS, p99 of a lookup {p99_us:>6.1} us");
    }
    Ok(())
}

/// Size of the tree on the drive.
fn tree() -> Bytes {
    PAGE * PAGES.iter().sum()
}

/// Performs ten thousand lookups with this many users.
fn look_up(mut simulator: Simulator, users: usize) -> Result<LoadReport, SimError> {
    let mut random = Rng::new(StreamKey::from_seed(7));
    let mut all = vec![User::default(); users];
    let mut latency = LatencyHistogram::new();
    for (tag, user) in all.iter().enumerate() {
        read(&mut simulator, &mut random, tag as u64, user, Instant::ZERO)?;
    }
    while latency.count() < 10_000
        && let Some(Completion { tag, completed, .. }) = simulator.advance()
    {
        let user = &mut all[tag as usize];
        user.level = (user.level + 1) % PAGES.len();
        if user.level == 0 {
            latency.record(completed.since(user.began));
            user.began = completed;
        }
        read(&mut simulator, &mut random, tag, user, completed)?;
    }
    let elapsed_s = simulator.now().since(Instant::ZERO).as_seconds();
    Ok(LoadReport { latency, elapsed_s })
}

/// Reads the page at a user's level.
fn read(
    simulator: &mut Simulator,
    random: &mut Rng,
    tag: u64,
    user: &User,
    at: Instant,
) -> Result<(), SimError> {
    let before: u64 = PAGES[..user.level].iter().sum();
    let page = before + random.below(PAGES[user.level]);
    let access = Access { operation: Operation::Read, offset: PAGE * page, length: PAGE };
    simulator.submit(Submission::new(at, access).by(tag as u32).tagged(tag))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(users: usize) -> LoadReport {
        let system = SystemSpec::example().checked().unwrap();
        look_up(Simulator::new(&system, tree().into(), StreamKey::from_seed(1)), users).unwrap()
    }

    #[test]
    fn a_lookup_by_a_single_column_takes_three_reads() {
        let system = SystemSpec::example().checked().unwrap();
        let mut simulator = Simulator::new(&system, tree().into(), StreamKey::from_seed(1));
        let access = Access { operation: Operation::Read, offset: Bytes::ZERO, length: PAGE };
        simulator.submit(Submission::new(Instant::ZERO, access)).unwrap();
        let since = simulator.advance().unwrap().completed.since(Instant::ZERO);
        let alone = run(1).latency;
        assert_eq!(alone.min_ns(), Some((since * 3).nanoseconds()));
        assert_eq!(alone.min_ns(), alone.max_ns());
    }

    /// Tests Little's law. At the end, each user is in the middle of a lookup that is not counted.
    #[test]
    fn users_are_always_looking_something_up() {
        let users = 16.0;
        let report = run(16);
        let counted = report.latency.count() as f64 * report.latency.mean_ns() / 1e9;
        let all = users * report.elapsed_s;
        let most = users * report.latency.max_ns().unwrap() as f64 / 1e9;
        assert!(counted <= all && all - counted <= most, "{counted} of {all} s");
    }

    #[test]
    fn it_runs() {
        main().unwrap();
    }
}
