//! `pr`: the command that hands a run's branch over, with the report as its text.

use std::path::Path;

use super::args::PrArgs;
use super::command_names::{is_default, quoted};
use super::context::RepoContext;
use super::environment::redactor;
use super::failure::Failure;
use super::inert::inert;
use super::log::journal;
use super::on_end::write_report;
use super::paths::shown_from;
use super::print::{complain, say};
use super::report::night;
use crate::model::ExitCode;
use crate::report::NightCriterion;

/// Writes the report beside the journal, and prints the command that opens a pull request with it.
pub(super) fn pr(directory: Option<&Path>, args: &PrArgs) -> Result<u8, Failure> {
    let place = RepoContext::find(directory)?;
    let path = journal(&place, directory, args.task.as_deref())?;
    let night = night(&place, directory, &path)?;
    let is_done = |it: &NightCriterion| it.checked && !["ticked", "open"].contains(&it.standing);
    // A later run may have added nothing to what the branch has.
    if night.head.is_none() && !night.criteria.iter().any(is_done) {
        let none = Failure::new(ExitCode::Invalid, "this run left no work that passed");
        return Err(none.hint("`ralph-copilot status` shows what became of it"));
    }
    if is_default(&night.branch) {
        let said = format!("the run worked on `{}`, not on a branch of its own", night.branch);
        return Err(Failure::new(ExitCode::Invalid, said)
            .hint("make one: git switch -c NAME; or start runs with --branch NAME"));
    }
    let report = write_report(path.parent().unwrap_or(&path), &night)?;
    let report = report.strip_prefix(place.root()).unwrap_or(&report);
    let body = shown_from(&place.cwd, place.root(), report);
    let title = redactor().redact_str(&inert(&night.task)).into_owned();
    let branch = quoted(&night.branch);
    let remotes = place.repo.remotes();
    let remote = match remotes.iter().find(|it| *it == "origin").or(remotes.first()) {
        Some(remote) => quoted(remote),
        None => {
            complain("note: there is no remote yet: git remote add origin URL");
            "origin".into()
        }
    };
    complain(&format!("note: push the branch first: git push -u {remote} {branch}"));
    say(&format!(
        "gh pr create --head {branch} --title {} --body-file {}",
        quoted(&format!("{title}: {}", night.counted)),
        quoted(&body.to_string_lossy())
    ));
    Ok(0)
}
