//! `sandbox`: the processes that make up a session's sandbox. Only the runner starts them.

use std::io;
use std::os::fd::AsFd as _;
use std::path::Path;

use super::args::{SandboxArgs, SandboxPart};
use super::print::complain;
use crate::sandbox;

/// The exit code where a program was not started, as `env` and `timeout` have it.
const NOT_STARTED: u8 = 125;

/// Runs one part.
pub(super) fn run(args: &SandboxArgs) -> u8 {
    let failed = match &args.part {
        SandboxPart::Enter { plan, command } => {
            let (input, output) = (io::stdin(), io::stdout());
            let error = sandbox::enter(plan, command, [input.as_fd(), output.as_fd()]);
            format!("cannot enter the sandbox: {error}")
        }
        SandboxPart::Become { ours, input, output, command } => {
            let error = sandbox::become_command([*ours, *input, *output], command);
            format!("cannot start the agent in its sandbox: {error}")
        }
        SandboxPart::Serve => match sandbox::serve() {
            Ok(()) => return 0,
            Err(error) => format!("the sandbox cannot serve: {error}"),
        },
        SandboxPart::Call { socket, id } => {
            let (input, output, errors) = (io::stdin(), io::stdout(), io::stderr());
            match sandbox::call(socket, id, [input.as_fd(), output.as_fd(), errors.as_fd()]) {
                Ok(code) => return code,
                Err(error) => format!("the command was not run: {error}"),
            }
        }
    };
    complain(&format!("ralph-copilot: {failed}"));
    NOT_STARTED
}

/// The words of a call's client, without the call's id.
pub(super) fn client(program: &Path, socket: &Path) -> [String; 4] {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    [text(program), "sandbox".to_owned(), "call".to_owned(), text(socket)]
}
