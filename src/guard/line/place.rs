//! The known state of the shell at one point of a line.

use std::collections::HashMap;
use std::path::PathBuf;

use super::value::Arg;

/// Where the shell is, and the variables of loops.
#[derive(Clone, Debug)]
pub(in crate::guard) struct Place {
    /// The folders that it may be in; none: it cannot be told, which only a sandbox allows.
    pub(in crate::guard) folders: Vec<PathBuf>,
    pub(in crate::guard) variables: HashMap<String, Arg>,
    /// It must not change its folder here: the rest of the line would not know.
    pub(in crate::guard) fixed: bool,
    /// This command runs exactly once, so that a variable it sets is known from here on.
    pub(in crate::guard) straight: bool,
}

impl Place {
    pub(in crate::guard) fn new(folder: PathBuf) -> Self {
        Self { folders: vec![folder], variables: HashMap::new(), fixed: false, straight: false }
    }

    /// The same, as it is at this point, in a part that runs once, several times, or not at all.
    pub(in crate::guard) fn inner(&self) -> Self {
        Self { fixed: true, straight: false, ..self.clone() }
    }
}
