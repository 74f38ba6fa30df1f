//! The list of saved results, newest first.

use lanemark_lab::default_folder;
use lanemark_lab::results::{self, ListedResult};
use lanemark_schema::text::shown;

use crate::args::ReportArgs;
use crate::output;
use crate::output::failure::{CommandOutcome, Failure};
use crate::output::messages::tell;

pub(super) fn run(args: &ReportArgs) -> Result<CommandOutcome, Failure> {
    let folder = default_folder::of_results()?;
    // The first result creates the default folder.
    let mut all = if folder.exists() { results::list(&folder)? } else { Vec::new() };
    let words = args.search.as_deref().unwrap_or_default().to_lowercase();
    let words: Vec<&str> = words.split_whitespace().collect();
    all.retain(|listed| {
        let text = searchable_text(listed);
        words.iter().all(|word| text.contains(word))
    });
    if args.json {
        output::print_json(&all)?;
        return Ok(CommandOutcome::Done);
    }
    if all.is_empty() {
        tell!("{}: no result matches", folder.display());
        return Ok(CommandOutcome::Done);
    }
    let text: String = all.iter().map(line).collect();
    output::print(&text)?;
    Ok(CommandOutcome::Done)
}

fn searchable_text(listed: &ListedResult) -> String {
    let ListedResult { path, title, command, .. } = listed;
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    format!("{file} {title} {}", command.join(" ")).to_lowercase()
}

/// Returns the time, the file and the title of a result, followed by its command.
fn line(listed: &ListedResult) -> String {
    let ListedResult { path, title, started_at, command, complete, .. } = listed;
    let time = started_at.replace('T', " ");
    let time = time.get(..16).unwrap_or(&time);
    let cut = if *complete { "" } else { ", interrupted" };
    let command = command.join(" ");
    format!(
        "{}  {}  {}{cut}\n                  lanemark {}\n",
        shown(time),
        shown(&path.display().to_string()),
        shown(title),
        shown(&command)
    )
}
