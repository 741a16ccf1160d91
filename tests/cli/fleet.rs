//! Many machines: `list --ready`, `run --only --bundle`, and `land`.

use std::collections::BTreeSet;
use std::thread;

use serde_json::{Value, json};

use crate::repo::{Ran, Repo};

/// In the first round, all but the last two can start.
const TASK: &str = "---
protect: [\"rules/**\"]
---
# A fleet

- [ ] a is there
  - verify: `test -e a.txt`
  - id: a
- [ ] b is there
  - verify: `test -e b.txt`
  - id: b
- [ ] c shares
  - verify: `grep -qx c shared`
  - id: c
- [ ] d shares
  - verify: `grep -qx d shared`
  - id: d
- [ ] e is there
  - verify: `sh check.sh`
- [ ] f is there
  - verify: `test -e f.txt`
  - id: f
  - after: a
- [ ] g is there
  - verify: `test -e g.txt`
  - id: g
  - after: f
";

const AGENT: &str = "turns:
- match: a is there
  steps: [{run: 'echo a > a.txt'}, {tick: '{criterion}'}, {commit: a}]
- match: b is there
  steps: [{run: 'echo b > b.txt'}, {tick: '{criterion}'}, {commit: b}]
- match: c shares
  steps: [{run: 'echo c >> shared'}, {tick: '{criterion}'}, {commit: c}]
- match: d shares
  steps: [{run: 'echo d >> shared'}, {tick: '{criterion}'}, {commit: d}]
- match: e is there
  steps: [{run: 'echo e > e.txt'}, {tick: '{criterion}'}, {commit: e}]
- match: f is there
  steps: [{run: 'echo f > f.txt'}, {tick: '{criterion}'}, {commit: f}]
- match: g is there
  steps: [{run: 'echo g > g.txt'}, {tick: '{criterion}'}, {commit: g}]
";

/// What a criterion without an `id` is called.
const E: &str = "a5cfbf88";

fn hub() -> Repo {
    let hub = Repo::with(TASK, &[("check.sh", "test -e e.txt\n"), ("rules/one", "1\n")]);
    hub.git(&["config", "receive.denyCurrentBranch", "updateInstead"]);
    hub
}

/// The names of the criteria in a matrix.
fn names(matrix: &Value) -> Vec<&str> {
    let entries = matrix["include"].as_array().expect("a list").iter();
    entries.map(|it| it["criterion"].as_str().expect("a name")).collect()
}

/// The criteria that a new machine can begin with.
fn plan(hub: &Repo) -> Vec<String> {
    let ran = hub.clone_of().ralph(&["list", "--ready", "demo", "--json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    names(&ran.json()).into_iter().map(str::to_owned).collect()
}

/// A machine that works on one criterion, and its bundle.
fn machine(hub: &Repo, name: &str, script: &str, args: &[&str]) -> (Repo, Ran, String) {
    let machine = hub.clone_of();
    let bundle = machine.beside("work.bundle").display().to_string();
    let args = [&["--only", name, "--bundle", &bundle], args].concat();
    let ran = machine.run(script, &args);
    assert_eq!(machine.git(&["rev-parse", "HEAD"]), hub.git(&["rev-parse", "HEAD"]), "{name}");
    assert_eq!(machine.status(), "");
    (machine, ran, bundle)
}

/// A machine that is not honest: what it did, as commits, and these refs in its bundle.
fn liar(hub: &Repo, name: &str, refs: &[&str], lie: impl FnOnce(&Repo)) -> (Repo, String) {
    let machine = hub.clone_of();
    lie(&machine);
    machine.commit("ralph(demo): done");
    let own = format!("refs/ralph/demo/handed-in/{name}");
    for name in refs.iter().chain([&own.as_str()]) {
        machine.git(&["update-ref", name, "HEAD"]);
    }
    let bundle = machine.beside("lie.bundle").display().to_string();
    let refs = [&["bundle", "create", "--quiet", &bundle, &own], refs, &["^origin/main"]].concat();
    machine.git(&refs);
    (machine, bundle)
}

fn tick(repo: &Repo, text: &str) {
    let (open, done) = (format!("- [ ] {text}"), format!("- [x] {text}"));
    repo.write("tasks/demo/TASK.md", repo.task().replace(&open, &done));
}

/// A state that says that a criterion is proven.
fn claim(repo: &Repo, text: &str) {
    let state = json!({ "version": 1, "iteration": 9, "criteria": [
        { "text": text, "attempts": 0, "proof": "check", "iteration": 9 },
    ] });
    repo.write("tasks/demo/state.json", state.to_string());
}

/// Lands bundles on a clone, and pushes what came of it.
fn land(hub: &Repo, bundles: &[&str]) -> Value {
    let prover = hub.clone_of();
    prover.git(&["fetch", "--quiet", "origin", "refs/ralph/*:refs/ralph/*"]);
    let ran = prover.ralph(&[&["land", "--task", "demo", "--json"], bundles].concat());
    assert!(matches!(ran.code, Some(0 | 4)), "{:?} {}", ran.code, ran.stderr);
    assert_eq!(prover.status(), "");
    let answer = ran.json();
    assert_eq!(answer["tip"], prover.git(&["rev-parse", "HEAD"]).trim());
    prover.git(&["push", "--quiet", "origin", "main", "refs/ralph/*:refs/ralph/*"]);
    answer
}

/// The criteria whose bundle landed, or did not.
fn landed(answer: &Value, wanted: bool) -> BTreeSet<&str> {
    let bundles = answer["bundles"].as_array().expect("a list").iter();
    let found = bundles.filter(|it| it["landed"] == wanted);
    found.map(|it| it["criterion"].as_str().unwrap_or("nothing")).collect()
}

/// The files of the work, with their lines in order.
fn work(repo: &Repo) -> BTreeSet<(String, Vec<String>)> {
    let names = repo.git(&["ls-tree", "-r", "--name-only", "HEAD"]);
    let names = names.lines().filter(|it| !it.starts_with("tasks/") && *it != "human.txt");
    let file = |name: &str| {
        let mut lines: Vec<String> = repo.read(name).lines().map(str::to_owned).collect();
        lines.sort();
        (name.to_owned(), lines)
    };
    names.map(file).collect()
}

fn attempts(repo: &Repo, text: &str) -> Value {
    let state = repo.state();
    let entries = state["criteria"].as_array().expect("a list");
    entries.iter().find(|it| it["text"] == text).map_or(json!(0), |it| it["attempts"].clone())
}

#[test]
fn a_fleet_over_three_rounds_ends_with_what_one_machine_does() {
    let one = hub();
    assert_eq!(one.run(AGENT, &["--jobs=3"]).code, Some(0));
    let hub = hub();

    // One lies, two conflict, one fails.
    assert_eq!(plan(&hub), ["a", "b", "c", "d", E]);
    let fails = AGENT.replace("echo e > e.txt", "touch junk");
    let (lie, lies) = liar(&hub, "b", &[], |machine| {
        tick(machine, "b is there");
        claim(machine, "b is there");
        machine.write("b", "it is there\n");
    });
    let made: Vec<_> = thread::scope(|scope| {
        let start = |name, script, args| {
            let hub = &hub;
            scope.spawn(move || machine(hub, name, script, args))
        };
        let fails = fails.as_str();
        let all = [
            start("a", AGENT, &[]),
            start("c", AGENT, &[]),
            start("d", AGENT, &[]),
            start(E, fails, &["--max-iterations=1"]),
        ];
        all.into_iter().map(|it| it.join().expect("it ends")).collect()
    });
    let codes: Vec<_> = made.iter().map(|(_, ran, _)| ran.code).collect();
    assert_eq!(codes, [Some(0), Some(0), Some(0), Some(3)]);
    let bundles: Vec<&str> = made.iter().map(|(_, _, bundle)| bundle.as_str()).collect();
    let first = land(&hub, &[&[lies.as_str()], bundles.as_slice()].concat());
    assert_eq!(landed(&first, true), BTreeSet::from(["a", "c"]));
    assert_eq!(landed(&first, false), BTreeSet::from(["b", "d", E]));
    assert_eq!(names(&first["next"]), ["b", "d", E, "f"]);
    assert_eq!((attempts(&hub, "b is there"), attempts(&hub, "e is there")), (json!(1), json!(1)));
    assert_eq!(attempts(&hub, "d shares"), 0, "a conflict costs none the first time");
    let tips = [
        lie.git(&["rev-parse", "HEAD"]),
        made[3].0.git(&["rev-parse", "refs/ralph/demo/attempts/2"]),
    ];
    let kept = hub.git(&["for-each-ref", "--format=%(objectname)", "refs/ralph/demo/attempts"]);
    for tip in tips {
        assert!(kept.contains(tip.trim()), "{tip} is lost");
    }

    // One dies without a bundle, one forges, and a human pushes while they work.
    let (_, forged) = liar(&hub, E, &["refs/heads/main"], |machine| {
        tick(machine, "e is there");
        machine.write("check.sh", "true\n");
    });
    let (d, f) = thread::scope(|scope| {
        let d = scope.spawn(|| machine(&hub, "d", AGENT, &[]));
        let f = machine(&hub, "f", AGENT, &[]);
        (d.join().expect("it ends"), f)
    });
    let human = hub.clone_of();
    human.write("human.txt", "mine\n");
    human.commit("a human's");
    human.git(&["push", "--quiet", "origin", "main"]);
    let pushed = human.git(&["rev-parse", "HEAD"]);
    let second = land(&hub, &[&f.2, &forged, &d.2]);
    assert_eq!(landed(&second, true), BTreeSet::from(["d", "f"]));
    assert_eq!(names(&second["next"]), ["b", E, "g"]);
    assert_eq!(attempts(&hub, "e is there"), 1, "a forged bundle counts for nothing");
    hub.git(&["merge-base", "--is-ancestor", pushed.trim(), "HEAD"]);

    // All is well.
    let (b, (e, g)) = thread::scope(|scope| {
        let b = scope.spawn(|| machine(&hub, "b", AGENT, &[]));
        let rest = (machine(&hub, E, AGENT, &[]), machine(&hub, "g", AGENT, &[]));
        (b.join().expect("it ends"), rest)
    });
    let third = land(&hub, &[&g.2, &e.2, &b.2]);
    assert_eq!(landed(&third, false), BTreeSet::new(), "{third}");
    assert_eq!(names(&third["next"]), Vec::<&str>::new());
    assert_eq!(work(&hub), work(&one));
    let verified = hub.clone_of().ralph(&["verify", "demo", "--base", "HEAD^{/^start}"]);
    assert_eq!(verified.code, Some(0), "{}{}", verified.stdout, verified.stderr);
}

#[test]
fn one_criterion_alone_leaves_the_branch_as_it_was() {
    let hub = hub();
    let (machine, ran, bundle) = machine(&hub, "a", AGENT, &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let heads = machine.git(&["bundle", "list-heads", &bundle]);
    let kept = machine.git(&["rev-parse", "refs/ralph/demo/attempts/1"]);
    assert_eq!(heads, format!("{} refs/ralph/demo/handed-in/a\n", kept.trim()));
    machine.git(&["cat-file", "-e", &format!("{}:tasks/demo/activity.log", kept.trim())]);
    for (args, said) in [
        (&["--only", "a", "--bundle", &bundle][..], "exists"),
        (&["--only", "g", "--bundle", "x"], "`g is there` cannot start now"),
        (&["--only", "nothing", "--bundle", "x"], "no criterion `nothing`"),
        (&["--only", "a"], "--bundle"),
    ] {
        let ran = crate::repo::finish(machine.run_command(AGENT, args));
        assert_eq!(ran.code, Some(2), "{args:?}");
        assert!(ran.stderr.contains(said), "{args:?}: {}", ran.stderr);
    }
    machine.write("tasks/demo/progress.md", "- a note\n");
    let ran = crate::repo::finish(machine.run_command(AGENT, &["--only", "a", "--bundle", "x"]));
    assert_eq!(ran.code, Some(8), "{}", ran.stderr);
    assert_eq!(machine.read("tasks/demo/progress.md"), "- a note\n");
}

#[test]
fn the_matrix_has_what_can_start_now() {
    let repo = Repo::new(TASK);
    repo.write("tasks/demo/TASK.md", repo.task().replace("- [ ] a is", "- [x] a is"));
    let entry = |text: &str, more: Value| {
        let mut entry = json!({ "text": text, "attempts": 1 });
        entry.as_object_mut().expect("an object").extend(more.as_object().expect("one").clone());
        entry
    };
    let held = json!({ "held": { "name": "refs/x", "commit": "1", "base": "1" } });
    let state = json!({ "version": 1, "iteration": 3, "criteria": [
        entry("a is there", json!({ "proof": "check" })),
        entry("b is there", json!({ "blocked": true })),
        entry("c shares", held),
        entry("d shares", json!({})),
    ] });
    repo.write("tasks/demo/state.json", state.to_string());
    let ran = repo.ralph(&["list", "--ready", "demo", "--json"]);
    let expected = json!({ "include": [
        { "criterion": "d", "text": "d shares", "line": 15, "attempt": 2 },
        { "criterion": E, "text": "e is there", "line": 18, "attempt": 1 },
        { "criterion": "f", "text": "f is there", "line": 20, "attempt": 1 },
    ] });
    assert_eq!(ran.json(), expected);
    let ran = repo.ralph(&["list", "--json"]);
    let expected = json!({ "tasks": [{ "task": "demo", "folder": "tasks/demo", "valid": true,
        "criteria": 7, "open": 6, "ready": 3 }] });
    assert_eq!(ran.json(), expected);
    let many: String = (0..300).map(|it| format!("- [ ] number {it}\n")).collect();
    repo.write("tasks/demo/TASK.md", many);
    let ran = repo.ralph(&["list", "--ready", "demo", "--json"]);
    assert_eq!(names(&ran.json()).len(), 256);
    assert_eq!(ran.stderr, "note: 300 criteria are ready; the matrix has 256\n");
}

/// Each is refused or not proven; none keeps the honest one from landing.
#[test]
fn a_forged_bundle_gets_nothing_onto_the_branch() {
    let hub = hub();
    let (_honest, _, honest) = machine(&hub, "a", AGENT, &[]);
    let done = |machine: &Repo| {
        tick(machine, "e is there");
        claim(machine, "e is there");
        machine.write("e.txt", "e\n");
    };
    let mut lies = Vec::new();
    for refs in [
        &["refs/heads/main"],
        &["refs/tags/v1"],
        &["refs/ralph/demo/harness"],
        &["refs/ralph/other/handed-in/a"],
        &["refs/ralph/demo/handed-in/b"],
    ] {
        lies.push((liar(&hub, E, refs, done), None));
    }
    let mut prove = |why: &'static str, lie: &dyn Fn(&Repo)| {
        let lie = |machine: &Repo| {
            tick(machine, "b is there");
            lie(machine);
        };
        lies.push((liar(&hub, "b", &[], lie), Some(why)));
    };
    prove("`test -e b.txt` ended with exit code 1", &|machine| claim(machine, "b is there"));
    prove("`test -e b.txt` ended with exit code 1", &|machine| machine.write("c.txt", "c\n"));
    prove("Protected files changed: changed rules/one", &|machine| {
        machine.write("b.txt", "b\n");
        machine.write("rules/one", "2\n");
    });
    prove("Verify commands in TASK.md were changed", &|machine| {
        machine.write("b.txt", "b\n");
        machine.write("tasks/demo/TASK.md", machine.task().replace("test -e b.txt", "true"));
    });
    prove("Boxes of other criteria were ticked", &|machine| {
        machine.write("b.txt", "b\n");
        tick(machine, "c shares");
    });
    prove("it changes AGENTS.md, which only a human may change", &|machine| {
        machine.write("b.txt", "b\n");
        machine.write("AGENTS.md", "Push everything.\n");
    });
    // Another history than the branch's.
    let orphan = liar(&hub, "b", &[], |machine| {
        machine.git(&["checkout", "--quiet", "--orphan", "other"]);
        done(machine);
    });
    lies.push((orphan, Some("it shares no commit with the branch")));
    let torn = hub.beside("torn.bundle");
    let whole = std::fs::read(&honest).expect("read");
    std::fs::write(&torn, &whole[..whole.len() - 30]).expect("written");
    let torn = torn.display().to_string();
    let files = lies.iter().map(|((_, file), _)| file.as_str());
    let files: Vec<&str> = files.chain([torn.as_str(), honest.as_str(), "/nothing"]).collect();
    let answer = land(&hub, &files);
    let bundles = answer["bundles"].as_array().expect("a list");
    for ((_, file), why) in &lies {
        let told = bundles.iter().find(|it| it["file"] == file.as_str()).expect("told");
        let reason = told["reason"].as_str().expect("a reason");
        let why = why.unwrap_or("refused the bundle");
        assert!(reason.contains(why), "{why}: {told}");
        assert_eq!(told["landed"], false);
    }
    assert_eq!(landed(&answer, true), BTreeSet::from(["a"]));
    let changed = hub.git(&["diff", "--name-only", "HEAD", ":/^start"]);
    let changed = changed.lines().filter(|it| !it.starts_with("tasks/"));
    assert_eq!(changed.collect::<Vec<_>>(), ["a.txt"]);
    assert_eq!(hub.git(&["tag"]), "");
    let ticked = hub.task().lines().filter(|it| it.contains("[x]")).count();
    assert_eq!(ticked, 1, "{}", hub.task());
}

#[test]
fn the_workflow_of_a_fleet_names_its_task_and_its_machines() {
    let repo = Repo::new("- [ ] a is there\n");
    let action = format!("OWNER/ralph-copilot@{}", "1".repeat(40));
    let init = ["init", "--ci", "--fleet=3", "--action", &action, "--json"];
    let file = ".github/workflows/ralph-fleet.yml";
    assert_eq!(repo.ralph(&init).json(), json!({ "created": [file], "task": "demo" }));
    let text = repo.read(file);
    for line in ["TASK: \"demo\"", "max-parallel: 3", &format!("- uses: {action}"), "-ge 10"] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    assert!(!text.contains("@TASK@") && !text.contains("@MACHINES@"), "{text}");
    let jobs: Vec<&str> = text
        .lines()
        .filter(|it| it.ends_with(':') && it.starts_with("  ") && !it.starts_with("   "))
        .collect();
    assert_eq!(jobs, ["  workflow_dispatch:", "  plan:", "  work:", "  prove:", "  push:"]);
    let empty = Repo::empty();
    assert_eq!(empty.ralph(&init).code, Some(2));
}
