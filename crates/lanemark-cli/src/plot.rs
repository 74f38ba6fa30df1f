//! `lanemark plot`: draws one chart of saved results as SVG.

use lanemark_lab::results::OutputFile;
use lanemark_report::{PlotStyle, ResultChart, ResultPlot};

use crate::args::PlotArgs;
use crate::failure::{CommandOutcome, Failure};
use crate::messages::tell;
use crate::outlets::PLOT;
use crate::{output, report};

pub(crate) fn run(args: &PlotArgs) -> Result<CommandOutcome, Failure> {
    let out = &args.out;
    if !out.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("svg")) {
        return Err(Failure::input(format!("--out {}: expected .svg", out.display()))
            .hint("for a PNG, use the button next to the chart on the page of `lanemark report`"));
    }
    let outlet = OutputFile::open(out, &PLOT)?;
    let (plot, answer) = draw_plot(args)?;
    outlet.write(&plot.svg)?;
    if let Some(answer) = answer {
        output::print_sentence(&answer)?;
    }
    tell!("wrote {}", out.display());
    Ok(CommandOutcome::Done)
}

/// Returns the drawing, and the answer that the results state.
fn draw_plot(args: &PlotArgs) -> Result<(ResultPlot, Option<String>), Failure> {
    let (study, runs) = report::load(&args.results)?;
    let runs: Vec<_> = runs.iter().collect();
    let style = PlotStyle { dark: args.dark, columns: args.columns.into() };
    let chart = ResultChart::from(args.chart);
    let plot = lanemark_report::plot(study.as_ref(), &runs, chart, args.panel.as_deref(), style);
    let plot = plot.ok_or_else(|| {
        let failure = Failure::input(format!(
            "--chart {}: the results contain no data for this chart",
            args.chart
        ));
        match &args.panel {
            Some(panel) => failure.hint(format!("no panel has a title that contains `{panel}`")),
            None => failure.hint(args.chart.needs()),
        }
    })?;
    Ok((plot, lanemark_report::results_answer(study.as_ref(), &runs)))
}
