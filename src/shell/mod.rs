//! One reading of a shell line: a full parser of bash within limits, the simple commands of a line,
//! and the programs that only run another one.
//!
//! Invariant: pure. Not in this room: what a line may do, and what it proves.

mod command;
mod parse;
mod reading;
mod scan;
mod simple;
mod word;
mod wrappers;

pub use command::{Capture, Flow, ShellCommand, Target, Use, uses};
pub use parse::{MOST_BRACKETS, THREAD, brackets, closing, deep, nested, parse};
pub use scan::commands;
pub use wrappers::{lists, name_of, unwrapped};
