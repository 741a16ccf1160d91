//! Removes the folders of old runs, and the scratch folders of runs that were killed.
//!
//! Invariant: call this with the lock held and after the last run was recovered, so that no folder
//! is removed whose work is not yet saved. It removes only folders that are named like a run, and
//! scratch folders that a run's own note names.

use std::fs;
use std::path::{Path, PathBuf};

use super::failure::Failure;
use super::paths::{canonical, temporary};
use crate::engine::{BEAT, PULSE};
use crate::model::RunId;
use crate::sys::remove_tree;

/// Runs whose folders are kept, the one that begins included.
const RUNS: usize = 20;
/// The file in a run's folder that says where its scratch folder is.
const NOTE: &str = "scratch";
/// How the names of scratch folders begin.
pub(super) const SCRATCH_PREFIX: &str = "ralph-";

/// Removes the folders of the oldest runs, and says where this run's scratch folder is, so
/// that the next one finds it if this one is killed.
pub(super) fn collect(runs: &Path, run: &RunId, scratch: &Path) -> Result<(), Failure> {
    let mut folders = run_folders(runs);
    for folder in &folders {
        clear_scratch(folder);
    }
    folders.sort();
    let old = folders.len().saturating_sub(RUNS);
    for folder in folders.drain(..old) {
        if folder.file_name().is_some_and(|name| name != run.as_str())
            && let Err(error) = fs::remove_dir_all(&folder)
        {
            tracing::warn!(folder = %folder.display(), %error, "an old run stays");
        }
    }
    let note = runs.join(run.as_str()).join(NOTE);
    fs::write(&note, scratch.as_os_str().as_encoded_bytes())
        .map_err(|error| Failure::cannot_write(&note, &error))
}

/// Touches a file in the run's folder as long as it lives.
pub(super) struct Heartbeat(tokio::task::JoinHandle<()>);

impl Heartbeat {
    /// Begins to beat.
    pub(super) fn start(folder: &Path) -> Result<Self, Failure> {
        let path = folder.join(PULSE);
        let file = fs::File::create(&path).map_err(|error| Failure::cannot_write(&path, &error))?;
        Ok(Self(tokio::spawn(async move {
            loop {
                tokio::time::sleep(BEAT).await;
                if let Err(error) = file.set_modified(std::time::SystemTime::now()) {
                    tracing::debug!(%error, "no heartbeat");
                }
            }
        })))
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The folders of all runs.
fn run_folders(runs: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(runs).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders
        .filter(|entry| entry.file_name().to_str().is_some_and(is_run))
        .map(|entry| entry.path())
        .collect()
}

/// Whether a folder is named as a run is: `20261121T140300.123Z-4711`.
fn is_run(name: &str) -> bool {
    let Some((time, pid)) = name.split_once('-') else { return false };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let Some((day, clock)) = time.split_once('T') else { return false };
    digits(pid)
        && digits(day)
        && clock.strip_suffix('Z').is_some_and(|it| digits(&it.replace('.', "")))
}

/// Removes the scratch folder of a run that could not remove it. The note is trusted only as far as
/// it can do no harm: it must name a folder in the system's temporary directory with our prefix,
/// and not a link.
fn clear_scratch(folder: &Path) {
    use std::os::unix::ffi::OsStringExt as _;

    let note = folder.join(NOTE);
    let Ok(bytes) = fs::read(&note) else { return };
    let scratch = PathBuf::from(std::ffi::OsString::from_vec(bytes));
    let temporary = canonical(&temporary());
    let ours = scratch.parent() == Some(&temporary)
        && scratch
            .file_name()
            .is_some_and(|name| name.as_encoded_bytes().starts_with(SCRATCH_PREFIX.as_bytes()))
        && scratch.symlink_metadata().is_ok_and(|meta| meta.is_dir());
    if ours && let Err(error) = remove_tree(&scratch) {
        tracing::warn!(folder = %scratch.display(), %error, "cannot remove a scratch folder");
    }
    drop(fs::remove_file(&note));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(number: usize) -> String {
        format!("20261121T140300.{number:03}Z-{number}")
    }

    #[test]
    fn the_newest_runs_stay_and_what_is_no_run_is_not_touched() {
        let runs = tempfile::tempdir().expect("a folder");
        let others = ["lock-1", "by-hand", "20261121T140300.001Z-x", "20261121-7"];
        for name in (0..RUNS + 5).map(run).chain(others.map(str::to_owned)) {
            fs::create_dir_all(runs.path().join(name).join("inside")).expect("a folder");
        }
        let this = RunId::new(run(RUNS + 4));
        collect(runs.path(), &this, Path::new("/nowhere")).expect("kept");
        for number in 0..RUNS + 5 {
            assert_eq!(runs.path().join(run(number)).is_dir(), number >= 5, "{number}");
        }
        for name in others {
            assert!(runs.path().join(name).is_dir(), "{name}");
        }
    }

    #[test]
    fn a_dead_runs_scratch_folder_goes_and_a_note_that_names_another_is_not_believed() {
        let runs = tempfile::tempdir().expect("a folder");
        let scratch = tempfile::Builder::new().prefix("ralph-").tempdir().expect("a folder");
        let foreign = tempfile::Builder::new().prefix("others-").tempdir().expect("a folder");
        let inner = scratch.path().join("ralph-inner");
        fs::create_dir(&inner).expect("a folder");
        for (number, path) in [scratch.path(), foreign.path()].into_iter().enumerate() {
            let folder = runs.path().join(run(number));
            fs::create_dir(&folder).expect("a folder");
            let path = path.canonicalize().expect("it is there");
            fs::write(folder.join(NOTE), path.as_os_str().as_encoded_bytes()).expect("a note");
        }
        let this = runs.path().join(run(9));
        fs::create_dir(&this).expect("a folder");
        collect(runs.path(), &RunId::new(run(9)), Path::new("/nowhere")).expect("kept");
        assert!(!scratch.path().exists());
        assert!(foreign.path().exists());
        assert!(!runs.path().join(run(0)).join(NOTE).exists());
        assert_eq!(fs::read(this.join(NOTE)).expect("a note"), b"/nowhere");
    }
}
