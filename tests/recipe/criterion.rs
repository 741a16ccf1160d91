//! A criterion that names a recipe: run in the place of a prompt, judged like any other.

use ralph_copilot::model::{Event, EventKind, FindingKind};

use crate::repo::{Ran, Repo, collect, finish, signal, story, until};
use crate::scene::{DONE, Scene};

/// One criterion by recipe, with a check.
const ONE: &str = "# Demo\n\n- [ ] a is there\n  - recipe: `make-a`\n  - verify: `test -e a.txt`\n";

/// An agent that is not to be asked.
const NOBODY: &str = "turns: [{steps: [{die: {exit: 1}}]}]";

/// Ticks the box, and says so.
const CLAIM: &str = r#"
tick() { sed 's/\[ \] a is/[x] a is/' tasks/demo/TASK.md > t && cat t > tasks/demo/TASK.md && rm t; }
note() { echo "- $(date +%F) $1" >> tasks/demo/progress.md; }
tick; note 'did a'"#;

fn honest() -> String {
    format!(
        "echo '▶ work' >&2\necho a > a.txt{CLAIM}\ngit add a.txt tasks && git commit -qm 'ralph(demo): [a is there] - a'\necho '  ✓ work (0.1s)' >&2\n{DONE}"
    )
}

fn run(scene: &Scene, agent: &str, args: &[&str]) -> Ran {
    finish(scene.run_command(agent, args))
}

fn kinds(ran: &Ran) -> Vec<FindingKind> {
    ran.events()
        .into_iter()
        .filter_map(|event| match event.kind {
            EventKind::VerdictReached { verdict, .. } => Some(verdict.findings),
            _ => None,
        })
        .flatten()
        .map(|finding| finding.kind)
        .collect()
}

/// What the journal tells of recipes and turns.
fn told(events: &[Event]) -> Vec<String> {
    let line = |event: &Event| match &event.kind {
        EventKind::RecipeStarted { recipe, version, .. } => {
            Some(format!("{recipe} with {version}"))
        }
        EventKind::RecipeProgress { step, status, .. } => Some(format!("{step} {status:?}")),
        EventKind::RecipeEnded { steps, error, .. } => {
            Some(format!("{steps} steps, {:?}", error.as_ref().map(|it| it.kind.as_str())))
        }
        EventKind::TurnEnded { turn, .. } => Some(format!("turn {:?}", turn.end)),
        EventKind::PromptSent { .. } => Some("prompt".to_owned()),
        _ => None,
    };
    events.iter().filter_map(line).collect()
}

#[test]
fn a_recipe_that_works_is_proven_like_an_agent() {
    let scene = Scene::task(ONE, &honest());
    let ran = run(&scene, NOBODY, &[]);
    insta::assert_snapshot!(story(&scene.repo, &ran), @"
    iteration 1: pass check
    exit 0: proven
    - [x] a is there
    state: a is there, proven by check, 0 attempts failed
    on refs/heads/main
    commit: ralph(demo): [a is there] - a
    commit: ralph(demo): state update
    commit: ralph(demo): state update
    ");
    assert_eq!(
        told(&ran.events()),
        ["make-a with 0.3.6", "work Running", "work Completed", "1 steps, None", "turn EndTurn"]
    );
    let log = scene.repo.read("tasks/demo/activity.log");
    let entry = log.lines().find(|line| line.contains(r#""operation":"recipe""#)).expect(&log);
    assert!(entry.contains(r#""args":{"recipe":"make-a"}"#), "{entry}");
    assert!(entry.contains(r#""approved":true,"result":"success""#), "{entry}");
}

#[test]
fn what_the_recipe_gets_and_what_stands_around_it() {
    let body = format!(
        "printf '%s\\n' \"$@\" > \"$RECIPE_RUNNER_OUT/argv\"\n\
         env > \"$RECIPE_RUNNER_OUT/env\"\n\
         test -S \"$RALPH_COPILOT_SOCKET\" && echo socket > \"$RECIPE_RUNNER_OUT/socket\"\n\
         ask() {{ echo \"{{\\\"sessionId\\\":\\\"nested\\\",\\\"toolName\\\":\\\"bash\\\",\\\"toolArgs\\\":{{\\\"command\\\":\\\"$1\\\"}}}}\" |\n\
           \"$AMPLIHACK_LAUNCHER_BINARY\" hook preToolUse --socket \"$RALPH_COPILOT_SOCKET\" >> \"$RECIPE_RUNNER_OUT/answers\"; echo >> \"$RECIPE_RUNNER_OUT/answers\"; }}\n\
         ask 'git status'; ask 'git push origin main'\n{}",
        honest()
    );
    let scene = Scene::task(ONE, &body);
    let mut command = scene.run_command(NOBODY, &[]);
    command.env("AMPLIHACK_AGENT_BINARY", "claude");
    let ran = finish(command);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let argv = scene.written("argv");
    for word in [
        "make-a",
        "--no-auto-stage",
        "--progress",
        "ralph_task=demo",
        "ralph_task_folder=tasks/demo",
        "ralph_criterion=a is there",
        "ralph_line=3",
        "ralph_iteration=1",
        "ralph_attempt=1",
        "ralph_commit_prefix=ralph(demo): ",
    ] {
        assert!(argv.lines().any(|line| line == word), "{word} in {argv}");
    }
    assert!(argv.contains("\nralph_prompt="), "{argv}");
    let env = scene.written("env");
    let value = |name: &str| {
        let line = env.lines().find_map(|line| line.strip_prefix(&format!("{name}=")));
        line.map(str::to_owned)
    };
    assert_eq!(value("AMPLIHACK_AGENT_BINARY").as_deref(), Some("copilot"));
    assert_eq!(value("RALPH_COPILOT_DEPTH").as_deref(), Some("1"));
    assert!(value("TMPDIR").is_some_and(|tmp| tmp.contains("ralph-") && tmp.ends_with("/tmp")));
    assert_eq!(scene.written("socket"), "socket\n");
    // A launch inside the recipe asks the run's guard, and the journal has its decisions.
    let answers = scene.written("answers");
    let answers: Vec<&str> = answers.lines().collect();
    assert!(!answers[0].contains("deny") && answers[1].contains("deny"), "{answers:?}");
    let decided: Vec<String> = ran
        .events()
        .into_iter()
        .filter_map(|event| match event.kind {
            EventKind::ToolDecided { session, answer, input, .. }
                if session.as_str() == "nested" =>
            {
                Some(format!("{} {answer:?}", input["command"]))
            }
            _ => None,
        })
        .collect();
    assert_eq!(decided, [r#""git status" Allow"#, r#""git push origin main" Deny"#]);
    assert_eq!(scene.left(), Vec::<std::path::PathBuf>::new());
}

/// As during a prompt: what cannot be recorded does not run, and the run ends.
#[test]
fn a_decision_inside_a_recipe_that_cannot_be_audited_ends_the_run() {
    let body = format!(
        "mv \"$COPILOT_AUDIT_LOG_DIR\" \"$COPILOT_AUDIT_LOG_DIR.gone\"; touch \"$COPILOT_AUDIT_LOG_DIR\"\n\
         echo '{{\"sessionId\":\"nested\",\"toolName\":\"bash\",\"toolArgs\":{{\"command\":\"git status\"}}}}' |\n\
           \"$AMPLIHACK_LAUNCHER_BINARY\" hook preToolUse --socket \"$RALPH_COPILOT_SOCKET\" > \"$RECIPE_RUNNER_OUT/answer\"\n{}",
        honest()
    );
    let scene = Scene::task(ONE, &body);
    let mut command = scene.run_command(NOBODY, &[]);
    command.env("COPILOT_AUDIT_LOG_DIR", scene.repo.beside("audit"));
    let ran = finish(command);
    assert_eq!(ran.code, Some(11), "{}", ran.stderr);
    assert!(scene.written("answer").contains("deny"), "{}", scene.written("answer"));
}

/// It says success, ticks the box and commits, and did no work.
#[test]
fn a_recipe_that_lies_is_found_out() {
    let body =
        format!("{CLAIM}\ngit add tasks && git commit -qm 'ralph(demo): [a is there] - a'\n{DONE}");
    let scene = Scene::task(ONE, &body);
    let ran = run(&scene, NOBODY, &["--stuck-threshold", "1"]);
    insta::assert_snapshot!(story(&scene.repo, &ran), @r#"
    iteration 1: fail
      fails: check_failed
      fails: empty_commit
      mended: restore_task {"keep_tick":false}
    blocked: a is there
    exit 4: stuck
    - [ ] a is there
    state: a is there, unproven, 1 attempts failed
    on refs/heads/main
    commit: ralph(demo): [a is there] - a
    commit: ralph(demo): state update
    kept: refs/ralph/demo/attempts/1
    "#);
}

/// Nobody saw who wrote TASK.md: during a recipe it was the recipe, as it was the agent
/// during a turn with a call that nobody decided.
#[test]
fn a_tick_that_the_recipe_did_not_commit_is_its_own() {
    let body =
        format!("echo a > a.txt; git add a.txt; git commit -qm 'ralph(demo): a'\n{CLAIM}\n{DONE}");
    let scene = Scene::task(ONE, &body);
    let ran = run(&scene, NOBODY, &[]);
    assert_eq!(ran.code, Some(0), "{}", story(&scene.repo, &ran));
    let ticked_another = format!("echo '- [x] b' >> tasks/demo/TASK.md\n{}", honest());
    let scene = Scene::task(ONE, &ticked_another);
    let ran = run(&scene, NOBODY, &["--stuck-threshold", "1"]);
    assert_eq!(ran.code, Some(4), "{}", story(&scene.repo, &ran));
    assert_eq!(scene.repo.task(), ONE);
}

#[test]
fn a_recipe_that_fails_is_a_failed_attempt_and_the_sign_says_why() {
    let failed = r#"echo '{"success":false,"step_results":[{"step_id":"build","status":"failed","error":"no compiler"}]}'; exit 1"#;
    for (body, said) in [
        (failed, "the recipe make-a failed at build: no compiler"),
        ("kill -TERM $$", "killed by signal SIGTERM (15)"),
        ("echo oops", "unparseable output (exit 0): oops"),
    ] {
        let scene = Scene::task(ONE, body);
        let ran = run(&scene, NOBODY, &["--stuck-threshold", "1"]);
        assert_eq!(ran.code, Some(4), "{}", ran.stderr);
        assert_eq!(kinds(&ran)[0], FindingKind::RecipeFailed);
        let signs = scene.repo.read("tasks/demo/guardrails.md");
        assert!(signs.contains(said), "{signs}");
        assert!(signs.contains("Criterion 'a is there' caused loop"), "{signs}");
    }
}

/// The work is there, whatever the runner says of it.
#[test]
fn work_that_is_proven_stays_proven_although_the_recipe_failed() {
    let body = honest().replace(DONE, "echo '{}'; exit 1");
    let scene = Scene::task(ONE, &body);
    let ran = run(&scene, NOBODY, &[]);
    assert_eq!(ran.code, Some(0), "{}", story(&scene.repo, &ran));
    assert!(kinds(&ran).contains(&FindingKind::RecipeFailed));
}

#[test]
fn a_recipe_that_hangs_is_ended_by_its_own_limit_or_by_the_run_s() {
    for (flag, code) in [("--turn-timeout", 4), ("--max-duration", 3)] {
        let scene = Scene::task(ONE, "exec sleep 600");
        let ran = run(&scene, NOBODY, &[flag, "1s", "--stuck-threshold", "1"]);
        assert_eq!(ran.code, Some(code), "{}", ran.stderr);
        let hung = kinds(&ran).contains(&FindingKind::TurnStuck);
        assert_eq!(hung, flag == "--turn-timeout");
    }
}

#[test]
fn a_recipe_dies_with_the_run() {
    let body = "(trap '' TERM; exec sleep 600) & echo $! > \"$RECIPE_RUNNER_OUT/pid.tmp\"\n\
                mv \"$RECIPE_RUNNER_OUT/pid.tmp\" \"$RECIPE_RUNNER_OUT/pid\"; wait";
    let scene = Scene::task(ONE, body);
    let mut command = scene.run_command(NOBODY, &[]);
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let child = command.spawn().expect("started");
    let pid: i32 = until("the recipe", || scene.written("pid").trim_end().parse().ok());
    signal(child.id(), rustix::process::Signal::TERM);
    let ran = collect(child);
    assert_eq!(ran.code, Some(143), "{}", ran.stderr);
    let pid = rustix::process::Pid::from_raw(pid).expect("a pid");
    assert!(rustix::process::test_kill_process(pid).is_err(), "it outlived the run");
    assert_eq!(scene.repo.status(), "");
}

#[test]
fn without_a_runner_the_run_does_not_begin_and_later_it_does() {
    let scene = Scene::task(ONE, &honest());
    let mut command = scene.run_command(NOBODY, &[]);
    command.env("RECIPE_RUNNER_RS_PATH", "/gone").env("PATH", "/usr/bin:/bin");
    let ran = finish(command);
    assert_eq!(ran.code, Some(5));
    for word in ["recipe-runner-rs was not found", "ralph-copilot recipe install"] {
        assert!(ran.stderr.contains(word), "{word} in {}", ran.stderr);
    }
    assert_eq!(scene.repo.subjects(), Vec::<String>::new());
    let ran = run(&scene, NOBODY, &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}

/// Recipes and prompts in one task; and an agent that would change what a recipe does.
#[test]
fn an_agent_may_not_change_the_recipe_that_comes_after_it() {
    let task = "# Demo\n\n- [ ] b is there\n- [ ] a is there\n  - recipe: make-a\n  - verify: `test -e a.txt`\n";
    let agent = r#"
turns:
- match: b is there
  times: 1
  steps: [{write: {path: amplifier-bundle/recipes/make-a.yaml, text: evil}}]
- match: b is there
  times: 1
  steps: [{write: {path: make-a, text: evil}}]
- match: b is there
  steps:
  - write: {path: b.txt, text: b}
  - tick: "{criterion}"
  - progress: did b
  - commit: b
"#;
    let scene = Scene::with(
        Repo::with(task, &[("amplifier-bundle/recipes/make-a.yaml", "name: make-a\n")]),
        "0.3.6",
        &honest(),
    );
    let ran = run(&scene, agent, &[]);
    assert_eq!(scene.repo.read("amplifier-bundle/recipes/make-a.yaml"), "name: make-a\n");
    assert!(!scene.repo.path("make-a").exists());
    let denied = ran.events().into_iter().filter(|event| {
        matches!(&event.kind, EventKind::ToolDecided { rule, .. } if rule == "path.protected")
    });
    assert_eq!(denied.count(), 2, "{}", ran.stdout);
    assert_eq!(ran.code, Some(0), "{}", story(&scene.repo, &ran));
    let told = told(&ran.events());
    let (prompt, recipe) = (
        told.iter().position(|it| it == "prompt"),
        told.iter().position(|it| it.starts_with("make-a with")),
    );
    assert!(prompt.is_some() && prompt < recipe, "{told:?}");
}

#[test]
fn check_shows_the_recipe_and_refuses_a_name_that_is_none() {
    let scene = Scene::task(ONE, DONE);
    let told = scene.repo.ralph(&["check", "demo", "--json"]).json();
    assert_eq!(told["criteria"][0]["recipe"], "make-a");
    assert_eq!(told["criteria"][0]["verify"][0], "test -e a.txt");
    let agent = scene.repo.agent(NOBODY);
    let told = scene.repo.ralph(&["run", "demo", "--dry-run", "--json", "--agent", &agent]).json();
    assert_eq!(told["next"]["recipe"], "make-a");
    let shown = scene.repo.ralph(&["check", "demo"]).stdout;
    assert!(shown.contains("recipe: make-a"), "{shown}");
    for (item, message) in [
        ("../x", "a recipe's name is made of"),
        ("`a b`", "a recipe's name is made of"),
        ("", "`recipe:` has no name"),
        ("run `x` now", "cannot tell which part"),
        ("-R", "does not begin with `-`"),
        ("a\n  - recipe: b", "this criterion already has a recipe"),
    ] {
        let task = format!("# Demo\n\n- [ ] a is there\n  - recipe: {item}\n");
        scene.repo.write("tasks/demo/TASK.md", &task);
        let ran = scene.repo.ralph(&["check", "demo", "--json"]);
        assert_eq!(ran.code, Some(7), "{item}");
        let told = ran.json()["diagnostics"][0].clone();
        assert_eq!(told["severity"], "error", "{item}");
        assert!(told["message"].as_str().is_some_and(|it| it.contains(message)), "{told}");
    }
    scene.repo.write("tasks/demo/TASK.md", "- [ ] a\n- [ ] recipe: x\n\ntext\n\n- recipe: y\n");
    let told = scene.repo.ralph(&["check", "demo", "--json"]).json();
    assert!(told["criteria"][1]["recipe"].is_null());
}

#[test]
fn a_task_without_a_recipe_needs_no_runner() {
    let repo = Repo::new("# Demo\n\n- [ ] a is there\n");
    let agent = r#"turns: [{steps: [{write: {path: a.txt, text: a}}, {tick: "{criterion}"}, {progress: did a}, {commit: a}]}]"#;
    let ran = repo.run(agent, &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(!told(&ran.events()).iter().any(|it| it.contains("with 0.3")));
}
