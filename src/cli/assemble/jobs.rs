//! The workers of a run with several jobs, before they are started.

use std::num::NonZeroUsize;
use std::path::Path;

use super::claim::Claim;
use super::plan::RunPlan;
use crate::cli::context::TaskContext;
use crate::cli::crew::{self, WorkersOfRun};
use crate::cli::failure::Failure;
use crate::cli::{launch, paths, tier};
use crate::engine::Jobs;
use crate::model::{ExitCode, Sandbox, Tier};

/// Most workers of a run.
const MOST: usize = 16;

/// The workers, if there are to be several.
pub(super) fn jobs(
    at: &TaskContext,
    plan: &RunPlan,
    claim: &Claim,
    scratch: &Path,
    notices: &mut Vec<String>,
) -> Result<Option<Jobs>, Failure> {
    let (settings, tier) = (&plan.settings, plan.chosen.tier);
    let asked = usize::try_from(settings.jobs).unwrap_or(MOST);
    let most = NonZeroUsize::new(asked.min(MOST)).unwrap_or(NonZeroUsize::MIN);
    if most == NonZeroUsize::MIN {
        return Ok(None);
    }
    if tier == Tier::Off && settings.sandbox != Sandbox::Off {
        return Err(Failure::new(
            ExitCode::Usage,
            format!("--jobs {most} needs a sandbox, and none works on this machine"),
        )
        .hint("`ralph-copilot doctor` says why; `--sandbox=off` works without one"));
    }
    let place = WorkersOfRun {
        run: claim.run.as_str().to_owned(),
        root: at.place.root().to_owned(),
        folder: at.layout.folder().to_owned(),
        seen_at: tier::seen_at(tier),
        tmp: scratch.to_owned(),
    };
    let identity = claim.identity.as_ref().map(|known| launch::owned(known.environment()));
    let mut more = identity.unwrap_or_default();
    // Workers hide the folder, too, and never read it.
    let hidden = paths::holdout_folder(settings, &at.place.cwd);
    more.extend(hidden.map(|it| ("RALPH_COPILOT_HOLDOUT".to_owned(), it.display().to_string())));
    let hire = crew::hire(place, more)?;
    notices.extend((asked > MOST).then(|| format!("jobs: {asked} counts as {MOST}")));
    Ok(Some(Jobs { most, hire }))
}
