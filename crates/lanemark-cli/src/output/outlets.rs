//! The types of files that commands write in addition to results. A mark near the top identifies each type.

use lanemark_lab::results::FileKind;

pub(crate) const PAGE: FileKind = FileKind {
    mark: "<meta name=\"generator\" content=\"Lanemark\">",
    word: "page",
    option: "--html",
};
/// A drawing as SVG.
pub(crate) const DRAWING: FileKind =
    FileKind { mark: "lanemark-path", word: "drawing", option: "--svg" };
/// A chart of results as SVG.
pub(crate) const PLOT: FileKind =
    FileKind { mark: lanemark_report::PLOT_MARK, word: "drawing", option: "--out" };
/// A series as CSV.
pub(crate) const SERIES: FileKind =
    FileKind { mark: "test,repeat,start_seconds,", word: "series", option: "--series" };
/// The requests of a replayed trace.
pub(crate) const REQUESTS: FileKind = FileKind {
    mark: "time_us,operation,offset,length,latency_us",
    word: "requests",
    option: "--series",
};
/// A fitted drive.
pub(crate) const DRIVE: FileKind =
    FileKind { mark: lanemark_predict::fit::FITTED_MARK, word: "fitted drive", option: "--out" };
pub(crate) const HOST: FileKind =
    FileKind { mark: lanemark_measure::host::MARK, word: "measured host", option: "--out" };
pub(crate) const RATED: FileKind =
    FileKind { mark: "# A rated drive,", word: "rated drive", option: "--out" };
/// A database's figures on served systems, compared with a study's figures.
pub(crate) const LIVE: FileKind = FileKind {
    mark: "system,metric,unit,published,simulated,measured",
    word: "table",
    option: "--csv",
};
/// The workload from a saved OLTP run.
pub(crate) const WORKLOAD: FileKind =
    FileKind { mark: lanemark_oltp::WORKLOAD_MARK, word: "workload of a run", option: "--out" };
/// An inspected machine as a platform.
pub(crate) const PLATFORM: FileKind = FileKind {
    mark: lanemark_study::inspected::INSPECTED_MARK,
    word: "inspected platform",
    option: "--as-platform",
};
/// A page of the manual.
pub(crate) const MANUAL: FileKind =
    FileKind { mark: ".TH lanemark", word: "manual page", option: "folder" };
