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
use std::path::Path;

use ralph_copilot::agent::AGENTS;
use serde_json::{Value, json};

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

/// Waits that end soon.
const FAST: &[&str] = &["--max-wait=2s", "--idle-timeout=60s"];
/// The cases that `tests/run` drives, too.
const SAMPLE: [(&str, &str); 9] = [
    ("finishes", "claude_agent_acp"),
    ("finishes", "codex_acp_0_16"),
    ("finishes", "goose"),
    ("denied", "goose"),
    ("killed", "claude_agent_acp"),
    ("not_logged_in", "codex_acp_0_16"),
    ("rate_limited", "goose"),
    ("server_fails", "codex_acp_0_16"),
    ("wrong_key", "goose"),
];

/// The scene of a case; `None` where it is not driven, with the reason on stderr.
fn scene(case: &str, agent: &str, answers: &dyn Fn(&Path) -> Value) -> Option<Scene> {
    let name = |setup: &Setup| setup.name.replace(['-', '.'], "_");
    let setup = SETUPS.iter().find(|setup| name(setup) == agent).expect("a setup");
    let all = std::env::var_os("RALPH_TEST_FULL").is_some();
    let why = if !all && !SAMPLE.contains(&(case, agent)) {
        "tests/soak drives it"
    } else if !tier::has_tier("full") {
        "no sandbox of the tier `full` on this machine"
    } else {
        return Scene::new(setup, answers);
    };
    drop(writeln!(std::io::stderr(), "skipped {agent}: {why}"));
    None
}

/// Honest work is proven, the login stays, and nothing is left running.
fn finishes(agent: &str) {
    let Some(scene) = scene("finishes", agent, &|repo| honest(repo, &[])) else { return };
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
fn denied(agent: &str) {
    let answers = |repo: &Path| {
        let outside = repo.join("../user/outside.txt").display().to_string();
        let before = [
            json!({ "run": "git push origin main" }),
            json!({ "run": "curl -s http://127.0.0.1:9/" }),
            json!({ "write": outside, "text": "x\n" }),
        ];
        honest(repo, &before)
    };
    let Some(scene) = scene("denied", agent, &answers) else { return };
    let ended = scene.run(&[], true);
    assert_eq!(ended.code, Some(0), "{}", ended.output);
    // Where calls may run unasked, the sandbox holds them and every summary says so.
    let may_be_unasked = scene.setup.flags.contains(&"allow");
    let word = if may_be_unasked { "not\n  even `git push`" } else { "Denied (git.push)" };
    assert!(ended.output.contains(word), "{}", ended.output);
    assert!(!scene.path("user/outside.txt").exists());
    assert_eq!(scene.git(&["ls-remote", "origin"]), "");
    scene.expect_login();
    scene.expect_quiet();
}

/// A killed agent is started again, and finishes.
fn killed(agent: &str) {
    let Some(scene) = scene("killed", agent, &|repo| honest(repo, &[])) else { return };
    let ended = std::thread::scope(|scope| {
        scope.spawn(|| scene.kill_agent());
        scene.run(&[], true)
    });
    assert_eq!(ended.code, Some(0), "{}", ended.output);
    assert!(ended.output.matches("agent started").count() > 1, "{}", ended.output);
    scene.expect_login();
    scene.expect_quiet();
}

/// Without a login the run ends with 5 and how to log in to this agent, not to another.
fn not_logged_in(agent: &str) {
    let Some(scene) = scene("not_logged_in", agent, &|repo| honest(repo, &[])) else { return };
    scene.log_out();
    let ended = scene.run(FAST, false);
    assert_eq!(ended.code, Some(5), "{}", ended.output);
    for word in scene.setup.logged_out {
        assert!(ended.output.contains(word), "no {word:?} in {}", ended.output);
    }
    scene.expect_quiet();
}

/// Every request to the model fails, and the run ends with the code for it.
fn fails(case: &str, agent: &str, status: u16, message: &str, expected: &[(i32, &str)]) {
    let Some(scene) = scene(case, agent, &|_| failing(status, message)) else { return };
    let ended = scene.run(FAST, true);
    let fits =
        |(code, word): &(i32, &str)| ended.code == Some(*code) && ended.output.contains(word);
    assert!(expected.iter().any(fits), "{:?} {}", ended.code, ended.output);
    scene.expect_login();
    scene.expect_quiet();
}

/// An agent that tells of the limit ends the run with 6. One that waits without a word is started
/// again, and ends it with 5.
fn rate_limited(agent: &str) {
    let message = "Rate limit reached for requests";
    let expected = [(6, ""), (5, "session/prompt was not answered within 20 s")];
    fails("rate_limited", agent, 429, message, &expected);
}

fn server_fails(agent: &str) {
    fails("server_fails", agent, 500, "Internal error", &[(5, "")]);
}

fn wrong_key(agent: &str) {
    // Hermes says so in its answer alone, in words that a model may use as well.
    let code = if agent == "hermes" { 4 } else { 5 };
    fails("wrong_key", agent, 401, "Incorrect API key provided: sk-x", &[(code, "")]);
}

/// Each case of these agents, as a test of its own.
macro_rules! drive {
    ($($agent:ident)*) => { $(mod $agent {
        drive!(@ $agent: finishes denied killed not_logged_in rate_limited server_fails wrong_key);
    })* };
    (@ $agent:ident: $($case:ident)*) => { $(
        #[test]
        fn $case() {
            super::$case(stringify!($agent));
        }
    )* };
}

drive!(claude_agent_acp claude_code_acp codex_acp codex_acp_0_16 fast_agent gemini goose hermes
    kimi_code opencode qwen vibe);

#[test]
fn what_is_documented_is_what_is_driven() {
    let packages = packages();
    for known in AGENTS.iter() {
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
