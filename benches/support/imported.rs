//! Repositories of many files and commits, and the numbers of what is measured in them.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// What a benchmark comes to.
pub(crate) type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// Files with their texts, by path.
pub(crate) type Files = Vec<(String, String)>;

/// Makes a repository whose commits write these files, by `git fast-import`, and checks it out.
pub(crate) fn import(root: &Path, commits: impl Iterator<Item = Files>) -> Outcome<()> {
    git(root, &["init", "-qb", "main"])?;
    let mut import = Command::new("git")
        .args(["fast-import", "--quiet"])
        .current_dir(root)
        .stdin(Stdio::piped())
        .spawn()?;
    let mut to = std::io::BufWriter::new(import.stdin.take().ok_or("no pipe")?);
    let author = "committer Ada <ada@example.org>";
    for (commit, files) in commits.enumerate() {
        let time = 1_700_000_000 + commit;
        write!(to, "commit refs/heads/main\n{author} {time} +0000\ndata 1\nx\n")?;
        for (path, text) in files {
            write!(to, "M 644 inline {path}\ndata <<E\n{text}\nE\n")?;
        }
    }
    drop(to);
    if !import.wait()?.success() {
        return Err("git fast-import failed".into());
    }
    git(root, &["reset", "-q", "--hard"])?;
    // As in a repository that is in use, the times in the index are of an earlier second.
    std::thread::sleep(Duration::from_millis(1100));
    git(root, &["status", "--porcelain"])
}

/// The path of a file: a hundred of them in a folder.
pub(crate) fn path(file: usize) -> String {
    format!("d{}/f{}", file / 100, file % 100)
}

/// Runs git, which must succeed.
pub(crate) fn git(root: &Path, args: &[&str]) -> Outcome<()> {
    let status = Command::new("git")
        .args(["-c", "user.name=Ada", "-c", "user.email=ada@example.org"])
        .args(args)
        .current_dir(root)
        .stdout(Stdio::null())
        .status()?;
    if status.success() { Ok(()) } else { Err(format!("git {args:?}: {status}").into()) }
}

/// The middle one.
pub(crate) fn median(mut all: Vec<Duration>) -> Duration {
    all.sort();
    all[all.len() / 2]
}

/// A time in milliseconds.
pub(crate) fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
