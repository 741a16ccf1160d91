//! The tier of a run, from the user's choice and the machine's abilities.
//!
//! Invariant: a named tier is used, or nothing is started. The tests use the real thing: a sandbox
//! with an overlay, and a Landlock ruleset.

use std::fmt;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::failure::Failure;
use super::paths::own_program;
use crate::model::{ExitCode, Sandbox, Tier};
use crate::sandbox::{Programs, can_limit, probe};
use crate::verify::SeenAt;

/// The tier of a run.
pub(super) struct Chosen {
    pub(super) tier: Tier,
    /// The program that starts its sandboxes.
    pub(super) programs: Programs,
    /// Why it is not a better one.
    pub(super) missing: Option<Missing>,
}

/// The reason why there is no better tier.
#[derive(Clone, Debug)]
pub(super) struct Missing {
    pub(super) why: String,
    pub(super) hint: &'static str,
}

/// Where commands of a tier see the tree of a proof room.
pub(super) fn seen_at(tier: Tier) -> SeenAt {
    match tier {
        Tier::Full => SeenAt::OwnPath,
        Tier::Partial | Tier::Off => SeenAt::ItsPlace,
    }
}

/// Tests which tiers this machine supports. `root` is the working tree.
pub(super) fn choose(asked: Sandbox, root: &Path) -> Result<Chosen, Failure> {
    let programs = Programs { bubblewrap: bubblewrap(), ours: own_program()? };
    let full = || full(&programs, root);
    let (tier, missing) = match asked {
        Sandbox::Off => (Tier::Off, None),
        Sandbox::Full => match full() {
            Ok(()) => (Tier::Full, None),
            Err(missing) => return Err(missing.failure(asked)),
        },
        Sandbox::Partial => match partial() {
            Ok(()) => (Tier::Partial, None),
            Err(missing) => return Err(missing.failure(asked)),
        },
        Sandbox::Auto | Sandbox::Required => match (full(), partial()) {
            (Ok(()), _) => (Tier::Full, None),
            (Err(missing), Ok(())) => (Tier::Partial, Some(missing)),
            (Err(missing), Err(_)) if asked == Sandbox::Required => {
                return Err(missing.failure(asked));
            }
            (Err(missing), Err(_)) => (Tier::Off, Some(missing)),
        },
    };
    Ok(Chosen { tier, programs, missing })
}

/// The program that creates namespaces, or just its name if it is not installed.
fn bubblewrap() -> PathBuf {
    which::which("bwrap").unwrap_or_else(|_| "bwrap".into())
}

/// The requirements of `full` that this machine lacks.
fn full(programs: &Programs, root: &Path) -> Result<(), Missing> {
    if !cfg!(target_os = "linux") {
        let hint = "`--sandbox=partial` is the best tier of this system";
        return Err(Missing { why: "only Linux has namespaces".to_owned(), hint });
    }
    if !programs.bubblewrap.is_absolute() {
        let hint = "install it: apt install bubblewrap, dnf install bubblewrap, apk add bubblewrap";
        return Err(Missing { why: "bubblewrap is not installed".to_owned(), hint });
    }
    let owner = std::fs::metadata(root).map_or(0, |found| found.uid());
    if rustix::process::geteuid().is_root() && owner != 0 {
        let why = format!("root cannot write another user's files in a namespace (user {owner})");
        return Err(Missing { why, hint: "run as the user who owns the repository" });
    }
    home_to_show(etcetera::home_dir().ok().as_deref())?;
    let tried = tempfile::tempdir().map_err(|error| error.to_string());
    let tried =
        tried.and_then(|folder| probe(programs, folder.path()).map_err(|error| error.to_string()));
    tried.map_err(|why| Missing {
        why,
        hint: "allow unprivileged user namespaces: ralph-copilot's docs/security.md says how, for \
               Docker and Ubuntu too",
    })
}

/// Folders of the system. HOME is one where a container or a service sets it carelessly.
const SYSTEM: [&str; 12] = [
    "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib64", "/proc", "/run", "/sys", "/usr",
    "/var",
];

/// A sandbox shows a part of HOME, which has to be a folder of the user's own.
fn home_to_show(home: Option<&Path>) -> Result<(), Missing> {
    let Some(home) = home else { return Ok(()) };
    let real = home.canonicalize().unwrap_or_else(|_| home.to_owned());
    let of_kernel = ["/dev", "/proc", "/sys"].iter().any(|folder| real.starts_with(folder));
    let of_system = of_kernel || SYSTEM.iter().any(|folder| real == Path::new(folder));
    if real.parent().is_some() && real.is_dir() && !of_system {
        return Ok(());
    }
    let why = format!("HOME is {}, which is no folder of a user's own", home.display());
    Err(Missing { why, hint: "set HOME to a folder that is there and is not `/`" })
}

/// The requirements of `partial` that this machine lacks.
fn partial() -> Result<(), Missing> {
    can_limit().map_err(|error| Missing {
        why: error.to_string(),
        hint: if cfg!(target_os = "macos") {
            "macOS has `sandbox-exec`, unless this process is in a sandbox already"
        } else {
            "Linux 5.13 or later has Landlock, if it is not disabled at boot (`lsm=`)"
        },
    })
}

impl Missing {
    fn failure(&self, asked: Sandbox) -> Failure {
        Failure::new(ExitCode::Invalid, format!("no --sandbox={asked}: {}", self.why))
            .hint(self.hint)
            .hint("use --sandbox=auto for the best sandbox of this machine")
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not full: {}; {}", self.why, self.hint)
    }
}

impl Chosen {
    /// The kernel's limits.
    pub(super) fn headline(&self) -> &'static str {
        match self.tier {
            Tier::Full => "full (files, network and processes)",
            Tier::Partial if cfg!(target_os = "macos") => {
                "partial (writes, reads of HOME, connections beyond the loopback, signals)"
            }
            Tier::Partial => "partial (writes, reads of HOME, TCP ports below 1024, signals)",
            Tier::Off => "off: only the guard decides what the agent may do",
        }
    }

    /// The notice about it, for people.
    pub(super) fn notice(&self) -> String {
        let missing = self.missing.as_ref().map(|missing| format!("; {missing}"));
        format!("sandbox: {}{}", self.headline(), missing.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_home_that_cannot_be_shown_is_missing() {
        let there = tempfile::tempdir().expect("a folder");
        assert!(home_to_show(Some(there.path())).is_ok());
        assert!(home_to_show(None).is_ok());
        let missing = there.path().join("missing");
        let systems = ["/", "/dev", "/proc", "/proc/1", "/usr", "/usr/../usr", "/dev/null"];
        for home in systems.map(Path::new).into_iter().chain([&*missing]) {
            let missing = home_to_show(Some(home)).expect_err("no home");
            assert!(missing.why.contains(&home.display().to_string()), "{}", missing.why);
        }
    }
}
