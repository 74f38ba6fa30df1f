//! `lanemark ui`: writes the laboratory's page to the cache folder, and opens it in a browser.

use std::path::Path;
use std::process::{Command, Stdio};

use lanemark_lab::reserved::ReservedName;
use lanemark_lab::{default_folder, input, machine, results};
use lanemark_study::Library;
use lanemark_ui::file::{PageContents, PageDocument, html};
use lanemark_ui::laboratory::MachineFile;
use lanemark_ui::result_file::{FILE_MAX, FILES_MAX};

use crate::args::UiArgs;
use crate::output;
use crate::output::failure::{CommandOutcome, Failure};
use crate::output::messages::tell;

/// The name of the page in the cache folder.
const PAGE: &str = "laboratory.html";
/// The display name of this machine.
const LABEL: &str = "This machine";
#[cfg(has_page)]
const MODULE: Option<&[u8]> = Some(include_bytes!(env!("LANEMARK_PAGE_MODULE")));
#[cfg(not(has_page))]
const MODULE: Option<&[u8]> = None;

pub(crate) fn run(args: &UiArgs) -> Result<CommandOutcome, Failure> {
    let Some(module) = MODULE else {
        let failure = Failure::run("this build of lanemark does not contain the page");
        return Err(failure.hint("build it with `make page` and `make build`"));
    };
    if args.results.len() > FILES_MAX {
        return Err(Failure::input(format!("a page shows up to {FILES_MAX} results")));
    }
    let documents =
        args.results.iter().map(|path| read_document(path)).collect::<Result<Vec<_>, _>>()?;
    let page = html(module, &PageContents { documents, machine: this_machine() });
    let path = default_folder::of_cache()?.join(PAGE);
    // The page contains results and this machine's drives.
    let file = ReservedName::with_folders(&path)?.for_this_user_only();
    file.write(page.as_bytes())?;
    output::print(&path.display().to_string())?;
    if !args.no_open {
        open(&path);
    }
    Ok(CommandOutcome::Done)
}

/// Reads a result, and checks that the page can show it.
fn read_document(path: &Path) -> Result<PageDocument, Failure> {
    let path = results::find_result_file(path)?;
    let text = input::text(&path, FILE_MAX as u64)?;
    let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into());
    lanemark_ui::result_file::read(&Library::built_in(), text.clone().into_bytes()).map_err(
        |mut error| {
            error.message = error.message.replace("the file", &path.display().to_string());
            error
        },
    )?;
    Ok(PageDocument { name, text })
}

/// Returns this machine as a platform file; `None` if it cannot be read, or if no drive is on a link that a port could
/// represent.
fn this_machine() -> Option<MachineFile> {
    let made = machine::platform(Path::new(machine::SYSFS), LABEL).ok()?;
    Some(MachineFile { text: made.text, left_out: made.left_out })
}

/// Opens the page in the desktop's browser. Without a desktop, the user must open it.
fn open(path: &Path) {
    let has = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if !has("DISPLAY") && !has("WAYLAND_DISPLAY") {
        return;
    }
    let mut browser = Command::new("xdg-open");
    browser.arg(path).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if browser.spawn().is_err() {
        tell!("note: no browser could be started; open the file in a browser");
    }
}
