//! The rules of a run's guard.

use std::path::Path;

use crate::cli::context::TaskContext;
use crate::cli::failure::Failure;
use crate::cli::{holdout, openings};
use crate::config::Settings;
use crate::engine::GuardRules;
use crate::guard::{Approval, Rules};
use crate::model::{ExitCode, Tier};
use crate::verify::Preflight;

/// The rules of the run's guard, which are compiled once to see that they can be.
pub(in crate::cli) fn rules(
    at: &TaskContext,
    settings: &Settings,
    preflight: &Preflight,
    tier: Tier,
    scratch: &Path,
) -> Result<GuardRules, Failure> {
    let home = etcetera::home_dir().ok();
    let invalid = |error| Failure::new(ExitCode::Invalid, error);
    let compiled = Rules::compile(&settings.policy, at.place.root(), home.as_deref());
    let rules = GuardRules {
        workspace: at.place.root().to_owned(),
        task_dir: at.folder.dir.clone(),
        tier,
        home,
        tmp: scratch.join("tmp"),
        write_scope: settings.write_scope,
        allow: settings.allow.clone(),
        protect: settings.protect.clone(),
        human: preflight.human.paths().map(|path| at.place.root().join(path)).collect(),
        marked: preflight.marked.iter().map(|path| at.place.root().join(path)).collect(),
        readable: openings::readable(settings, at.place.root()),
        hidden: holdout::hidden(settings, &at.place.cwd).collect(),
        visible: openings::visible(settings, at.place.root())?,
        network: settings.network,
        network_for: settings.network_for.clone(),
        started: std::time::SystemTime::now(),
        rules: compiled.map_err(invalid)?,
        approval: if settings.auto_approve { Approval::Automatic } else { Approval::Human },
    };
    // An invalid glob or command is reported now, not in the first iteration.
    rules.policy().map_err(invalid)?;
    Ok(rules)
}
