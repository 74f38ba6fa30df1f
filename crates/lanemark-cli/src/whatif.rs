//! `lanemark whatif`: runs the same work on a different path.

use lanemark_lab::whatif::WhatIfQuestion;
use lanemark_lab::{Lab, RunLength};

use crate::args::WhatIfArgs;
use crate::failure::{CommandOutcome, Failure};
use crate::formats::with;
use crate::progress::LabProgressLine;
use crate::{library, output, stop};

pub(crate) fn run(args: &WhatIfArgs) -> Result<CommandOutcome, Failure> {
    let mut library = library::open(&args.run.library)?;
    args.host.add_to(&mut library)?;
    // For a measured result, `--model` states the system.
    let is_result = std::path::Path::new(&args.from).is_file();
    let hosted = |system: &str| args.host.of_system(system);
    let from = if is_result { args.from.clone() } else { hosted(&args.from)? };
    let model = args.model.as_deref().map(hosted).transpose()?;
    let question = WhatIfQuestion {
        from: &from,
        model: model.as_deref(),
        port: args.port.as_deref(),
        platform: args.platform.as_deref(),
        drive: args.drive.as_deref(),
        queue_depth: args.queue_depth,
        set: &args.set,
        fit: args.fit.as_deref(),
        workload: args.workload.as_deref(),
        intervals: !args.no_interval,
        scale: args.run.scale.scale(),
        seed: args.run.seed,
    };
    let line = std::cell::RefCell::new(None);
    let begun = &mut |simulations| drop(line.replace(Some(LabProgressLine::new(simulations))));
    let length = RunLength::from_full(args.full);
    let lab = Lab {
        cancel: stop::on_signal().into(),
        length,
        memory: args.memory.memory,
        ..Lab::default()
    };
    let outcome = lab.answer_what_if(&library, &question, begun, &mut |event| {
        line.borrow_mut().iter_mut().for_each(|line| line.draw(&event));
    });
    drop(line);
    let Some(whatif) = outcome? else { return Ok(CommandOutcome::Interrupted) };
    if args.json {
        output::print_json(&whatif)?;
    } else {
        let style = output::style();
        let mut text = lanemark_report::whatif_text(&whatif, &style);
        if args.explain {
            text = with(text, &lanemark_report::whatif_evidence(&whatif, &style));
        }
        output::print(&text)?;
    }
    Ok(CommandOutcome::Done)
}
