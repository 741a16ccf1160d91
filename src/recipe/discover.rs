//! Where the runner is looked for, in the order in which that is done.
//!
//! Invariant: pure over what the machine offers; the first place that has a runner wins,
//! and a variable that leads nowhere is passed over as if it were not set.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The runner's name.
pub(super) const BINARY: &str = "recipe-runner-rs";

/// Names the runner, as a path or as a name on the PATH.
pub(super) const PATH_VARIABLE: &str = "RECIPE_RUNNER_RS_PATH";

/// Which rule found a runner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiscoveryRule {
    /// `RECIPE_RUNNER_RS_PATH`.
    Variable,
    /// The PATH.
    Path,
    /// `~/.cargo/bin`.
    Cargo,
    /// `~/.local/bin`.
    Local,
}

impl DiscoveryRule {
    /// The rules, in their order.
    const ALL: [Self; 4] = [Self::Variable, Self::Path, Self::Cargo, Self::Local];

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Variable => PATH_VARIABLE,
            Self::Path => "PATH",
            Self::Cargo => "~/.cargo/bin",
            Self::Local => "~/.local/bin",
        }
    }
}

/// What the machine offers, handed in so that it can be tested.
pub(super) struct RunnerLookup<'a> {
    /// The value of [`PATH_VARIABLE`].
    pub(super) named: Option<OsString>,
    /// The user's home.
    pub(super) home: Option<PathBuf>,
    /// A program's name or path → its absolute path, if it can be run.
    pub(super) which: &'a dyn Fn(&Path) -> Option<PathBuf>,
}

/// A runner that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundRunner {
    /// The binary, absolute.
    pub path: PathBuf,
    /// By which rule.
    pub rule: DiscoveryRule,
}

/// What one rule came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunnerCandidate {
    /// The rule.
    pub rule: DiscoveryRule,
    /// What was looked for; none where there was nothing to look for.
    pub wanted: Option<PathBuf>,
    /// What is there.
    pub found: Option<PathBuf>,
}

/// Looks everywhere, in order.
pub(super) fn discover(lookup: &RunnerLookup<'_>) -> Vec<RunnerCandidate> {
    let below_home = |folder: &str| lookup.home.as_ref().map(|home| home.join(folder).join(BINARY));
    let look = |rule| {
        let wanted = match rule {
            DiscoveryRule::Variable => {
                lookup.named.clone().filter(|named| !named.is_empty()).map(PathBuf::from)
            }
            DiscoveryRule::Path => Some(PathBuf::from(BINARY)),
            DiscoveryRule::Cargo => below_home(".cargo/bin"),
            DiscoveryRule::Local => below_home(".local/bin"),
        };
        let found = wanted.as_deref().and_then(lookup.which);
        RunnerCandidate { rule, wanted, found }
    };
    DiscoveryRule::ALL.map(look).into()
}

impl FoundRunner {
    /// The first of the places that has a runner.
    pub fn first(looked: &[RunnerCandidate]) -> Option<Self> {
        let found = |it: &RunnerCandidate| Some(Self { path: it.found.clone()?, rule: it.rule });
        looked.iter().find_map(found)
    }
}

impl RunnerCandidate {
    /// The place, for people.
    pub fn describe(&self) -> String {
        match (&self.wanted, self.rule) {
            (None, DiscoveryRule::Variable) => format!("{PATH_VARIABLE} (not set)"),
            (Some(wanted), DiscoveryRule::Variable) => {
                format!("{PATH_VARIABLE}={}", wanted.display())
            }
            (Some(wanted), DiscoveryRule::Path) => format!("{} on the PATH", wanted.display()),
            (Some(wanted), DiscoveryRule::Cargo | DiscoveryRule::Local) => {
                wanted.display().to_string()
            }
            (None, DiscoveryRule::Path | DiscoveryRule::Cargo | DiscoveryRule::Local) => {
                format!("{} (no home)", self.rule.name())
            }
        }
    }
}

/// Whether anybody on the machine may replace a file with these permission bits.
pub(super) fn is_world_writable(mode: u32) -> bool {
    mode & 0o002 != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which runner is found where these can be run.
    fn found(named: Option<&str>, there: &[(&str, &str)]) -> Option<(String, DiscoveryRule)> {
        let which = |wanted: &Path| {
            let known = there.iter().find(|(name, _)| Path::new(name) == wanted);
            known.map(|(_, path)| PathBuf::from(path))
        };
        let lookup = RunnerLookup {
            named: named.map(OsString::from),
            home: Some(PathBuf::from("/home/me")),
            which: &which,
        };
        let found = FoundRunner::first(&discover(&lookup))?;
        Some((found.path.display().to_string(), found.rule))
    }

    #[test]
    fn the_order_is_variable_path_cargo_local() {
        let all = [
            ("/opt/runner", "/opt/runner"),
            ("recipe-runner-rs", "/usr/bin/recipe-runner-rs"),
            ("/home/me/.cargo/bin/recipe-runner-rs", "/home/me/.cargo/bin/recipe-runner-rs"),
            ("/home/me/.local/bin/recipe-runner-rs", "/home/me/.local/bin/recipe-runner-rs"),
        ];
        for (from, rule) in DiscoveryRule::ALL.into_iter().enumerate() {
            let expected = all[from].1.to_owned();
            assert_eq!(found(Some("/opt/runner"), &all[from..]), Some((expected, rule)));
        }
        assert_eq!(found(Some("/opt/runner"), &[]), None);
    }

    #[test]
    fn a_variable_that_leads_nowhere_is_passed_over_and_a_bare_name_is_looked_up() {
        let path = [("recipe-runner-rs", "/usr/bin/recipe-runner-rs"), ("mine", "/usr/bin/mine")];
        let by = |rule, path: &str| Some((path.to_owned(), rule));
        assert_eq!(
            found(Some("/gone"), &path),
            by(DiscoveryRule::Path, "/usr/bin/recipe-runner-rs")
        );
        assert_eq!(found(Some(""), &path), by(DiscoveryRule::Path, "/usr/bin/recipe-runner-rs"));
        assert_eq!(found(None, &path), by(DiscoveryRule::Path, "/usr/bin/recipe-runner-rs"));
        assert_eq!(found(Some("mine"), &path), by(DiscoveryRule::Variable, "/usr/bin/mine"));
    }

    #[test]
    fn only_the_last_write_bit_counts() {
        for (mode, bad) in
            [(0o755, false), (0o775, false), (0o757, true), (0o777, true), (0o2, true)]
        {
            assert_eq!(is_world_writable(mode), bad, "{mode:o}");
        }
    }
}
