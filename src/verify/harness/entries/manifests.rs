//! A manifest, its surroundings, and its merged form.

use std::collections::BTreeSet;
use std::path::Path;

use crate::verify::harness::files::SourceTree;
use crate::verify::harness::table::Table;

/// A manifest and what is around it.
pub(in crate::verify::harness) struct Manifests<'a> {
    pub(in crate::verify::harness) start: &'a dyn SourceTree,
    pub(in crate::verify::harness) now: &'a dyn SourceTree,
    pub(in crate::verify::harness) table: &'a Table,
    /// Words of the checks: new entries with these names stay.
    pub(in crate::verify::harness) names: &'a BTreeSet<String>,
    /// Entries whose output the checks compare: they are the work.
    pub(in crate::verify::harness) products: &'a BTreeSet<String>,
    pub(in crate::verify::harness) path: &'a Path,
}

/// A manifest with its parts put back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::verify::harness) enum Merged {
    /// Nothing has to be put back.
    Same,
    /// It was not there at the start and does not stay.
    Gone,
    /// Its text.
    Text(String),
}
