//! `lanemark plan life`: how long a drive lives under a load.
//!
//! | file | contents |
//! |---|---|
//! | `load` | the writes and the write amplification of a workload or trace, by simulation |
//! | `smart` | the writes, the wear and the age that SMART data reports |

mod load;
mod smart;

use lanemark_plan::{Amplification, Estimate, Life, Plan};
use lanemark_study::endurance::{self, EnduranceRating};
use lanemark_study::model_names::drives_of;
use lanemark_study::system::SystemName;
use lanemark_study::{Library, rated};
use serde::Serialize;

use crate::args::LifeArgs;
use crate::model::library;
use crate::output::failure::Failure;
use load::{LoadSimulation, SimulatedLoad};
use smart::SmartUse;

/// The workload by which drives with power-loss protection are rated.
const ENTERPRISE: &str = "jesd219-enterprise";
/// Write amplification of the client workload of JESD219, which is a trace that is not published: "around 2 to 4" for
/// most drives (embeddedcomputing.com, An Introduction to TBW, 2019). The value is the geometric mean.
const CLIENT: Estimate = Estimate { value: 2.83, low: 2.0, high: 4.0 };
const CLIENT_SOURCE: &str = "usual for the client workload of JESD219 (embeddedcomputing.com, An Introduction to TBW, \
                             2019)";
/// Used share of the endurance from which the wear so far shows the write amplification: the drive reports it in whole
/// per cent.
const TELLING_WEAR: f64 = 0.05;
/// Maximum wear of a load, as a multiple of the wear of the rated load. A report with more wear has a counter of writes
/// that began later than the wear.
const WEAR_MAX: f64 = 20.0;
/// Maximum error of the wear that a drive reports: NVMe does not state how the per cent are rounded.
const WEAR_ROUNDING: f64 = 0.01;

/// Figures of a life, for output as JSON.
#[derive(Serialize)]
pub(super) struct LifeFigures {
    life_years: Estimate,
    #[serde(skip_serializing_if = "Option::is_none")]
    rating: Option<library::EnduranceJson>,
}

/// A drive whose flash wears, and its rating.
struct WearingDrive {
    /// Name of its file.
    id: String,
    name: String,
    rating: Option<EnduranceRating>,
    /// Whether the drive keeps its buffer in a power cut, as drives for data centers do.
    is_enterprise: bool,
    /// Whether data is overwritten in place.
    is_in_place: bool,
}

/// The load of a drive.
struct Load {
    daily: Estimate,
    amplification: Amplification,
    sources: Vec<String>,
}

/// Plans the life that `args` describe. Returns `None` if a simulation was cancelled.
pub(super) fn life(args: &LifeArgs) -> Result<Option<(Plan, LifeFigures)>, Failure> {
    let library = library::open(&args.library)?;
    let used = smart::read(&args.smart)?;
    let drive = WearingDrive::find(&library, args, used.as_ref())?;
    let (terabytes, rated_from, mut sources) = rating(args, &drive)?;
    let simulation = LoadSimulation::new(&library, args)?;
    let Some(simulated) = simulation.load()? else { return Ok(None) };
    let is_rated_load = drive.is_enterprise && args.workload.as_deref() == Some(ENTERPRISE);
    let Some(rated) = rated_load(&drive, &simulation, simulated.as_ref(), is_rated_load)? else {
        return Ok(None);
    };
    let (rated_amplification, rated_source) = rated;
    sources.push(rated_source);
    let mut load = load(args, simulated, used.as_ref(), terabytes, rated_amplification)?;
    if is_rated_load {
        load.amplification = Amplification::TimesRated(Estimate::exact(1.0));
    }
    sources.append(&mut load.sources);
    let share = used.as_ref().and_then(|used| used.share);
    let life = Life {
        drive: drive.name,
        rated_terabytes: terabytes,
        rated_from,
        rated_amplification,
        warranty_years: drive.rating.as_ref().and_then(|rating| rating.warranty_years),
        age_years: used.as_ref().map_or(0.0, |used| used.age_years),
        written_terabytes: used.as_ref().map_or(0.0, |used| used.written_terabytes),
        left: share.map_or(Estimate::exact(1.0), left),
        daily_gigabytes: load.daily,
        amplification: load.amplification,
    };
    let (mut plan, years) = life.plan()?;
    plan.sources = sources;
    let rating = drive.rating.as_ref().map(library::EnduranceJson::from_rating);
    Ok(Some((plan, LifeFigures { life_years: years, rating })))
}

/// Returns the share of the endurance that is left, given the used share, which is rounded.
fn left(used: f64) -> Estimate {
    let left = 1.0 - used;
    let high = (left + WEAR_ROUNDING).min(1.0);
    Estimate { value: left, low: (left - WEAR_ROUNDING).max(0.0), high }
}

impl WearingDrive {
    /// Finds the drive of the system or, without a system, of the SMART data.
    fn find(library: &Library, args: &LifeArgs, used: Option<&SmartUse>) -> Result<Self, Failure> {
        let id = match (&args.system, used) {
            (Some(system), _) => {
                let parts = SystemName::parse(system)?;
                if let Some(used) = used {
                    refuse_other_drive(library, used, &parts.drive)?;
                }
                if !parts.beside.is_empty() {
                    let message = format!("{system} contains several drives");
                    return Err(Failure::input(message).hint("name a system with one drive"));
                }
                parts.drive
            }
            (None, Some(used)) => drive_of_model(library, used)?,
            (None, None) => return Err(Failure::input("no system is given")),
        };
        let explained = rated::explain(library, &id)?;
        let value = |parameter: &str| {
            let mut values = explained.values.iter();
            values.find(|value| value.parameter == parameter).map(|value| value.text.clone())
        };
        let Some(technology) = value(library::FLASH) else {
            return Err(Failure::input(format!("{} does not contain flash", explained.name))
                .hint("only solid-state drives have a rated endurance"));
        };
        Ok(Self {
            rating: endurance::of_drive(&id),
            id,
            is_enterprise: value("drive.buffer.power_loss").as_deref() == Some("stored"),
            is_in_place: technology == "3d-xpoint",
            name: explained.name,
        })
    }
}

/// Rejects SMART data of a library drive other than `drive`.
fn refuse_other_drive(library: &Library, used: &SmartUse, drive: &str) -> Result<(), Failure> {
    let model = used.model.as_deref().unwrap_or_default();
    let same = drives_of(library, model, used.size_bytes).same;
    match same.first() {
        Some(other) if !same.iter().any(|id| id == drive) => {
            let message =
                format!("{} describes a drive of the model `{model}`, not {drive}", used.file);
            Err(Failure::input(message)
                .hint(format!("omit the system, or name a system with {other}")))
        }
        Some(_) | None => Ok(()),
    }
}

/// Returns the library drive whose model SMART data names.
fn drive_of_model(library: &Library, used: &SmartUse) -> Result<String, Failure> {
    let model = used.model.as_deref().unwrap_or_default();
    let mut matches = drives_of(library, model, used.size_bytes).same;
    match matches.len() {
        1 => Ok(matches.swap_remove(0)),
        _ => Err(Failure::input(format!("{}: no library drive of the model `{model}`", used.file))
            .hint("name a system of a similar drive before the options, DRIVE@PLATFORM:PORT")),
    }
}

/// Returns the rated writes of the host in TB, their formula, and their source.
fn rating(args: &LifeArgs, drive: &WearingDrive) -> Result<(f64, String, Vec<String>), Failure> {
    if let Some(given) = args.tbw {
        let terabytes = given.get() as f64 / 1e12;
        return Ok((terabytes, format!("{terabytes} TBW"), vec!["rating: --tbw".to_owned()]));
    }
    let rating = drive.rating.as_ref();
    let Some((rating, (terabytes, formula))) = rating.zip(rating.and_then(|one| one.terabytes()))
    else {
        let message = format!("no endurance rating for {} ({})", drive.name, drive.id);
        return Err(Failure::input(message)
            .hint("state the writes for which its maker rates it, such as --tbw 600TB"));
    };
    Ok((terabytes, formula, vec![format!("rating: {rating}")]))
}

/// Returns the write amplification of the load for which the drive is rated, and its source. Returns `None` if the
/// simulation was cancelled.
fn rated_load(
    drive: &WearingDrive,
    simulation: &LoadSimulation<'_>,
    simulated: Option<&SimulatedLoad>,
    is_rated_load: bool,
) -> Result<Option<(Estimate, String)>, Failure> {
    if drive.is_in_place {
        let source = "amplification of the rated load: 1, because data is overwritten in place";
        return Ok(Some((Estimate::exact(1.0), source.to_owned())));
    }
    if !drive.is_enterprise {
        let Estimate { value, low, high } = CLIENT;
        let source =
            format!("amplification of the rated load: {value} ({low} to {high}), {CLIENT_SOURCE}");
        return Ok(Some((CLIENT, source)));
    }
    let amplification = match simulated.filter(|_| is_rated_load) {
        Some(load) => load.amplification,
        None => match simulation.workload(ENTERPRISE)? {
            Some(load) => load.amplification,
            None => return Ok(None),
        },
    };
    let source = format!(
        "amplification of the rated load: simulated with {ENTERPRISE}, because the drive has power-loss protection"
    );
    Ok(Some((amplification, source)))
}

/// Combines the simulated load with the SMART data.
fn load(
    args: &LifeArgs,
    simulated: Option<SimulatedLoad>,
    used: Option<&SmartUse>,
    rated_terabytes: f64,
    rated: Estimate,
) -> Result<Load, Failure> {
    let mut sources = Vec::new();
    let daily = match (args.per_day, used, &simulated) {
        (Some(given), ..) => {
            sources.push("writes a day: --per-day".to_owned());
            Estimate::exact(given.get() as f64 / 1e9)
        }
        (None, Some(used), _) => {
            sources.push(format!("writes a day: {}", used.source));
            Estimate::exact(used.daily_gigabytes)
        }
        (None, None, Some(load)) => {
            sources.push(format!("writes a day: {}", load.source));
            load.daily
        }
        (None, None, None) => return Err(Failure::input("no load is given")),
    };
    let (amplification, source) = match (simulated, used) {
        (Some(load), _) => (Amplification::Own(load.amplification), load.amplification_source),
        (None, Some(used)) => amplification_so_far(used, rated_terabytes, rated)?,
        (None, None) => return Err(Failure::input("no load is given")),
    };
    sources.push(format!("amplification of the load: {source}"));
    Ok(Load { daily, amplification, sources })
}

/// Returns the write amplification of the load of SMART data, and its source. The used share of the endurance shows the
/// amplification if it is large enough: the flash then received this share of the flash writes of the rating.
fn amplification_so_far(
    used: &SmartUse,
    rated_terabytes: f64,
    rated: Estimate,
) -> Result<(Amplification, String), Failure> {
    let written = used.written_terabytes;
    if let Some(share) = used.share.filter(|share| *share >= TELLING_WEAR && written > 0.0) {
        let ratio = |share: f64| share * rated_terabytes / written;
        if ratio(share - WEAR_ROUNDING) > WEAR_MAX {
            let message = format!(
                "the report contradicts itself: {written:.3} TB written used {:.0}% of an endurance of {rated_terabytes:.0} TB",
                share * 100.0
            );
            return Err(
                Failure::input(message).hint("name the load that the drive will have instead")
            );
        }
        let source = format!(
            "{:.2} times the amplification of the rated load, because {written:.1} TB used {:.0}% of the endurance",
            ratio(share),
            share * 100.0
        );
        let times = Estimate {
            value: ratio(share),
            low: ratio(share - WEAR_ROUNDING),
            high: ratio(share + WEAR_ROUNDING),
        };
        return Ok((Amplification::TimesRated(times), source));
    }
    let own = Estimate { low: rated.low.min(CLIENT.low), ..rated };
    Ok((Amplification::Own(own), "not known, assumed to be like the rated load".to_owned()))
}
