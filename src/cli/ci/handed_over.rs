//! What the jobs of the workflow hand to each other.

use std::path::Path;

use crate::cli::args::CiArgs;
use crate::cli::context::RepoContext;
use crate::cli::failure::Failure;
use crate::cli::print::to_file;
use crate::model::{ExitCode, Oid};
use crate::verify::{BundleLimits, BundleRefs, Layout, take_bundle};

/// The files in the folder.
pub(super) const BUNDLE: &str = "work.bundle";
pub(super) const JOURNAL: &str = "events.jsonl";

impl CiArgs {
    pub(super) fn branch(&self) -> String {
        self.branch.clone().unwrap_or_else(|| format!("ralph/{}", self.task))
    }

    /// The branch in full.
    pub(super) fn head(&self) -> String {
        format!("refs/heads/{}", self.branch())
    }

    /// The folders of refs that a bundle may have.
    pub(super) fn kept(&self) -> [String; 2] {
        let refs = Layout::new(&self.task, "").refs();
        ["attempts", "held"].map(|kind| format!("{refs}/{kind}/"))
    }

    /// Reads the bundle into the repository with this git folder.
    pub(super) fn take(&self, git: &Path) -> Result<BundleRefs, Failure> {
        let file = u64::from(self.max_size) * 1_000_000;
        let limits = BundleLimits { file, unpacked: file.saturating_mul(20) };
        let (head, kept) = (self.head(), self.kept());
        let announced = |name: &str| name == head || kept.iter().any(|it| name.starts_with(it));
        Ok(take_bundle(git, &self.folder.join(BUNDLE), limits, &announced)?)
    }
}

/// The tip of the branch on GitHub, as this clone has it; where the work begins without one.
pub(super) fn known(place: &RepoContext, of: &CiArgs) -> Result<(Option<Oid>, Oid), Failure> {
    let tip = |name: &str| place.repo.revision(&format!("refs/remotes/origin/{name}"));
    let base = tip(&of.base)?.ok_or_else(|| {
        Failure::new(ExitCode::Repository, format!("origin has no branch `{}`", of.base))
            .hint("clone with the whole history: `fetch-depth: 0`, and name the base with `--base`")
    })?;
    Ok((tip(&of.branch())?, base))
}

/// Sets an output of the step, in GitHub Actions. The values are ours and have one line.
pub(super) fn output(name: &str, value: &str) -> Result<(), Failure> {
    to_file("GITHUB_OUTPUT", &format!("{name}={value}\n"))
}
