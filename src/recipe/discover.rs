//! The places where the runner may be, in search order.
//!
//! Invariant: pure over the lookups that are passed in; the first place with a runner wins,
//! and a variable that names no program is ignored.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The runner's name.
pub(super) const BINARY: &str = "recipe-runner-rs";

/// The variable that names the runner, by a path or by a name to look up in PATH.
pub(super) const PATH_VARIABLE: &str = "RECIPE_RUNNER_RS_PATH";

/// The rule by which a runner was found.
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
    /// The rules in search order.
    const ALL: [Self; 4] = [Self::Variable, Self::Path, Self::Cargo, Self::Local];

    /// The rule's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Variable => PATH_VARIABLE,
            Self::Path => "PATH",
            Self::Cargo => "~/.cargo/bin",
            Self::Local => "~/.local/bin",
        }
    }
}

/// The machine's lookups, passed in so that tests can replace them.
pub(super) struct RunnerLookup<'a> {
    /// The value of [`PATH_VARIABLE`].
    pub(super) named: Option<OsString>,
    /// The user's home.
    pub(super) home: Option<PathBuf>,
    /// Resolves a program's name or path to its absolute path, if it is executable.
    pub(super) which: &'a dyn Fn(&Path) -> Option<PathBuf>,
}

/// A runner that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundRunner {
    /// The binary, absolute.
    pub path: PathBuf,
    /// The rule that found it.
    pub rule: DiscoveryRule,
}

/// The result of one rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunnerCandidate {
    /// The rule.
    pub rule: DiscoveryRule,
    /// The name or path that was looked for; none if the rule does not apply.
    pub wanted: Option<PathBuf>,
    /// The runner there, if any.
    pub found: Option<PathBuf>,
}

/// Applies every rule, in order.
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
    /// The first runner in search order.
    pub fn first(looked: &[RunnerCandidate]) -> Option<Self> {
        let found = |it: &RunnerCandidate| Some(Self { path: it.found.clone()?, rule: it.rule });
        looked.iter().find_map(found)
    }
}

impl RunnerCandidate {
    /// The place, for messages.
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

/// Whether any user of the machine may replace a file with these permission bits.
pub(super) fn is_world_writable(mode: u32) -> bool {
    mode & 0o002 != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The runner that is found if only these programs exist.
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
    fn a_variable_that_names_no_program_is_ignored_and_a_bare_name_is_looked_up() {
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
    fn only_the_write_bit_for_others_counts() {
        for (mode, bad) in
            [(0o755, false), (0o775, false), (0o757, true), (0o777, true), (0o2, true)]
        {
            assert_eq!(is_world_writable(mode), bad, "{mode:o}");
        }
    }
}
