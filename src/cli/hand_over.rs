//! The work of a run on one criterion, as a bundle for another machine.
//!
//! Invariant: the branch and the tree are as before the run, and a ref here keeps what the bundle
//! has.

use std::path::{Path, PathBuf};

use super::failure::Failure;
use super::print::complain;
use crate::engine::RunParts;
use crate::model::{Checkpoint, ExitCode, Oid, Outcome};
use crate::verify::{Fingerprints, GitRepo, Layout};

/// Where the work goes, and what was there before it.
pub(super) struct HandOver {
    repo: GitRepo,
    layout: Layout,
    from: Checkpoint,
    human: Fingerprints,
    /// The task's refs before the run.
    refs: Vec<(String, Oid)>,
    /// The ref of the work in the bundle.
    name: String,
    file: PathBuf,
}

/// Refuses a bundle in the place of a file, before a run begins.
pub(super) fn refuse_existing(file: &Path) -> Result<(), Failure> {
    if file.symlink_metadata().is_err() {
        return Ok(());
    }
    let said = format!("{} exists", file.display());
    Err(Failure::new(ExitCode::Usage, said).hint("--bundle writes a new file"))
}

impl HandOver {
    /// Of a run that has not begun, on the criterion with this name.
    pub(super) fn of(
        RunParts { ledger: parts, .. }: &RunParts,
        file: &Path,
        criterion: &str,
    ) -> Result<Self, Failure> {
        let file = std::path::absolute(file).map_err(|it| Failure::cannot_write(file, &it))?;
        let (repo, layout) = (GitRepo::discover(parts.repo.root())?, parts.layout.clone());
        let refs = repo.refs_below(&layout.refs())?;
        let (from, human) = (parts.preflight.checkpoint.clone(), parts.preflight.human.clone());
        let name = layout.handed_in_ref(criterion);
        Ok(Self { repo, layout, from, human, refs, name, file })
    }

    /// Takes the work off the branch, and writes the bundle, if anything was done.
    pub(super) fn write(self, outcome: &Outcome) -> Result<(), Failure> {
        // Everything is left for the human to look at.
        if matches!(outcome, Outcome::Tampered { .. } | Outcome::CannotGoOn { .. }) {
            return Ok(());
        }
        let Self { repo, layout, from, human, refs, name, file } = self;
        repo.ready(&from.branch)?;
        let tip = repo.checkpoint()?.head;
        if tip == from.head {
            return Ok(());
        }
        let kept = repo.keep_attempt(&layout, 1, &tip)?;
        let left = repo.back_to(&from, &human)?;
        for path in left {
            complain(&format!("note: {} stays as the run left it", path.display()));
        }
        // The harness is a tree, and proofs make their own.
        let not_new = [layout.harness_ref(), kept.name.clone()];
        let new = repo.refs_below(&layout.refs())?.into_iter().filter(|it| !refs.contains(it));
        let new = new.map(|(name, _)| name).filter(|name| !not_new.contains(name));
        let new: Vec<String> = new.chain([name.clone()]).collect();
        repo.keep(&name, &tip)?;
        let written = repo.write_bundle(&file, &from.head, &new);
        repo.release(&name, &tip)?;
        written?;
        complain(&format!("note: the work is in {} and {}", file.display(), kept.name));
        Ok(())
    }
}
