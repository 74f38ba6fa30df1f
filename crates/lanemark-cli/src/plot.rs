//! `lanemark plot`: draws one chart of saved results as SVG or PNG.

use std::path::Path;

use lanemark_lab::results::OutputFile;
use lanemark_report::{PlotStyle, ResultChart, ResultPlot};

use crate::args::PlotArgs;
use crate::failure::{CommandOutcome, Failure};
use crate::messages::tell;
use crate::outlets::PLOT;
use crate::{output, report};

pub(crate) fn run(args: &PlotArgs) -> Result<CommandOutcome, Failure> {
    let out = &args.out;
    let extension = out.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let answer = match extension.to_lowercase().as_str() {
        "svg" => {
            let outlet = OutputFile::open(out, &PLOT)?;
            let (plot, answer) = draw_plot(args)?;
            outlet.write(&plot.svg)?;
            answer
        }
        "png" => png(args, out)?,
        _ => {
            return Err(Failure::input(format!("--out {}: expected .svg or .png", out.display()))
                .hint("for example --out chart.svg"));
        }
    };
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

#[cfg(not(feature = "full"))]
fn png(_: &PlotArgs, out: &Path) -> Result<Option<String>, Failure> {
    Err(Failure::input(format!("--out {}: this build can't write PNG", out.display()))
        .hint("write *.svg, or build with --features full"))
}

#[cfg(feature = "full")]
fn png(args: &PlotArgs, out: &Path) -> Result<Option<String>, Failure> {
    use crate::png_file;

    png_file::refuse_other(out)?;
    let reserved = lanemark_lab::reserved::ReservedName::with_folders(out)?;
    let (plot, answer) = draw_plot(args)?;
    reserved.write(&png_file::bytes(&plot, args.scale)?)?;
    Ok(answer)
}
