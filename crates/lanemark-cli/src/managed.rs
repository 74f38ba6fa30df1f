//! PostgreSQL servers that commands start themselves: their programs, and why they do not start.

use std::path::PathBuf;

use lanemark_oltp::{OltpError, download};

use crate::failure::Failure;
use crate::messages::tell;
use crate::oltp_args::FetchedArgs;

/// Fetches PostgreSQL's programs, where they are not there yet. Returns their folder.
pub(crate) fn fetched(args: &FetchedArgs) -> Result<PathBuf, OltpError> {
    let cache = args.cache.clone().unwrap_or_else(download::cache);
    download::programs(&cache, &args.registry, &|url| tell!("fetching {url}"))
}

/// The failure to start a server.
pub(crate) fn not_started(error: OltpError) -> Failure {
    match error {
        error @ OltpError::Lacks { .. } => {
            Failure::from(error).hint("install a newer PostgreSQL, or fetch one: --download")
        }
        error => error.into(),
    }
}
