//! Tests of the views as a caller sees them, with one fixture, exact snapshots, and invariants for all results.

mod agreement;
mod answers;
mod database;
mod errors;
mod fixture;
mod pages;
mod path_fixture;
mod path_svg;
mod path_table;
mod random;
mod size;
mod snapshots;
mod trial;
mod views;
