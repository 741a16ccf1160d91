//! `ci prove`: proves what another job hands over, without trusting it.

use std::path::Path;

use super::handed_over::{JOURNAL, known, output};
use crate::cli::args::{CiProveArgs, VerifyArgs};
use crate::cli::context::RepoContext;
use crate::cli::environment::redactor;
use crate::cli::failure::Failure;
use crate::cli::issue::Issue;
use crate::cli::print::to_file;
use crate::cli::print::{annotate, complain, say};
use crate::cli::report::night;
use crate::cli::verify_branch::{first_task, proven_end, verified};
use crate::model::ExitCode;
use crate::plan::fence;
use crate::report::markdown;

/// Larger journals are not shown.
const LARGEST_JOURNAL: u64 = 64_000_000;
/// A pull request takes 65,536 characters.
const MOST: usize = 64_000;

/// Proves the commits; its outputs are `proven`, empty if there is nothing, and `known`.
pub(super) fn prove(directory: Option<&Path>, args: &CiProveArgs) -> Result<u8, Failure> {
    let of = &args.of;
    let place = RepoContext::find(directory)?;
    let (known, base) = known(&place, of)?;
    let refs = of.take(place.repo.common_dir())?;
    let begin = known.clone().unwrap_or(base);
    let Some(tip) = refs.get(&of.head()).filter(|tip| **tip != begin) else {
        say("Nothing to prove: the bundle has no new commit of the branch.");
        return output("proven", "").map(|()| 0);
    };
    if known.is_some() && place.repo.fork(&begin, tip)?.as_ref() != Some(&begin) {
        moved(&of.branch());
        return output("proven", "").map(|()| 0);
    }
    let mut asked = VerifyArgs {
        holdout: None,
        task: of.task.clone(),
        base: Some(begin.as_str().to_owned()),
        head: Some(tip.as_str().to_owned()),
        allow_accepted: false,
        require_checks: args.require_checks,
        sandbox: args.sandbox,
        json: false,
    };
    let end = proven_end(RepoContext::find(directory)?, &asked)?;
    if end != *tip {
        complain(&format!("note: nothing speaks for the commits after {}", end.short()));
    }
    if place.repo.fork(&begin, tip)?.as_ref() == Some(&end) {
        say("Nothing to prove: no commit ticks a criterion or changes only the task's records.");
        return output("proven", "").map(|()| 0);
    }
    asked.head = Some(end.as_str().to_owned());
    let mut closes = String::new();
    if let Some(event) = &args.from_file {
        let issue = Issue::of_file(event)?;
        let new = first_task(RepoContext::find(directory)?, &asked)?;
        if new.is_some_and(|text| Some(text) != issue.task(&of.task).ok().map(String::into_bytes)) {
            let why = "the branch adds a task that is not the issue's";
            return Err(Failure::new(ExitCode::Tampering, why)
                .hint("look at the job that worked: it changed TASK.md before it committed it"));
        }
        closes = issue.number().map(|number| format!(" #{number}")).unwrap_or_default();
    }
    let (code, complete, text) = verified(RepoContext::find(directory)?, &asked, |report| {
        report.annotate();
        (report.exit_code(), report.is_complete(), report.text())
    })?;
    say(&text);
    let around = fence(&text, 3);
    let mut body =
        format!("Proven again from its commits alone:\n\n{around}text\n{text}\n{around}\n\n");
    if !closes.is_empty() {
        body.push_str(&format!("{}{closes}\n\n", if complete { "Closes" } else { "For" }));
    }
    match run_of(&place, directory, &of.folder.join(JOURNAL)) {
        Ok(page) => body.push_str(&format!("What the run says of itself:\n\n{page}")),
        Err(failure) => complain(&format!("note: no report of the run: {}", failure.reason())),
    }
    let body: String = redactor().redact_str(&body).chars().take(MOST).collect();
    std::fs::write(&args.body, &body).map_err(|error| Failure::cannot_write(&args.body, &error))?;
    to_file("GITHUB_STEP_SUMMARY", &body)?;
    if code == 0 {
        output("known", known.as_ref().map_or("", |known| known.as_str()))?;
        output("proven", end.as_str())?;
    }
    Ok(code)
}

/// The report of the run. Its journal is the other job's word.
fn run_of(place: &RepoContext, directory: Option<&Path>, path: &Path) -> Result<String, Failure> {
    let invalid = |why: String| Failure::new(ExitCode::Invalid, why);
    let about = path.symlink_metadata().map_err(|error| invalid(error.to_string()))?;
    if !about.is_file() || about.len() > LARGEST_JOURNAL {
        return Err(invalid("its journal is no file, or too large".to_owned()));
    }
    Ok(markdown(&night(place, directory, path)?))
}

/// Says that the branch is no longer where the work began.
pub(super) fn moved(branch: &str) {
    let why =
        format!("{branch} moved meanwhile; nothing is pushed, and the next night starts there");
    complain(&format!("note: {why}"));
    annotate("warning", None, &why);
}
