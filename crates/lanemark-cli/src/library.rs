//! `lanemark library`: what can be named. Also where every command finds its library.

use lanemark_lab::open_library;
use lanemark_study::Library;
use lanemark_study::library::Kind;

use crate::args::LibraryArgs;
use crate::failure::{Failure, Outcome};
use crate::output;

/// The library that `args` name, else `./library`, else the one built in.
pub(crate) fn open(args: &LibraryArgs) -> Result<Library, Failure> {
    Ok(open_library(args.library.as_deref())?)
}

pub(crate) fn run(args: &LibraryArgs) -> Result<Outcome, Failure> {
    let library = open(args)?;
    let mut text = String::new();
    for (title, kind) in [
        ("drives", Kind::Drive),
        ("platforms", Kind::Platform),
        ("hosts", Kind::Host),
        ("workloads", Kind::Workload),
    ] {
        text += &format!("{title}\n");
        for name in library.names(kind) {
            text += &format!("  {name:<28}  {}\n", library.summary(kind, &name)?);
        }
    }
    output::print(&text)?;
    Ok(Outcome::Done)
}
