//! Which changed files are tests, and which are the product.
//!
//! Invariant: pure. Trees are read through [`SourceTree`], nothing is run, and nothing is written.
//! Only files that changed are classified, by one table (`harness.toml`), by the lines of the checks,
//! and by the manifest's parts that say how things run. Not in this folder: the runs that follow.

mod compared;
mod ends;
mod files;
mod judges;
mod looked_at;
mod makefile;
mod manifests;
mod missing_tests;
mod mutants;
mod paths;
mod programs;
mod put_back;
mod question;
mod recipes;
mod rust_items;
mod table;

pub(in crate::verify) use compared::scan;
pub(in crate::verify) use files::link_target;
pub use files::{EntryKind, FileEntry, SourceTree};
pub use judges::{Judges, judges};
pub(in crate::verify) use judges::{only_looks, only_parses};
pub(in crate::verify) use looked_at::LookedAt;
pub(in crate::verify) use missing_tests::missing_tests;
pub(in crate::verify) use mutants::{AskedCheck, Mutant, Mutants, mutants};
pub use put_back::put_back;
pub(in crate::verify) use question::JudgeEnd;
pub use question::{HarnessCheck, HarnessQuestion, PutBack, TreeEdit};
pub(in crate::verify) use table::has_code;
pub use table::{Role, Table, table_markdown};

#[cfg(test)]
mod tests;
