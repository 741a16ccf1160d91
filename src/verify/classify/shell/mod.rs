//! The simple commands of a shell line or script, and the use of their exit status.
//!
//! The scanner never fails: text that it cannot read gives more commands, not fewer.

mod command;
mod compared;
mod failing;
mod lexer;
mod scanner;

pub(in crate::verify) use command::{ShellCommand, Use};

/// The simple commands of a line in order, inner ones included.
pub(in crate::verify) fn scan(text: &str) -> Vec<ShellCommand> {
    let (mut found, flow) = scanner::read(text);
    compared::settle(&mut found, &flow);
    found
}
