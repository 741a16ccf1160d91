//! The runner against the real Copilot CLI, which talks to a scripted model on loopback:
//! no account, no network. `tests/run` downloads the CLI; without it these tests are skipped,
//! and with RALPH_TEST_REAL=required they fail.

#[path = "../support/copilot.rs"]
mod copilot;
#[path = "../support/downloads.rs"]
mod downloads;
#[path = "../support/model.rs"]
mod model;
#[cfg(target_os = "linux")]
#[path = "../support/proof_corpus.rs"]
mod proof_corpus;
#[path = "../support/recipe_runner.rs"]
mod recipe_runner;
#[cfg(target_os = "linux")]
#[path = "../support/sample.rs"]
mod sample;
#[path = "../support/tier.rs"]
mod tier;

#[cfg(target_os = "linux")]
mod attacks;
mod doctor;
mod events;
mod faults;
mod guard;
mod honest;
mod hooks;
mod last_resort;
mod launcher;
#[cfg(target_os = "linux")]
mod parallel;
#[cfg(target_os = "linux")]
mod proof;
mod providers;
mod recipe;
mod refused;
mod run_tools;
mod sandbox;
mod stops;
mod via_cli;

use ralph_copilot::model::{Event, EventKind, FindingKind, Verdict};
use serde_json::json;

use self::copilot::Scene;
use self::model::{Step, bash, call, say};
use self::tier::has_tier;

/// A task of one criterion with a check.
const ONE: &str = "# Demo\n\n- [ ] one\n  - verify: `sh check.sh one`\n";

/// The part of a prompt that names the criterion.
fn focus(criterion: &str) -> String {
    format!("Focus on: {criterion}")
}

/// Ticks a criterion with the CLI's own edit tool.
fn tick(scene: &Scene, criterion: &str) -> Step {
    let path = scene.repo().join("tasks/job/TASK.md");
    let (old, new) = (format!("- [ ] {criterion}\n"), format!("- [x] {criterion}\n"));
    call("edit", json!({ "path": path, "old_str": old, "new_str": new }))
}

/// Writes the file that the criterion's check wants.
fn write(scene: &Scene, criterion: &str) -> Step {
    let path = scene.repo().join(format!("out/{criterion}.txt"));
    call("create", json!({ "path": path, "file_text": format!("{criterion}\n") }))
}

/// An honest turn.
fn honest(scene: &Scene, criterion: &str) -> Vec<Step> {
    vec![
        bash("mkdir -p out"),
        write(scene, criterion),
        bash(&format!("sh check.sh {criterion}")),
        tick(scene, criterion),
        bash(&format!("echo \"- $(date +%F) {criterion} is written\" >> tasks/job/progress.md")),
        bash(&format!("git add -A && git commit -m 'ralph(job): [{criterion}] - write it'")),
        say(format!("Done: {criterion}.")),
    ]
}

/// The verdicts of a run, in order.
fn verdicts(journal: &[Event]) -> Vec<Verdict> {
    let verdicts = journal.iter().filter_map(|event| match &event.kind {
        EventKind::VerdictReached { verdict, .. } => Some(verdict.clone()),
        _ => None,
    });
    verdicts.collect()
}

/// What a verdict found.
fn findings(verdict: &Verdict) -> Vec<FindingKind> {
    verdict.findings.iter().map(|finding| finding.kind).collect()
}
