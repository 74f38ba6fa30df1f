//! `lanemark plan`: batteries, bandwidths and fleets, each step shown.

use lanemark_core::plan::{
    Battery, Carrier, Costs, Fleet, Node, Plan, PlanError, Stream, Video, carriers,
};
use lanemark_core::result::RunResult;
use serde::Serialize;

use crate::args::{BandwidthArgs, BatteryArgs, FleetArgs, PlanArgs, PlanCommand};
use crate::failure::{Failure, Outcome};
use crate::{output, results};

/// A plan as JSON.
#[derive(Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    plan: &'a Plan,
    #[serde(skip_serializing_if = "<[Carrier]>::is_empty")]
    interfaces: &'a [Carrier],
}

pub(crate) fn run(args: &PlanArgs) -> Result<Outcome, Failure> {
    let (plan, interfaces) = match &args.command {
        PlanCommand::Battery(args) => (battery(args)?, Vec::new()),
        PlanCommand::Bandwidth(args) => bandwidth(args)?,
        PlanCommand::Fleet(args) => (fleet(args)?, Vec::new()),
    };
    if args.json {
        output::print_json(&Shown { plan: &plan, interfaces: &interfaces })?;
    } else {
        output::print(&lanemark_report::plan_text(&plan, &interfaces, &output::style()))?;
    }
    Ok(Outcome::Done)
}

fn battery(args: &BatteryArgs) -> Result<Plan, Failure> {
    let drive = watts("--drive", &args.drive)?;
    let other = watts("--other", &args.other)?;
    let battery = Battery {
        system_watts: args.system.as_watts(),
        hours: args.lasts.as_seconds() / 3600.0,
        drive_watts: drive,
        other_watts: other,
    };
    Ok(battery.plan()?)
}

/// A power, or the mean power of the drives in a saved result.
fn watts(option: &str, text: &str) -> Result<f64, Failure> {
    if let Ok(power) = text.parse::<lanemark_core::units::Watts>() {
        return Ok(power.as_watts());
    }
    let run = results::load_run(text)?;
    let powers: Vec<f64> =
        run.tests.iter().filter_map(|test| Some(test.power_mean_watts()?.value)).collect();
    match &powers[..] {
        [one] => Ok(*one),
        [] => Err(Failure::input(format!("{option} {text}: the result does not know its power"))
            .hint("simulate a drive whose file has [power], or give the power itself, \"1.4 W\"")),
        several => {
            Err(Failure::input(format!("{option} {text}: the result has {} tests", several.len()))
                .hint("simulate one test, WORKLOAD:TEST"))
        }
    }
}

fn bandwidth(args: &BandwidthArgs) -> Result<(Plan, Vec<Carrier>), Failure> {
    let (width, height) = args
        .video
        .split_once('x')
        .and_then(|(width, height)| Some((width.parse().ok()?, height.parse().ok()?)))
        .ok_or_else(|| {
            Failure::input(format!("--video {}: is no size", args.video)).hint("write 3840x2160")
        })?;
    let video = Video { width, height, bits: args.bits, samples: args.samples, rate: args.frames };
    let (plan, stream) = video.plan()?;
    Ok((plan, carriers(&Stream { streams: args.streams, ..stream })))
}

fn fleet(args: &FleetArgs) -> Result<Plan, Failure> {
    let node = |option: &str, text: &str, watts: f64, drive_price: f64| -> Result<Node, Failure> {
        let (name, rate) = rate(option, text)?;
        Ok(Node { name, rate, watts, drive_price })
    };
    let present = node("--present", &args.present, args.watts, args.drive_price)?;
    let other_watts = args.other_watts.unwrap_or(args.watts);
    let other_price = args.other_drive_price.unwrap_or(args.drive_price);
    let other = node("--other", &args.other, other_watts, other_price)?;
    let fleet = Fleet {
        demand: args.demand.unwrap_or(present.rate * f64::from(args.nodes)),
        unit: "a second or a minute, as the rates are".to_owned(),
        spare_share: args.spare_share,
        spare_nodes: args.spare_nodes,
        present,
        other,
        costs: Costs {
            server_price: args.server_price,
            licence_price: args.licence_price,
            drives: args.drives,
            years: args.years,
            energy_price: args.energy_price,
            overhead: args.overhead,
        },
    };
    Ok(fleet.plan()?)
}

/// `NAME=RATE`, or a saved result, whose requests a second are taken.
fn rate(option: &str, text: &str) -> Result<(String, f64), Failure> {
    if let Some((name, rate)) = text.split_once('=')
        && let Ok(rate) = rate.trim().parse()
    {
        return Ok((name.trim().to_owned(), rate));
    }
    let run: RunResult = results::load_run(text)
        .map_err(|failure| failure.or_hint("give a saved result, or NAME=RATE, \"SATA=1.37e6\""))?;
    match &run.tests[..] {
        [test] => Ok((text.to_owned(), test.iops.value)),
        tests => {
            Err(Failure::input(format!("{option} {text}: the result has {} tests", tests.len()))
                .hint("give a result of one test"))
        }
    }
}

impl From<PlanError> for Failure {
    fn from(error: PlanError) -> Self {
        Self::input(error.to_string())
    }
}
