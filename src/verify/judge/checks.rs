//! The results of the verify commands, and the proof that a pass rests on.
//!
//! Invariant: a command that was not run is not green. Not in this file: running them.

use super::{Case, CommitsAlone, counts};
use crate::model::{
    CheckResult, CheckStatus, CommitSeen, Evidence, FindingKind, MustFail, Proof, PutBackRun,
    Unmoved, Weight,
};
use crate::verify::assess::{Reason, assess};
use crate::verify::excerpt::{excerpt, said};
use crate::verify::format;
use crate::verify::runner::worse;

impl Case<'_> {
    pub(super) fn checks(&mut self) {
        let evidence = self.evidence;
        for check in evidence.checks.iter().filter(|check| !check.passed()) {
            if evidence.flaky.contains(&check.command) {
                continue;
            }
            let before = before(evidence, check);
            let was_proven = || check.criteria.iter().any(|key| evidence.proven.contains(key));
            let (kind, why) = if check.criteria.contains(&evidence.focus) {
                (FindingKind::CheckFailed, String::new())
            } else if let Some(worse) = worse_than_before(evidence, check) {
                let why = format!(" It also failed before the work, but {worse}.");
                (FindingKind::Regression, why)
            } else if before == Some(Colour::Red) {
                (FindingKind::RedBefore, " It also failed before the work".to_owned())
            } else if check.whole_task {
                (FindingKind::CheckFailed, String::new())
            } else if before == Some(Colour::Green) || was_proven() {
                let whose = format::criteria(&check.criteria);
                let why = format!(" It passed before this turn, and belongs to {whose}.");
                (FindingKind::Regression, why)
            } else {
                (FindingKind::RedBefore, " It was not run before the work".to_owned())
            };
            let how = failure(check);
            if kind == FindingKind::RedBefore {
                self.says(kind, format!("{how}{why}, so the work is not to blame."));
            } else {
                self.fails(kind, format!("{how}{why}{}", output(check)));
            }
        }
        self.assessed();
        self.not_run();
    }

    /// What the proof says besides red checks.
    fn assessed(&mut self) {
        let evidence = self.evidence;
        for reason in assess(evidence) {
            let (kind, weight, message) = match reason {
                Reason::Red(_) => continue,
                // No attempt is charged.
                Reason::Flaky(check) => (
                    FindingKind::Flaky,
                    Weight::Unclear,
                    format!(
                        "`{}` passed, then failed on the same commit: a check must give the same \
                         answer each time.{}",
                        format::short(&check.command),
                        output(check)
                    ),
                ),
                Reason::Wrote(wrote) => (
                    FindingKind::CheckWrote,
                    Weight::Fails,
                    format!(
                        "While `{}` ran, files that decide checks changed: {}. Code under test must \
                         not change them.",
                        format::short(&wrote.command),
                        format::changes(&wrote.paths)
                    ),
                ),
                Reason::NeedsChanges(check, run) => {
                    (FindingKind::HarnessNeeded, Weight::Held, needs_changes(check, run))
                }
                Reason::HoldOut(count) => {
                    let whose = match count.criterion == evidence.focus {
                        true => "this criterion".to_owned(),
                        false => count.criterion.quoted(),
                    };
                    let message = format!(
                        "A hold-out check of {whose} failed. It is not shown: meet the criterion \
                         for every input that it speaks of, and not only for those of its check."
                    );
                    (FindingKind::HoldOutFailed, Weight::Fails, message)
                }
                Reason::Unmoved(it) => (FindingKind::Unmoved, Weight::Held, unmoved(it)),
            };
            self.find(kind, weight, message);
        }
        self.put_back();
    }

    /// What the run with the harness put back says if nothing is wrong.
    fn put_back(&mut self) {
        let evidence = self.evidence;
        let Some(run) = &evidence.put_back else { return };
        for command in &run.left_out {
            let command = format::short(command);
            self.says(
                FindingKind::TestIsNew,
                format!(
                    "`{command}` found no test before the work: its tests were written in this run."
                ),
            );
        }
        let is_whole = run.checks.iter().all(CheckResult::passed);
        if run.checks.is_empty() || run.harness.is_empty() || !is_whole {
            return;
        }
        let paths = format::changes(&run.harness);
        let which = if run.left_out.is_empty() { "The checks" } else { "The other checks" };
        let message = match run.rests_on.as_slice() {
            [] => format!(
                "Tests, scripts or configuration changed: {paths}. {which} pass without these \
                 changes, too."
            ),
            rests_on => format!(
                "Tests, scripts or configuration changed: {paths}. {which} pass without these \
                 changes, too, except that they need {}.",
                format::paths(rests_on)
            ),
        };
        self.says(FindingKind::HarnessChanged, message);
    }

    /// A command that ran before the work and not after it. If the verdict is a failure anyway,
    /// the checks may have been left out.
    fn not_run(&mut self) {
        let evidence = self.evidence;
        if self.findings.iter().any(|finding| finding.weight != Weight::Said) {
            return;
        }
        let ran = |check: &CheckResult| evidence.checks.iter().any(|c| c.command == check.command);
        let due = |check: &&CheckResult| {
            (check.whole_task || check.criteria.contains(&evidence.focus)) && !ran(check)
        };
        for check in evidence.before.iter().filter(due) {
            let command = format::short(&check.command);
            self.fails(
                FindingKind::CheckFailed,
                format!("`{command}` was not run after the work."),
            );
        }
    }

    /// The proof that a pass would rest on.
    pub(super) fn proof(&mut self) -> Proof {
        let evidence = self.evidence;
        let own: Vec<&CheckResult> = evidence
            .checks
            .iter()
            .filter(|check| check.criteria.contains(&evidence.focus))
            .collect();
        let seen_red = own.iter().any(|check| {
            before(evidence, check) == Some(Colour::Red)
                || evidence.red_at_start.contains(&check.command)
        });
        if seen_red {
            return Proof::Check;
        }
        let all_green = own.iter().all(|check| before(evidence, check) == Some(Colour::Green));
        let why = if own.is_empty() {
            "It has no verify command of its own"
        } else if all_green {
            self.says(
                FindingKind::GreenBefore,
                "Its verify command passed before any work and proves nothing by itself: only the \
                 commit counts.",
            );
            "Its verify command passed before any work"
        } else {
            self.says(
                FindingKind::GreenBefore,
                "Its verify command did not run before the work, so it proves nothing by itself: only \
                 the commit counts.",
            );
            "Its verify command did not run before the work"
        };
        if self.rules.commits_alone == CommitsAlone::Refused {
            self.fails(
                FindingKind::CheckRequired,
                format!(
                    "{why}, and checks are required (--require-checks): a commit alone is not \
                     proof."
                ),
            );
        }
        self.formatting_alone();
        Proof::Commit
    }

    /// Was the criterion ticked, and did its own checks pass before any work?
    pub(super) fn claims_met(&self) -> bool {
        let evidence = self.evidence;
        let mut own = evidence.before.iter().filter(|it| it.criteria.contains(&evidence.focus));
        let is_green =
            |it: &CheckResult| it.passed() && !evidence.red_at_start.contains(&it.command);
        evidence.task_file.focus_ticked && own.clone().next().is_some() && own.all(is_green)
    }

    /// Formatting can be the work on a criterion only if a check says so.
    fn formatting_alone(&mut self) {
        let evidence = self.evidence;
        let work: Vec<&CommitSeen> = evidence.commits.iter().filter(|it| counts(it)).collect();
        let is_work = evidence.worked_before || work.iter().any(|commit| !commit.formatting);
        if work.is_empty() || is_work {
            return;
        }
        let paths = work.iter().flat_map(|commit| &commit.paths).cloned().collect::<Vec<_>>();
        self.fails(
            FindingKind::EmptyCommit,
            format!(
                "This turn's commits change nothing but white space, line endings, or file modes: \
                 {}. That is no work without a check that was red before it. Commit a change of \
                 content. If the criterion asks for no more, only a human can help, with a \
                 `verify` command that fails without the change.",
                format::changes(&paths)
            ),
        );
    }
}

/// A check that fails with the tests of the start.
fn needs_changes(check: &CheckResult, run: &PutBackRun) -> String {
    let missing = run.missing.iter().map(|it| format!("; {it} now")).collect::<String>();
    format!(
        "With tests, scripts and configuration as they were, {} These files changed: {}{missing}. \
         Put them back if the criterion does not ask for it; if it does, {} below it in TASK.md \
         allows it.{}",
        failure(check),
        format::changes(&run.harness),
        format::may_change(&run.harness),
        output(check)
    )
}

/// A check that passes where it must fail.
fn unmoved(it: &Unmoved) -> String {
    let (command, paths) = (format::short(&it.command), format::paths(&it.paths));
    match (it.with, it.line) {
        (MustFail::OldProduct, _) => format!(
            "The tests that this work adds for `{command}` pass without the work: with {paths} as \
             before, they must fail. Write tests that need the work."
        ),
        (MustFail::NoAssertion, _) => format!(
            "The tests that this work adds for `{command}` assert nothing: {paths}. Let them compare \
             what the work does with what it should do."
        ),
        (MustFail::OtherExpectation, Some(line)) => format!(
            "`{command}` passes whatever line {line} of {paths} expects. Either the work never gets \
             there, or is equal to everything, or it reads what is expected, or changes how its \
             tests run. It must do what the line asks for."
        ),
        (MustFail::OtherExpectation, None) => format!(
            "`{command}` passes whatever it expects: the work reads what is expected, or changes how \
             its tests run. It must do neither. Changed in this run: {paths}."
        ),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Colour {
    Green,
    Red,
}

/// A command's result before the work, if it ran.
fn before(evidence: &Evidence, check: &CheckResult) -> Option<Colour> {
    let earlier = evidence.before.iter().find(|earlier| earlier.command == check.command)?;
    Some(if earlier.passed() { Colour::Green } else { Colour::Red })
}

/// How a check that was red before the work is worse now.
fn worse_than_before(evidence: &Evidence, check: &CheckResult) -> Option<String> {
    let red = |it: &&CheckResult| it.command == check.command && !it.passed();
    worse(&evidence.before.iter().find(red)?.tests, &check.tests)
}

/// `` `cargo test` ended with exit code 1. ``
fn failure(check: &CheckResult) -> String {
    let command = format::short(&check.command);
    match &check.status {
        CheckStatus::Passed => format!("`{command}` passed."),
        CheckStatus::Failed(code) => format!("`{command}` ended with exit code {code}."),
        CheckStatus::Signalled(signal) => format!("`{command}` was ended by signal {signal}."),
        CheckStatus::TimedOut(seconds) => {
            format!("`{command}` took longer than {seconds} s and was ended.")
        }
        CheckStatus::NotRun(why) => format!("`{command}` could not be started: {why}."),
        CheckStatus::NothingRan(why) => {
            format!("`{command}` ended with exit code 0, but {why}. A pass needs a test that ran.")
        }
        CheckStatus::Incomplete(why) => format!(
            "`{command}` ended with exit code 0, but {why}. Code under test must not end the \
             process of its tests."
        ),
    }
}

/// The line of its output that says why, and an excerpt.
fn output(check: &CheckResult) -> String {
    /// The journal has the rest.
    const LINES: usize = 20;
    let lines = excerpt(&check.output, LINES);
    if lines.is_empty() {
        return String::new();
    }
    format!("{}\n{}", said(&check.output), lines.join("\n"))
}
