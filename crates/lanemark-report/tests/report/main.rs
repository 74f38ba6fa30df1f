//! The views as a caller sees them: one fixture, exact snapshots, and what must hold for any result.

mod answers;
mod fixture;
mod snapshots;
mod views;
