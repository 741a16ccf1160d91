//! The known state of the shell at one point of a line.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;

use super::ast::{Piece, Word};
use super::value::Arg;

/// Where the shell is, and the variables of loops.
#[derive(Clone, Debug)]
pub(in crate::guard) struct Place {
    /// The folders that it may be in; none: it cannot be told, which only a sandbox allows.
    pub(in crate::guard) folders: Vec<PathBuf>,
    pub(in crate::guard) variables: HashMap<String, Arg>,
    /// Those of them that a loop sets.
    pub(in crate::guard) loops: BTreeSet<String>,
    /// It must not change its folder here: the rest of the line would not know.
    pub(in crate::guard) fixed: bool,
    /// This command runs exactly once, so that a variable it sets is known from here on.
    pub(in crate::guard) straight: bool,
    /// Another command reads its output, and may end first: writing to it ends this one then.
    pub(in crate::guard) read: bool,
}

impl Place {
    pub(in crate::guard) fn new(folder: PathBuf) -> Self {
        Self {
            folders: vec![folder],
            variables: HashMap::new(),
            loops: BTreeSet::new(),
            fixed: false,
            straight: false,
            read: false,
        }
    }

    /// Does a loop set a part of this word?
    pub(super) fn varies(&self, word: &Word) -> bool {
        let of_loop = |piece: &Piece| matches!(piece, Piece::Variable { name, .. } if self.loops.contains(name));
        word.pieces.iter().any(of_loop)
    }

    /// Is this the value of a loop's variable?
    pub(super) fn loops_over(&self, arg: &Arg) -> bool {
        self.loops.iter().any(|name| self.variables.get(name) == Some(arg))
    }

    /// The same in a part that runs once, several times, or not at all.
    pub(in crate::guard) fn inner(&self) -> Self {
        Self { fixed: true, straight: false, ..self.clone() }
    }
}
