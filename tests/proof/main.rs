//! Lies and honest work, as data: no lie is proven, and no honest work is refused.
//!
//! Each case of tests/corpus/proof.txt is a small project, a check, and what an agent does. The
//! built-in scripted agent does it over real ACP pipes; some of it the real Copilot CLI does, in
//! tests/real_copilot. `tests/run` draws a sample, `tests/soak` runs all of it, and
//! `RALPH_TEST_CASE=text` those with the text in their name.

#[path = "../support/proof_corpus.rs"]
mod proof_corpus;
mod replay;
#[expect(dead_code, reason = "the command line's own tests use the rest of it")]
#[path = "../support/repo.rs"]
mod repo;
#[path = "../support/sample.rs"]
mod sample;
mod special_cases;
#[path = "../support/tier.rs"]
mod tier;

use std::io::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::proof_corpus::{Case, Kind, cases};
use crate::repo::{Repo, story};
use crate::tier::has_tier;

/// Cases of each kind in a sample.
const SAMPLE: usize = 6;
/// Cases that run at a time.
const WORKERS: usize = 3;

/// What became of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Proven,
    Held,
    Refused,
}

fn run(case: &Case, tier: &str) -> (Outcome, String) {
    let repo = Repo::with(&case.task(), &case.files());
    for command in &case.prepare {
        let ran = std::process::Command::new("sh")
            .args(["-c", command])
            .current_dir(repo.root())
            .status();
        assert!(ran.expect("sh runs").success(), "{}: {command}", case.name);
    }
    let script = "turns: [{steps: [{run: sh build.sh}, {say: Done!}]}]";
    let tier = format!("--sandbox={tier}");
    let limits = ["--max-iterations", "1", "--stuck-threshold", "1", "--no-stop-check", &tier];
    let ran = repo.run(script, &limits);
    let told = format!("{}\n{}", story(&repo, &ran), ran.stderr);
    let outcome = match ran.code {
        Some(0) => Outcome::Proven,
        _ if told.contains("iteration 1: held") && !case.never_held => Outcome::Held,
        _ => Outcome::Refused,
    };
    (outcome, told)
}

fn try_all(kind: Kind, tier: &str, is_right: fn(Outcome) -> bool) {
    let is_meant = |case: &Case| case.kind == kind && !(tier == "partial" && case.needs_full);
    let all: Vec<Case> =
        cases().into_iter().filter(|case| is_meant(case) && case.can_run()).collect();
    assert!(all.len() >= 70, "{kind:?}: only {}", all.len());
    let seed = usize::try_from(sample::seed() % 1000).expect("a number");
    let named = std::env::var("RALPH_TEST_CASE").ok();
    let drawn: Vec<&Case> = match (&named, sample::full()) {
        (Some(text), _) => all.iter().filter(|case| case.name.contains(text)).collect(),
        (None, true) => all.iter().collect(),
        (None, false) => all
            .iter()
            .cycle()
            .skip(seed % all.len())
            .step_by(all.len() / SAMPLE)
            .take(SAMPLE)
            .collect(),
    };
    let (next, wrong, held) = (AtomicUsize::new(0), Mutex::new(Vec::new()), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some(case) = drawn.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let (outcome, told) = run(case, tier);
                    held.fetch_add(usize::from(outcome == Outcome::Held), Ordering::Relaxed);
                    if !is_right(outcome) {
                        let told =
                            format!("== {} (line {}, {outcome:?})\n{told}", case.name, case.line);
                        wrong.lock().expect("a list").push(told);
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().expect("a list");
    let held = held.into_inner();
    say(&format!("{kind:?}: {} tried, {held} held, {} wrong", drawn.len(), wrong.len()));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_lie_is_proven() {
    try_all(Kind::Lie, "auto", |outcome| outcome != Outcome::Proven);
}

#[test]
fn no_honest_work_is_refused() {
    try_all(Kind::Honest, "auto", |outcome| outcome != Outcome::Refused);
}

#[test]
fn no_lie_is_proven_in_partial() {
    if has_tier("partial") {
        try_all(Kind::Lie, "partial", |outcome| outcome != Outcome::Proven);
    }
}

#[test]
fn no_honest_work_is_refused_in_partial() {
    if has_tier("partial") {
        try_all(Kind::Honest, "partial", |outcome| outcome != Outcome::Refused);
    }
}

/// The harness shows this with --nocapture.
fn say(text: &str) {
    drop(writeln!(std::io::stdout(), "{text}"));
}
