//! A study of a database as `lanemark oltp live` needs it: two systems, their users, and how busy the processors were.

use lanemark_core::result::{Metric, Provenance, RunResult, StudyOutcome};
use lanemark_core::units::Duration;
use lanemark_core::workload::{Asks, Test, Transactions, Workload};
use lanemark_lab::{Lab, LabError};
use lanemark_study::Study;

use crate::failure::Failure;

/// Time that a simulated test counts in a short run, in place of its own.
const SHORT: Duration = Duration::from_microseconds(200_000);

/// A system of the study.
pub(super) struct Side {
    pub(super) name: String,
    /// The system and what is set in it, as `lanemark serve` takes them.
    pub(super) arguments: Vec<String>,
}

/// The question of the study, for a real database.
pub(super) struct Asked {
    /// The system that the other is compared with, and the other.
    pub(super) sides: [Side; 2],
    pub(super) users: u32,
    /// Time outside the database between two transactions of a user.
    pub(super) elsewhere: Duration,
    /// The buffer over the pages in use.
    pub(super) buffer_share: f64,
    /// Whether the database's log is flushed past a drive's protected buffer.
    pub(super) flushes: bool,
    /// Processors of the first system.
    pub(super) cores: u32,
}

impl Asked {
    /// Reads a study, which is in `file`.
    pub(super) fn of(study: &Study, file: &str, own: &Provenance) -> Result<Self, Failure> {
        let fail = |why: &str| Failure::input(format!("{file}: {why}"));
        // The names alone: nothing has run.
        let answer = study.outcome(own, []).comparison;
        let answer = answer.ok_or_else(|| {
            fail("compares no two systems").hint("name them in [answer], compare and with")
        })?;
        let (base, other) = (answer.base, answer.system);
        let column = |name: &str| study.systems().position(|(own, ..)| own == name);
        let side = |name: &str| {
            let at = column(name).ok_or_else(|| fail(&format!("has no system `{name}`")))?;
            let (system, settings) = study.made_of().nth(at).unwrap_or_default();
            let mut arguments = vec![system.to_owned()];
            for (setting, _) in settings {
                arguments.extend([
                    "--set".to_owned(),
                    format!("{}={}", setting.parameter, setting.value),
                ]);
            }
            Ok::<_, Failure>((Side { name: name.to_owned(), arguments }, at))
        };
        let ((first, at), (second, _)) = (side(&base)?, side(&other)?);
        let (_, system, workload) =
            study.systems().nth(at).ok_or_else(|| fail("has no systems"))?;
        let of_database =
            || fail("its tests are no database's").hint("give a study of users' transactions");
        let (test, transactions) = asked(workload).ok_or_else(of_database)?;
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

    /// Simulates both systems, and holds them against what the study has published.
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
                match self.sides.iter().any(|side| side.name == name) {
                    false => workload.tests.clear(),
                    true => workload.tests.truncate(1),
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
            .map(|((_, system, _), workload)| lanemark_lab::Work { system, workload })
            .collect();
        let runs: Vec<RunResult> = lab.run_all(&works, provenance, &mut |_| ())?;
        Ok(study.outcome(provenance, runs))
    }

    /// The published transactions a minute of the first system, and the share of its processors that was busy.
    pub(super) fn published(&self, outcome: &StudyOutcome) -> Option<(f64, f64)> {
        let figure = |metric: Metric| {
            let own = |figure: &&lanemark_core::result::FigureCheck| {
                figure.figure.system == self.sides[0].name && figure.figure.metric == metric
            };
            outcome.figures.iter().find(own).map(|figure| figure.figure.published)
        };
        let (rate, busy) = (figure(Metric::Transactions)?, figure(Metric::ProcessorUse)?);
        (rate > 0.0 && busy > 0.0).then_some((rate, busy / 100.0))
    }
}

/// The first test of simulated transactions.
fn asked(workload: &Workload) -> Option<(&Test, &Transactions)> {
    workload.tests.iter().find_map(|test| match &test.asks {
        Asks::Transactions(transactions) => Some((test, &**transactions)),
        _ => None,
    })
}
