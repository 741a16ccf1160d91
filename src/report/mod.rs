//! Reporters: the output of a run, for people and programs.
//!
//! Invariant: a reporter gets only events and writes to its given target; it decides nothing, and
//! its failure ends no run. Text of agents and files reaches a terminal or a log only through
//! `format`, which removes control characters.

mod activity_log;
mod buffered_file;
mod console;
mod cost_log;
mod detail;
mod format;
mod json;
mod live_lines;
mod night;
mod plain;
mod premium;
mod progress_md;
mod providers;
mod repeats;
mod scene;
mod stats;
mod stream_lines;
mod summary;

pub use activity_log::ActivityLog;
pub use console::{Colors, Console, room};
pub use cost_log::CostLog;
pub use detail::Detail;
pub use format::{count, details, harmless, judged, message, outcome, reopened};
pub use json::Json;
pub use live_lines::{Canvas, LiveLines, Refresh};
pub use night::{
    Changes, Night, NightCriterion, criteria_lines, html, markdown, night_criteria, screen, text,
};
pub use plain::Plain;
pub use premium::PremiumTable;
pub use progress_md::{ProgressMd, line as progress_line};
pub use stats::Stats;
pub use stream_lines::StreamLines;
pub use summary::{counted, ended, render as summary};
