//! `lanemark plan`: calculates battery lives, bandwidths, fleets and the lives of drives, and shows each step.

mod life;

use lanemark_lab::interfaces::interfaces;
use lanemark_lab::results;
use lanemark_plan::{Battery, Carrier, Costs, Fleet, Node, Plan, PlanError, Stream, Video};
use lanemark_schema::result::{
    FigureMetric, RatioEstimate, RatioVerdict, RunResult, TestResult, UncertainFigure,
};
use serde::Serialize;

use crate::args::{BandwidthArgs, BatteryArgs, FleetArgs, PlanArgs, PlanCommand};
use crate::output;
use crate::output::failure::{CommandOutcome, Failure};

#[derive(Serialize)]
struct PlanJson<'a> {
    #[serde(flatten)]
    plan: &'a Plan,
    #[serde(skip_serializing_if = "<[Carrier]>::is_empty")]
    interfaces: &'a [Carrier],
    #[serde(flatten)]
    life: Option<life::LifeFigures>,
}

pub(crate) fn run(args: &PlanArgs) -> Result<CommandOutcome, Failure> {
    let mut interfaces = Vec::new();
    let mut life = None;
    let plan = match &args.command {
        PlanCommand::Battery(args) => battery(args)?,
        PlanCommand::Bandwidth(args) => {
            let (plan, carriers) = bandwidth(args)?;
            interfaces = carriers;
            plan
        }
        PlanCommand::Fleet(args) => fleet(args)?,
        PlanCommand::Life(args) => {
            let Some((plan, figures)) = life::life(args)? else {
                return Ok(CommandOutcome::Interrupted);
            };
            life = Some(figures);
            plan
        }
    };
    if args.json {
        output::print_json(&PlanJson { plan: &plan, interfaces: &interfaces, life })?;
    } else {
        output::print(&lanemark_report::plan_text(&plan, &interfaces, &output::style()))?;
    }
    Ok(CommandOutcome::Done)
}

/// Inputs that were not given; the plan uses the values of the document's example for them.
#[derive(Default)]
struct DefaultedInputs(Vec<String>);

impl DefaultedInputs {
    /// Returns the given value, or the example's value, which is then recorded as an example input.
    fn value_or_example<T>(
        &mut self,
        option: &str,
        given: Option<T>,
        value_text: &str,
        example: T,
    ) -> T {
        given.unwrap_or_else(|| {
            self.0.push(format!("{option} {value_text}"));
            example
        })
    }

    fn plan(self, mut plan: Plan) -> Plan {
        plan.of_example = self.0;
        plan
    }
}

fn battery(args: &BatteryArgs) -> Result<Plan, Failure> {
    let mut examples = DefaultedInputs::default();
    let system = args.system.map(lanemark_schema::units::Watts::as_watts);
    let system_watts = examples.value_or_example("--system", system, "9.6 W", 9.6);
    let hours = args.lasts.map(|lasts| lasts.as_seconds() / 3600.0);
    let hours = examples.value_or_example("--lasts", hours, "5.2 h", 5.2);
    let drive =
        examples.value_or_example("--drive", args.drive.clone(), "1.4 W", "1.4 W".to_owned());
    let other =
        examples.value_or_example("--other", args.other.clone(), "1.1 W", "1.1 W".to_owned());
    let (drive_watts, worked) = watts("--drive", &drive)?;
    let (other_watts, others) = watts("--other", &other)?;
    if let Some((own, other)) = worked.zip(others) {
        let own = OptionResult { option: "--drive", result: &own };
        let other = OptionResult { option: "--other", result: &other };
        same_test(&own, &other)?;
        same_rate(&own, &other)?;
    }
    let battery = Battery { system_watts, hours, drive_watts, other_watts };
    Ok(examples.plan(battery.plan()?))
}

/// Returns the power that `text` states, or the mean power of the drives in the saved result that it names; in that
/// case also returns the result's test.
fn watts(option: &str, text: &str) -> Result<(f64, Option<TestResult>), Failure> {
    if let Ok(power) = text.parse::<lanemark_schema::units::Watts>() {
        return Ok((power.as_watts(), None));
    }
    let mut run = results::load_run(text)?;
    match run.tests.len() {
        1 => {}
        count => {
            return Err(Failure::input(format!("{option} {text}: the result has {count} tests"))
                .hint("simulate one test, WORKLOAD:TEST"));
        }
    }
    let test = run.tests.remove(0);
    let power = test.power_mean_watts().ok_or_else(|| {
        Failure::input(format!("{option} {text}: the result lacks a power figure")).hint(
            "simulate a drive whose file contains [power], or state the power, such as \"1.4 W\"",
        )
    })?;
    Ok((power.value, Some(test)))
}

struct OptionResult<'r> {
    option: &'static str,
    result: &'r TestResult,
}

/// Rejects two results of different work.
fn same_test(given_result: &OptionResult<'_>, other: &OptionResult<'_>) -> Result<(), Failure> {
    let asks = |result: &TestResult| {
        let test = &result.test;
        // The number of users changes a database's load; storage requests may come from any number of users.
        let users = result.has_transactions().then_some(test.threads);
        (
            test.block,
            (test.is_trace(), test.pattern().cloned()),
            test.read_share(),
            test.mix().clone(),
            users,
        )
    };
    if asks(given_result.result) == asks(other.result) {
        Ok(())
    } else {
        Err(Failure::input(format!(
            "{} and {} are results of different tests: {} and {}",
            given_result.option,
            other.option,
            given_result.result.test.name,
            other.result.test.name
        ))
        .hint("use two results of the same test"))
    }
}

/// Maximum difference between two rates of the same work, as a share.
const SAME_RATE: f64 = 0.02;

/// Rejects two results with different rates of work.
fn same_rate(given_result: &OptionResult<'_>, other: &OptionResult<'_>) -> Result<(), Failure> {
    let a = given_result.result.iops.value;
    let b = other.result.iops.value;
    if a > 0.0 && (b / a - 1.0).abs() <= SAME_RATE {
        return Ok(());
    }
    Err(Failure::input(format!(
        "{} reached {a:.0} requests/s and {} {b:.0}: the drives did not do the same work in the same time",
        given_result.option, other.option
    ))
    .hint("set `rate = \"5000/s\"` in the test, so that both drives do the same work in the same time"))
}

fn bandwidth(args: &BandwidthArgs) -> Result<(Plan, Vec<Carrier>), Failure> {
    let mut examples = DefaultedInputs::default();
    let size = examples.value_or_example(
        "--video",
        args.video.clone(),
        "3840x2160",
        "3840x2160".to_owned(),
    );
    let (width, height) = size
        .split_once('x')
        .and_then(|(width, height)| Some((width.parse().ok()?, height.parse().ok()?)))
        .ok_or_else(|| {
            Failure::input(format!("--video {size}: expected WIDTHxHEIGHT"))
                .hint("for example 3840x2160")
        })?;
    let bits = examples.value_or_example("--bits", args.bits, "12", 12);
    let rate = examples.value_or_example("--frames", args.frames, "24", 24.0);
    let video = Video { width, height, bits, samples: args.samples, rate };
    let (plan, stream) = video.plan()?;
    Ok((examples.plan(plan), Stream { streams: args.streams, ..stream }.carriers(interfaces())))
}

fn fleet(args: &FleetArgs) -> Result<Plan, Failure> {
    let mut examples = DefaultedInputs::default();
    let present = examples.value_or_example(
        "--present",
        args.present.clone(),
        "SATA=1.37e6",
        "SATA=1.37e6".to_owned(),
    );
    let other = examples.value_or_example(
        "--other",
        args.other.clone(),
        "SAS=1.71e6",
        "SAS=1.71e6".to_owned(),
    );
    let (present, ran) = rate("--present", &present)?;
    let (other, others) = rate("--other", &other)?;
    let ratio = ran
        .as_ref()
        .zip(others.as_ref())
        .map(|(one, two)| RatioEstimate::of_figures(uncertain_rate(one), uncertain_rate(two)));
    let unit = match ran.as_ref().or(others.as_ref()) {
        Some(test) if test.has_transactions() => "tpm",
        Some(_) => "requests a second",
        None => "per second or minute, as given",
    };
    if let Some((own, other)) = ran.zip(others) {
        let own = OptionResult { option: "--present", result: &own };
        let other = OptionResult { option: "--other", result: &other };
        same_test(&own, &other)?;
    }
    let node =
        |(name, rate): (String, f64), watts, drive_price| Node { name, rate, watts, drive_price };
    let other_watts = args.other_watts.unwrap_or(args.watts);
    let other_price = args.other_drive_price.unwrap_or(args.drive_price);
    let demand = match args.demand {
        Some(demand) => demand,
        None => present.1 * f64::from(examples.value_or_example("--nodes", args.nodes, "5", 5)),
    };
    let fleet = Fleet {
        demand,
        unit: unit.to_owned(),
        spare_share: args.spare_share,
        spare_nodes: args.spare_nodes,
        present: node(present, args.watts, args.drive_price),
        other: node(other, other_watts, other_price),
        costs: Costs {
            server_price: args.server_price,
            licence_price: args.licence_price,
            drives: args.drives,
            years: args.years,
            energy_price: args.energy_price,
            overhead: args.overhead,
        },
    };
    let mut plan = fleet.plan()?;
    if let Some(ratio) = ratio {
        judge(&mut plan, ratio);
    }
    Ok(examples.plan(plan))
}

/// Returns the rate of a result, with its uncertainty.
fn uncertain_rate(test: &TestResult) -> UncertainFigure {
    let transactions = test.transactions_per_minute();
    let metric =
        if transactions.is_some() { FigureMetric::Transactions } else { FigureMetric::Iops };
    let rate = transactions.unwrap_or(test.iops);
    // Only simulated results have an interval of the prediction.
    let uncertainty = metric.uncertainty(&rate, test, test.interval.is_some());
    UncertainFigure { value: rate.value, uncertainty }
}

/// Replaces the answer of a plan whose two results do not differ: no saving follows from them.
fn judge(plan: &mut Plan, ratio: RatioEstimate) {
    match (ratio.verdict(), ratio.interval_80()) {
        (RatioVerdict::Higher | RatioVerdict::Lower, _) => {}
        (RatioVerdict::Same | RatioVerdict::NotShown, Some((low, high))) => {
            plan.answer = format!(
                "No saving is shown: the ratio of the two results is {:.2} ({low:.2} to {high:.2}).",
                ratio.ratio()
            );
        }
        (RatioVerdict::Same | RatioVerdict::NotShown, None) => {
            plan.left_out.push("the uncertainty of the two results, which is not known".to_owned());
        }
    }
}

/// Reads `NAME=RATE`, or a saved result with its test. A result supplies its transactions a minute or, without
/// transactions, its requests a second.
fn rate(option: &str, text: &str) -> Result<((String, f64), Option<TestResult>), Failure> {
    if let Some((name, rate)) = text.split_once('=')
        && let Ok(rate) = rate.trim().parse()
    {
        return Ok(((name.trim().to_owned(), rate), None));
    }
    let mut run: RunResult = results::load_run(text).map_err(|error| {
        Failure::from(error).or_hint("use a saved result, or NAME=RATE such as \"SATA=1.37e6\"")
    })?;
    match run.tests.len() {
        1 => {
            let test = run.tests.remove(0);
            let rate = test.transactions_per_minute().unwrap_or(test.iops);
            Ok(((text.to_owned(), rate.value), Some(test)))
        }
        count => Err(Failure::input(format!("{option} {text}: the result has {count} tests"))
            .hint("use a result of one test")),
    }
}

impl From<PlanError> for Failure {
    fn from(error: PlanError) -> Self {
        Self::input(error.to_string())
    }
}

#[cfg(test)]
mod tests;
