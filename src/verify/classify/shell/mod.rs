//! The simple commands of a shell line or script, and the use of their exit status.
//!
//! The scanner never fails: text that it cannot read gives more commands, not fewer.

mod command;
mod compared;
mod failing;
mod lexer;
mod scanner;

use command::{ComparedElsewhere, Flow};
pub(in crate::verify) use command::{ShellCommand, Use};

/// The simple commands of a line in order, inner ones included.
pub(in crate::verify) fn scan(text: &str) -> Vec<ShellCommand> {
    scan_within(text, &ComparedElsewhere::default()).0
}

/// The same, for a text that another one runs, which may compare what this one prints and writes.
pub(super) fn scan_within(text: &str, elsewhere: &ComparedElsewhere) -> (Vec<ShellCommand>, Flow) {
    let (mut found, mut flow) = scanner::read(text);
    flow.end(found.len(), elsewhere);
    compared::settle(text, &mut found, &flow);
    (found, flow)
}
