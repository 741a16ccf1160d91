//! Starting children.

use std::io;

use tokio::process::{Child, Command};

use super::{children, system};
use crate::sys::error::SysError;

/// Starts a child; its orphans are reparented to this process.
fn spawn(command: &mut Command) -> io::Result<Child> {
    system::adopt_orphans();
    children::spawn(command)
}

/// Starts a child in this process's session and group, as a shell does, so that it has our
/// terminal. The caller marks it, waits for it and sweeps up after it.
///
/// # Errors
/// If the program cannot be started.
pub fn spawn_beside(command: &mut Command) -> Result<Child, SysError> {
    spawn(command).map_err(|source| {
        let program = command.as_std().get_program().to_string_lossy().into_owned();
        SysError::Spawn { program, source }
    })
}

/// Starts a child that is to outlive this process: in its own session, without the mark of a run
/// and with an empty environment.
pub(in crate::sys) fn spawn_apart(command: &mut Command) -> io::Result<Child> {
    command.env_clear().current_dir("/");
    // SAFETY: the closure makes one system call; it neither allocates nor takes a lock.
    #[expect(unsafe_code, reason = "there is no safe way to run code between fork and exec")]
    unsafe {
        command.pre_exec(|| Ok(rustix::process::setsid().map(drop)?));
    }
    spawn(command)
}

/// Unregisters a reaped child of [`spawn_apart`].
pub(in crate::sys) fn ended_apart(pid: u32) {
    children::ended(pid);
}

/// Gives the child its own session and so its own process group: signals of the terminal do not
/// reach it, and a password prompt fails instead of waiting.
#[expect(unsafe_code, reason = "there is no safe way to run code between fork and exec")]
pub(super) fn detach(command: &mut Command) {
    #[cfg(target_os = "linux")]
    let parent = rustix::process::getpid();
    let prepare = move || {
        rustix::process::setsid()?;
        #[cfg(target_os = "linux")]
        {
            rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
            // A parent that died before the line above sends no signal.
            if rustix::process::getppid() != Some(parent) {
                return Err(rustix::io::Errno::SRCH.into());
            }
        }
        Ok(())
    };
    // SAFETY: the closure makes system calls only; it neither allocates nor takes a lock.
    unsafe {
        command.pre_exec(prepare);
    }
}
