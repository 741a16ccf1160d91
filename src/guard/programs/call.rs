//! One program with its words, as it is about to run.

use crate::guard::shell::{ShellOutput, ShellValue};

/// A program that is about to run.
pub(in crate::guard::programs) struct ProgramCall<'w> {
    /// The program's own name, without folders.
    pub(in crate::guard::programs) name: &'w str,
    /// Its words behind the name.
    pub(in crate::guard::programs) words: &'w [ShellValue],
    /// What stands on its standard input.
    pub(in crate::guard::programs) stdin: &'w ShellOutput,
}
