//! Whether a tool call may run: pure, with a rule and a reason.
