//! How far an allowed command reaches: its first words, or all of them.

/// Whether so many words of a rule can be those of a command.
pub(super) fn fits(rule: usize, command: usize, exactly: bool) -> bool {
    rule == command || rule < command && !exactly
}
