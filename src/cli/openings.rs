//! The parts of the sandbox that a task opens, with resolved paths: services, files, and devices.
//!
//! Invariant: a path that is shown never holds HOME or the repository, whose secrets and settings
//! would be shown with it.

use std::path::{Path, PathBuf};

use super::failure::Failure;
use super::paths::canonical;
use crate::config::Settings;
use crate::model::{Diagnostic, ExitCode, NetworkAccess, Service, Severity, Task, VisiblePath};
use crate::sandbox::{Network, View};

/// Adds the openings of the settings to the files of a sandbox.
pub(super) fn open(view: &mut View, settings: &Settings) -> Result<(), Failure> {
    for service in &settings.services {
        match service {
            Service::Port(port) => view.ports.push(*port),
            Service::Socket(path) => view.sockets.push(canonical(path)),
        }
    }
    view.unreached.retain(|path| !view.sockets.contains(&canonical(path)));
    view.network = match settings.network {
        NetworkAccess::Closed => Network::Own,
        NetworkAccess::Open => Network::Host,
    };
    view.visible.extend(visible(settings, &view.tree)?);
    view.devices.extend(settings.devices.iter().map(|device| device.path().to_owned()));
    Ok(())
}

/// Secret-looking files that the agent may read.
pub(super) fn readable(settings: &Settings, root: &Path) -> Vec<PathBuf> {
    settings.readable.iter().map(|file| root.join(file.path())).collect()
}

/// More paths that the agent may read.
pub(super) fn visible(settings: &Settings, root: &Path) -> Result<Vec<PathBuf>, Failure> {
    let resolve = |visible: &VisiblePath| {
        resolved(visible, root)
            .map_err(|why| Failure::new(ExitCode::Invalid, format!("`visible`: {why}")).hint(HINT))
    };
    settings.visible.iter().map(resolve).collect()
}

/// How to write a visible path.
const HINT: &str = "write the path of a file or folder beside the repository, such as `../lib`";

/// The visible paths of a task that cannot be shown.
pub(super) fn wrong(task: &Task, root: &Path) -> Vec<Diagnostic> {
    let diagnostic = |visible: &VisiblePath| {
        let (why, place) = (resolved(visible, root).err()?, visible.place.as_ref()?);
        Some(Diagnostic {
            severity: Severity::Error,
            line: place.line,
            column: place.column,
            message: why,
            hint: Some(HINT.to_owned()),
            span: place.span(&task.source),
            unread: false,
        })
    };
    task.settings.visible.iter().filter_map(diagnostic).collect()
}

/// A visible path without links, or why it is not shown.
fn resolved(visible: &VisiblePath, root: &Path) -> Result<PathBuf, String> {
    let written = root.join(&visible.path);
    let real =
        written.canonicalize().map_err(|error| format!("cannot show `{visible}`: {error}"))?;
    let home = etcetera::home_dir().ok().map(|home| canonical(&home));
    if home.is_some_and(|home| home.starts_with(&real)) {
        return Err(format!("cannot show `{visible}`: it contains your home folder"));
    }
    if canonical(root).starts_with(&real) {
        return Err(format!("cannot show `{visible}`: it contains the repository"));
    }
    let root = canonical(root);
    let folder = written.parent().map(canonical);
    if folder.is_some_and(|folder| folder.starts_with(&root)) && !real.starts_with(&root) {
        let why = "it lies in the repository, whose links an agent can change";
        return Err(format!("cannot show `{visible}`: {why}; name `{}`", real.display()));
    }
    Ok(real)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_visible_path_exists_and_lies_beside_the_repository() {
        let dir = tempfile::tempdir().expect("temporary folder");
        let base = dir.path().canonicalize().expect("canonical");
        for folder in ["repo/src", "lib"] {
            std::fs::create_dir_all(base.join(folder)).expect("folder");
        }
        let resolve = |path: &str| resolved(&path.to_owned().into(), &base.join("repo"));
        assert_eq!(resolve("../lib"), Ok(base.join("lib")));
        assert_eq!(resolve("src/../../lib"), Ok(base.join("lib")));
        std::os::unix::fs::symlink("../../lib", base.join("repo/src/link")).expect("a link");
        for (path, why) in [
            ("../missing", "No such file"),
            ("..", "it contains the repository"),
            (".", "it contains the repository"),
            ("src/link", "it lies in the repository"),
            ("/", "it contains your home folder"),
        ] {
            let error = resolve(path).expect_err(path);
            assert!(error.contains(why), "{error}");
        }
    }
}
