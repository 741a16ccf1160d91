//! The files of the machine and the repository that a run's sandboxes show, and those that they
//! protect.
//!
//! Invariant: this file only gathers paths; `sandbox` decides how to show them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::context::{RepoContext, TaskContext};
use super::environment::redactor;
use super::launch::copilot_home;
use super::paths;
use crate::gateway::{make_token_folder, token_folder};
use crate::guard::agent_setting;
use crate::sandbox::{Bind, EMPTY, View, bound_sockets, sockets_of, tools};
use crate::verify::{CommitHooks, GitRepo, Preflight};

/// The most agent settings outside the root's folders: each is a mount, as are the folders above
/// it.
const MOST_NESTED: usize = 20;

/// The differences between a run and a session without a task.
pub(super) struct Ground {
    /// Paths that nothing in a sandbox may change.
    pub(super) protected: Vec<PathBuf>,
    /// Paths inside those that may be written.
    pub(super) writable: Vec<PathBuf>,
    /// Paths among those that the agent's own process may change.
    pub(super) editable: [PathBuf; 3],
}

pub(super) fn protected_of(at: &TaskContext, preflight: &Preflight) -> Vec<PathBuf> {
    let root = at.place.root();
    let settings = preflight.hooks_and_settings().map(|path| root.join(path));
    let submodules = preflight.submodules.iter().map(|path| root.join(path).join(".git"));
    let settings = settings.chain(agent_settings(&at.place.repo)).chain(submodules);
    let own = [root.join(".ralph")]
        .into_iter()
        .chain(at.layout.state_files().into_iter().map(|path| root.join(path)));
    settings.chain(own).chain([at.folder.dir.clone()]).collect()
}

/// Where services of the machine bind their sockets, besides `/run`.
const SERVICES: [&str; 5] = ["/var", "/opt", "/usr", "/etc", "/snap"];

/// More sockets of other programs are not looked for.
const MOST_SOCKETS: usize = 30;

/// The files of the machine and the repository that every session shows.
pub(super) fn view(place: &RepoContext, scratch: &Path) -> View {
    let (root, repo) = (place.root(), &place.repo);
    let os = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let home = etcetera::home_dir().unwrap_or_default();
    let git = BTreeSet::from([repo.git_dir().to_owned(), repo.common_dir().to_owned()]);
    let hooks = repo.commit_hooks().ok().flatten().and_then(CommitHooks::elsewhere);
    let hooks = hooks.filter(|folder| [root, &home].iter().all(|it| !it.starts_with(folder)));
    View {
        tree: root.to_owned(),
        seen_at: root.to_owned(),
        git: git.into_iter().collect(),
        tools: tools(&home, &os),
        scratch: scratch.to_owned(),
        tmp: scratch.join("tmp"),
        var_tmp: scratch.join("var-tmp"),
        empty: scratch.join(EMPTY),
        runtime: os("XDG_RUNTIME_DIR").map(PathBuf::from),
        unreached: unreached(root),
        visible: hooks.into_iter().chain(repo.alternates()).chain(included(repo, &home)).collect(),
        hidden: paths::rooms().into_iter().chain(tokens()).chain(paths::holdout()).collect(),
        home,
        ..View::default()
    }
}

/// Files of git's configuration that lie in folders of HOME which a sandbox hides, as one for work
/// does that `includeIf` names: without it, git fails or commits as somebody else. One that has a
/// secret stays hidden.
fn included(repo: &GitRepo, home: &Path) -> impl Iterator<Item = PathBuf> {
    let home = paths::canonical(home);
    let has_no_secret = |path: &PathBuf| {
        fs::read_to_string(path).is_ok_and(|text| redactor().redact_str(&text) == text)
    };
    let is_hidden = move |path: &PathBuf| {
        path.strip_prefix(&home).is_ok_and(|path| !path.to_string_lossy().starts_with('.'))
    };
    let own = [repo.root().to_owned(), repo.common_dir().to_owned()];
    let is_elsewhere = move |path: &PathBuf| own.iter().all(|folder| !path.starts_with(folder));
    let files = repo.configuration().into_iter().filter(is_hidden);
    files.filter(is_elsewhere).filter(has_no_secret)
}

/// The sockets of other programs that are there now, and that a sandbox hides.
pub(super) fn unreached(root: &Path) -> Vec<PathBuf> {
    // Sockets elsewhere come and go, and nothing can be mounted over one that is gone. Those in
    // HOME are not reached through its overlay.
    let lasts = |path: &PathBuf| {
        SERVICES.iter().any(|folder| path.starts_with(folder)) && !path.starts_with(root)
    };
    let text = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let bound = bound_sockets().into_iter().filter(lasts).take(MOST_SOCKETS);
    sockets_of(&text).into_iter().chain(bound).collect()
}

/// Where a gateway leaves its token, this run's or another one's.
pub(super) fn tokens() -> Option<PathBuf> {
    let home = copilot_home()?;
    Some(token_folder(&fs::canonicalize(&home).unwrap_or(home)))
}

/// Creates the folder of a gateway's token if there is a Copilot home. A missing folder cannot be
/// hidden, and the gateway of another repository's run may create it while an agent works here.
pub(super) fn tokens_hidden() {
    if let Some(home) = copilot_home().filter(|home| home.is_dir()) {
        // Where it cannot be made, no gateway makes it, either.
        make_token_folder(&home).unwrap_or_default();
    }
}

/// Agent settings that are there: in the root, in the folders where programs look for them, and
/// tracked ones anywhere.
pub(super) fn agent_settings(repo: &GitRepo) -> BTreeSet<PathBuf> {
    let root = repo.root();
    let folders = ["", ".github", ".vscode"].map(|folder| fs::read_dir(root.join(folder)));
    let entries = folders.into_iter().filter_map(Result::ok).flatten().filter_map(Result::ok);
    let paths = entries.map(|entry| entry.path());
    let is_setting = |path: &PathBuf| path.strip_prefix(root).is_ok_and(agent_setting);
    let mut found: BTreeSet<PathBuf> = paths.filter(is_setting).collect();
    let tracked = repo.all_tracked().unwrap_or_default();
    let tracked = tracked.iter().filter_map(|path| outermost(path));
    let nested = tracked.map(|path| root.join(path)).filter(|path| !found.contains(path));
    let nearest: BTreeSet<_> = nested.map(|path| (path.iter().count(), path)).collect();
    found.extend(nearest.into_iter().take(MOST_NESTED).map(|(_, path)| path));
    found
}

/// The setting that a path is or lies in.
fn outermost(path: &Path) -> Option<&Path> {
    // What is no setting lies in none.
    let within = agent_setting(path).then(|| path.ancestors());
    within?.filter(|path| agent_setting(path)).last()
}

/// Creates the missing folders of a git folder that hold settings: a missing folder cannot be
/// mounted, and a command could create it.
pub(super) fn git_folders(git: &Path) -> std::io::Result<()> {
    ["hooks", "info", "objects/info"].iter().try_for_each(|name| fs::create_dir_all(git.join(name)))
}

/// Where progress.md is not there yet, commands must be able to make it: the task's folder is
/// then not protected as a whole, but all that lies in it is. So is a task in the root.
pub(super) fn open_folder(view: &mut View) {
    for file in &view.writable {
        let Some(folder) = file.parent().filter(|folder| !file.exists() || **folder == view.tree)
        else {
            continue;
        };
        view.protected.retain(|path| path != folder && path != file);
        if folder != view.tree {
            let inside = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
            view.protected.extend(inside.map(|entry| entry.path()));
        }
    }
}

/// Files in HOME with which package managers log in.
pub(super) fn credentials(home: &Path) -> impl Iterator<Item = Bind> {
    const FILES: [&str; 15] = [
        ".npmrc",
        ".yarnrc.yml",
        ".netrc",
        ".git-credentials",
        ".config/git/credentials",
        ".config/pip/pip.conf",
        ".pip/pip.conf",
        ".pypirc",
        ".cargo/credentials.toml",
        ".m2/settings.xml",
        ".m2/settings-security.xml",
        ".gradle/gradle.properties",
        ".bundle/config",
        ".gem/credentials",
        ".composer/auth.json",
    ];
    let files = FILES.map(|name| home.join(name)).into_iter().filter(|path| path.is_file());
    files.map(|path| Bind::ReadOnly { from: path.clone(), at: path })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn sockets_are_those_of_the_moment() {
        let dir = tempfile::tempdir_in("/var/tmp").expect("temporary folder");
        let path = dir.path().canonicalize().expect("canonical").join("a.sock");
        let is_unreached = || unreached(Path::new("/nonexistent")).contains(&path);
        assert!(!is_unreached());
        let listener = std::os::unix::net::UnixListener::bind(&path).expect("a socket");
        assert!(is_unreached());
        fs::remove_file(&path).expect("removed");
        assert!(!is_unreached());
        drop(listener);
    }

    #[test]
    fn agent_settings_are_found_in_the_root_and_where_git_tracks_them() {
        let dir = tempfile::tempdir().expect("temporary folder");
        let root = dir.path().canonicalize().expect("canonical");
        let write = |path: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().expect("parent")).expect("folder");
            fs::write(path, "text").expect("written");
        };
        let git = |args: &[&str]| {
            let who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
            let status = Command::new("git").args(who).args(args).current_dir(&root).status();
            assert!(status.expect("git").success());
        };
        let found = || -> Vec<String> {
            let found = agent_settings(&GitRepo::discover(&root).expect("a repository"));
            let relative = found.iter().map(|path| path.strip_prefix(&root).expect("below"));
            relative.map(|path| path.to_str().expect("text").to_owned()).collect()
        };
        git(&["init", "-q"]);
        write("AGENTS.md");
        assert_eq!(found(), ["AGENTS.md"], "without a commit");
        for path in [
            "app/AGENTS.md",
            "app/.claude/settings.json",
            "app/.claude/CLAUDE.md",
            "app/web/.github/copilot-instructions.md",
            "app/src/main.rs",
        ] {
            write(path);
        }
        git(&["add", "-A"]);
        git(&["commit", "-qm", "first"]);
        write(".github/hooks/a.json");
        write("untracked/AGENTS.md");
        let expected = [
            ".github/hooks",
            "AGENTS.md",
            "app/.claude",
            "app/AGENTS.md",
            "app/web/.github/copilot-instructions.md",
        ];
        assert_eq!(found(), expected);
        for number in 0..MOST_NESTED {
            write(&format!("packages/{number}/AGENTS.md"));
        }
        git(&["add", "-A"]);
        git(&["commit", "-qm", "second"]);
        let found = found();
        assert_eq!(found.len(), 2 + MOST_NESTED, "{found:?}");
        assert!(!found.contains(&expected[4].to_owned()), "the deepest one is left out");
    }
}
