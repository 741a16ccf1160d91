//! A copy of the files that git ignores, made before an agent works: `node_modules`, `.venv`,
//! `.env`.
//!
//! Invariant: no command of an agent sees it. Changes during a run are never copied into it; the
//! human's changes between two runs are. After a run that died, it stays as it was, because the
//! author of later changes is unknown.

mod copy;
mod ignored_copy;
mod stamps;

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub(super) use self::copy::copy;
pub(super) use self::ignored_copy::IgnoredCopy;
pub use self::ignored_copy::Warmth;
pub(super) use self::ignored_copy::is_built;
use self::stamps::{Stamps, scan};
use super::error::{VerifyError, io_error};
use super::layout::Layout;
use crate::sys::remove_any;

/// Larger folders are not copied, in bytes.
const LARGEST: u64 = 2 << 30;

/// The limits above which a human gets a notice: size in bytes, and duration of the copy.
const NOTED: (u64, Duration) = (256 << 20, Duration::from_secs(3));

/// In the folder of the copy: the state of the tree when the last run ended.
const LEFT: &str = "left";

/// The copy.
#[derive(Debug)]
pub struct Master {
    root: PathBuf,
    folder: PathBuf,
    /// Paths of the tree that are copied, relative to it: files, or folders with all in them.
    entries: Vec<PathBuf>,
    /// Those that are too large, and no build output.
    shared: Vec<PathBuf>,
    /// The last run did not end by itself.
    died: bool,
    /// Notices for people.
    notes: Vec<String>,
}

/// Where commands see the tree of a room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeenAt {
    /// At the repository's own path.
    OwnPath,
    /// Where it lies.
    ItsPlace,
}

/// Where the rooms of a run are made.
#[derive(Clone, Copy, Debug)]
pub struct RoomFolders<'a> {
    /// A folder of the run.
    pub base: &'a Path,
    /// Where commands see their trees.
    pub seen_at: SeenAt,
    /// Where the copy of ignored files is.
    pub master: MasterFolder<'a>,
}

/// Where the copy is kept.
#[derive(Clone, Copy, Debug)]
pub enum MasterFolder<'a> {
    /// A run's copy: updated with the human's changes, and kept for the next run.
    Kept(&'a Path),
    /// As the last run left it; if no run has made one, a copy that is thrown away.
    AsLeft(&'a Path),
    /// A copy that is thrown away.
    New,
}

impl Master {
    /// The copy in one of the folders. `ignored` are the paths that git ignores.
    ///
    /// # Errors
    /// If something cannot be copied.
    pub fn of(
        root: &Path,
        layout: &Layout,
        folders: RoomFolders<'_>,
        ignored: Vec<PathBuf>,
    ) -> Result<Self, VerifyError> {
        let new = folders.base.join("master");
        match folders.master {
            MasterFolder::Kept(folder) => Self::open(root, layout, folder, ignored),
            MasterFolder::AsLeft(folder) if folder.join(LEFT).exists() => {
                let mut master = Self::empty(root, folder);
                master.sized(own_left_out(layout, ignored));
                Ok(master)
            }
            MasterFolder::AsLeft(_) | MasterFolder::New => Self::open(root, layout, &new, ignored),
        }
    }

    fn empty(root: &Path, folder: &Path) -> Self {
        Self {
            root: root.to_owned(),
            folder: folder.to_owned(),
            entries: Vec::new(),
            shared: Vec::new(),
            died: false,
            notes: Vec::new(),
        }
    }

    /// Updates the copy in `folder` with the human's changes to the tree.
    fn open(
        root: &Path,
        layout: &Layout,
        folder: &Path,
        ignored: Vec<PathBuf>,
    ) -> Result<Self, VerifyError> {
        let failed = io_error("copy ignored files to", folder);
        let mut master = Self::empty(root, folder);
        let now = master.sized(own_left_out(layout, ignored));
        master.bring_up(&now).map_err(&failed)?;
        fs::write(master.open_mark(), "").map_err(failed)?;
        Ok(master)
    }

    /// Records the current state of the tree: differences from it in the next run are the human's
    /// changes.
    ///
    /// # Errors
    /// If the notes cannot be written.
    pub fn close(&self, head: &str, ignored: &[PathBuf]) -> io::Result<()> {
        // An agent's additions are not the human's in the next run.
        let now = self.entries.iter().chain(ignored).map(|path| scan(&self.root, path));
        let now = now.fold(Stamps::default(), Stamps::and);
        fs::write(self.left(), now.bytes())?;
        fs::write(self.folder.join("head"), head)?;
        fs::remove_file(self.open_mark())
    }

    /// The branch's commit at the end of the last run.
    pub fn head(&self) -> Option<String> {
        fs::read_to_string(self.folder.join("head")).ok().filter(|_| !self.died)
    }

    /// The files for rooms.
    pub fn copied(&self) -> IgnoredCopy {
        IgnoredCopy::new(self.files(), self.entries.clone())
    }

    /// Paths that are too large to copy, and no build output.
    pub fn shared(&self) -> &[PathBuf] {
        &self.shared
    }

    /// Notices for people.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Leaves out paths that are too large.
    fn sized(&mut self, entries: Vec<PathBuf>) -> Stamps {
        let mut all = Stamps::default();
        for entry in entries {
            let stamps = scan(&self.root, &entry);
            if stamps.size() <= LARGEST {
                self.entries.push(entry);
                all = all.and(stamps);
                continue;
            }
            let size = stamps.size() >> 30;
            let shown = entry.display();
            if is_built(&entry) {
                self.notes.push(format!("{shown} is {size} GiB, so the proof room rebuilds it"));
            } else {
                self.notes
                    .push(format!("{shown} is {size} GiB, so the proof room reads it in place"));
                self.shared.push(entry);
            }
        }
        all
    }

    fn bring_up(&mut self, now: &Stamps) -> io::Result<()> {
        let left = match fs::read(self.left()) {
            Ok(bytes) => Stamps::read(&bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let Some(left) = left else {
            // The first run, or one whose notes are lost.
            let started = Instant::now();
            remove_any(&self.folder)?;
            // Files with secrets are among them.
            fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
            fs::create_dir_all(self.files())?;
            for entry in &self.entries {
                copy(&self.root.join(entry), &self.files().join(entry), &|_| true)?;
            }
            fs::write(self.left(), now.bytes())?;
            self.notes.extend(noted(now.size(), started.elapsed()));
            return Ok(());
        };
        if self.open_mark().exists() {
            self.died = true;
            self.notes.push(format!(
                "the last run died: later changes to files that git ignores are not copied into \
                 the proof room; to copy them, remove {}",
                self.folder.display()
            ));
            return Ok(());
        }
        let (changed, gone) = left.differences(now);
        for path in gone {
            remove_any(&self.files().join(path))?;
        }
        for path in changed {
            let to = self.files().join(path);
            remove_any(&to)?;
            copy(&self.root.join(path), &to, &|_| true)?;
        }
        Ok(())
    }

    fn files(&self) -> PathBuf {
        self.folder.join("files")
    }

    fn left(&self) -> PathBuf {
        self.folder.join(LEFT)
    }

    fn open_mark(&self) -> PathBuf {
        self.folder.join("open")
    }
}

/// The notice about a copy.
fn noted(size: u64, took: Duration) -> Option<String> {
    (size >= NOTED.0 || took >= NOTED.1).then(|| {
        format!(
            "copied {} MiB of files that git ignores for the proof room in {:.1} s",
            size >> 20,
            took.as_secs_f32()
        )
    })
}

/// The ignored paths without the runner's own.
fn own_left_out(layout: &Layout, mut ignored: Vec<PathBuf>) -> Vec<PathBuf> {
    const OWN: [&str; 2] = [".ralph/runs", ".ralph/audit"];
    ignored
        .retain(|path| !OWN.iter().any(|own| path.starts_with(own)) && !layout.is_state_file(path));
    ignored
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_or_slow_copy_is_told() {
        let told = "copied 300 MiB of files that git ignores for the proof room in 1.5 s";
        assert_eq!(noted(300 << 20, Duration::from_millis(1500)).as_deref(), Some(told));
        assert!(noted(1 << 20, Duration::from_secs(5)).is_some());
        assert_eq!(noted(1 << 20, Duration::from_millis(20)), None);
    }
}
