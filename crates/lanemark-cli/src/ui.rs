//! `lanemark ui`: serves the laboratory to a browser, until a signal ends it.
//!
//! Every user of the machine can read command lines. Therefore the browser receives the address with its token through
//! a file in the user's runtime folder, which other users cannot read. Without a runtime folder or a desktop, the
//! command only prints the address.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use lanemark_files::private::PrivateFile;
use lanemark_ui::UiServer;

use crate::args::UiArgs;
use crate::failure::{CommandOutcome, Failure};
use crate::messages::tell;
use crate::{library, output, stop};

pub(crate) fn run(args: &UiArgs) -> Result<CommandOutcome, Failure> {
    let cancel = stop::on_signal().into();
    let library = library::open(&args.library)?;
    let ui = UiServer::new(args.port, library).map_err(|error| {
        let failure = Failure::input(format!("--port {}: {error}", args.port));
        failure.hint("remove --port to let the system choose a free port")
    })?;
    output::print(ui.address())?;
    tell!("note: Ctrl-C ends the server");
    let file = if args.no_open { None } else { open(ui.address()) };
    let outcome = ui.run(&cancel);
    drop(file);
    outcome.map_err(|error| Failure::run(format!("the server failed: {error}")))?;
    Ok(CommandOutcome::Interrupted)
}

/// Opens `address` in the desktop's browser through a file that redirects to it, and returns the file. If that fails,
/// the user must open the address.
fn open(address: &str) -> Option<PrivateFile> {
    let has = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if !has("DISPLAY") && !has("WAYLAND_DISPLAY") {
        return None;
    }
    let folder = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from)?;
    let file = folder.join(format!("lanemark-ui-{}.html", std::process::id()));
    write_redirect_page(&file, address).ok()?;
    let lead = PrivateFile::register(file.clone());
    let mut browser = Command::new("xdg-open");
    browser.arg(&file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if browser.spawn().is_err() {
        tell!("note: no browser could be started; open the address in a browser");
    }
    Some(lead)
}

/// Writes a file that only this user can read, and that redirects a browser to `address`.
fn write_redirect_page(file: &Path, address: &str) -> std::io::Result<()> {
    let mut open = OpenOptions::new();
    let mut written = open.write(true).create_new(true).mode(0o600).open(file)?;
    let page = format!(
        "<!doctype html><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" content=\"0;url={address}\"><a href=\"{address}\">Lanemark</a>\n"
    );
    written.write_all(page.as_bytes())
}
