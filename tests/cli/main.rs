//! The program as a process, in temporary repositories, with the built-in scripted agent
//! over real ACP pipes: what a user, a script or an agent that lies can see and do.

#[cfg(target_os = "linux")]
#[path = "../support/picture.rs"]
mod picture;
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "what only Linux can do"))]
#[path = "../support/repo.rs"]
mod repo;
#[path = "../support/sample.rs"]
mod sample;
#[path = "../support/tier.rs"]
mod tier;

mod audit;
mod blocked;
mod commands;
mod fleet;
mod holdout;
mod plans;
mod preflight;
mod rehearse;
mod report;
mod runs;
mod sandbox;
mod verdicts;
mod verify;
mod ways_back;

use std::path::PathBuf;

use ralph_copilot::model::Event;

use crate::repo::Repo;

/// Shows what differs from run to run as what it is.
fn shown(repo: &Repo, assert: impl FnOnce()) {
    let plain = |text: &str| text.replace(['.', '/', '-'], "[./-]");
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(&plain(&repo.root().display().to_string()), "[repo]");
    settings.add_filter(&plain(&repo.beside("").display().to_string()), "[beside]/");
    settings.add_filter(&plain(repo::PROGRAM), "[ralph-copilot]");
    for (what, name) in [
        (r"\d{8}T\d{6}\.\d{3}Z-\d+", "[run]"),
        (r"scripted-\d+-", "scripted-[pid]-"),
        (r"process \d+", "process [pid]"),
        (r#"--agent ".* agent '[^"]*'""#, "--agent [agent]"),
        (r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?", "[time]"),
        (r"\d{4}-\d\d-\d\d", "[date]"),
        (r"(?m)^\d\d:\d\d:\d\d ", "[clock] "),
        (r"\b\d\d:\d\d:\d\d UTC", "[time] UTC"),
        (r"\b\d+(\.\d)? m?s\b", "[span]"),
        (r"\b([0-9a-f]{40}|[0-9a-f]{8})\b", "[commit]"),
        (r"sandbox: (full|partial|off)\b.*", "sandbox: [tier]"),
    ] {
        settings.add_filter(what, name);
    }
    settings.bind(assert);
}

/// The newest run's folder.
fn run_folder(repo: &Repo) -> Option<PathBuf> {
    let entries = std::fs::read_dir(repo.path(".ralph/runs")).ok()?;
    entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).max()
}

/// The frames of the newest run.
fn wire(repo: &Repo) -> String {
    let read = |folder: PathBuf| std::fs::read_to_string(folder.join("wire.log")).ok();
    run_folder(repo).and_then(read).unwrap_or_default()
}

/// The journal of the newest run, as far as it is written.
fn journal(repo: &Repo) -> Vec<Event> {
    let read = |folder: PathBuf| std::fs::read_to_string(folder.join("events.jsonl")).ok();
    let text = run_folder(repo).and_then(read).unwrap_or_default();
    text.split_inclusive('\n')
        .filter(|line| line.ends_with('\n'))
        .map(|line| serde_json::from_str(line).expect("an event"))
        .collect()
}
