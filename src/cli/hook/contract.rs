//! The contracts of a hook: how it answers and how it refuses.

use crate::hooks::blocked;

/// By whose contract a call is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Contract {
    /// The wrapper's: where a stack of hooks is asked there is an object, `{}` for no decision.
    Wrapper,
    /// The adapter's: a call that may run is answered with nothing.
    Adapter,
}

pub(super) fn refuse(why: &str) -> String {
    blocked(&format!("{why}. Nothing ran."))
}
