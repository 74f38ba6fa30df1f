//! The parts of a study that a database trial requires: two systems, their users, and their processor use.

use lanemark_lab::{Lab, LabError};
use lanemark_schema::result::{FigureMetric, Provenance, RunResult, StudyOutcome};
use lanemark_schema::units::Duration;
use lanemark_schema::workload::{LoadKind, Test, TransactionLoad, Workload};
use lanemark_study::Study;

/// Counted time of a simulated test in a short run, instead of the test's own time.
const SHORT: Duration = Duration::from_microseconds(200_000);

pub(super) struct StudySide {
    pub(super) name: String,
    /// The system and its settings, as arguments of `lanemark serve`.
    pub(super) arguments: Vec<String>,
}

/// The parts of a study that a run on a real database repeats.
pub(super) struct StudyParts {
    /// The reference system and the system that is compared with it.
    pub(super) sides: [StudySide; 2],
    pub(super) users: u32,
    /// Time outside the database between two transactions of a user.
    pub(super) elsewhere: Duration,
    /// The buffer size divided by the size of the pages in use.
    pub(super) buffer_share: f64,
    /// Whether flushes of the database's log must reach the media despite a drive's protected buffer.
    pub(super) flushes: bool,
    /// Number of processors of the first system.
    pub(super) cores: u32,
}

impl StudyParts {
    /// Reads a study from `file`.
    pub(super) fn from_study(
        study: &Study,
        file: &str,
        provenance: &Provenance,
    ) -> Result<Self, LabError> {
        let fail = |why: &str| LabError::input(format!("{file}: {why}"));
        // Only the names are needed; the study was not run.
        let answer = study.outcome(provenance, []).comparison;
        let answer = answer.ok_or_else(|| {
            fail("the study does not compare systems")
                .hint("name two systems in [answer], with the keys `compare` and `with`")
        })?;
        let base = answer.base;
        let other = answer.system;
        let column = |name: &str| study.systems().position(|(provenance, ..)| provenance == name);
        let side = |name: &str| {
            let at =
                column(name).ok_or_else(|| fail(&format!("does not have a system `{name}`")))?;
            let (system, settings) = study.made_of().nth(at).unwrap_or_default();
            let mut arguments = vec![system.to_owned()];
            for (setting, _) in settings {
                arguments.extend([
                    "--set".to_owned(),
                    format!("{}={}", setting.parameter, setting.value),
                ]);
            }
            Ok::<_, LabError>((StudySide { name: name.to_owned(), arguments }, at))
        };
        let (first, at) = side(&base)?;
        let (second, _) = side(&other)?;
        let (_, system, workload) = study.systems().nth(at).ok_or_else(|| fail("lacks systems"))?;
        let of_database =
            || fail("its tests do not use a database").hint("use a study with transactions");
        let (test, transactions) = transaction_test(workload).ok_or_else(of_database)?;
        let in_use: f64 = transactions.pages.iter().map(|class| class.size.get() as f64).sum();
        let in_use = (in_use * transactions.in_use.get()).max(1.0);
        Ok(Self {
            sides: [first, second],
            users: test.threads,
            elsewhere: transactions.elsewhere,
            buffer_share: (transactions.buffer.get() as f64 / in_use).min(1.0),
            flushes: transactions.log.flush,
            cores: system.spec.cpu.cores,
        })
    }

    /// Simulates both systems, and compares them with the study's published figures.
    pub(super) fn simulate(
        &self,
        lab: &Lab,
        study: &Study,
        is_short: bool,
        provenance: &Provenance,
    ) -> Result<StudyOutcome, LabError> {
        let workloads: Vec<Workload> = study
            .systems()
            .map(|(name, _, workload)| {
                let mut workload = workload.clone();
                if self.sides.iter().any(|side| side.name == name) {
                    workload.tests.truncate(1);
                } else {
                    workload.tests.clear();
                }
                if is_short {
                    workload.repeats = 1;
                    workload.tests.iter_mut().for_each(|test| test.duration = Some(SHORT));
                }
                workload
            })
            .collect();
        let works: Vec<_> = study
            .systems()
            .zip(&workloads)
            .map(|((_, system, _), workload)| lanemark_lab::LabRun { system, workload })
            .collect();
        let runs: Vec<RunResult> = lab.run_all(&works, provenance, &mut |_| ())?;
        Ok(study.outcome(provenance, runs))
    }

    /// Returns the published transactions a minute of the first system, and the busy share of its processors.
    pub(super) fn published(&self, outcome: &StudyOutcome) -> Option<(f64, f64)> {
        let figure = |metric: FigureMetric| {
            let is_published = |figure: &&lanemark_schema::result::FigureCheck| {
                figure.figure.system == self.sides[0].name && figure.figure.metric == metric
            };
            outcome.figures.iter().find(is_published).map(|figure| figure.figure.published)
        };
        let rate = figure(FigureMetric::Transactions)?;
        let busy = figure(FigureMetric::ProcessorUse)?;
        (rate > 0.0 && busy > 0.0).then_some((rate, busy / 100.0))
    }
}

/// Returns the first test of simulated transactions.
fn transaction_test(workload: &Workload) -> Option<(&Test, &TransactionLoad)> {
    workload.tests.iter().find_map(|test| match &test.asks {
        LoadKind::Transactions(transactions) => Some((test, &**transactions)),
        _ => None,
    })
}
