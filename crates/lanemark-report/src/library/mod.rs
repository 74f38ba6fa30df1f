//! Entries of the library as text, and plans.

mod drive;
mod entry;
mod plan;

pub use drive::{DriveRating, DriveValue, OriginCounts, drive_answer, drive_text, ratings_text};
pub use entry::{
    EntryTest, PlatformLink, PlatformPort, platform_answer, platform_text, workload_text,
};
pub use plan::plan_text;
