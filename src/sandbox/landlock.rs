//! Limits that a process puts on itself and its descendants with Landlock, and on macOS with
//! Seatbelt. They cannot be undone.
//!
//! Invariant: either the kernel enforces the writes or the caller gets an error. Reads, TCP and
//! signals are enforced by kernels that can.

use std::io;
use std::process::Command;

use super::limits::LandlockRules;

/// This process cannot be limited.
#[derive(Debug, thiserror::Error)]
pub enum LandlockError {
    /// The kernel has no Landlock, or it is disabled; or Seatbelt refuses.
    #[error("this system cannot limit what commands do: {why}")]
    Unsupported {
        /// The missing part.
        why: String,
    },
}

/// Checks that this system can put such limits on programs.
///
/// # Errors
/// If it cannot.
pub fn can_limit() -> Result<(), LandlockError> {
    rules::supported()
}

/// The program that runs with the limits. If they are set on this process, which becomes the
/// program, it is the same one, and root drops all capabilities except for changing files.
///
/// # Errors
/// If the kernel does not enforce the writes; then nothing is limited.
pub(super) fn limited(program: Command, limits: &LandlockRules) -> io::Result<Command> {
    rules::limited(program, limits)
}

#[cfg(target_os = "linux")]
mod rules {
    use std::io;
    use std::process::Command;

    use landlock::{
        ABI, Access as _, AccessFs, AccessNet, CompatLevel, Compatible as _, NetPort, Ruleset,
        RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetError, RulesetStatus,
        Scope, path_beneath_rules,
    };

    use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

    use crate::sandbox::landlock::LandlockError;
    use crate::sandbox::limits::LandlockRules;
    use crate::sandbox::network::Network;
    use crate::sandbox::seccomp;

    /// Supported by every kernel with Landlock.
    const LEAST: ABI = ABI::V1;
    /// Requested where supported: renames between folders, truncation.
    const MOST: ABI = ABI::V3;
    /// The first port that servers of tests listen on.
    const UNPRIVILEGED: u16 = 1024;

    /// Devices that hold nothing.
    const DEVICES: [&str; 8] = [
        "/dev/null",
        "/dev/zero",
        "/dev/full",
        "/dev/random",
        "/dev/urandom",
        "/dev/tty",
        "/dev/ptmx",
        "/dev/pts",
    ];
    /// The remaining capabilities of root: changing the files of others, where the limits allow it.
    const KEPT: CapabilitySet =
        CapabilitySet::CHOWN.union(CapabilitySet::DAC_OVERRIDE).union(CapabilitySet::FOWNER);

    fn refused(error: &RulesetError) -> LandlockError {
        LandlockError::Unsupported { why: error.to_string() }
    }

    /// The part that must be enforced.
    fn least() -> Result<Ruleset, RulesetError> {
        Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_write(LEAST))
            .map(|rules| rules.set_compatibility(CompatLevel::BestEffort))
    }

    pub(super) fn supported() -> Result<(), LandlockError> {
        least().and_then(Ruleset::create).map(drop).map_err(|error| refused(&error))
    }

    fn created(limits: &LandlockRules) -> Result<RulesetCreated, RulesetError> {
        let mut rules = least()?.handle_access(AccessFs::from_write(MOST))?;
        if limits.readable.is_some() {
            rules = rules.handle_access(AccessFs::from_read(MOST))?;
        }
        if limits.network == Network::Own {
            rules = rules.handle_access(AccessNet::ConnectTcp)?;
        }
        if !limits.signals {
            rules = rules.scope(Scope::from_all(ABI::V6))?;
        }
        rules.create()
    }

    pub(super) fn limited(program: Command, limits: &LandlockRules) -> io::Result<Command> {
        enforce(limits).map_err(io::Error::other)?;
        drop_capabilities()?;
        seccomp::enforce()?;
        Ok(program)
    }

    fn enforce(limits: &LandlockRules) -> Result<(), LandlockError> {
        let status = restricted(limits).map_err(|error| refused(&error))?;
        match status {
            RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Ok(()),
            RulesetStatus::NotEnforced => {
                Err(LandlockError::Unsupported { why: "nothing is enforced".to_owned() })
            }
        }
    }

    fn restricted(limits: &LandlockRules) -> Result<RulesetStatus, RulesetError> {
        // Rights that are not handled cannot be given.
        let read = match limits.readable {
            Some(_) => AccessFs::from_read(MOST),
            None => Default::default(),
        };
        let devices = AccessFs::WriteFile | AccessFs::Truncate | read;
        let list = read & AccessFs::ReadDir;
        let mut rules = created(limits)?
            .add_rules(path_beneath_rules(&limits.writable, AccessFs::from_write(MOST) | read))?
            .add_rules(path_beneath_rules(DEVICES, devices))?
            .add_rules(path_beneath_rules((!list.is_empty()).then_some("/dev"), list))?;
        if let Some(readable) = &limits.readable {
            rules = rules.add_rules(path_beneath_rules(readable, read))?;
        }
        if limits.network == Network::Own {
            let ports = limits.ports.iter().copied().chain(UNPRIVILEGED..=u16::MAX);
            rules =
                rules.add_rules(ports.map(|port| {
                    Ok::<_, RulesetError>(NetPort::new(port, AccessNet::ConnectTcp))
                }))?;
        }
        Ok(rules.restrict_self()?.ruleset)
    }

    /// Gives up root's other rights: to mount, to load modules, to set the clock. Without new
    /// privileges, which Landlock rules out, a program that is started does not regain them.
    fn drop_capabilities() -> io::Result<()> {
        let had = capabilities(None)?;
        let kept = CapabilitySets {
            effective: had.effective & KEPT,
            permitted: had.permitted & KEPT,
            inheritable: had.inheritable & KEPT,
        };
        Ok(set_capabilities(None, kept)?)
    }
}

#[cfg(not(target_os = "linux"))]
mod rules {
    use std::io;
    use std::path::PathBuf;
    use std::process::{Command, Stdio};

    use crate::sandbox::landlock::LandlockError;
    use crate::sandbox::limits::LandlockRules;
    use crate::sandbox::seatbelt::profile;

    /// The program of macOS that starts another one behind a profile.
    const SANDBOX_EXEC: &str = "/usr/bin/sandbox-exec";

    /// Starts a program that does nothing behind limits like a session's.
    pub(super) fn supported() -> Result<(), LandlockError> {
        let limits = LandlockRules { readable: Some(vec!["/".into()]), ..LandlockRules::default() };
        let tried = limited(Command::new("/usr/bin/true"), &limits);
        let tried = tried.and_then(|mut program| program.stdin(Stdio::null()).output());
        let why = match tried {
            Ok(done) if done.status.success() => return Ok(()),
            Ok(done) => String::from_utf8_lossy(&done.stderr).trim().to_owned(),
            Err(error) => error.to_string(),
        };
        Err(LandlockError::Unsupported { why: format!("{SANDBOX_EXEC}: {why}") })
    }

    pub(super) fn limited(program: Command, limits: &LandlockRules) -> io::Result<Command> {
        let mut outer = Command::new(SANDBOX_EXEC);
        outer.arg("-p").arg(profile(&real(limits)));
        outer.arg(program.get_program()).args(program.get_args());
        Ok(outer)
    }

    /// The same limits with the links in their paths followed; missing paths are left out.
    fn real(limits: &LandlockRules) -> LandlockRules {
        let real =
            |paths: &[PathBuf]| paths.iter().filter_map(|path| path.canonicalize().ok()).collect();
        LandlockRules {
            writable: real(&limits.writable),
            readable: limits.readable.as_deref().map(real),
            ..limits.clone()
        }
    }
}
