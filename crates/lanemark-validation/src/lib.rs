//! The accuracy of predictions: computes the tables of the documents, and writes them.
//!
//! `lanemark-validate` runs two experiments. [`published`] predicts each published measurement of the [`corpus`] and
//! compares the prediction with the measurement. [`grids`] fits drives with known values to simulated measurements on
//! one path, and predicts the drives on another path. Both save their [`figures`] in `reference/validation/`. The
//! tables of the documents are written from these files ([`documents`]), and a test compares the documents with the
//! files.
//!
//! | module | contents |
//! |---|---|
//! | [`corpus`] | the published measurements and the ratings of the measured drives, read and checked |
//! | [`recipe`], [`plug`] | a row of the corpus as a drive file, a platform file and a test |
//! | [`baseline`] | two rules that do not use a model, for comparison with predictions |
//! | [`prediction`] | the simulation of one row, with its measurement |
//! | [`pairs`] | pairs of measurements that differ in one thing, and their scores |
//! | [`score`] | errors, coverage and shares of many rows |
//! | [`published`], [`grids`] | the two experiments |
//! | [`figures`] | the saved figures of both |
//! | [`report`] | figures as tables for a terminal and for documents |
//! | [`documents`] | writes and checks the tables in the documents |
//!
//! The library does not print. [`published`] and [`grids`] write to the outputs that the caller provides.

pub mod baseline;
pub mod corpus;
pub mod documents;
pub mod error;
pub mod figures;
pub mod grids;
pub mod pairs;
pub mod plug;
pub mod prediction;
pub mod published;
pub mod recipe;
pub mod report;
pub mod score;

mod scratch;

pub use error::ValidationError;
