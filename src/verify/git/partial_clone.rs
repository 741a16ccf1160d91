//! Clones without all objects (`git clone --filter=…`): git fetches the others when it needs them,
//! and the library cannot.
//!
//! Invariant: only before an agent works does git fetch, from the remote and with the programs that
//! the human configured; it asks no question.

use std::collections::BTreeSet;
use std::io::{Read as _, Seek as _, Write as _};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::git_repo::GitRepo;
use crate::verify::error::{RepoProblem, VerifyError};

/// How long all fetches may take.
const LIMIT: Duration = Duration::from_secs(600);

impl GitRepo {
    /// Fetches the objects of these revisions that a partial clone does not have. Calls `tell` with a
    /// sentence before it fetches.
    ///
    /// # Errors
    /// If git cannot fetch them.
    pub fn fetch_missing(
        &self,
        revisions: &[String],
        tell: &dyn Fn(&str),
    ) -> Result<(), RepoProblem> {
        let Some((remote, filter)) = self.promisor()? else { return Ok(()) };
        let failed = |why| Err(RepoProblem::PartialClone { remote: remote.clone(), why });
        // A later fetch may have brought them, which does not change the filter.
        if filter.contains("tree:") && !self.missing_of(&["--filter=blob:none", "HEAD"])?.is_empty()
        {
            return failed(format!("it has no trees of its history (--filter={filter})"));
        }
        let begun = Instant::now();
        let mut before = BTreeSet::new();
        loop {
            // A tree that is missing hides what it holds, so one round may not be enough.
            let missing = self.missing(revisions)?;
            if missing.is_empty() {
                return Ok(());
            }
            if before.is_empty() {
                tell(&format!(
                    "this partial clone does not have all objects: fetching {} from {remote}",
                    missing.len()
                ));
            }
            if missing == before {
                return failed("it does not have them".to_owned());
            }
            let left = LIMIT.saturating_sub(begun.elapsed());
            if let Err(why) = self.fetch_objects(&remote, &missing, left) {
                return failed(why);
            }
            before = missing;
        }
    }

    /// The remote that has the objects that this clone was made without, and the filter.
    fn promisor(&self) -> Result<Option<(String, String)>, VerifyError> {
        let repo = self.lock();
        let config = repo.config().and_then(|mut config| config.snapshot());
        let config = config.map_err(self.failed("read the configuration"))?;
        let remotes = repo.remotes().map_err(self.failed("list the remotes"))?;
        let promises = |name: &&str| config.get_bool(&format!("remote.{name}.promisor"));
        let remote = match config.get_str("extensions.partialClone") {
            Ok(name) => Some(name),
            Err(_) => {
                remotes.iter().flatten().flatten().find(|name| promises(name).unwrap_or(false))
            }
        };
        Ok(remote.map(|name| {
            let filter = config.get_str(&format!("remote.{name}.partialCloneFilter"));
            (name.to_owned(), filter.unwrap_or_default().to_owned())
        }))
    }

    /// The objects of revisions that are not here.
    fn missing(&self, revisions: &[String]) -> Result<BTreeSet<String>, VerifyError> {
        let each = revisions.iter().map(|revision| self.missing_of(&[revision]));
        each.collect::<Result<Vec<_>, _>>().map(|all| all.into_iter().flatten().collect())
    }

    /// The same, by arguments of git. A revision that is not here has none.
    fn missing_of(&self, revisions: &[&str]) -> Result<BTreeSet<String>, VerifyError> {
        let list = ["rev-list", "--objects", "--missing=print", "--no-object-names"];
        let said = self.ask_git(&[&list, revisions].concat(), &|_| None)?.unwrap_or_default();
        Ok(said.lines().filter_map(|it| it.strip_prefix('?')).map(str::to_owned).collect())
    }

    /// Fetches objects by their ids, as git itself does it.
    fn fetch_objects(
        &self,
        remote: &str,
        objects: &BTreeSet<String>,
        limit: Duration,
    ) -> Result<(), String> {
        let mut git = Command::new("git");
        self.surround(&mut git).args(["-c", "fetch.negotiationAlgorithm=noop", "fetch", remote]);
        git.args(["--quiet", "--no-tags", "--no-write-fetch-head", "--recurse-submodules=no"]);
        git.args(["--filter=blob:none", "--stdin"]).env("GIT_TERMINAL_PROMPT", "0");
        let list: String = objects.iter().map(|id| format!("{id}\n")).collect();
        run_within(git.stdin(Stdio::piped()), list.as_bytes(), limit)
    }
}

/// Runs git for a limited time. The error is its own, if it failed.
pub(super) fn run_within(git: &mut Command, input: &[u8], limit: Duration) -> Result<(), String> {
    let text = |error: std::io::Error| format!("git: {error}");
    let mut said = tempfile::tempfile().map_err(text)?;
    git.stdout(Stdio::null()).stderr(said.try_clone().map_err(text)?);
    let (begun, mut child) = (Instant::now(), git.spawn().map_err(text)?);
    // A git that ends early says why.
    drop(child.stdin.take().map(|mut it| it.write_all(input)));
    while begun.elapsed() < limit {
        if let Some(status) = child.try_wait().map_err(text)? {
            let mut read = String::new();
            said.rewind().and_then(|()| said.read_to_string(&mut read)).map_err(text)?;
            let fatal = read.lines().find(|line| line.starts_with("fatal: "));
            let why = fatal.or(read.lines().last()).unwrap_or("git failed");
            return if status.success() { Ok(()) } else { Err(why.to_owned()) };
        }
        sleep(Duration::from_millis(2));
    }
    child.kill().and_then(|()| child.wait()).map_err(text)?;
    Err(format!("it took longer than {} s", limit.as_secs()))
}
