//! The report of a run: one set of facts, and its forms for people, pull requests, and browsers.
//!
//! Invariant: text from an agent, a check, or a file is inert: it cannot add markup, mention anyone, run
//! a workflow command, or contain control characters.

mod facts;
mod html;
mod inert;
mod markdown;
mod text;
mod timeline;

pub use facts::{Changes, Night, NightCriterion, criteria as night_criteria};
pub use html::html;
pub use markdown::markdown;
pub use text::{criteria_lines, screen, text};
