//! The process that becomes bubblewrap: it mounts HOME's overlay in a user namespace of its own,
//! which bubblewrap 0.8 cannot, and then gives way.
//!
//! Invariant: it fails before anything is started rather than start without the overlay.

use std::ffi::OsString;
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::process::{getgid, getuid};
use rustix::thread::UnshareFlags;
use serde::{Deserialize, Serialize};

use super::landlock::{Limits, limit};
use super::profile::{Overlay, Walls};
use super::room::Programs;

/// What this process is told to do, on its command line as JSON.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Plan {
    /// What is mounted before.
    pub(super) overlays: Vec<Overlay>,
    /// What this process puts on itself before.
    pub(super) limits: Option<Limits>,
    /// bubblewrap with its arguments, up to the program that it starts.
    pub(super) bubblewrap: Vec<OsString>,
    /// The arguments with which our own program serves inside.
    pub(super) serve: Vec<OsString>,
}

impl Plan {
    pub(super) fn new(programs: &Programs, walls: &Walls, cwd: &Path) -> Self {
        let (bubblewrap, limits) = match walls {
            Walls::Namespaces(profile) => {
                let program = programs.bubblewrap.clone().into_os_string();
                let words = std::iter::once(program).chain(profile.words(cwd)).collect();
                (words, None)
            }
            Walls::Landlock(limits) => (Vec::new(), Some(limits.clone())),
        };
        let overlays = walls.home().into_iter().cloned().collect();
        Self { overlays, limits, bubblewrap, serve: programs.serve.clone() }
    }

    /// What [`enter`] takes.
    pub(super) fn json(&self) -> io::Result<String> {
        Ok(serde_json::to_string(self)?)
    }
}

/// The arguments with which our own program starts `command` in `cwd` behind these walls.
///
/// # Errors
/// If a path among them is no UTF-8.
pub fn around(
    programs: &Programs,
    walls: &Walls,
    cwd: &Path,
    command: impl IntoIterator<Item = OsString>,
) -> io::Result<Vec<OsString>> {
    let plan = Plan::new(programs, walls, cwd).json()?;
    let words = programs.enter.iter().cloned().chain([plan.into(), "--".into()]);
    Ok(words.chain(command).collect())
}

/// Enters the sandbox of a plan and becomes `command` there, or a server if it is empty; returns
/// only if that fails.
pub fn enter(plan: &str, command: &[OsString]) -> io::Error {
    let plan: Plan = match serde_json::from_str(plan) {
        Ok(plan) => plan,
        Err(error) => return error.into(),
    };
    match prepare(&plan, command) {
        Ok(words) => match words.split_first() {
            Some((program, words)) => Command::new(program).args(words).exec(),
            None => io::ErrorKind::InvalidInput.into(),
        },
        Err(error) => error,
    }
}

fn prepare(plan: &Plan, command: &[OsString]) -> io::Result<Vec<OsString>> {
    if !plan.overlays.is_empty() {
        own_namespace()?;
    }
    for overlay in &plan.overlays {
        let options = format!(
            "lowerdir={},upperdir={},workdir={},userxattr,volatile",
            escaped(&overlay.lower)?,
            escaped(&overlay.upper)?,
            escaped(&overlay.work)?
        );
        let options = std::ffi::CString::new(options)?;
        let flags = MountFlags::NODEV | MountFlags::NOSUID;
        mount("overlay", &overlay.merged, "overlay", flags, options.as_c_str())?;
    }
    let mut words = plan.bubblewrap.clone();
    if !words.is_empty() {
        words.push("--".into());
    }
    match command {
        [_, ..] => words.extend(command.iter().cloned()),
        [] => {
            // Our own program may lie where the sandbox shows nothing. It is not closed at the
            // start of bubblewrap, and is found there by its number.
            let program = rustix::fs::open(
                std::env::current_exe()?,
                rustix::fs::OFlags::RDONLY,
                rustix::fs::Mode::empty(),
            )?;
            words.push(format!("/proc/self/fd/{}", program.as_raw_fd()).into());
            words.extend(plan.serve.iter().cloned());
            std::mem::forget(program);
        }
    }
    if let Some(limits) = &plan.limits {
        limit(limits).map_err(io::Error::other)?;
    }
    Ok(words)
}

/// A comma ends an option, and a colon a folder.
fn escaped(path: &std::path::Path) -> io::Result<String> {
    let text = path.to_str().ok_or(io::ErrorKind::InvalidInput)?;
    Ok(text.replace('\\', "\\\\").replace(',', "\\,").replace(':', "\\:"))
}

/// A user and a mount namespace in which this user is who they were.
fn own_namespace() -> io::Result<()> {
    let (user, group) = (getuid().as_raw(), getgid().as_raw());
    #[expect(unsafe_code, reason = "no file descriptor table is unshared")]
    // SAFETY: only namespaces are unshared, and this process has one thread.
    unsafe {
        rustix::thread::unshare_unsafe(UnshareFlags::NEWUSER | UnshareFlags::NEWNS)?;
    }
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    std::fs::write("/proc/self/gid_map", format!("{group} {group} 1"))?;
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private)?;
    Ok(())
}
