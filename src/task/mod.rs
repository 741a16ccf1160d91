//! TASK.md: finding it, parsing it into a [`Task`](crate::model::Task), showing its diagnostics,
//! ticking its checkboxes, and comparing two versions.
//!
//! Invariant: Markdown decides which items are criteria. Their text is data, never a pattern, a
//! template, or shell code. The only edit is one byte. Not in this room: resolving settings
//! (`config`), and the meaning of a change to TASK.md (`verify`). The callers of [`tick`] and
//! [`restore`] write the file.

mod compare;
mod diagnostics;
mod discover;
mod error;
mod form;
mod front_matter;
mod front_policy;
mod front_settings;
mod issue_items;
mod item;
mod lines;
mod lookalike;
mod looks_like_box;
mod lookup;
mod markdown;
mod may_change_item;
mod nesting;
mod order;
mod parse;
mod recipe_item;
mod render;
mod segment;
#[cfg(test)]
mod tests;
mod tick;
mod verify_item;

pub use compare::compare;
pub use discover::{TASK_FILE, TaskFolder, discover, load, task_names, wrong_with_name};
pub use error::TaskError;
pub use form::same_content;
pub use issue_items::{IssueItem, issue_items};
pub use lookup::{at_line, find, usable};
pub use parse::parse;
pub use render::render_diagnostic;
pub use tick::{Tick, restore, tick};
