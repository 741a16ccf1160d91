//! Bundles: commits from a machine that is not trusted.
//!
//! Invariant: a bundle is data. Git unpacks and checks its objects in a repository of their own,
//! which has no settings, hooks, or refs; only if all of them hold do they move. No ref is written.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::fs::{Mode, OFlags};
use tempfile::TempDir;

use super::git_repo::GitRepo;
use super::partial_clone::run_within;
use crate::model::Oid;
use crate::sys::env;
use crate::verify::error::{VerifyError, io_error};

/// First line of a bundle.
const SIGNATURE: &str = "# v2 git bundle";
/// Longest list of refs, in bytes.
const HEADER: u64 = 1 << 20;
/// How long git may take to check a bundle.
const LIMIT: Duration = Duration::from_secs(600);

/// How large a bundle may be.
#[derive(Clone, Copy, Debug)]
pub struct BundleLimits {
    /// As a file, in bytes.
    pub file: u64,
    /// All its objects together, and each of them, unpacked.
    pub unpacked: u64,
}

/// The refs of a bundle, by their full names. All of them are commits.
pub type BundleRefs = BTreeMap<String, Oid>;

/// Moves the objects of a bundle into the repository with this git folder, if the bundle keeps the
/// limits, has only announced refs, begins at commits that the repository has, and passes git's
/// strict check.
///
/// # Errors
/// [`VerifyError::Bundle`] if it is refused; nothing has changed then.
pub fn take_bundle(
    git: &Path,
    file: &Path,
    limits: BundleLimits,
    announced: &dyn Fn(&str) -> bool,
) -> Result<BundleRefs, VerifyError> {
    let refused = |why: String| VerifyError::Bundle { path: file.to_owned(), why };
    let objects = git.join("objects");
    let objects = objects.canonicalize().map_err(io_error("resolve", &objects))?;
    let (pack, refs, starts) = header(file, limits, announced).map_err(refused)?;
    let room = Room::beside(git, &objects, limits)?;
    room.check(pack, limits.file).map_err(refused)?;
    room.measure(&objects, refs.values().chain(&starts)).map_err(refused)?;
    let made = room.dir.path().join("objects/pack");
    // Git reads a pack as soon as it has an index.
    for kind in ["pack", "rev", "idx"] {
        let files = fs::read_dir(&made).map_err(io_error("read", &made))?.flatten();
        for from in files.map(|it| it.path()).filter(|it| it.extension() == Some(kind.as_ref())) {
            let to = objects.join("pack");
            fs::create_dir_all(&to).map_err(io_error("create", &to))?;
            let to = to.join(from.file_name().unwrap_or_default());
            fs::rename(&from, &to).map_err(io_error("write", &to))?;
        }
    }
    Ok(refs)
}

impl GitRepo {
    /// Writes the commits of these refs that `base` does not have to a bundle.
    ///
    /// # Errors
    /// If git cannot write it, or there are none.
    pub fn write_bundle(
        &self,
        file: &Path,
        base: &Oid,
        refs: &[String],
    ) -> Result<(), VerifyError> {
        let mut git = Command::new("git");
        self.surround(&mut git).args(["bundle", "create", "--quiet", "--version=2"]).arg(file);
        git.args(refs).arg(format!("^{}", base.as_str())).stdin(Stdio::null());
        let output = git.output().map_err(io_error("ask git in", &self.root))?;
        if output.status.success() {
            return Ok(());
        }
        let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        let (operation, path) = ("write a bundle", self.root.clone());
        Err(VerifyError::Git { operation, path, source: why.into() })
    }
}

/// Opens a bundle at its pack; the refs, and the commits that it begins at.
fn header(
    path: &Path,
    limits: BundleLimits,
    announced: &dyn Fn(&str) -> bool,
) -> Result<(File, BundleRefs, Vec<Oid>), String> {
    let text = |error: std::io::Error| error.to_string();
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = rustix::fs::open(path, flags, Mode::empty()).map_err(|it| text(it.into()))?;
    let file = File::from(opened);
    let about = file.metadata().map_err(text)?;
    if !about.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    if about.len() > limits.file {
        return Err(format!("it has {} bytes, more than {}", about.len(), limits.file));
    }
    let mut lines = BufReader::new(file).take(HEADER);
    let mut line = || -> Result<String, String> {
        let mut line = String::new();
        lines.read_line(&mut line).map_err(|_| "its header is not text".to_owned())?;
        let whole = line.strip_suffix('\n').map(str::to_owned);
        whole.ok_or_else(|| "its header does not end".to_owned())
    };
    if line()? != SIGNATURE {
        return Err("it is not a bundle of version 2".to_owned());
    }
    let (mut refs, mut starts) = (BundleRefs::new(), Vec::new());
    loop {
        let line = line()?;
        let (id, name) =
            line.strip_prefix('-').unwrap_or(&line).split_at_checked(40).unwrap_or_default();
        let is_id = id.len() == 40 && id.bytes().all(|it| matches!(it, b'0'..=b'9' | b'a'..=b'f'));
        let id = Oid::new(id.to_owned());
        match name.strip_prefix(' ') {
            None if line.is_empty() => break,
            _ if !is_id => return Err(format!("`{line}` is no line of a header")),
            _ if line.starts_with('-') => starts.push(id),
            Some(name) if git2::Reference::is_valid_name(name) && announced(name) => {
                if refs.insert(name.to_owned(), id).is_some() {
                    return Err(format!("it names {name} twice"));
                }
            }
            _ => return Err(format!("it has a ref that was not announced:{name}")),
        }
    }
    if refs.is_empty() {
        return Err("it has no refs".to_owned());
    }
    let begin = HEADER - lines.limit();
    let mut file = lines.into_inner().into_inner();
    file.seek(SeekFrom::Start(begin)).map_err(text)?;
    Ok((file, refs, starts))
}

/// A repository that has only the objects of a bundle, and borrows the others.
struct Room {
    dir: TempDir,
    unpacked: u64,
}

impl Room {
    fn beside(git: &Path, objects: &Path, limits: BundleLimits) -> Result<Self, VerifyError> {
        let dir = tempfile::Builder::new().prefix("ralph-bundle-").tempdir_in(git);
        let dir = dir.map_err(io_error("create a folder in", git))?;
        let failed = io_error("write", dir.path());
        for folder in ["objects/info", "objects/pack", "refs"] {
            fs::create_dir_all(dir.path().join(folder)).map_err(&failed)?;
        }
        fs::write(dir.path().join("HEAD"), "ref: refs/heads/none\n").map_err(&failed)?;
        let borrowed = format!("{}\n", objects.display());
        fs::write(dir.path().join("objects/info/alternates"), borrowed).map_err(&failed)?;
        Ok(Self { dir, unpacked: limits.unpacked })
    }

    /// Refuses objects that are too large together, and refs that are no commits.
    fn measure<'o>(
        &self,
        objects: &Path,
        mut commits: impl Iterator<Item = &'o Oid>,
    ) -> Result<(), String> {
        let made = self.dir.path().join("objects");
        fs::remove_file(made.join("info/alternates")).map_err(|error| error.to_string())?;
        let failed = |error: git2::Error| error.message().to_owned();
        let open = |folder: &Path| {
            let odb = git2::Odb::new()?;
            odb.add_disk_alternate(&folder.to_string_lossy()).map(|()| odb)
        };
        let (made, known) = (open(&made).map_err(failed)?, open(objects).map_err(failed)?);
        let is_commit = |id: &Oid| {
            let id = git2::Oid::from_str(id.as_str());
            let found = id.and_then(|id| made.read_header(id).or_else(|_| known.read_header(id)));
            found.is_ok_and(|(_, kind)| kind == git2::ObjectType::Commit)
        };
        if let Some(id) = commits.find(|id| !is_commit(id)) {
            return Err(format!("it needs the commit {id}, which is not here"));
        }
        let mut sizes = Vec::new();
        let each = |id: &git2::Oid| {
            sizes.push(made.read_header(*id).map(|it| it.0 as u64));
            true
        };
        made.foreach(each).map_err(failed)?;
        let sum = sizes.into_iter().sum::<Result<u64, _>>().map_err(failed)?;
        if sum > self.unpacked {
            return Err(format!("it unpacks to {sum} bytes, more than {}", self.unpacked));
        }
        Ok(())
    }

    /// Unpacks and checks all objects, and their links, with nobody's settings, and within the
    /// limits.
    fn check(&self, pack: File, most: u64) -> Result<(), String> {
        let mut git = Command::new("git");
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy();
            if name.starts_with("GIT_") || env::is_secret(&name) {
                git.env_remove(&*name);
            }
        }
        git.args(["index-pack", "--stdin", "--fix-thin", "--strict"]);
        git.arg(format!("--max-input-size={most}")).stdin(pack);
        git.current_dir(self.dir.path()).env("GIT_DIR", self.dir.path());
        git.envs([("GIT_CONFIG_NOSYSTEM", "1"), ("GIT_CONFIG_GLOBAL", "/dev/null")]);
        git.envs([("GIT_NO_REPLACE_OBJECTS", "1"), ("GIT_NO_LAZY_FETCH", "1"), ("LC_ALL", "C")]);
        git.env("GIT_ALLOC_LIMIT", self.unpacked.to_string());
        run_within(&mut git, &[], LIMIT)
    }
}
