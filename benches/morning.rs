//! What the commands of the morning cost after a very long run.
//!
//! A journal of 500 criteria and 5,000 iterations, made from the event model, and a small one of
//! the run before it. Prints median time and peak memory of `report`, `status`, and `log`, beside
//! `jq` and `wc` on the same journal; then the share of a core that `watch` takes while that run
//! is at work, beside `tail -f`. `cargo bench --bench morning`. Memory and CPU time are read from
//! /proc, so only on Linux.

#![expect(clippy::print_stdout, reason = "a benchmark's result is what it prints")]

#[expect(dead_code, reason = "the benchmarks of whole runs use the rest of it")]
mod support;

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use ralph_copilot::model::{
    Activity, AgentIdentity, Answer, Asked, Attribution, CallStatus, CheckResult, CheckStatus,
    Checkpoint, CommitSeen, ContextFill, Credits, CriterionKey, CriterionSummary, Decided, Event,
    EventKind, Evidence, ExecutedCall, Finding, FindingKind, Limit, Oid, Outcome, PathChange,
    Proof, RunId, RunSummary, SessionId, TaskFileChange, Tier, Totals, Turn, Usage, Verdict,
    VerdictResult, Weight,
};
use ralph_copilot::sys::lock::TreeLock;
use serde_json::json;

use support::{Outcome as Measured, Place, RUNNER, cpu_of, mib, peak_of};

const CRITERIA: u32 = 500;
const ITERATIONS: u32 = 5_000;
/// Calls of an iteration.
const CALLS: u32 = 6;
const ROUNDS: usize = 7;
/// How long `watch` is measured, and the pause between two events meanwhile.
const WATCHED: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(200);

fn main() -> Measured<()> {
    let place = Place::new(CRITERIA as usize, "")?;
    let runs = place.repo().join(".ralph/runs");
    let old = Story::new(&runs, "20261127T200000.000Z-1", "2026-11-27T20:00:00Z")?;
    old.tell(ITERATIONS / 10, true)?;
    let new = Story::new(&runs, "20261128T200000.000Z-2", "2026-11-28T20:00:00Z")?;
    let journal = new.tell(ITERATIONS, true)?;
    let size = fs::metadata(&journal)?.len();
    println!(
        "{CRITERIA} criteria, {ITERATIONS} iterations, {:.0} MiB of journal; median of {ROUNDS}:",
        mib(size)
    );
    let path = journal.display().to_string();
    let select = r#"select(.event == "verdict_reached") | .verdict.result"#;
    let beside = line("wc -l", || with(&place, "wc", &["-l", &path]))?;
    let jq = line("jq, each verdict", || with(&place, "jq", &["-c", select, &path]))?;
    for args in [
        &["report", "job"][..],
        &["report", "job", "--md"],
        &["report", "job", "--html", "night.html"],
        &["report", "job", "--json"],
        &["status", "job"],
        &["log", "job"],
        &["stats", "job"],
    ] {
        let took = line(&args.join(" "), || with(&place, RUNNER, args))?;
        if let (Some(took), Some(jq), Some(wc)) = (took, jq, beside) {
            println!("  {:<28} {:>9.2} of jq, {:.1} of wc", "", took / jq, took / wc);
        }
    }
    fs::remove_file(&journal)?;
    watch(&place, &new)
}

/// The share of a core that `watch` takes once it has read what is there.
fn watch(place: &Place, story: &Story) -> Measured<()> {
    let journal = story.tell(ITERATIONS, false)?;
    let _lock = TreeLock::take(&story.runs.join("lock"), &story.run)?;
    println!("\nthe same run at work, an event each {} ms:", PAUSE.as_millis());
    let path = journal.display().to_string();
    // `script` gives it a terminal.
    let ours = with(place, "script", &["-qefc", &format!("exec {RUNNER} watch job"), "/dev/null"]);
    for (name, mut command) in
        [("watch job", ours), ("tail -f", with(place, "tail", &["-f", &path]))]
    {
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        std::thread::sleep(Duration::from_secs(5));
        let pid = only_child(child.id()).unwrap_or(child.id());
        let (begun, used) = (Instant::now(), cpu_of(pid));
        let mut out = File::options().append(true).open(&journal)?;
        let mut number = fs::read_to_string(&journal)?.lines().count() as u64;
        while begun.elapsed() < WATCHED {
            number += 1;
            let context = Some(ContextFill { used: number, size: 200_000 });
            let activity = Activity::Alive { context };
            let event = story.event(number, EventKind::Activity { worker: None, activity });
            writeln!(out, "{}", serde_json::to_string(&event)?)?;
            std::thread::sleep(PAUSE);
        }
        let share = (cpu_of(pid) - used).as_secs_f64() / begun.elapsed().as_secs_f64();
        println!("  {name:<28} {:>9.2} % of a core, {:.1} MiB", share * 100.0, mib(peak_of(pid)));
        child.kill()?;
        child.wait()?;
    }
    Ok(())
}

fn with(place: &Place, program: &str, args: &[&str]) -> Command {
    let mut command = place.command(program);
    command.args(args);
    command
}

fn only_child(pid: u32) -> Option<u32> {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
    children.split_whitespace().next()?.parse().ok()
}

/// Prints median time and peak memory of a command, which must succeed. `None` if there is no such
/// program.
fn line(name: &str, command: impl Fn() -> Command) -> Measured<Option<f64>> {
    let (mut times, mut peak) = (Vec::new(), 0);
    for _ in 0..ROUNDS {
        let started = Instant::now();
        let child = command().stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let Ok(mut child) = child else { return Ok(None) };
        let status = loop {
            peak = peak.max(peak_of(child.id()));
            match child.try_wait()? {
                Some(status) => break status,
                None => std::thread::sleep(Duration::from_millis(1)),
            }
        };
        times.push(started.elapsed());
        if !status.success() {
            return Err(format!("{name}: {status}").into());
        }
    }
    times.sort_unstable();
    let median = times[ROUNDS / 2].as_secs_f64();
    println!("  {name:<28} {:>9.1} ms, {:.1} MiB", median * 1000.0, mib(peak));
    Ok(Some(median))
}

/// A run that never was.
struct Story {
    runs: PathBuf,
    run: String,
    began: DateTime<Utc>,
}

fn key(number: u32) -> CriterionKey {
    CriterionKey { text: format!("step {number:04}"), occurrence: 0 }
}

fn check(number: u32, passes: bool) -> CheckResult {
    let red = "test client::retries_three_times ... FAILED: expected 3, found 1\n".repeat(20);
    CheckResult {
        criteria: vec![key(number)],
        millis: 3_200,
        output: if passes { "test result: ok. 3 passed\n".to_owned() } else { red },
        ..CheckResult::new(
            format!("cargo test -p client step_{number:04}"),
            if passes { CheckStatus::Passed } else { CheckStatus::Failed(101) },
        )
    }
}

impl Story {
    fn new(runs: &Path, run: &str, began: &str) -> Measured<Self> {
        let (runs, run) = (runs.to_owned(), run.to_owned());
        fs::create_dir_all(runs.join(&run))?;
        Ok(Self { runs, run, began: began.parse()? })
    }

    fn event(&self, seq: u64, kind: EventKind) -> Event {
        let time = self.began + TimeDelta::milliseconds(i64::try_from(seq).unwrap_or(0) * 500);
        Event { seq, time, run: RunId::new(self.run.as_str()), kind }
    }

    /// Writes its journal, and returns the path.
    fn tell(&self, iterations: u32, ends: bool) -> Measured<PathBuf> {
        let path = self.runs.join(&self.run).join("events.jsonl");
        let mut out = BufWriter::new(File::create(&path)?);
        let mut seq = 0;
        let mut tell = |kind| {
            seq += 1;
            let text = serde_json::to_string(&self.event(seq, kind))?;
            writeln!(out, "{text}").map_err(Box::<dyn std::error::Error>::from)
        };
        let head = || Oid::new("ab".repeat(20));
        let checkpoint = || Checkpoint { head: head(), branch: "refs/heads/main".to_owned() };
        tell(EventKind::RunStarted {
            task: "job".to_owned(),
            folder: "tasks/job".to_owned(),
            agent: "copilot --acp".to_owned(),
            model: None,
            sandbox: Tier::Full,
            version: "0.1.0".to_owned(),
            pid: std::process::id(),
            checkpoint: checkpoint(),
            start: None,
            criteria: Totals { total: CRITERIA as usize, open: CRITERIA as usize },
            max_iterations: ITERATIONS,
            max_seconds: None,
            human: 0,
            flags: Vec::new(),
        })?;
        let checks = (1..=CRITERIA).map(|number| check(number, false)).collect();
        tell(EventKind::BaselineChecked { checks })?;
        let identity = AgentIdentity { name: "Copilot".to_owned(), version: "1".to_owned() };
        tell(EventKind::AgentStarted { agent: Some(identity), pid: 7 })?;
        for iteration in 1..=iterations {
            self.iteration(iteration, &checkpoint(), &mut tell)?;
        }
        let criteria = (1..=CRITERIA).map(|number| CriterionSummary {
            key: key(number),
            line: number as usize + 2,
            checked: false,
            blocked: false,
            blocked_by: None,
            held: None,
            skipped: false,
            reason: None,
            proof: None,
            attempts: iterations / CRITERIA,
        });
        if ends {
            let outcome = Outcome::LimitReached { limit: Limit::Iterations };
            let criteria = criteria.collect();
            let summary = RunSummary { criteria, iterations, ..RunSummary::default() };
            tell(EventKind::RunEnded { outcome, exit_code: 3, summary })?;
        }
        out.flush()?;
        Ok(path)
    }

    /// One iteration. Every tenth attempt at a criterion passes.
    fn iteration(
        &self,
        iteration: u32,
        checkpoint: &Checkpoint,
        tell: &mut impl FnMut(EventKind) -> Measured<()>,
    ) -> Measured<()> {
        let (number, attempt) = (iteration % CRITERIA + 1, iteration / CRITERIA + 1);
        let (criterion, session) = (key(number), SessionId::new(format!("s-{iteration}")));
        let passes = attempt == 10;
        tell(EventKind::IterationStarted {
            iteration,
            criterion: criterion.clone(),
            line: number as usize + 2,
            attempt,
            checkpoint: checkpoint.clone(),
            worker: None,
            turn_millis: 0,
        })?;
        tell(EventKind::PromptSent {
            iteration,
            session: session.clone(),
            bytes: 4_096,
            cuts: Vec::new(),
            again: false,
            model: None,
            premium: true,
        })?;
        let mut calls = Vec::new();
        for at in 0..CALLS {
            let input = json!({"command": format!("cargo test -p client step_{number:04} {at}")});
            let answer = if at == 5 { Answer::Deny } else { Answer::Allow };
            let id = format!("call_{iteration}_{at}");
            tell(EventKind::ToolDecided {
                iteration,
                session: session.clone(),
                call: Some(id.clone()),
                tool: "bash".to_owned(),
                input: input.clone(),
                asked: Asked::Permission,
                answer,
                rule: format!("rule.{}", at % 3),
                reason: "builds and tests in the working tree".to_owned(),
            })?;
            let call = ExecutedCall {
                id,
                kind: "execute".to_owned(),
                title: "Run the tests".to_owned(),
                input,
                status: CallStatus::Completed,
                exit: Some(101),
            };
            calls.push(call.clone());
            tell(EventKind::ToolFinished { decided: Decided::Yes, iteration, call })?;
        }
        let credits = Some(Credits::Milli(900));
        let usage = Usage { input: 9_000, output: 900, total: 9_900, cached: 4_000, credits };
        let said = "All done. ".repeat(20);
        let turn =
            Turn { calls, denied: 1, updates: 80, usage: Some(usage), said, ..Turn::default() };
        tell(EventKind::TurnEnded { iteration, turn })?;
        tell(EventKind::CheckFinished { iteration, check: check(number, passes) })?;
        let none = TaskFileChange::none(Attribution::Agent);
        let mut evidence = Evidence::none(criterion.clone(), none);
        evidence.checks = vec![check(number, passes), check(number % CRITERIA + 1, true)];
        evidence.before = evidence.checks.clone();
        evidence.commits = vec![CommitSeen {
            id: Oid::new(format!("{iteration:040x}")),
            subject: format!("ralph(job): step {number}"),
            ours: true,
            merge: false,
            paths: vec![PathChange {
                path: "src/client.rs".into(),
                kind: ralph_copilot::model::ChangeKind::Modified,
            }],
            formatting: false,
        }];
        let message = format!("`cargo test -p client step_{number:04}` fails (exit 101)");
        let red = Finding { kind: FindingKind::CheckFailed, weight: Weight::Fails, message };
        let (result, findings) = match passes {
            true => (VerdictResult::Pass(Proof::Check), Vec::new()),
            false => (VerdictResult::Fail, vec![red]),
        };
        let verdict = Verdict { result, findings, repairs: Vec::new() };
        let evidence = Box::new(evidence);
        let repairs = Vec::new();
        tell(EventKind::VerdictReached { iteration, criterion, evidence, verdict, repairs })?;
        tell(EventKind::IterationEnded { iteration, millis: 41_000, premium_requests: 1 })
    }
}
