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

/// Writes the report beside the journal, and prints the command that opens a pull request with it.
pub(super) fn pr(directory: Option<&Path>, args: &PrArgs) -> Result<u8, Failure> {
    let place = RepoContext::find(directory)?;
    let path = journal(&place, directory, args.task.as_deref())?;
    let night = night(&place, directory, &path)?;
    if night.head.is_none() {
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
    complain(&format!("note: push the branch first: git push -u origin {branch}"));
    say(&format!(
        "gh pr create --head {branch} --title {} --body-file {}",
        quoted(&format!("{title}: {}", night.counted)),
        quoted(&body.to_string_lossy())
    ));
    Ok(0)
}
