//! `ci bundle`: writes what a job hands over.

use std::fs;
use std::path::Path;

use super::handed_over::{BUNDLE, JOURNAL, known, output};
use crate::cli::args::CiArgs;
use crate::cli::context::RepoContext;
use crate::cli::failure::Failure;
use crate::cli::print::say;
use crate::events::journals;
use crate::report::count;

/// Bundles the new commits; its output `new` says whether there are any.
pub(super) fn bundle(directory: Option<&Path>, of: &CiArgs) -> Result<u8, Failure> {
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
