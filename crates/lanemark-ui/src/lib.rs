//! The laboratory in a browser: a server on loopback, and the single page that it serves.
//!
//! | file | purpose |
//! |---|---|
//! | [`serve`] | listens on loopback, limits connections and their headers |
//! | [`guard`] | accepts requests with the token, from the server's own page |
//! | [`visitor`] | permits few connections without the token, each for a short time |
//! | [`routes`] | answers: the page, the library, systems, simulations |
//! | [`machine`] | this machine as one of the platforms |
//! | [`request`], [`listing`], [`figures`], [`command`] | a page's requests, and the content of the answers |
//! | [`find`] | systems that the text of a search box may mean |
//! | [`answer`], [`fault_report`] | figures as sentences |
//! | [`result_file`], [`saved`] | a result that was dropped on a page; a page as a study file |
//! | [`simulation`], [`suite`], [`curve`], [`stream`], [`jobs`] | simulations in steps, ended when no client waits |
//!
//! The server computes all values; the page draws them and stores its state in its address. The server does not write
//! to disk and does not accept file names from a page.

pub mod answer;
pub mod command;
pub mod curve;
pub mod fault_report;
pub mod figures;
pub mod find;
pub mod guard;
pub mod jobs;
pub mod listing;
pub mod machine;
pub mod request;
pub mod result_file;
pub mod routes;
pub mod saved;
pub mod serve;
pub mod simulation;
pub mod stream;
pub mod suite;
pub mod visitor;

pub use serve::UiServer;
