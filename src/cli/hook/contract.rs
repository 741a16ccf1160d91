//! The forms of a hook's answer and of its refusal.

use crate::hooks::blocked;

/// The contract by which a call is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Contract {
    /// The wrapper's: if a stack of hooks is asked, an object; `{}` is no decision.
    Wrapper,
    /// The adapter's: empty output lets a call run.
    Adapter,
}

pub(super) fn refuse(why: &str) -> String {
    blocked(&format!("{why}. Nothing ran."))
}
