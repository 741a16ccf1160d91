//! One command in its own sandbox, which is awaited here.
//!
//! Invariant: when the command has ended, nothing of it is alive.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;

use super::room::{Room, SandboxError};
use super::server::{EXITED, KILLED};
use super::wire::receive;

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandEnd {
    /// With this exit code.
    Exited(i32),
    /// By this signal.
    Killed(i32),
    /// It was not started, for this reason.
    Refused(String),
}

impl Room {
    /// Runs `command` with `sh` in `cwd`, and waits for its end. `output` gets its output.
    ///
    /// # Errors
    /// If there is no sandbox, or it ended before the command did.
    pub fn run_alone(
        &self,
        cwd: &Path,
        command: &OsStr,
        environment: &[OsString],
        output: OwnedFd,
    ) -> Result<CommandEnd, SandboxError> {
        let ended = |_: io::Error| SandboxError::Ended;
        let (here, there) = UnixStream::pair().map_err(ended)?;
        let input = File::open("/dev/null").map_err(ended)?;
        let fds = [there.as_fd(), input.as_fd(), output.as_fd(), output.as_fd()];
        self.run_sh(cwd.as_os_str(), command, environment, fds)?;
        // A copy of the other end kept here would hide that the sandbox is gone.
        drop((there, output));
        let frame = receive(&here).map_err(ended)?.ok_or(SandboxError::Ended)?;
        let number = || frame.text(1).parse().unwrap_or(-1);
        Ok(match frame.text(0) {
            EXITED => CommandEnd::Exited(number()),
            KILLED => CommandEnd::Killed(number()),
            _ => CommandEnd::Refused(frame.text(1).to_owned()),
        })
    }
}
