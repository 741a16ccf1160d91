//! Many machines: `list --ready`, `run --only --bundle`, and `land`.

use std::collections::BTreeSet;

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
    let status = prover.ralph(&["status", "demo"]).stdout;
    assert!(!status.contains("iteration limit"), "{status}");
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
        // Nothing had begun that could look as if it died.
        assert!(!ran.stderr.contains("guardian"), "{args:?}: {}", ran.stderr);
    }
    machine.write("tasks/demo/progress.md", "- a note\n");
    let ran = crate::repo::finish(machine.run_command(AGENT, &["--only", "a", "--bundle", "x"]));
    assert_eq!(ran.code, Some(8), "{}", ran.stderr);
    assert_eq!(machine.read("tasks/demo/progress.md"), "- a note\n");
}

#[test]
fn a_bundle_lands_in_the_clone_that_made_it() {
    let hub = hub();
    let (machine, ran, bundle) = machine(&hub, "a", AGENT, &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let ran = machine.ralph(&["land", "--task", "demo", "--json", &bundle]);
    assert_eq!(ran.code, Some(0), "{} {}", ran.stdout, ran.stderr);
    assert_eq!(landed(&ran.json(), true), BTreeSet::from(["a"]));
    let status = machine.ralph(&["status", "demo"]).stdout;
    assert!(status.starts_with("demo: Landed 1 of 1 criteria that were handed in\n"), "{status}");
    assert!(status.contains(": exit code 0, "), "{status}");
    let again = machine.ralph(&["land", "--task", "demo", &bundle]);
    assert_eq!(again.code, Some(0), "{} {}", again.stdout, again.stderr);
    assert!(
        again.stdout.contains("\nnothing new  `a is there`: it landed before\n"),
        "{}",
        again.stdout
    );
    assert!(!again.stdout.contains("landed  `"), "{}", again.stdout);
    let again = machine.ralph(&["land", "--task", "demo", "--json", &bundle]).json();
    assert_eq!(again["bundles"][0]["new"], false, "{again}");
    assert!(machine.task().contains("- [x] a is there"), "{}", machine.task());
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
