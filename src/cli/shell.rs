//! `completions` and `man`.

use super::args::Cli;
use super::failure::Failure;
use super::print::say_as_is;
use crate::model::ExitCode;
use clap::CommandFactory as _;
use clap_complete::{Shell, generate};

/// Prints a completion script.
pub(super) fn completions(shell: Shell) -> u8 {
    let mut script = Vec::new();
    generate(shell, &mut Cli::command(), "ralph-copilot", &mut script);
    say_as_is(String::from_utf8_lossy(&script).trim_end());
    0
}

/// Prints the manual page.
pub(super) fn man() -> Result<u8, Failure> {
    let mut page = Vec::new();
    let rendered = clap_mangen::Man::new(Cli::command()).render(&mut page);
    rendered.map_err(|error| Failure::new(ExitCode::Internal, error))?;
    say_as_is(String::from_utf8_lossy(&page).trim_end());
    Ok(0)
}
