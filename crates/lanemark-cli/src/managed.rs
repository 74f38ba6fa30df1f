//! PostgreSQL servers that commands start: finding their programs, and reporting failures to start them.

use std::path::PathBuf;

use lanemark_oltp::{OltpError, download};

use crate::failure::Failure;
use crate::messages::tell;
use crate::oltp_args::DownloadArgs;

/// Downloads PostgreSQL's programs unless they were downloaded before, and returns their folder.
pub(crate) fn downloaded_server(args: &DownloadArgs) -> Result<PathBuf, OltpError> {
    let cache = args.cache.clone().unwrap_or_else(download::cache);
    download::programs(&cache, &args.registry, &|url| tell!("downloading {url}"))
}

pub(crate) fn not_started(error: OltpError) -> Failure {
    match error {
        error @ OltpError::Lacks { .. } => {
            Failure::from(error).hint("install a newer PostgreSQL, or download one with --download")
        }
        error => error.into(),
    }
}
