//! TASK.md: found, read into a [`Task`](crate::model::Task), explained, ticked, compared.
//!
//! Invariant: what is a criterion is Markdown's word; its text is data and never a
//! pattern, a template or shell code; and the only edit there is changes one byte.
//! What a setting resolves to lives in `config`, what a change of TASK.md proves in
//! `verify`, and writing the file in the rooms that call [`tick`] and [`restore`].

mod compare;
mod diagnostics;
mod discover;
mod error;
mod find;
mod front;
mod front_policy;
mod lines;
mod lookalike;
mod nesting;
mod parse;
mod recipe_item;
mod render;
mod scan;
#[cfg(test)]
mod tests;
mod tick;
mod verify_item;

pub use compare::compare;
pub use discover::{TASK_FILE, TaskFolder, discover, load, wrong_with_name};
pub use error::TaskError;
pub use find::{at_line, find, usable};
pub use parse::parse;
pub use render::render_diagnostic;
pub use tick::{Tick, restore, tick};
