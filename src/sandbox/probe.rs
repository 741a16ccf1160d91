//! Which sandbox this machine can make: tried, not guessed from versions.

use std::path::Path;
use std::process::{Command, Stdio};

use super::enter::around;
use super::home::{Secrets, prepare};
use super::network::Network;
use super::profile::{Bind, Overlay, Profile, Walls};
use super::programs::Programs;
use super::room::SandboxError;
use crate::sys::remove_tree;

/// The number of bytes of a failure's output that are repeated.
const SAID: usize = 400;

/// Starts a program that does nothing in a sandbox like a session's, with its overlay below
/// `folder`, and waits for it.
///
/// # Errors
/// If the kernel, the container around us or bubblewrap refuses something that a sandbox needs.
pub fn probe(programs: &Programs, folder: &Path) -> Result<(), SandboxError> {
    let failed = |source| SandboxError::Prepare { path: folder.to_owned(), source };
    // bubblewrap finds its own processes there.
    if std::fs::read_link("/proc/self").ok() != Some(std::process::id().to_string().into()) {
        let said = "/proc counts the processes of another namespace".to_owned();
        return Err(SandboxError::NotStarted { said });
    }
    let lower = folder.join("probe");
    let overlay = Overlay {
        upper: lower.join("upper"),
        work: lower.join("work"),
        merged: lower.join("merged"),
        lower: lower.join("lower"),
    };
    std::fs::create_dir_all(&overlay.lower).map_err(failed)?;
    let secrets = Secrets { is_secret: &|_| false, scrub: &str::to_owned };
    prepare(&overlay, &Default::default(), &secrets).map_err(failed)?;
    let (at, work) = (overlay.lower.clone(), overlay.work.clone());
    let profile = Profile {
        mounts: vec![Bind::Writable { from: overlay.merged.clone(), at }],
        home: Some(overlay),
        network: Network::Own,
        ports: Vec::new(),
        watched: Vec::new(),
    };
    let words = around(programs, &Walls::Namespaces(profile), Path::new("/"), ["true".into()])
        .map_err(failed)?;
    let mut command = Command::new(&programs.ours);
    command.args(words).stdin(Stdio::null());
    let output = command.output().map_err(failed)?;
    // The kernel leaves folders that cannot be entered.
    remove_tree(&work).map_err(failed)?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let from = said.floor_char_boundary(said.len().saturating_sub(SAID));
    Err(SandboxError::NotStarted { said: said[from..].trim().to_owned() })
}
