//! The harness: the files that decide whether the work is right, and how they are put back for the
//! third run.
//!
//! Invariant: pure. Trees are read through [`SourceTree`], nothing is run, and nothing is written. Only
//! the start's harness is trusted; the current tree's files are compared with it.

mod arguments;
mod awk;
mod builds;
mod caller;
mod calls;
mod cfg_test;
mod claims;
mod contained;
mod conventions;
mod data;
mod deciding;
mod ends;
mod entries;
mod expand;
mod expected;
mod expected_code;
mod files;
mod fixtures;
mod flipped;
mod flips;
mod flips_in_shell;
mod flow;
mod helper_calls;
mod inline;
mod instruments;
mod interpreters;
mod judge_folder;
mod judges;
mod known_start;
mod languages;
mod links;
mod loaded;
mod loaders;
mod measures;
mod mutants;
mod named;
mod opposites;
mod options;
mod origin;
mod origins;
mod outer;
mod paths;
mod patterns;
mod process_state;
mod programs;
mod put_back;
mod question;
mod reader;
mod scripts;
mod search_path;
mod settings;
mod shadows;
pub(in crate::verify) mod shell;
mod showing;
mod sources;
mod standard;
mod started;
mod suppressions;
mod table;
mod tampering;
mod tasks;
mod test_code;
mod tools;
mod values;
pub(in crate::verify) mod wrappers;

pub use conventions::Role;
pub use files::{EntryKind, FileEntry, SourceTree};
pub use judges::judges;
pub use known_start::KnownStart;
pub(in crate::verify) use known_start::KnownStarts;
pub(in crate::verify) use links::link_target;
pub(in crate::verify) use mutants::{Mutants, TestFile, mutants};
pub use put_back::put_back;
pub use question::{HarnessCheck, HarnessQuestion, PutBack, TreeEdit};
pub(in crate::verify) use question::{JudgeEnd, MarkedCheck};
pub use reader::Judges;
pub(in crate::verify) use table::has_code;
pub use table::{Table, table_markdown};
pub(in crate::verify) use test_code::PlantedFailure;

#[cfg(test)]
mod tests;
