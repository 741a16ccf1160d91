//! A proof room's repository: a private one that holds one commit at a time.
//!
//! Invariant: every file in it comes from an object whose content was checked against its name;
//! nothing is read from the working tree of the agent. Git's own folder is rewritten before each
//! use, so that code which ran in the room cannot prepare the next check through it. Not in this
//! folder: running commands in the room, and files that git ignores.

mod hold;
mod large;
mod look;
mod patterns;
mod source;
mod stat;
mod strays;
mod tidied;
mod tidy;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use git2::{IndexEntryFlag, ObjectType, Repository, RepositoryInitOptions};
use rustix::fs::OFlags;

pub use self::source::RoomSource;
use self::stat::Stat;
pub use self::tidied::Tidied;
use crate::model::Oid;
use crate::sys::remove_any;
use crate::verify::classify::TreeEdit;
use crate::verify::commit_hooks::CommitHooks;
use crate::verify::error::{VerifyError, io_error};
use crate::verify::master::copy;
use crate::verify::not_fetched::NotFetched;

/// Folders of git's that are there from the start.
const FOLDERS: [&str; 3] = ["refs/heads", "refs/tags", "info"];
/// A folder of git's that stays if it is there: like `info`, the sandbox of an agent may have mounted
/// it, and a mount goes with its folder.
const HOOKS: &str = "hooks";

/// A private repository with a working tree.
#[derive(Debug)]
pub struct PrivateRepo {
    work: PathBuf,
    source: RoomSource,
    /// Where the repository's objects are reached.
    objects: PathBuf,
    branch: String,
    held: Option<Held>,
    /// Files that a filter made from the commit, as they were then.
    made: BTreeMap<PathBuf, Stat>,
    /// Untracked files with patterns, and their contents.
    patterns: BTreeMap<PathBuf, Vec<u8>>,
    /// Submodules, by their paths.
    modules: BTreeMap<PathBuf, PrivateRepo>,
    /// Submodules whose commit the repository does not have.
    empty_modules: BTreeSet<PathBuf>,
    /// Pointers to large files that the repository does not have.
    pointers: BTreeSet<PathBuf>,
}

/// The content of the room.
#[derive(Clone, Debug)]
struct Held {
    commit: git2::Oid,
    /// The commit at HEAD: with edits, one like it.
    head: git2::Oid,
    tree: git2::Oid,
    index: KeptIndex,
}

/// The index that belongs to a commit, and when it was written: git reads each file that is as young
/// as its index.
#[derive(Clone, Debug, Default)]
struct KeptIndex {
    /// Several MB in a large repository.
    bytes: Arc<[u8]>,
    written: Option<SystemTime>,
}

impl PrivateRepo {
    /// An empty room in a new empty folder. `objects` is the folder for its links to objects of the
    /// repository, outside the room.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn new(
        source: RoomSource,
        work: PathBuf,
        objects: PathBuf,
        branch: String,
    ) -> Result<Self, VerifyError> {
        let mut options = RepositoryInitOptions::new();
        options.external_template(false).mkdir(true).mkpath(true).initial_head(&branch);
        Repository::init_opts(&work, &options).map_err(failed("make the proof room", &work))?;
        fs::create_dir_all(&objects).map_err(io_error("make", &objects))?;
        link(&source.objects, &objects.join("objects"))?;
        Ok(Self {
            work,
            source,
            objects,
            branch,
            held: None,
            made: BTreeMap::new(),
            patterns: BTreeMap::new(),
            modules: BTreeMap::new(),
            empty_modules: BTreeSet::new(),
            pointers: BTreeSet::new(),
        })
    }

    /// Its root.
    pub fn work(&self) -> &Path {
        &self.work
    }

    /// Folders of the repository that the room borrows objects from: where they are, and where
    /// the room looks for them.
    pub fn borrowed(&self) -> Vec<(PathBuf, PathBuf)> {
        let own = (self.source.objects.clone(), self.objects.join("objects"));
        let inner = self.modules.values().flat_map(Self::borrowed);
        std::iter::once(own).chain(inner).collect()
    }

    /// The content of the commit that it cannot show.
    pub fn not_fetched(&self) -> NotFetched {
        let mut found = NotFetched {
            submodules: self.empty_modules.iter().cloned().collect(),
            large: self.pointers.iter().cloned().collect(),
        };
        for (at, module) in &self.modules {
            let NotFetched { submodules, large } = module.not_fetched();
            found.submodules.extend(submodules.iter().map(|path| at.join(path)));
            found.large.extend(large.iter().map(|path| at.join(path)));
        }
        found
    }

    /// The commit that it holds.
    pub fn commit(&self) -> Option<Oid> {
        self.held.as_ref().map(|held| Oid::new(held.commit.to_string()))
    }

    /// The commit at HEAD now, whoever put it there.
    pub fn head(&self) -> Option<Oid> {
        let repo = Repository::open(&self.work).ok()?;
        let head = repo.head().ok()?.peel_to_commit().ok()?;
        Some(Oid::new(head.id().to_string()))
    }

    fn git(&self, name: &str) -> PathBuf {
        self.work.join(".git").join(name)
    }

    fn open(&self) -> Result<Repository, VerifyError> {
        Repository::open(&self.work).map_err(failed("open the proof room", &self.work))
    }

    /// Writes git's folder anew, but for objects, and for an index that is as it should be.
    fn reset(&self, head: Option<git2::Oid>, index: Option<&KeptIndex>) -> Result<(), VerifyError> {
        let folder = self.work.join(".git");
        real_folder(&folder)?;
        for name in ["objects", "objects/info", "objects/pack"] {
            real_folder(&folder.join(name))?;
        }
        let own = self.objects.join("objects");
        let mut alternates = Vec::new();
        for path in std::iter::once(&own).chain(&self.source.alternates) {
            alternates.extend_from_slice(path.as_os_str().as_encoded_bytes());
            alternates.push(b'\n');
        }
        write(&folder.join("objects/info/alternates"), &alternates)?;
        let keeps_index = index.is_some_and(|index| holds(&self.git("index"), index));
        let wanted = self.files(head);
        let stays = |at: &Path, is_file: bool| {
            at == Path::new("objects")
                || is_file && at == Path::new("config")
                || keeps_index && at == Path::new("index")
        };
        keep_only(&folder, Path::new(""), &wanted, &stays)?;
        self.write_config("")?;
        for (name, bytes) in &wanted {
            write(&folder.join(name), bytes)?;
        }
        for name in FOLDERS {
            let path = folder.join(name);
            fs::create_dir_all(&path).map_err(io_error("make", &path))?;
        }
        match index {
            Some(index) if !keeps_index => self.write_index(index),
            _ => Ok(()),
        }
    }

    /// The files of git's folder beside its objects, configuration, and index.
    fn files(&self, head: Option<git2::Oid>) -> BTreeMap<&Path, Cow<'_, [u8]>> {
        let branch = format!("ref: {}\n", self.branch).into_bytes();
        let mut files = BTreeMap::from([
            (Path::new("HEAD"), branch.into()),
            (Path::new("packed-refs"), Cow::Borrowed(&*self.source.refs)),
        ]);
        let others = self.source.files.iter();
        files.extend(others.map(|(name, bytes)| (Path::new(name), Cow::Borrowed(&**bytes))));
        let head = head.map(|head| format!("{head}\n").into_bytes().into());
        files.extend(head.map(|head| (Path::new(&self.branch), head)));
        files
    }

    fn write_index(&self, KeptIndex { bytes, written }: &KeptIndex) -> Result<(), VerifyError> {
        let path = self.git("index");
        write(&path, bytes)?;
        let Some(written) = *written else { return Ok(()) };
        let file = fs::File::open(&path);
        file.and_then(|file| file.set_modified(written)).map_err(io_error("date", &path))
    }

    /// Begins a commit that is only tried, until the room is tidied: HEAD is its parent, its message
    /// is written, and hooks are copied to git's folder.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn begin_commit(
        &self,
        parent: &Oid,
        hooks: Option<&PathBuf>,
        message: &str,
    ) -> Result<(), VerifyError> {
        if let Some(from) = hooks {
            self.copy_hooks(from)?;
        }
        let parent = git2::Oid::from_str(parent.as_str());
        self.point_at(parent.map_err(failed("read a commit in", &self.work))?)?;
        write(&self.git("COMMIT_EDITMSG"), format!("{message}\n").as_bytes())
    }

    fn copy_hooks(&self, from: &Path) -> Result<(), VerifyError> {
        let to = self.git("hooks");
        let is_sample = |path: &Path| path.extension().is_some_and(|it| it == "sample");
        copy(from, &to, &|path| !is_sample(path)).map_err(io_error("copy hooks to", &to))
    }

    /// Leaves only what runs nothing of git's folder, and HEAD where it is now.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn settle(&self) -> Result<(), VerifyError> {
        let Some(held) = &self.held else { return Ok(()) };
        let head = self.head().map(|head| git2::Oid::from_str(head.as_str())).transpose();
        let head = head.map_err(failed("read HEAD in", &self.work))?;
        crate::sys::open_up(&self.work.join(".git"));
        self.reset(Some(head.unwrap_or(held.head)), Some(&held.index))?;
        self.note_made()
    }

    /// Takes edits out of the index, so that no commit includes them. The files stay. `git status`
    /// leaves out the marked ones.
    ///
    /// # Errors
    /// If the index cannot be written.
    pub fn unstage(
        &self,
        edits: &[TreeEdit],
        marked: &BTreeSet<PathBuf>,
    ) -> Result<(), VerifyError> {
        if edits.is_empty() {
            return Ok(());
        }
        let unstaged = || {
            let repo = Repository::open(&self.work)?;
            let head = repo.head()?.peel(ObjectType::Commit)?;
            repo.reset_default(Some(&head), edits.iter().map(TreeEdit::path))?;
            let mut index = repo.index()?;
            index.read(true)?;
            for path in edits.iter().map(TreeEdit::path).filter(|path| marked.contains(*path)) {
                let Some(mut entry) = index.get_path(path, 0) else { continue };
                entry.flags |= IndexEntryFlag::VALID.bits();
                index.add(&entry)?;
            }
            index.write()
        };
        unstaged().map_err(failed("take a human's files out of the index of", &self.work))
    }

    /// Lets git run the hooks of a repository for commits in the room, until it is tidied.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn lay_hooks(&self, hooks: Option<&CommitHooks>) -> Result<(), VerifyError> {
        // A sandbox that protects the folder has to find it.
        let folder = self.git("hooks");
        fs::create_dir_all(&folder).map_err(io_error("make", &folder))?;
        let Some(hooks) = hooks else { return Ok(()) };
        if hooks.are_copied() {
            return self.copy_hooks(&hooks.folder);
        }
        let path = quoted(&hooks.seen_at.to_string_lossy());
        self.write_config(&format!("[core]\n\thooksPath = {path}\n"))
    }

    /// Writes the configuration, with more at its end. A sandbox in which an agent still is may have
    /// mounted the file, and a mount goes with what is in its place: so it is written in place.
    fn write_config(&self, more: &str) -> Result<(), VerifyError> {
        let (path, text) = (self.git("config"), self.config() + more);
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
        let open = fs::OpenOptions::new().write(true).custom_flags(flags).open(&path);
        let is_own = |meta: &fs::Metadata| meta.is_file() && meta.nlink() == 1;
        match open {
            Ok(mut file) if file.metadata().is_ok_and(|meta| is_own(&meta)) => file
                .set_len(0)
                .and_then(|()| file.write_all(text.as_bytes()))
                .map_err(io_error("write", &path)),
            _ => write(&path, text.as_bytes()),
        }
    }

    /// Lets the branch point at a commit.
    fn point_at(&self, head: git2::Oid) -> Result<(), VerifyError> {
        write(&self.git(&self.branch), format!("{head}\n").as_bytes())
    }

    fn config(&self) -> String {
        let mut text = String::from(
            "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tlogallrefupdates = false\n\
             [gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n",
        );
        for (name, value) in &self.source.config {
            let Some((section, key)) = name.rsplit_once('.') else { continue };
            let head = match section.split_once('.') {
                Some((section, sub)) => format!("[{section} {}]", quoted(sub)),
                None => format!("[{section}]"),
            };
            text.push_str(&format!("{head}\n\t{key} = {}\n", quoted(value)));
        }
        text
    }
}

/// As git quotes in its configuration.
fn quoted(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("\"{text}\"")
}

fn failed(operation: &'static str, path: &Path) -> impl Fn(git2::Error) -> VerifyError + use<> {
    let path = path.to_owned();
    move |error| VerifyError::Git { operation, path: path.clone(), source: Box::new(error) }
}

/// Removes everything in a folder of git's but files with the wanted content, folders on the way to
/// them, and what `stays`. Each file that is made and removed costs more than one that is read.
fn keep_only(
    git: &Path,
    folder: &Path,
    wanted: &BTreeMap<&Path, Cow<'_, [u8]>>,
    stays: &dyn Fn(&Path, bool) -> bool,
) -> Result<(), VerifyError> {
    let listed = git.join(folder);
    for entry in fs::read_dir(&listed).map_err(io_error("list", &listed))? {
        let entry = entry.map_err(io_error("list", &listed))?;
        let at = folder.join(entry.file_name());
        let kind = entry.file_type().map_err(io_error("look at", &entry.path()))?;
        if stays(&at, kind.is_file()) || wanted.get(&*at).is_some_and(|it| has(&entry.path(), it)) {
            continue;
        }
        let leads_on = at == Path::new(HOOKS)
            || FOLDERS.iter().any(|it| Path::new(it).starts_with(&at))
            || wanted.keys().any(|it| it.starts_with(&at) && **it != *at);
        if kind.is_dir() && leads_on {
            keep_only(git, &at, wanted, stays)?;
        } else {
            remove_any(&entry.path()).map_err(io_error("remove", &entry.path()))?;
        }
    }
    Ok(())
}

/// Is this a separate file with this content?
fn has(path: &Path, bytes: &[u8]) -> bool {
    let is_own = |meta: fs::Metadata| {
        meta.is_file() && meta.nlink() == 1 && meta.len() == bytes.len() as u64
    };
    fs::symlink_metadata(path).is_ok_and(is_own) && fs::read(path).is_ok_and(|it| it == bytes)
}

/// Writes a file, unless it has this content.
fn write(path: &Path, bytes: &[u8]) -> Result<(), VerifyError> {
    if has(path, bytes) {
        return Ok(());
    }
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(io_error("make", parent))?;
    }
    // A link in its place, or a pipe, was put there by a check.
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(io_error("remove", path)(error));
        }
        _ => {}
    }
    let file = fs::OpenOptions::new().write(true).create_new(true).open(path);
    file.and_then(|mut file| file.write_all(bytes)).map_err(io_error("write", path))
}

/// Makes sure that a path is a folder and no link, through which the runner would write elsewhere.
fn real_folder(path: &Path) -> Result<(), VerifyError> {
    match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_dir() => return Ok(()),
        Ok(_) => fs::remove_file(path).map_err(io_error("remove", path))?,
        Err(_) => {}
    }
    fs::create_dir(path).map_err(io_error("make", path))
}

/// Is this a separate file with the content of an index, and its time?
fn holds(path: &Path, index: &KeptIndex) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.modified().ok() == index.written)
        && has(path, &index.bytes)
}

fn link(to: &Path, at: &Path) -> Result<(), VerifyError> {
    std::os::unix::fs::symlink(to, at).map_err(io_error("link", at))
}
