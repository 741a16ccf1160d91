//! The permissions of a command in the tier `partial`, where nothing can be mounted: it writes the
//! workspace, its TMPDIR, and caches, and reads everything except private files in HOME and those
//! of other users.
//!
//! Invariant: [`partial`] is pure over [`View`] and the file system. Landlock only adds rights, so
//! a folder with private files is listed entry by entry, and entries that are created in it later
//! cannot be reached.

use std::fs;
use std::path::{Path, PathBuf};

use super::full::{HOMES, SYSTEM_SECRETS, View};
use super::home::{Secrets, holds_hidden, visible};
use super::limits::LandlockRules;

/// Caches in HOME without which builds fail, and that no program runs code of by itself.
const CACHES: [&str; 19] = [
    ".cargo/git",
    ".cargo/registry",
    ".cargo/.package-cache",
    ".cargo/.package-cache-mutate",
    ".cargo/.global-cache",
    ".gradle/caches",
    ".gradle/daemon",
    ".gradle/native",
    ".gradle/.tmp",
    ".m2/repository",
    ".npm/_cacache",
    ".npm/_logs",
    "go/pkg",
    ".local/share/virtualenvs",
    "Library/Caches/go-build",
    "Library/Caches/ms-playwright",
    "Library/Caches/pip",
    "Library/Caches/pnpm",
    "Library/Caches/Yarn",
];
/// The usual folder of caches, except for those in [`PROGRAMS`].
const CACHE: &str = ".cache";
/// Where the C library makes semaphores and shared memory, for pools of processes among others.
const SHARED_MEMORY: &str = "/dev/shm";
/// Tools that fail without their cache, and where it lies in HOME.
const CACHED: [(&str, &str); 9] = [
    ("go", ".cache/go-build"),
    ("golangci-lint", ".cache/golangci-lint"),
    ("ccache", ".cache/ccache"),
    ("uv", ".cache/uv"),
    ("zig", ".cache/zig"),
    ("deno", ".cache/deno"),
    ("composer", ".cache/composer"),
    ("npm", ".npm/_cacache"),
    ("npm", ".npm/_logs"),
];
/// Folders of [`CACHE`] with programs that people start outside the sandbox.
const PROGRAMS: [&str; 2] = ["copilot", "ralph-copilot"];

/// Where devices lie.
const DEVICES: &str = "/dev";

/// The limits of a session.
///
/// # Errors
/// If HOME cannot be listed.
pub fn partial(view: &View, secrets: &Secrets<'_>) -> std::io::Result<LandlockRules> {
    let mut writable = vec![view.tree.clone(), view.tmp.clone(), SHARED_MEMORY.into()];
    writable.extend(view.git.iter().filter(|git| !git.starts_with(&view.tree)).cloned());
    writable.extend(CACHES.iter().map(|path| view.home.join(path)));
    let caches = fs::read_dir(view.home.join(CACHE)).into_iter().flatten().filter_map(Result::ok);
    let caches = caches.filter(|entry| {
        let name = entry.file_name();
        let private = holds_hidden(&Path::new(CACHE).join(&name));
        PROGRAMS.iter().all(|program| name != *program) && !private
    });
    writable.extend(caches.map(|entry| entry.path()));
    Ok(LandlockRules {
        readable: Some(readable(view, secrets)?),
        writable,
        network: view.network,
        ports: view.ports.clone(),
        signals: false,
    })
}

/// Creates the cache folders of installed tools, as their first start would, because rights to a
/// missing path cannot be granted. A folder that cannot be created stays missing, as without a
/// sandbox.
pub fn make_caches(home: &Path, is_installed: &dyn Fn(&str) -> bool) {
    for (_, folder) in CACHED.iter().filter(|(tool, _)| is_installed(tool)) {
        drop(fs::create_dir_all(home.join(folder)));
    }
}

fn readable(view: &View, secrets: &Secrets<'_>) -> std::io::Result<Vec<PathBuf>> {
    let mut private: Vec<PathBuf> = HOMES.iter().chain(&SYSTEM_SECRETS).map(Into::into).collect();
    // Disks and memory are devices, too; those that a command needs are open to all.
    private.extend([view.home.clone(), view.scratch.clone(), DEVICES.into()]);
    private.extend(view.unreached.iter().chain(&view.hidden).cloned());
    let mut found = Vec::new();
    besides(Path::new("/"), &private, &mut found);
    found.extend(visible(&view.home, &view.tools, secrets)?);
    let named = view.tools.iter().chain(&view.visible).chain(&view.sockets);
    found.extend(named.filter(|path| !view.home.starts_with(path)).cloned());
    let holds_hidden = |path: &PathBuf| view.hidden.iter().any(|hidden| hidden.starts_with(path));
    for folder in found.extract_if(.., |path| holds_hidden(path)).collect::<Vec<_>>() {
        besides(&folder, &view.hidden, &mut found);
    }
    Ok(found)
}

/// Everything below `folder` that does not hold one of the private paths.
fn besides(folder: &Path, private: &[PathBuf], found: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    for path in entries.map(|entry| entry.path()) {
        if private.contains(&path) {
            continue;
        }
        if private.iter().any(|it| it.starts_with(&path)) {
            besides(&path, private, found);
        } else {
            found.push(path);
        }
    }
}
