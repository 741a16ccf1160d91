//! `setup:` of TASK.md: commands that prepare a proof room for checks, such as `npm ci`.
//!
//! Invariant: they have the human's credentials only before the first agent works. They run again
//! when a manifest or a lock file differs from those they ran with.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::classify::SourceTree;
use crate::model::TaskSettings;

/// Manifests, lock files, and configuration of package managers, by name.
const MANIFESTS: [&str; 51] = [
    ".npmrc",
    ".nvmrc",
    ".python-version",
    ".ruby-version",
    ".tool-versions",
    ".yarnrc",
    ".yarnrc.yml",
    "Cargo.lock",
    "Cargo.toml",
    "Directory.Packages.props",
    "Gemfile",
    "Gemfile.lock",
    "NuGet.config",
    "Package.resolved",
    "Package.swift",
    "Pipfile",
    "Pipfile.lock",
    "build.gradle",
    "build.gradle.kts",
    "bun.lock",
    "bun.lockb",
    "composer.json",
    "composer.lock",
    "conanfile.py",
    "conanfile.txt",
    "flake.lock",
    "gems.locked",
    "gems.rb",
    "go.mod",
    "go.sum",
    "go.work",
    "go.work.sum",
    "gradle.lockfile",
    "libs.versions.toml",
    "mix.exs",
    "mix.lock",
    "npm-shrinkwrap.json",
    "package-lock.json",
    "package.json",
    "packages.lock.json",
    "pnpm-lock.yaml",
    "pnpm-workspace.yaml",
    "poetry.lock",
    "pom.xml",
    "pyproject.toml",
    "rust-toolchain",
    "rust-toolchain.toml",
    "setup.cfg",
    "setup.py",
    "uv.lock",
    "yarn.lock",
];

/// The same, by the end of their names.
const ENDINGS: [&str; 5] = [".gemspec", ".csproj", ".fsproj", ".vbproj", ".cabal"];

/// A task's settings about setup.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoomSetup {
    /// The commands, in order.
    pub commands: Vec<String>,
    /// Whether they have network when they run again.
    pub network: bool,
}

impl RoomSetup {
    /// As in the front matter.
    pub fn of(settings: &TaskSettings) -> Self {
        Self {
            commands: settings.setup.clone(),
            network: settings.setup_network.unwrap_or_default(),
        }
    }
}

/// The inputs of a setup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SetupInputs {
    commands: Vec<String>,
    manifests: BTreeMap<PathBuf, [u8; 20]>,
}

impl SetupInputs {
    pub(super) fn of(setup: &RoomSetup, files: &dyn SourceTree) -> Self {
        let manifests = files.paths().iter().filter(|(path, _)| is_manifest(path));
        let manifests = manifests.map(|(path, entry)| (path.clone(), entry.id)).collect();
        Self { commands: setup.commands.clone(), manifests }
    }
}

fn is_manifest(path: &Path) -> bool {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return false };
    MANIFESTS.contains(&name)
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
        || (name.starts_with("requirements") && name.ends_with(".txt"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifests_and_lock_files_decide_whether_setup_runs_again() {
        for path in ["package.json", "web/pnpm-lock.yaml", "requirements-dev.txt", "a/b.csproj"] {
            assert!(is_manifest(Path::new(path)), "{path}");
        }
        for path in ["src/package.rs", "requirements.md", "Cargo.toml/x", "lock"] {
            assert!(!is_manifest(Path::new(path)), "{path}");
        }
    }
}
