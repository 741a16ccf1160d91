//! The report of a run: one set of facts, and its forms for people, pull requests, and browsers.
//!
//! Invariant: text of an agent, a check, or a file is never live: no markup, no mention, no command,
//! no control character.

mod facts;
mod html;
mod inert;
mod markdown;
mod text;
mod timeline;

pub use facts::{Changes, Night, NightCriterion};
pub use html::html;
pub use markdown::markdown;
pub use text::text;
