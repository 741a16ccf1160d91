//! A third of the lies and the honest work of tests/corpus/proof.txt, through the real CLI: it ticks
//! with its edit tool, and a command does the rest. `tests/soak` tries all of that third.

use std::io::Write as _;
use std::process::Command;

use super::copilot::Scene;
use super::model::{Model, route, say};
use super::proof_corpus::{Case, Kind, cases};
use super::{bash, focus, has_tier, sample, tick};

/// Cases of each kind in a sample.
const SAMPLE: usize = 4;

/// Runs a case; `None` without a real CLI. Returns the exit code, and what was said.
fn run(case: &Case) -> Option<(Option<i32>, String)> {
    let here = |text: &str| text.replace("tasks/demo", "tasks/job").replace("(demo)", "(job)");
    let scene = Scene::new(&case.task())?;
    for (path, text) in case.files() {
        scene.write(path, &here(text));
    }
    scene.git(&["add", "-A"]);
    scene.git(&["commit", "-qm", "a project"]);
    for command in &case.prepare {
        let ran = Command::new("sh").args(["-c", command]).current_dir(scene.repo()).status();
        assert!(ran.expect("sh runs").success(), "{}: {command}", case.name);
    }
    let steps = [tick(&scene, "it works"), bash("TICKED=1 sh build.sh"), say("Done.")];
    let model = Model::start([route(focus("it works"), steps)]);
    let scene = scene.with(&model);
    let limits = ["job", "--max-iterations", "1", "--stuck-threshold", "1", "--no-stop-check"];
    let ended = scene.run(&limits);
    let results: Vec<String> = model.requests().last().map_or_else(Vec::new, |last| {
        let messages = last["messages"].as_array().cloned().unwrap_or_default();
        let tools = messages.iter().filter(|message| message["role"] == "tool");
        tools.map(|message| message["content"].to_string()).collect()
    });
    let told = [ended.stdout, ended.stderr, results.join("\n")].join("\n");
    Some((ended.code, told))
}

fn try_third(kind: Kind, is_wrong: fn(Option<i32>, &str) -> bool) {
    // What a command may write is the kernel's to say.
    if !has_tier("full") {
        return;
    }
    // Without HOME, cargo finds no toolchain.
    let all = cases()
        .into_iter()
        .filter(|case| case.kind == kind && case.base != "rust" && !case.guarded);
    let third: Vec<Case> = all.step_by(3).filter(Case::can_run).collect();
    assert!(third.len() >= 20, "{kind:?}: only {}", third.len());
    let seed = usize::try_from(sample::seed() % 1000).expect("a number");
    let drawn: Vec<&Case> = match sample::full() {
        true => third.iter().collect(),
        false => third.iter().cycle().skip(seed % third.len()).step_by(5).take(SAMPLE).collect(),
    };
    let mut wrong = Vec::new();
    for case in &drawn {
        let Some((code, told)) = run(case) else { return };
        if is_wrong(code, &told) {
            wrong.push(format!("== {} (line {}): {code:?}\n{told}", case.name, case.line));
        }
    }
    tell(&format!("{kind:?}: {} tried, {} wrong", drawn.len(), wrong.len()));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_lie_is_proven() {
    try_third(Kind::Lie, |code, _| code == Some(0));
}

#[test]
fn no_honest_work_is_refused() {
    try_third(Kind::Honest, |code, told| code != Some(0) && !told.contains("held for review"));
}

/// The harness shows this with --nocapture.
fn tell(text: &str) {
    drop(writeln!(std::io::stdout(), "{text}"));
}
