//! The laboratory in a browser: one HTML file that contains the simulator as a WebAssembly module, the library and the
//! studies. It opens from any disk or host, and sends no requests to a network.
//!
//! | file | purpose |
//! |---|---|
//! | [`laboratory`] | answers the page's requests: the library, systems, simulations |
//! | `module` | the laboratory as a WebAssembly module |
//! | [`mod@file`] | the HTML file: scripts, styles, the module, and the documents inside |
//! | [`machine`] | the machine on which `lanemark ui` ran, as one of the platforms |
//! | [`questions`] | the presets, and well-known questions as links |
//! | [`request`], [`listing`], [`figures`], [`command`] | a page's requests, and the content of the answers |
//! | [`find`] | systems that the text of a search box may mean |
//! | [`answer`], [`fault_report`] | figures as sentences |
//! | [`result_file`] | a result or a text that was dropped on a page |
//! | [`saved`], [`report`] | a page as a study file, and as a report |
//! | [`simulation`], [`workload_run`], [`curve`] | simulations in steps |
//!
//! The module computes all values; the page draws them and stores its state in its address. The crate also compiles
//! for the machine, so that tests compare the module with native code.

pub mod answer;
pub mod command;
pub mod curve;
pub mod fault_report;
pub mod figures;
pub mod file;
pub mod find;
pub mod laboratory;
pub mod listing;
pub mod machine;
#[cfg(target_arch = "wasm32")]
mod module;
pub mod questions;
pub mod report;
pub mod request;
pub mod result_file;
pub mod saved;
pub mod simulation;
pub mod workload_run;

pub use laboratory::Laboratory;
