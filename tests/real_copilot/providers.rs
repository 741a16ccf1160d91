//! A provider's tools in a run with the real CLI. The provider is a client written by others:
//! `websockets` from PyPI.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};

use ralph_copilot::model::{Answer, Asked, EventKind};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::copilot::Scene;
use super::downloads::download;
use super::model::{Model, bash, call, route, tool_results, until_offered};
use super::run_tools::{audited, decided};
use super::{ONE, focus, has_tier, honest};

/// A provider that binds when the file `go` is in the repository.
pub(crate) struct Provider {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Provider {
    /// Starts it, unless its library is missing, or the tier `full`, without which a run with the
    /// real CLI writes no token file.
    pub(crate) fn start(scene: &Scene) -> Option<Self> {
        if !has_tier("full") {
            return None;
        }
        let clients = download("RALPH_TEST_GATEWAY_CLIENTS")?;
        let home = scene.repo().with_file_name("copilot").join("extensions/tap");
        let mut child = Command::new("python3")
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/real_copilot/providers.py"))
            .args([home, scene.repo().join("go")])
            .env("PYTHONPATH", clients.join("python"))
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3");
        let lines = BufReader::new(child.stdout.take().expect("piped"));
        Some(Self { child, lines })
    }

    /// Waits for a line that begins so.
    #[track_caller]
    pub(crate) fn says(&mut self, beginning: &str) -> String {
        let mut line = String::new();
        while self.lines.read_line(&mut line).expect("stdout") > 0 {
            if line.starts_with(beginning) {
                return line.trim_end().to_owned();
            }
            line.clear();
        }
        panic!("the provider ended before it said `{beginning}`");
    }

    /// Everything that it says until it ends.
    fn rest(mut self) -> Vec<String> {
        let lines = (&mut self.lines).lines().map_while(Result::ok).collect();
        drop(self.child.wait());
        lines
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn uses_a_provider(args: &[&str]) {
    let policy = "---\npolicy:\n  blocked_tools: [desk.wait]\n  ask_tools: [\"*.more*\"]\n---\n";
    let Some(scene) = Scene::new(&format!("{policy}{ONE}")) else { return };
    let Some(provider) = Provider::start(&scene) else { return };
    let mut steps = vec![
        // The tools appear in the middle of the turn.
        bash("touch go"),
        until_offered("-greet"),
        call("*-greet", json!({"name": "Alice"})),
        call("*-show", json!({"path": "secrets/.env"})),
        call("*-wait", json!({})),
        call("*-more", json!({})),
        call("*-fail", json!({})),
        call("*-long", json!({})),
        call("*-die", json!({})),
        bash("rm go"),
    ];
    steps.extend(honest(&scene, "one"));
    let model = Model::start([route(focus("one"), steps)]);
    let scene = scene.with(&model);
    scene.run(&[args, &["--gateway=0"]].concat()).expect(0);

    let told = model.requests().last().map(tool_results).unwrap_or_default();
    let hello = told.iter().position(|text| text == "Hello, Alice!").expect("a greeting");
    let [show, wait, more, fail, long, die] = &told[hello + 1..hello + 7] else { panic!() };
    assert!(show.contains("may hold secrets"), "{show}");
    assert!(wait.contains("desk.wait is blocked"), "{wait}");
    assert!(more.contains("needs the approval of a human"), "{more}");
    assert!(fail.ends_with("INTERNAL: broken"), "{fail}");
    assert!(long.starts_with("key [REDACTED] xxx") && long.ends_with("x\n[truncated]"), "{long}");
    assert_eq!(long.chars().count(), 10_000 + "\n[truncated]".len());
    assert!(die.contains("DISCONNECTED: "), "{die}");

    let journal = scene.journal();
    let rules = |tool: &str| -> Vec<(Asked, String)> {
        let decided = decided(&journal, tool).into_iter();
        decided.map(|(asked, _, rule)| (asked, rule)).collect()
    };
    let allowed = "tool.provider".to_owned();
    assert_eq!(
        rules("desk.greet"),
        [(Asked::Hook, allowed.clone()), (Asked::Permission, allowed)],
        "the server took the decision of the layers before it"
    );
    assert_eq!(rules("desk.show"), [(Asked::Hook, "secret.file".to_owned())]);
    assert_eq!(rules("desk.wait"), [(Asked::Hook, "policy.blocked-tool".to_owned())]);
    assert_eq!(rules("desk.more"), [(Asked::Hook, "policy.ask-tool".to_owned())]);
    assert_eq!(audited(&scene, "desk.greet"), [json!("Hello, Alice!")]);
    let failed: Vec<Value> = audited(&scene, "desk.die");
    assert_eq!((failed.len(), &failed[0]["errorCode"]), (1, &json!("DISCONNECTED")));
    assert_eq!(
        provider.rest(),
        ["bound", r#"call greet {"name": "Alice"}"#, "call fail {}", "call long {}", "call die {}"]
    );
    scene.assert_nothing_left();
}

#[test]
fn a_provider_s_tools_appear_are_called_and_die_in_a_call() {
    uses_a_provider(&["job"]);
}

#[test]
fn a_provider_s_tools_are_called_without_acp() {
    uses_a_provider(&["job", "--via", "cli"]);
}

#[test]
fn a_tool_that_a_provider_adds_is_seen_in_the_same_turn() {
    let Some(scene) = Scene::new(ONE) else { return };
    let Some(_provider) = Provider::start(&scene) else { return };
    let mut steps = vec![
        bash("touch go"),
        until_offered("-more"),
        call("*-more", json!({})),
        until_offered("-late"),
        call("*-late", json!({})),
        bash("rm go"),
    ];
    steps.extend(honest(&scene, "one"));
    let model = Model::start([route(focus("one"), steps)]);
    let scene = scene.with(&model);
    scene.run(&["job", "--gateway=0"]).expect(0);
    let told = model.requests().last().map(tool_results).unwrap_or_default();
    assert!(told.iter().any(|text| text == "I am new here"), "{told:?}");
    scene.assert_nothing_left();
}

#[test]
fn the_end_of_the_turn_cancels_a_call() {
    let Some(scene) = Scene::new(ONE) else { return };
    let Some(mut provider) = Provider::start(&scene) else { return };
    let steps = [bash("touch go"), until_offered("-wait"), call("*-wait", json!({}))];
    let model = Model::start([route(focus("one"), steps)]);
    let scene = scene.with(&model);
    let mut run = scene.follow(&["job", "--gateway=0"]);
    run.until(|event| match &event.kind {
        EventKind::ToolDecided { tool, answer: Answer::Allow, .. } => {
            (tool == "desk.wait").then_some(())
        }
        _ => None,
    });
    provider.says("call wait");
    let runner = Pid::from_raw(run.pid().cast_signed()).expect("a process");
    kill_process(runner, Signal::INT).expect("sent");
    assert_eq!(provider.says("cancel"), "cancel interrupt");
    run.end().expect(130);
    let cancelled = audited(&scene, "desk.wait");
    assert_eq!((cancelled.len(), &cancelled[0]["errorCode"]), (1, &json!("CANCELLED")));
    scene.assert_no_process_left();
}
