//! The sandboxes of a run's sessions: what each of them shows, gathered from the machine, the
//! repository and the guard's policy.
//!
//! Invariant: what is gathered is decided in `sandbox`; here it is only collected.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::context::TaskContext;
use super::failure::Failure;
use super::sandbox;
use crate::agent::Shells;
use crate::guard::{Policy, Redactor, secret_name};
use crate::sandbox::{
    Calls, Overlay, Programs, Room, SandboxError, Secrets, View, full, prepare, socket, sockets_of,
    tools,
};
use crate::verify::{PROGRESS, Preflight, Repo as _};

/// What stays the same over a run.
struct Base {
    programs: Programs,
    view: View,
    redactor: Arc<Redactor>,
    number: AtomicU32,
}

/// Sandboxes for the shell calls of a run. `scratch` is the run's own folder.
pub(super) fn shells(
    at: &TaskContext,
    preflight: &Preflight,
    bubblewrap: PathBuf,
    scratch: &Path,
    redactor: &Arc<Redactor>,
) -> Result<Shells, Failure> {
    let failed = |path: &Path, source| SandboxError::Prepare { path: path.to_owned(), source };
    let ours =
        std::env::current_exe().map_err(|source| failed(Path::new("/proc/self/exe"), source))?;
    let listens = socket(scratch);
    let client = sandbox::client(&ours, &listens);
    let calls = Calls::listen(&listens, &client.each_ref().map(String::as_str))?;
    let empty = scratch.join("empty");
    fs::write(&empty, "").map_err(|source| failed(&empty, source))?;
    let base = Base {
        programs: sandbox::programs(bubblewrap, ours),
        view: view(at, preflight, scratch, empty),
        redactor: Arc::clone(redactor),
        number: AtomicU32::new(0),
    };
    Ok(Shells { calls, start: Box::new(move |policy| base.start(policy)) })
}

fn view(at: &TaskContext, preflight: &Preflight, scratch: &Path, empty: PathBuf) -> View {
    let (root, repo) = (at.place.root(), &at.place.repo);
    let os = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let text = |name: &str| os(name).and_then(|value| value.into_string().ok());
    let home = etcetera::home_dir().unwrap_or_default();
    let git = BTreeSet::from([repo.git_dir().to_owned(), repo.common_dir().to_owned()]);
    let settings = preflight.hooks_and_settings().map(|path| root.join(path));
    let own = [root.join(".ralph")]
        .into_iter()
        .chain(at.layout.state_files().into_iter().map(|path| root.join(path)));
    let progress = root.join(at.layout.file(PROGRESS));
    let folder = at.folder.dir.clone();
    View {
        tree: root.to_owned(),
        seen_at: root.to_owned(),
        git: git.into_iter().collect(),
        protected: settings.chain(own).chain([folder]).collect(),
        writable: vec![progress],
        tools: tools(&home, &os),
        scratch: scratch.to_owned(),
        tmp: scratch.join("tmp"),
        runtime: os("XDG_RUNTIME_DIR").map(PathBuf::from),
        unreached: sockets_of(&text),
        home,
        empty,
        ..View::default()
    }
}

impl Base {
    /// Starts the sandbox of the next session.
    fn start(&self, policy: &Policy) -> Result<Room, SandboxError> {
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        let folder = self.view.scratch.join(format!("room-{number}"));
        let overlay = Overlay {
            lower: self.view.home.clone(),
            upper: folder.join("upper"),
            work: folder.join("work"),
            merged: folder.join("home"),
        };
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| SandboxError::Prepare { path, source }
        };
        let mut view = self.view.clone();
        view.var_tmp = folder.join("var-tmp");
        fs::create_dir_all(&view.var_tmp).map_err(failed(&view.var_tmp))?;
        view.protected.extend(policy.protect_paths.iter().cloned());
        view.protected.extend(policy.human.iter().cloned());
        open_folder(&mut view);
        let secrets = Secrets {
            is_secret: &secret_name,
            scrub: &|text| self.redactor.redact_str(text).into_owned(),
        };
        prepare(&overlay, &view.tools, &secrets).map_err(failed(&view.home))?;
        let profile = full(&view, overlay);
        Room::start(&self.programs, &profile, &view.seen_at, &folder.join("log"))
    }
}

/// Where progress.md is not there yet, commands must be able to make it: the task's folder is
/// then not protected as a whole, but all that lies in it is. So is a task in the root.
fn open_folder(view: &mut View) {
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

/// The program that makes namespaces.
pub(super) fn bubblewrap() -> Option<PathBuf> {
    which::which("bwrap").ok()
}
