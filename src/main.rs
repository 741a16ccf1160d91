//! Parse, run, exit.

use std::process::ExitCode;

fn main() -> ExitCode {
    ralph_copilot::cli::main()
}
