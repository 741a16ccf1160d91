//! Agents that others wrote, driven over ACP offline: each in the version of `packages`, with the
//! settings that a user would give it, against `model.py`. `tests/run` drives a sample of them,
//! `tests/soak` all.
#![cfg(target_os = "linux")]

#[path = "../support/downloads.rs"]
mod downloads;
mod scene;
mod setup;
#[path = "../support/tier.rs"]
mod tier;

use std::io::Write as _;

use ralph_copilot::agent::AGENTS;
use serde_json::json;

use self::scene::{Scene, failing, honest};
use self::setup::{SETUPS, Setup};

/// A line of `packages`.
struct Package {
    name: &'static str,
    registry: &'static str,
    package: &'static str,
    version: &'static str,
}

fn packages() -> Vec<Package> {
    let lines = include_str!("packages").lines().filter(|line| !line.starts_with('#'));
    let read = |line: &'static str| {
        let words: Vec<_> = line.split(' ').collect();
        let [name, registry, spec, _] = words[..] else { panic!("{line}") };
        let (package, version) = spec.rsplit_once(['@', '=']).expect("a version");
        let package = package.trim_end_matches('=');
        Package { name: name.trim_start_matches('*'), registry, package, version }
    };
    lines.map(read).collect()
}

#[track_caller]
fn setup(name: &str) -> &'static Setup {
    SETUPS.iter().find(|setup| setup.name == name).expect("a setup")
}

/// Honest work is proven, the login stays, and nothing is left running.
#[track_caller]
fn finishes(name: &str) {
    if !tier::has_tier("full") {
        let why = "no sandbox of the tier `full` on this machine";
        drop(writeln!(std::io::stderr(), "skipped {name}: {why}"));
        return;
    }
    let Some(scene) = Scene::new(setup(name), &|repo| honest(repo, &[])) else { return };
    let ended = scene.run(&[], true);
    assert_eq!(ended.code, Some(0), "{}", ended.output);
    assert!(!scene.read("repo/tasks/job/TASK.md").contains("- [ ]"));
    let log = scene.git(&["log", "--format=%s"]);
    for word in ["one", "two"] {
        assert!(log.contains(&format!("ralph(job): [{word}] - write it")), "{log}");
    }
    scene.expect_login();
    scene.expect_quiet();
}

/// A push, a request, and a write outside do not happen, and the run goes on to the end.
#[track_caller]
fn is_denied(name: &str) {
    if !tier::has_tier("full") {
        return;
    }
    let answers = |repo: &std::path::Path| {
        let outside = repo.join("../user/outside.txt").display().to_string();
        let before = [
            json!({ "run": "git push origin main" }),
            json!({ "run": "curl -s http://127.0.0.1:9/" }),
            json!({ "write": outside, "text": "x\n" }),
        ];
        honest(repo, &before)
    };
    let Some(scene) = Scene::new(setup(name), &answers) else { return };
    let ended = scene.run(&[], true);
    assert_eq!(ended.code, Some(0), "{}", ended.output);
    assert!(ended.output.contains("Denied (git.push)"), "{}", ended.output);
    assert!(!scene.path("user/outside.txt").exists());
    assert_eq!(scene.git(&["ls-remote", "origin"]), "");
    scene.expect_quiet();
}

/// A run ends with this code, and its output has these words.
#[track_caller]
fn ends(name: &str, scene: &Scene, flags: &[&str], is_known: bool, expected: (i32, &[&str])) {
    let ended = scene.run(flags, is_known);
    assert_eq!(ended.code, Some(expected.0), "{name}: {}", ended.output);
    for word in expected.1 {
        assert!(ended.output.contains(word), "{name}: no {word:?} in {}", ended.output);
    }
    scene.expect_quiet();
}

#[test]
fn what_is_documented_is_what_is_driven() {
    let packages = packages();
    for known in AGENTS {
        let Some((registry, package, version)) = known.tried else { continue };
        let mut setups = SETUPS.iter().filter(|setup| setup.known == known.name);
        let driven = setups.find(|setup| {
            let found = packages.iter().find(|it| it.name == setup.name).expect("a package");
            let same = found.package.replace("-binary-PLATFORM", "") == package;
            (found.registry, found.version) == (registry, version) && same
        });
        let driven = driven.unwrap_or_else(|| panic!("{package} {version} is not driven"));
        let start = known.start.replace("MODEL", "generic.scripted");
        assert_eq!(driven.command, start, "{}", known.name);
        let Some((what, place)) = known.set else { continue };
        let in_file = place.strip_prefix("~/").map(|place| {
            let (_, text) = driven.files.iter().find(|(file, _)| *file == place).expect("a file");
            text.contains(what)
        });
        let is_flag = driven.flags.join(" ") == what;
        assert!(in_file.unwrap_or(is_flag), "{}: {what}", known.name);
    }
}

#[test]
fn claude_agent_acp_finishes() {
    finishes("claude-agent-acp");
}

#[test]
fn claude_code_acp_finishes() {
    finishes("claude-code-acp");
}

#[test]
fn codex_acp_finishes() {
    finishes("codex-acp");
}

#[test]
fn codex_acp_0_16_finishes() {
    finishes("codex-acp-0.16");
}

#[test]
fn goose_finishes() {
    finishes("goose");
}

#[test]
fn hermes_finishes() {
    finishes("hermes");
}

#[test]
fn kimi_code_finishes() {
    finishes("kimi-code");
}

#[test]
fn opencode_finishes() {
    finishes("opencode");
}

#[test]
fn qwen_finishes() {
    finishes("qwen");
}

#[test]
fn claude_agent_acp_is_denied_what_reaches_outside() {
    is_denied("claude-agent-acp");
}

#[test]
fn goose_is_denied_what_reaches_outside() {
    is_denied("goose");
}

#[test]
fn qwen_is_denied_what_reaches_outside() {
    is_denied("qwen");
}

/// Without a login the run ends with 5 and how to log in to this agent, not to another.
#[test]
fn an_agent_that_is_not_logged_in_is_told_apart() {
    for (name, words) in [
        ("codex-acp-0.16", &["Authentication required", "Login with ChatGPT", "`codex login`"][..]),
        ("claude-agent-acp", &["Authentication required", "`/login`"]),
        ("qwen", &["Authentication required", "`qwen` once"]),
        ("gemini", &["Log in with Google", "`gemini` once"]),
    ] {
        if !tier::has_tier("full") {
            return;
        }
        let Some(scene) = Scene::new(setup(name), &|repo| honest(repo, &[])) else { continue };
        scene.log_out();
        ends(name, &scene, &[], false, (5, words));
    }
}

/// A wrong key ends the run with 5, and a broken server is waited for and tried again.
#[test]
fn failures_of_the_model_are_told_apart() {
    for (name, status, message, code, words) in [
        ("goose", 401, "Incorrect API key provided: sk-x", 5, "`goose configure`"),
        ("goose", 500, "Internal error", 5, "Server error"),
    ] {
        if !tier::has_tier("full") {
            return;
        }
        let answers = |_: &std::path::Path| failing(status, message);
        let Some(scene) = Scene::new(setup(name), &answers) else { continue };
        ends(name, &scene, &["--max-wait=2s"], true, (code, &[words]));
    }
}

/// A killed agent is started again, and finishes.
#[test]
fn a_killed_agent_is_started_again() {
    for name in ["claude-agent-acp", "goose"] {
        if !tier::has_tier("full") {
            return;
        }
        let Some(scene) = Scene::new(setup(name), &|repo| honest(repo, &[])) else { continue };
        let ended = std::thread::scope(|scope| {
            scope.spawn(|| scene.kill_agent());
            scene.run(&[], true)
        });
        assert_eq!(ended.code, Some(0), "{name}: {}", ended.output);
        assert!(ended.output.matches("agent started").count() > 1, "{name}: {}", ended.output);
        scene.expect_quiet();
    }
}
