//! `ci`: the steps of the workflow that `init --ci` writes.
//!
//! Invariant: the job that works is not trusted by the others. What it hands over is a bundle, which
//! is read as untrusted input, and a journal, which is only shown.

mod prove;
mod push;
mod workflow;

use std::fs;
use std::path::Path;

use super::args::{CiArgs, CiCommand};
use super::context::RepoContext;
use super::failure::Failure;
use super::print::say;
use super::step::to_file;
use crate::events::journals;
use crate::model::{ExitCode, Oid};
use crate::report::count;
use crate::verify::{BundleLimits, BundleRefs, Layout, take_bundle};
pub(super) use workflow::workflow;

/// The files that one job hands to the next.
const BUNDLE: &str = "work.bundle";
const JOURNAL: &str = "events.jsonl";

/// Runs a step.
pub(super) fn ci(directory: Option<&Path>, command: &CiCommand) -> Result<u8, Failure> {
    match command {
        CiCommand::Bundle { of } => bundle(directory, of),
        CiCommand::Prove(args) => prove::prove(directory, args),
        CiCommand::Push(args) => push::push(args),
    }
}

impl CiArgs {
    fn branch(&self) -> String {
        self.branch.clone().unwrap_or_else(|| format!("ralph/{}", self.task))
    }

    /// The branch in full.
    fn head(&self) -> String {
        format!("refs/heads/{}", self.branch())
    }

    /// The folders of refs that a bundle may have.
    fn kept(&self) -> [String; 2] {
        let refs = Layout::new(&self.task, "").refs();
        ["attempts", "held"].map(|kind| format!("{refs}/{kind}/"))
    }

    /// Reads the bundle into the repository with this git folder.
    fn take(&self, git: &Path) -> Result<BundleRefs, Failure> {
        let file = u64::from(self.max_size) * 1_000_000;
        let limits = BundleLimits { file, unpacked: file.saturating_mul(20) };
        let (head, kept) = (self.head(), self.kept());
        let announced = |name: &str| name == head || kept.iter().any(|it| name.starts_with(it));
        Ok(take_bundle(git, &self.folder.join(BUNDLE), limits, &announced)?)
    }
}

/// The tip of the branch on GitHub, as this clone has it; where the work begins without one.
fn known(place: &RepoContext, of: &CiArgs) -> Result<(Option<Oid>, Oid), Failure> {
    let tip = |name: &str| place.repo.revision(&format!("refs/remotes/origin/{name}"));
    let base = tip(&of.base)?.ok_or_else(|| {
        Failure::new(ExitCode::Repository, format!("origin has no branch `{}`", of.base))
            .hint("clone with the whole history: `fetch-depth: 0`, and name the base with `--base`")
    })?;
    Ok((tip(&of.branch())?, base))
}

fn bundle(directory: Option<&Path>, of: &CiArgs) -> Result<u8, Failure> {
    let place = RepoContext::find(directory)?;
    let (known, base) = known(&place, of)?;
    let begin = known.unwrap_or(base);
    let tip = place.repo.revision(&of.head())?;
    let Some(tip) = tip.filter(|tip| *tip != begin) else {
        output("new", "false")?;
        say(&format!("Nothing to hand over: {} has no new commit.", of.branch()));
        return Ok(0);
    };
    fs::create_dir_all(&of.folder).map_err(|error| Failure::cannot_write(&of.folder, &error))?;
    let kept = of.kept().map(|folder| format!("--glob={folder}*"));
    let refs: Vec<String> = [of.head()].into_iter().chain(kept).collect();
    let file = of.folder.join(BUNDLE);
    place.repo.write_bundle(&file, &begin, &refs)?;
    if let Some(newest) = journals(&place.runs()).ok().and_then(|all| all.into_iter().next()) {
        let to = of.folder.join(JOURNAL);
        fs::copy(&newest, &to).map_err(|error| Failure::cannot_write(&to, &error))?;
    }
    output("new", "true")?;
    let commits = place.repo.branch(&begin, &tip)?.len().saturating_sub(1);
    say(&format!("handed over {} up to {}", count(commits as u64, "commit"), tip.short()));
    Ok(0)
}

/// Sets an output of the step, in GitHub Actions. The values are ours and have one line.
fn output(name: &str, value: &str) -> Result<(), Failure> {
    to_file("GITHUB_OUTPUT", &format!("{name}={value}\n"))
}
