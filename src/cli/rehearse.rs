//! `rehearse`: attacks the checks of a task before the night.
//!
//! Invariant: the working tree is not changed; everything happens in throw-away rooms.

use std::io::IsTerminal as _;
use std::path::Path;

use serde_json::{Value, json};

use super::args::RehearseArgs;
use super::assemble;
use super::context::TaskContext;
use super::failure::Failure;
use super::holdout;
use super::paths::typed;
use super::policy::denied;
use super::print::{complain, say, say_json};
use super::proving::{Ignored, Proving, proving, until_signal};
use super::runtime::runtime;
use crate::config::{self, LayerSettings};
use crate::model::{Criterion, ExitCode, Task, Tier};
use crate::report::count;
use crate::sys::lock::TreeLock;
use crate::verify::{
    Branch, CheckOptions, Dirt, Purpose, Rehearsal, RehearsedCheck, RehearsedCriterion,
    rehearse as run,
};

/// The exit code of weak or flaky checks.
const WEAK: u8 = 1;

/// Rehearses a task.
pub(super) fn rehearse(directory: Option<&Path>, args: &RehearseArgs) -> Result<u8, Failure> {
    let at = TaskContext::find(directory, &args.task)?;
    // Checks beside a run would see its agent's changes.
    let _lock = match at.place.runs().is_dir() {
        true => Some(TreeLock::take(&at.place.lock(), "rehearse")?),
        false => None,
    };
    let task = at.usable()?;
    let holdout = args.holdout.as_ref().map(|path| typed(directory, path)).transpose()?;
    let flags = LayerSettings { sandbox: args.sandbox, holdout, ..LayerSettings::default() };
    let settings = config::resolve(&at.place.layers(flags, Some(&task))?);
    at.place.repo.fetch_missing(&assemble::revisions(&at), &assemble::note)?;
    let preflight = at.place.repo.preflight(&at.layout, Branch::Current, Dirt::Protect)?;
    let mut room = proving(&at, &settings, &preflight, Ignored::OfTheTree)?;
    for message in room.rooms.notes() {
        complain(&format!("note: {message}"));
    }
    let live = std::io::stderr().is_terminal();
    let tell = |text: &str| {
        if live && !args.json {
            complain(text);
        }
    };
    let holdout = holdout::of_command(&at, &task, &settings)?;
    let head = preflight.checkpoint.head.clone();
    let Proving { rooms, checks, options, table, tier, .. } = &mut room;
    let tree = CheckOptions { purpose: Purpose::Preflight, ..options.clone() };
    let it = Rehearsal {
        repo: &at.place.repo,
        layout: &at.layout,
        table,
        task: &task,
        head: &head,
        tree: checks.leaves_the_tree().then_some(&tree),
        holdout: holdout.as_ref(),
    };
    let found =
        runtime()?.block_on(until_signal(run(&it, rooms, (&*checks, options), &tell)))??;
    let found = found.map_err(|lacks| Failure::new(ExitCode::Invalid, lacks))?;
    let report = Report {
        criteria: &found.criteria,
        whole_task: found.whole_task.as_ref(),
        commit_only: open(&task).filter(|criterion| criterion.verify.is_empty()).collect(),
        commit_only_is_weak: settings.require_checks,
        denied: denials(directory, &args.task, &task)?,
        task: &task,
        tier: *tier,
    };
    if args.json {
        say_json(&report.json());
    } else {
        say(&report.text());
    }
    Ok(if report.is_strong() { 0 } else { WEAK })
}

fn open(task: &Task) -> impl Iterator<Item = &Criterion> {
    task.criteria.iter().filter(|criterion| !criterion.checked)
}

/// Commands that the agent could not run itself: the guard's rule, and why.
fn denials(
    directory: Option<&Path>,
    name: &str,
    task: &Task,
) -> Result<Vec<(String, String, String)>, Failure> {
    let own = open(task).flat_map(|criterion| &criterion.verify).map(|verify| &verify.command);
    let mut commands: Vec<String> =
        own.chain(&task.settings.verify).chain(&task.settings.setup).cloned().collect();
    commands.sort_unstable();
    commands.dedup();
    denied(directory, Some(name), &commands)
}

fn checks(it: &RehearsedCriterion) -> Vec<Value> {
    let checks = it.checks.iter().map(|check| {
        let start = check.start.iter().map(|green| if *green { "green" } else { "red" });
        json!({
            "command": check.command,
            "start": start.collect::<Vec<_>>(),
            "millis": check.millis,
        })
    });
    checks.collect()
}

fn accepted(it: &RehearsedCriterion) -> Vec<Value> {
    let accepted = it
        .accepted
        .iter()
        .map(|cheat| json!({ "cheat": cheat.cheat, "diff": cheat.diff, "instead": cheat.instead }));
    accepted.collect()
}

struct Report<'a> {
    task: &'a Task,
    tier: Tier,
    criteria: &'a [RehearsedCriterion],
    whole_task: Option<&'a RehearsedCriterion>,
    commit_only: Vec<&'a Criterion>,
    commit_only_is_weak: bool,
    denied: Vec<(String, String, String)>,
}

impl Report<'_> {
    fn is_strong(&self) -> bool {
        let weak = |it: &RehearsedCriterion| it.is_flaky() || it.is_weak() && !it.text_only;
        // A check of the whole task proves no criterion, so cheats that pass it are only listed.
        !self.criteria.iter().any(weak)
            && !self.whole_task.is_some_and(RehearsedCriterion::is_flaky)
            && (!self.commit_only_is_weak || self.commit_only.is_empty())
    }

    fn millis(&self) -> u64 {
        self.all().flat_map(|it| &it.checks).map(|check| check.millis).sum()
    }

    fn all(&self) -> impl Iterator<Item = &RehearsedCriterion> {
        self.criteria.iter().chain(self.whole_task)
    }

    fn json(&self) -> Value {
        let criteria = self.criteria.iter().map(|it| {
            let (checks, accepted) = (checks(it), accepted(it));
            json!({
                "line": it.criterion.line,
                "text": it.criterion.key.text,
                "occurrence": it.criterion.key.occurrence,
                "weak": it.is_weak(),
                "text_only": it.text_only,
                "judge_is_subject": !it.judge_is_subject.is_empty(),
                "checks": checks,
                "accepted": accepted,
                "stopped_by_holdout": it.stopped,
            })
        });
        let whole_task = self.whole_task.map(
            |it| json!({ "weak": it.is_weak(), "checks": checks(it), "accepted": accepted(it) }),
        );
        let commit_only = self.commit_only.iter().map(|criterion| {
            let (line, key) = (criterion.line, &criterion.key);
            json!({ "line": line, "text": key.text, "occurrence": key.occurrence })
        });
        let denied = self.denied.iter().map(
            |(command, rule, reason)| json!({ "command": command, "rule": rule, "reason": reason }),
        );
        json!({
            "task": self.task.name,
            "sandbox": self.tier,
            "strong": self.is_strong(),
            "criteria": criteria.collect::<Vec<_>>(),
            "whole_task": whole_task,
            "denied": denied.collect::<Vec<_>>(),
            "commit_only": commit_only.collect::<Vec<_>>(),
            "millis_per_iteration": self.millis(),
        })
    }

    fn text(&self) -> String {
        let mut text = self.task.name.clone();
        for it in self.all() {
            let is_whole = it.criterion.line == 0;
            let word = match (it.is_flaky(), it.is_weak(), it.text_only) {
                (true, _, _) => "flaky",
                (false, true, true) => "text",
                (false, true, false) => "weak",
                (false, false, _) => "strong",
            };
            let (line, name) = (it.criterion.line, &it.criterion.key.text);
            let line = if is_whole { String::new() } else { line.to_string() };
            text.push_str(&format!("\n{line:>5}  {word:<6}  {name}"));
            let told = |check: &&RehearsedCheck| {
                check.start.contains(&true) && (!is_whole || check.is_flaky())
            };
            for check in it.checks.iter().filter(told) {
                let runs = check.start.iter().map(|green| if *green { "green" } else { "red" });
                let runs = runs.collect::<Vec<_>>().join(", ");
                text.push_str(&format!("\n      `{}` is {runs} before any work", check.command));
            }
            for cheat in &it.accepted {
                text.push_str(&format!("\n      would pass: {}", cheat.cheat));
                for line in shown(&cheat.diff) {
                    text.push_str(&format!("\n        {line}"));
                }
                text.push_str(&format!("\n      instead: {}", cheat.instead));
            }
            for cheat in &it.stopped {
                text.push_str(&format!("\n      would pass, but a hold-out stops it: {cheat}"));
            }
            for path in &it.judge_is_subject {
                text.push_str(&format!(
                    "\n      `{}` decides, so the agent is denied to edit it: if that is the work, \
                     name it in `may_change:`",
                    path.display()
                ));
            }
        }
        for criterion in &self.commit_only {
            let (line, name) = (criterion.line, &criterion.key.text);
            text.push_str(&format!(
                "\n{line:>5}  commit  {name}\n      no check: any commit counts as proof"
            ));
        }
        for (command, _, reason) in &self.denied {
            text.push_str(&format!("\n\nthe agent cannot run `{command}` itself: {reason}"));
        }
        if self.criteria.is_empty() && self.commit_only.is_empty() {
            return format!("{text}\n\nNothing is open.");
        }
        let checks = self.all().map(|it| it.checks.len() as u64).sum();
        let (checks, millis) = (count(checks, "check"), self.millis());
        text.push_str(&format!("\n\n{checks} rehearsed; {millis} ms per iteration."));
        text.push_str(if self.criteria.is_empty() {
            " No open criterion has its own check."
        } else if self.is_strong() {
            " No cheat that `rehearse` knows passes, except in checks that only read text. That is \
             no proof: others may, and honest work may fail."
        } else {
            " A weak check can be passed without the work."
        });
        if self.is_strong() && self.whole_task.is_some_and(RehearsedCriterion::is_weak) {
            text.push_str(
                " The check of the whole task can be passed without the work, but proves no \
                 criterion: the exit code is 0.",
            );
        }
        text
    }
}

/// Lines of a diff that people see.
const MOST_LINES: usize = 20;

/// A diff, or the first part of a long one: the new lines are the cheat, and come first.
fn shown(diff: &str) -> Vec<String> {
    let all: Vec<&str> = diff.lines().collect();
    if all.len() <= MOST_LINES {
        return all.into_iter().map(str::to_owned).collect();
    }
    let (new, old): (Vec<&str>, Vec<&str>) = all.iter().partition(|line| line.starts_with('+'));
    let lines = new.into_iter().chain(old).take(MOST_LINES).map(str::to_owned);
    let more = format!("… {} more lines, see `--json`", all.len() - MOST_LINES);
    lines.chain([more]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_diff_begins_with_the_new_lines() {
        let diff = format!("--- a\n+++ b\n{}+print(49)\n", "-old\n".repeat(30));
        let lines = shown(&diff);
        assert_eq!(lines[..3], ["+++ b", "+print(49)", "--- a"]);
        assert_eq!(lines.last().map(String::as_str), Some("… 13 more lines, see `--json`"));
        assert_eq!(shown("-a\n+b"), ["-a", "+b"]);
    }
}
