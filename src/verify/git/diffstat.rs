//! The size of the work between two commits.

use git2::DiffOptions;

use super::git_repo::GitRepo;
use crate::model::Oid;
use crate::verify::error::VerifyError;
use crate::verify::layout::Layout;

impl GitRepo {
    /// Files that differ between two commits, and lines that were added and removed, without the
    /// state files of a task.
    ///
    /// # Errors
    /// If git cannot compare them.
    pub fn diffstat(
        &self,
        (from, to): (&Oid, &Oid),
        layout: &Layout,
    ) -> Result<[usize; 3], VerifyError> {
        let (repo, failed) = (self.lock(), self.failed("compare commits"));
        let (old, new) = (self.tree(&repo, from)?, self.tree(&repo, to)?);
        let (mut options, state) = (DiffOptions::new(), layout.state_files());
        options.context_lines(0);
        let diff = repo.diff_tree_to_tree(Some(&old), Some(&new), Some(&mut options));
        let (diff, mut stat) = (diff.map_err(&failed)?, [0; 3]);
        for (at, delta) in diff.deltas().enumerate() {
            if state.iter().any(|file| delta.new_file().path() == Some(file)) {
                continue;
            }
            let patch = git2::Patch::from_diff(&diff, at).map_err(&failed)?;
            let lines = patch.map_or(Ok((0, 0, 0)), |patch| patch.line_stats());
            let (_, added, removed) = lines.map_err(&failed)?;
            stat = [stat[0] + 1, stat[1] + added, stat[2] + removed];
        }
        Ok(stat)
    }
}
