//! A recipe whose agent step goes all the way: the real runner starts `ralph-copilot copilot
//! -- ARGS`, and that the real CLI, which stays under the guard. Passed over without the
//! runner.

use ralph_copilot::model::{Answer, Event, EventKind};

use super::copilot::Scene;
use super::launcher::{audited, told};
use super::model::{Model, bash, route, say};
use super::recipe_runner::runner;
use super::{focus, honest, verdicts};

const PUSH: &str = "git push origin HEAD";

/// A scene with a recipe of one step that asks an agent, and the real runner.
fn scene(task: &str, prompt: &str) -> Option<Scene> {
    let runner = runner()?;
    let mut scene = Scene::new(task)?;
    let recipe = format!(
        "name: make-one\ndescription: makes one\nversion: 1.0.0\nsteps:\n- id: work\n  \
         agent: amplihack:core:builder\n  prompt: \"{prompt}\"\n  output: said\n"
    );
    scene.commit("amplifier-bundle/recipes/make-one.yaml", &recipe);
    scene.set("RECIPE_RUNNER_RS_PATH", &runner.display().to_string());
    Some(scene)
}

/// What the guard's hook answered, as the audit has it.
fn decisions(scene: &Scene) -> Vec<String> {
    let lines = audited(scene).into_iter();
    lines
        .filter(|line| line["hookType"] == "pre_tool_use" && line["asked"] == "hook")
        .filter_map(|line| line["decision"].as_str().map(str::to_owned))
        .collect()
}

#[test]
fn a_recipe_outside_a_run_is_guarded_by_the_launch_itself() {
    let Some(scene) = scene("- [ ] one\n", "do it") else { return };
    let remote = scene.add_remote();
    let model =
        Model::start([route("do it", [bash("echo hi > made.txt"), bash(PUSH), say("Done.")])]);
    let scene = scene.with(&model);
    let ended = scene.run(&["recipe", "run", "make-one", "--json"]).expect(0);
    let report: serde_json::Value = serde_json::from_str(&ended.stdout).expect("JSON");
    assert_eq!(report["success"], true, "{report}");
    assert_eq!(report["steps"][0]["status"], "completed", "{report}");
    let said = report["context"]["said"].as_str().unwrap_or_default();
    assert!(said.contains("Done."), "{report}");
    assert_eq!(scene.read("made.txt"), "hi\n");
    assert_eq!(decisions(&scene), ["allow", "deny"]);
    let told = told(&model);
    assert!(told.iter().any(|result| result.contains("git.push")), "{told:?}");
    assert_eq!(scene.git(&["--git-dir", &remote, "for-each-ref"]), "", "something was pushed");
    let left: Vec<_> = std::fs::read_dir(scene.tmp()).expect("tmp").flatten().collect();
    assert!(left.is_empty(), "{left:?}");
}

/// What the journal tells of a recipe and of the calls inside it.
fn story(journal: &[Event]) -> Vec<String> {
    let line = |event: &Event| match &event.kind {
        EventKind::RecipeStarted { recipe, .. } => Some(format!("{recipe} begins")),
        EventKind::RecipeProgress { step, status, .. } => Some(format!("{step} {status:?}")),
        EventKind::RecipeEnded { error, .. } => Some(format!("it ends: {error:?}")),
        EventKind::ToolDecided { answer: Answer::Deny, rule, .. } => Some(format!("no: {rule}")),
        _ => None,
    };
    journal.iter().filter_map(line).collect()
}

#[test]
fn a_criterion_is_met_by_a_recipe_whose_agent_stays_under_the_run_s_guard() {
    let task = "# Demo\n\n- [ ] one\n  - recipe: make-one\n  - verify: `sh check.sh one`\n";
    let Some(scene) = scene(task, "{{ralph_prompt}}") else { return };
    let remote = scene.add_remote();
    let mut steps = vec![bash(PUSH)];
    steps.extend(honest(&scene, "one"));
    let model = Model::start([route(focus("one"), steps)]);
    let scene = scene.with(&model);
    scene.run(&["job"]).expect(0);
    let journal = scene.journal();
    assert_eq!(
        story(&journal),
        ["make-one begins", "work Running", "no: git.push", "work Completed", "it ends: None"],
    );
    let verdicts = verdicts(&journal);
    assert!(matches!(&verdicts[..], [verdict] if verdict.findings.is_empty()), "{verdicts:?}");
    let decisions = decisions(&scene);
    assert_eq!(decisions.iter().filter(|answer| *answer == "deny").count(), 1, "{decisions:?}");
    assert!(decisions.iter().filter(|answer| *answer == "allow").count() >= 6, "{decisions:?}");
    let told = told(&model);
    assert!(told.iter().any(|result| result.contains("git.push")), "{told:?}");
    assert_eq!(scene.git(&["--git-dir", &remote, "for-each-ref"]), "", "something was pushed");
    scene.assert_nothing_left();
}
