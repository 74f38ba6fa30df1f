//! The laboratory in a browser: a server on loopback, and the one page that it gives out.
//!
//! | file | what it does |
//! |---|---|
//! | [`serve`] | listens on loopback, bounds connections and their headers |
//! | [`guard`] | lets in whoever has the token, from the own page |
//! | [`routes`] | answers: the page, the library, systems, simulations |
//! | [`machine`] | this machine as one of the platforms |
//! | [`asked`], [`listing`], [`figures`], [`command`] | what a page asks, and what it is told |
//! | [`result_file`], [`saved`] | a result that was dropped on a page; a page as a study file |
//! | [`simulation`], [`suite`], [`stream`], [`jobs`] | simulations in steps, ended when nobody waits for them |
//!
//! All that is computed is computed here; the page draws it and keeps its state in its address. Nothing is written to
//! disk, and no name of a file is taken from a page.

pub mod asked;
pub mod command;
pub mod figures;
pub mod guard;
pub mod jobs;
pub mod listing;
pub mod machine;
pub mod result_file;
pub mod routes;
pub mod saved;
pub mod serve;
pub mod simulation;
pub mod stream;
pub mod suite;

pub use serve::Ui;
