//! What is known while a text is read.

use std::ops::Range;

use super::command::{Flow, ShellCommand, Use};

/// What holds for a command because of what is around it.
#[derive(Clone, Default)]
pub(super) struct Surroundings {
    pub(super) usage: Use,
    pub(super) conditional: bool,
    pub(super) must_fail: bool,
    pub(super) background: bool,
    pub(super) function: Option<String>,
    pub(super) outputs: Vec<String>,
    pub(super) depth: usize,
}

impl Surroundings {
    pub(super) fn fresh(&self, pipeline: usize) -> ShellCommand {
        ShellCommand {
            usage: self.usage,
            conditional: self.conditional,
            must_fail: self.must_fail,
            background: self.background,
            function: self.function.clone(),
            outputs: self.outputs.clone(),
            pipeline,
            ..ShellCommand::default()
        }
    }

    pub(super) fn at_least(&self, usage: Use) -> Self {
        Self { usage: self.usage.max(usage), ..self.clone() }
    }

    /// The text is in a word of this one.
    pub(super) fn inside(&self) -> Self {
        Self { usage: Use::Output, depth: self.depth + 1, ..Self::default() }
    }

    /// A condition's status counts, whatever follows.
    pub(super) fn condition(&self) -> Self {
        let usage = if self.usage == Use::Output { Use::Output } else { Use::Status };
        Self { usage, ..self.branch() }
    }

    /// It may not run.
    pub(super) fn branch(&self) -> Self {
        Self { conditional: true, ..self.clone() }
    }
}

#[derive(Default)]
pub(super) struct Scan {
    pub(super) found: Vec<ShellCommand>,
    pub(super) flow: Flow,
    /// How many pipelines there are.
    pub(super) pipelines: usize,
    /// The pipeline whose output the next command reads.
    pub(super) fed: Option<usize>,
    pub(super) errexit: bool,
}

/// A command that is read, and the commands in its words with the word's place.
pub(super) struct Reading {
    pub(super) command: ShellCommand,
    pub(super) inner: Vec<(Range<usize>, usize, bool)>,
}
