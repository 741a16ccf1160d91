//! Deletions. In a sandbox, a command may remove files that this run created and those that tools
//! rebuild; `git rm` removes files that git tracks, and other files that existed before are kept.

use std::path::{Path, PathBuf};

use super::is_inside;
use crate::guard::call_context::{WriteKind, secret};
use crate::guard::denial::Denial;
use crate::guard::files::FileKind;
use crate::guard::line::{Arg, Judge, Place};
use crate::guard::secrets;

/// How a file that git tracks is deleted.
pub(super) const BY_GIT: &str = "name what you delete: `git rm FILE` or `git rm -r FOLDER`; git keeps the \
                      content, and refuses if it has changes that are not committed";

/// Options of `git rm` under which it removes only what HEAD has as it is.
const CAREFUL: &[&str] =
    &["-r", "-q", "-n", "-rq", "-qr", "--quiet", "--dry-run", "--ignore-unmatch"];

/// Build output and caches, by their names.
const REBUILT: &[&str] = &[
    "target",
    "build",
    "dist",
    "out",
    "_build",
    "coverage",
    "htmlcov",
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".tox",
    ".nox",
    ".cache",
    ".gradle",
    ".next",
    ".nuxt",
    ".turbo",
    ".parcel-cache",
    ".svelte-kit",
    ".eslintcache",
    ".coverage",
    ".nyc_output",
    "cmake-build-debug",
    "cmake-build-release",
    "zig-out",
    ".zig-cache",
    "zig-cache",
    ".dart_tool",
    "obj",
    "bin",
    ".hypothesis",
    ".vite",
    ".angular",
    ".stack-work",
    "dist-newstyle",
    "storybook-static",
    "test-results",
    "playwright-report",
    ".phpunit.result.cache",
    ".phpunit.cache",
    "tmp",
];

/// Endings of such files.
const REBUILT_ENDINGS: &[&str] =
    &["pyc", "pyo", "o", "obj", "class", "log", "tmp", "tsbuildinfo", "profraw", "gcda", "gcno"];

impl Judge<'_> {
    /// Judges a deletion in a sandbox.
    pub(super) fn remove(&mut self, place: &Place, name: &str, args: &[Arg]) -> Result<(), Denial> {
        if !matches!(
            name,
            "rm" | "rmdir" | "unlink" | "rimraf" | "find" | "shred" | "trash" | "del"
        ) {
            return Ok(());
        }
        for arg in args.iter().filter(|arg| !arg.head().starts_with('-')) {
            let paths = self.paths(place, arg);
            for path in self.soften(paths)?.unwrap_or_default() {
                self.removes(&path)?;
            }
        }
        Ok(())
    }

    /// Judges `git rm` in a sandbox. Without force, git refuses to remove a file unless HEAD has it
    /// as it is, so that nothing is lost.
    pub(super) fn removes_tracked(&mut self, place: &Place, args: &[Arg]) -> Result<(), Denial> {
        let refused = |why: &str| Denial::new("program.delete", why).instead(BY_GIT);
        let mut paths_only = false;
        for arg in args {
            match arg.text() {
                Some("--") if !paths_only => paths_only = true,
                Some(option) if !paths_only && option.starts_with('-') => {
                    if !CAREFUL.contains(&option) {
                        return Err(refused(
                            "it may lose changes that are not committed, or keep the file",
                        ));
                    }
                }
                // Git would expand it.
                Some(path) if !path.starts_with(':') && !path.contains(['*', '?', '[', '\\']) => {
                    for path in self.paths(place, arg)? {
                        let real = self.removed(&path)?;
                        self.cx.write(&real, WriteKind::Move)?;
                    }
                }
                Some(_) | None => return Err(refused("it does not name what it deletes")),
            }
        }
        Ok(())
    }

    /// The place of a file that is to be removed. A link goes, and what it leads to stays.
    fn removed(&mut self, path: &Path) -> Result<PathBuf, Denial> {
        match (path.parent(), path.file_name()) {
            (Some(parent), Some(name)) if !(path.ends_with(".") || path.ends_with("..")) => {
                Ok(self.cx.resolve(parent)?.path.join(name))
            }
            _ => Ok(self.cx.resolve(path)?.path),
        }
    }

    fn removes(&mut self, path: &Path) -> Result<(), Denial> {
        let real = self.removed(path);
        let is_folder = path.ends_with(".") || path.ends_with("..");
        let Some(real) = (if is_folder { Some(real?) } else { self.soften(real)? }) else {
            return Ok(());
        };
        if secrets::of_gateway(&real) {
            return Err(secret(&real));
        }
        if !is_inside(&self.cx, &real) || self.cx.in_tmp(&real) {
            return Ok(());
        }
        let kind = self.cx.kind(&real);
        if kind == FileKind::Missing {
            return Ok(());
        }
        if self.is_of_new_repository(&real) {
            return Ok(());
        }
        let judged = self.cx.write(&real, WriteKind::Move);
        match self.soften(judged) {
            // Such a folder is too large to look through.
            Ok(_) => {}
            Err(denial) => return Err(denial),
        }
        let shown =
            real.strip_prefix(&self.cx.policy().workspace).unwrap_or(&real).display().to_string();
        let tracked =
            self.cx.tracked().is_none_or(|files| files.iter().any(|file| file.starts_with(&real)));
        if tracked && self.cx.tracked().is_some() {
            return Err(Denial::new(
                "program.delete",
                format!("it deletes {shown}, which git tracks"),
            )
            .instead(BY_GIT));
        }
        if self.cx.is_new(&real) || is_rebuilt(&real, &self.cx.policy().workspace) {
            return Ok(());
        }
        if kind == FileKind::Dir {
            let tree = self.cx.entries(&real);
            let all_new = tree.all
                && tree
                    .paths
                    .iter()
                    .all(|entry| self.cx.kind(entry) == FileKind::Dir || self.cx.is_new(entry));
            if all_new {
                return Ok(());
            }
        }
        Err(Denial::new(
            "program.delete",
            format!("it deletes {shown}, which this run did not make and git cannot restore"),
        )
        .instead("leave it, or move it: `mkdir -p _archive && mv FILE _archive/`"))
    }

    /// Is it the `.git` of a repository that this run made inside the workspace's, mostly by
    /// accident? A commit of that would hold no files.
    fn is_of_new_repository(&mut self, git: &Path) -> bool {
        let Some(repository) = git.parent().filter(|_| git.ends_with(".git")) else { return false };
        let is_workspace = repository == self.cx.policy().workspace;
        let holds_tracked = |files: &[PathBuf]| files.iter().any(|it| it.starts_with(repository));
        !is_workspace
            && self.cx.is_new(git)
            && self.cx.tracked().is_some_and(|it| !holds_tracked(it))
    }

    /// A deletion that the user's configuration lets through: of what the agent could have changed.
    pub(super) fn lifted_delete(
        &mut self,
        place: &Place,
        name: &str,
        args: &[Arg],
    ) -> Result<(), Denial> {
        if !matches!(name, "rm" | "rmdir" | "unlink" | "shred") {
            return Ok(());
        }
        for arg in args.iter().filter(|arg| !arg.head().starts_with('-')) {
            for path in self.paths(place, arg)? {
                let real = self.cx.write(&path, WriteKind::Move)?;
                if !is_inside(&self.cx, &real) {
                    return Err(Denial::new("path.outside", "it deletes outside the workspace"));
                }
            }
        }
        Ok(())
    }
}

/// Does a tool make it anew?
fn is_rebuilt(path: &Path, workspace: &Path) -> bool {
    let relative = path.strip_prefix(workspace).unwrap_or(path);
    let named = relative.components().any(|part| {
        let name = part.as_os_str().to_string_lossy();
        REBUILT.contains(&name.as_ref()) || name.ends_with(".egg-info")
    });
    let ending =
        path.extension().map(|ending| ending.to_string_lossy().into_owned()).unwrap_or_default();
    named || REBUILT_ENDINGS.contains(&ending.as_str())
}
