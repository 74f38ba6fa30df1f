//! Results of the schema that OLTP runs had of their own, versions 1 and 2, and what they are now.
//!
//! Version 2 added counters of messages and statements; nothing else differs. Nobody writes this schema any more. What it
//! did not hold, the place of the data for one, is absent in the result that is made of it.

use std::collections::BTreeMap;

use lanemark_core::result::{
    Counters, DatabaseTarget, KindUse, Provenance, RunResult, Sample, ServerTime, SessionWaits,
};
use lanemark_core::units::{Bytes, Duration};
use lanemark_core::workload::{DatabaseUsers, Profile, TransactionKind};
use serde::Deserialize;

use crate::device::DeviceWork;
use crate::outcome::{Counted, duration, result, workload_of};
use crate::schema::Scale;

/// The newest version of the former schema.
pub const FORMER_VERSION: u32 = 2;
/// The mark that files of the former schema have for a workload.
pub const FORMER_MARK: &str = "tpc-c-derived";

/// A run as the former schema had it.
#[derive(Clone, Debug, Deserialize)]
pub struct FormerRun {
    provenance: Provenance,
    database: FormerDatabase,
    scale: Scale,
    profile: Profile,
    users: u32,
    think_times: bool,
    ramp_s: f64,
    duration_s: f64,
    repeats: Vec<FormerRepeat>,
    complete: bool,
}

#[derive(Clone, Debug, Deserialize)]
struct FormerDatabase {
    kind: String,
    name: String,
    settings: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Deserialize)]
struct FormerRepeat {
    seconds: f64,
    tpm: f64,
    nopm: f64,
    transactions: BTreeMap<TransactionKind, KindUse>,
    database_tpm: Option<f64>,
    device: Option<DeviceWork>,
    processor_busy: Option<f64>,
    processor_others: Option<f64>,
    processor: Option<ServerTime>,
    #[serde(default)]
    counters: Counters,
    #[serde(default)]
    looked_on: u64,
    budget: Option<SessionWaits>,
}

impl From<FormerRepeat> for Sample {
    fn from(former: FormerRepeat) -> Self {
        let counted = Counted {
            seconds: former.seconds,
            kinds: former.transactions,
            device: former.device,
            processor_busy: former.processor_busy,
            processor_others: former.processor_others,
            processor_time: former.processor,
            counters: former.counters,
            waits: former.budget,
            counted_per_minute: former.database_tpm,
            looked_on: former.looked_on,
        };
        let mut sample = counted.sample();
        if let Some(transactions) = &mut sample.transactions {
            // What was saved is what was measured, whatever follows from the rest.
            transactions.per_minute = former.tpm;
            transactions.new_orders_per_minute = Some(former.nopm);
        }
        sample
    }
}

impl From<FormerRun> for RunResult {
    fn from(former: FormerRun) -> Self {
        let mut settings = former.database.settings;
        let data_mib = settings.remove("data").and_then(|data| {
            let number = data.strip_suffix(" MiB")?;
            number.parse::<u32>().ok()
        });
        let users = DatabaseUsers {
            profile: former.profile,
            warehouses: former.scale.warehouses,
            divisor: former.scale.divisor,
            contents_seed: former.scale.seed,
            think_times: former.think_times,
            procedures: settings.remove("transactions").is_some_and(|how| how == "procedures"),
            pause: Duration::ZERO,
        };
        let target = DatabaseTarget {
            product: former.database.kind,
            version: settings.remove("version"),
            name: former.database.name,
            place: None,
            settings,
        };
        let times = (duration(former.ramp_s), duration(former.duration_s));
        let data = Bytes(u64::from(data_mib.unwrap_or(0)) << 20);
        let ended = former.repeats.len() as u32;
        // How many repeats a run that was cut short was to have, it did not say.
        let repeats = if former.complete { ended } else { ended.saturating_add(1) };
        let workload = workload_of(users, former.users, times, data, repeats);
        let samples = former.repeats.into_iter().map(Sample::from).collect();
        result(former.provenance, target, workload, samples)
    }
}
