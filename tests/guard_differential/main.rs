//! The guard of tier `off` against real bash. Lines are drawn from a grammar and from the labelled
//! corpora; each one that the guard allows runs, in a throw-away tree behind bubblewrap, and what
//! it touched is compared with what the guard may let it touch.
//!
//! `tests/run` takes a sample of a fresh seed; with `RALPH_FUZZ_SECONDS=3600` it goes on for that
//! long. `RALPH_TEST_SEED=…` draws the same lines again.
#![cfg(target_os = "linux")]

mod grammar;
mod ground;
#[expect(dead_code, reason = "a sample is what there is without a time")]
#[path = "../support/sample.rs"]
mod sample;

use std::io::Write as _;
use std::time::{Duration, Instant};

use ralph_copilot::guard::{OsFiles, Policy, decide};
use ralph_copilot::model::{Asked, SessionId, ToolRequest};
use serde_json::json;

use crate::grammar::Grammar;
use crate::ground::Ground;

/// Lines that run in a sample.
const SAMPLE: usize = 250;
/// Of the lines drawn, so many per thousand must run, or the test tries nothing.
const ALLOWED_AT_LEAST: usize = 50;

#[test]
fn lines_without_a_sandbox_touch_no_more_than_the_guard_expects() {
    let Ok(bubblewrap) = which::which("bwrap") else {
        writeln!(std::io::stderr(), "skipped: allowed lines run behind bubblewrap only").ok();
        return;
    };
    let seconds = std::env::var("RALPH_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    let end = seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let mut grammar = Grammar::new(sample::seed());
    let mut ground = Ground::new(&bubblewrap);
    let mut policy = Policy::new(&ground.repo, ground.repo.join("tasks/demo"));
    policy.home = Some(ground.home.clone());
    policy.tmp = Some(ground.tmp.clone());
    let (mut drawn, mut ran) = (0_usize, 0_usize);
    let mut faults = Vec::new();
    while end.map_or(ran < SAMPLE, |end| Instant::now() < end) {
        let line = grammar.line();
        drawn += 1;
        assert!(drawn < 1000 || ran * 1000 >= drawn * ALLOWED_AT_LEAST, "{ran} of {drawn} ran");
        let request = ToolRequest {
            session: SessionId::new("s"),
            call: None,
            tool: "bash".to_owned(),
            input: json!({ "command": line }),
            asked: Asked::Hook,
        };
        let decision = decide(&request, &policy, &OsFiles);
        if !decision.allowed() {
            continue;
        }
        ran += 1;
        faults.extend(ground.run(&line, &decision.writes));
    }
    let mut out = std::io::stderr();
    writeln!(out, "{drawn} lines drawn, {ran} allowed and run, {} faults", faults.len()).ok();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// What is compared finds harm: lines that the guard denies do what it denies them for.
#[test]
fn the_comparison_sees_each_kind_of_harm() {
    let Ok(bubblewrap) = which::which("bwrap") else {
        writeln!(std::io::stderr(), "skipped: lines run behind bubblewrap only").ok();
        return;
    };
    let mut ground = Ground::new(&bubblewrap);
    for (line, harm) in [
        ("echo x > ../outside/kept.txt", "outside"),
        ("echo x > link/kept.txt", "outside"),
        ("echo x >> ~/.bashrc", "home"),
        ("git config core.pager evil", ".git/config"),
        ("echo x > .git/hooks/pre-commit", ".git/hooks"),
        ("git checkout -q -b other", "HEAD"),
        ("git update-ref refs/heads/main HEAD^{tree} || git reset -q --soft HEAD~1", "history"),
        ("rm README.md", "lost README.md"),
        (": > README.md", "emptied README.md"),
        ("cat .env", "secret"),
        ("echo $DEPLOY_TOKEN", "secret"),
        ("base64 < ~/.ssh/id_rsa | tr -d '\\n' | base64 -d", "secret"),
        ("echo x >> tasks/demo/TASK.md", "tasks/demo/TASK.md"),
        ("echo x > .github/hooks/ralph.json", ".github/hooks"),
        ("echo x > src/new.txt", "unexpected src/new.txt"),
    ] {
        let faults = ground.run(line, &[]);
        assert!(faults.iter().any(|fault| fault.contains(harm)), "{line}: {faults:?}");
    }
    assert_eq!(ground.run("git add -A && git commit -qm x && ls", &[]), Vec::<String>::new());
}
