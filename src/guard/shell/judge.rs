//! The state of one walk over a line: what the call is known to do so far, and how deep and
//! how long the walk may still go.

use crate::guard::call_context::{CallContext, Noted};
use crate::guard::denial::Denial;
use crate::guard::explain::ExplainedParts;

/// One line under judgement.
///
/// Programs ask `cx` about paths and files; the rest is the walk's own.
pub(in crate::guard) struct Judge<'a> {
    pub(in crate::guard) cx: CallContext<'a>,
    /// The parts looked at, if anyone wants to know.
    pub(super) parts: ExplainedParts,
    /// Lines that traps run.
    traps: Vec<String>,
    /// Functions of the line that are being walked.
    pub(super) active: Vec<String>,
    /// Bytes that may still be parsed.
    bytes: usize,
    /// Bytes that values of variables may still put into words: each use of a variable
    /// copies it, so a few lines such as `a=$a$a` would fill the memory.
    expanded: usize,
    /// How deep in functions, substitutions and nested shells the walk is.
    depth: usize,
}

/// How deep functions, substitutions and nested shells may go.
const MOST_DEPTH: usize = 24;

impl<'a> Judge<'a> {
    pub(super) fn new(cx: CallContext<'a>, parts: ExplainedParts) -> Self {
        Self {
            cx,
            parts,
            traps: Vec::new(),
            active: Vec::new(),
            bytes: 2 * 1024 * 1024,
            expanded: 2 * 1024 * 1024,
            depth: 0,
        }
    }

    /// What the line comes to.
    pub(super) fn noted(self) -> Noted {
        self.cx.noted()
    }

    /// Takes from the bytes that may still be parsed.
    pub(super) fn spend_bytes(&mut self, bytes: usize) -> Result<(), Denial> {
        self.bytes = self
            .bytes
            .checked_sub(bytes)
            .ok_or_else(|| Denial::new("shell.too-long", "the line is too long to check"))?;
        Ok(())
    }

    /// Takes from the bytes that values of variables may still fill.
    pub(super) fn spend_expanded(&mut self, bytes: usize) -> Result<(), Denial> {
        self.expanded = self.expanded.checked_sub(bytes).ok_or_else(|| {
            Denial::new("shell.too-long", "its variables grow too long")
                .instead("split it into several calls")
        })?;
        Ok(())
    }

    /// Does `work` one level deeper.
    pub(in crate::guard) fn deeper<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, Denial>,
    ) -> Result<T, Denial> {
        if self.depth >= MOST_DEPTH {
            return Err(Denial::new("shell.too-long", "the line is nested too deeply"));
        }
        self.depth += 1;
        let result = work(self);
        self.depth -= 1;
        result
    }

    /// Notes a line that a trap runs some time later.
    pub(in crate::guard) fn set_trap(&mut self, line: String) {
        self.traps.push(line);
    }

    /// The lines that traps run, taken out.
    pub(super) fn take_traps(&mut self) -> Vec<String> {
        std::mem::take(&mut self.traps)
    }
}
