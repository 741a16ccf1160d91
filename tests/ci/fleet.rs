//! A fleet over one task: machines that die, lie, conflict, and forge, and a human between them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::actions::{Hub, Jobs, Meddle};
use crate::night::{git, story};
use crate::repo::Repo;

/// In the first round, all but the last can start.
const TASK: &str = "\
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
  - id: e
- [ ] f is there
  - verify: `test -e f.txt`
  - id: f
  - after: a
";
const FILES: [(&str, &str); 1] = [("check.sh", "test -e e.txt\n")];

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
";

/// A step `Work` that does what a file beside the clone says, where there is one.
const WORK: (&str, &str) = (
    "code=0\nralph-copilot run",
    "if [ -e ../instead ]; then . ../instead; exit; fi
code=0\nralph-copilot run --max-iterations 1",
);

/// Ticks a criterion and commits; then hands in what it did, with these refs more.
fn lie(name: &str, work: &str, more: &str) -> String {
    format!(
        "git config user.name Somebody; git config user.email somebody@example.com
sed -i 's/\\[ \\] {name} /[x] {name} /' tasks/demo/TASK.md
{work}
git add -A; git commit -qm 'ralph(demo): {name}, at once'
for name in refs/ralph/demo/handed-in/{name} {more}; do git update-ref $name HEAD; done
git bundle create -q \"$RUNNER_TEMP/work.bundle\" refs/ralph/demo/handed-in/{name} {more} ^origin/main"
    )
}

/// A round, with what these machines do in place of their work.
fn round(hub: &Hub, script: &str, instead: &[(&str, &str)], meddle: Meddle<'_>) -> Jobs {
    hub.night(script, &|job, step, at| {
        let told = instead.iter().find(|(name, _)| job == format!("work ({name})"));
        if let (Some((_, text)), "Work") = (told, step) {
            fs::write(at.join("../instead"), text).expect("written");
        }
        meddle(job, step, at);
    })
}

/// A human's commit comes onto the branch, just before the job would push.
fn a_human_pushes(url: &Path, job: &str, step: &str, at: &Path) {
    if (job, step) == ("push", "Push") {
        let to = at.join("../human");
        git(at, &format!("git clone -q {} {}", url.display(), to.display()));
        let line = "git switch -q ralph/demo || git switch -qc ralph/demo
echo mine >>human.txt; git add .; git commit -qm mine; git push -q origin ralph/demo";
        git(&to, line);
    }
}

/// The files of the work on a branch, with their lines in order.
fn work(at: &Path, branch: &str) -> BTreeSet<(String, Vec<String>)> {
    let names = git(at, &format!("git ls-tree -r --name-only {branch}"));
    let is_work =
        |it: &&str| !it.starts_with("tasks/") && !it.starts_with('.') && *it != "human.txt";
    let file = |name: &str| {
        let text = git(at, &format!("git show {branch}:{name}"));
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        (name.to_owned(), lines)
    };
    names.lines().filter(is_work).map(file).collect()
}

/// The criteria of a round.
fn names(jobs: &Jobs) -> Vec<String> {
    let matrix: Value = serde_json::from_str(&jobs["plan"].outputs["matrix"]).expect("JSON");
    let entries = matrix["include"].as_array().expect("a matrix").iter();
    entries.map(|it| it["criterion"].as_str().expect("a name").to_owned()).collect()
}

#[test]
fn a_fleet_over_three_rounds_ends_with_what_one_machine_does() {
    let mut hub = Hub::fleet(TASK, &FILES);
    hub.instead.push(WORK);
    let url = hub.human.beside("github/me/repo");
    let on_branch = |name: &str| git(&url, &format!("git show ralph/demo:{name}"));
    let nobody: Meddle<'_> = &|_, _, _| {};
    let no_files = AGENT.replace("echo b > b.txt", "touch junk");

    // One lies, two conflict, one dies.
    let b = lie("b", "echo true >check.sh", "");
    let jobs = round(&hub, AGENT, &[("b", &b), ("e", "exit 1")], nobody);
    assert_eq!(names(&jobs), ["a", "b", "c", "d", "e"]);
    assert!(jobs["work"].failed && !jobs["push"].failed, "{}", story(&jobs));
    assert!(jobs["prove"].log.contains("2 of 4 landed; 4 criteria can start."), "{}", story(&jobs));
    let proven = &jobs["prove"].outputs["proven"];
    assert_eq!(&git(&url, "git rev-parse ralph/demo"), proven);
    assert_eq!(on_branch("check.sh"), "test -e e.txt");
    let ticks = |text: &str| text.lines().filter(|it| it.contains("[x]")).count();
    assert_eq!(ticks(&on_branch("tasks/demo/TASK.md")), 2, "{}", story(&jobs));
    let attempts = |text: &str| {
        let state: Value = serde_json::from_str(&on_branch("tasks/demo/state.json")).expect("JSON");
        let all = state["criteria"].as_array().expect("a list");
        all.iter()
            .find(|it| it["text"] == text)
            .map_or(0, |it| it["attempts"].as_u64().expect("one"))
    };
    // A conflict costs no attempt.
    assert_eq!((attempts("b is there"), attempts("d shares")), (1, 0));
    assert!(hub.dispatched());

    // One fails, one forges, and a human pushes before the work of the others can be.
    let e = lie("e", "echo true >check.sh", "refs/heads/main2");
    let jobs =
        round(&hub, &no_files, &[("e", &e)], &|job, step, at| a_human_pushes(&url, job, step, at));
    assert_eq!(names(&jobs), ["b", "d", "e", "f"]);
    assert!(jobs["prove"].log.contains("2 of 4 landed; 2 criteria can start."), "{}", story(&jobs));
    assert!(jobs["push"].log.contains("moved meanwhile"), "{}", story(&jobs));
    assert_eq!(git(&url, "git log -1 --format=%s ralph/demo"), "mine");
    assert!(hub.dispatched());

    // What could not be pushed lands now, beside the work of the machines that live.
    let jobs = round(&hub, AGENT, &[("d", "exit 1"), ("f", "exit 1")], nobody);
    assert_eq!(names(&jobs), ["b", "d", "e", "f"]);
    assert!(!jobs["push"].failed && !jobs["push"].skipped, "{}", story(&jobs));
    assert_eq!(&git(&url, "git rev-parse ralph/demo"), &jobs["prove"].outputs["proven"]);
    assert!(!hub.dispatched(), "nothing is left");
    assert_eq!(ticks(&on_branch("tasks/demo/TASK.md")), 6, "{}", story(&jobs));
    assert_eq!(on_branch("human.txt"), "mine");

    assert_eq!((attempts("b is there"), attempts("e is there")), (2, 0));
    hub.human.git(&["fetch", "--quiet", "origin"]);
    let verify = ["verify", "demo", "--base=main", "--head=origin/ralph/demo", "--sandbox=off"];
    let verified = hub.human.ralph(&verify);
    assert_eq!(verified.code, Some(0), "{}{}", verified.stdout, verified.stderr);

    // No attempt is lost, but for that of the bundle that was refused.
    let machines = fs::read_dir(hub.human.beside("")).expect("machines").flatten();
    let machines = machines.map(|it| it.path()).filter(|it| it.join("temp/work.bundle").exists());
    let done = machines.map(|it| {
        let tip = "(git rev-parse -q --verify refs/ralph/demo/attempts/1 || git rev-parse HEAD)";
        let log = format!("git log -1 --format='%H %s' ${tip} -- . ':!tasks'");
        git(&it.join("repo"), &log)
    });
    let refs = "$(git for-each-ref --format='%(refname)' refs/ralph refs/heads)";
    let known = git(&url, &format!("git log --format='%H %s' {refs}"));
    let done: BTreeSet<String> = done.collect();
    let lost: Vec<_> = done.iter().filter(|it| !known.lines().any(|known| known == *it)).collect();
    assert_eq!(done.len(), 10, "{done:?}");
    assert!(lost.len() == 1 && lost[0].ends_with(": e, at once"), "{lost:?}: {known}");

    let one = Repo::with(TASK, &FILES);
    assert_eq!(one.run(AGENT, &["--jobs=3", "--sandbox", "off"]).code, Some(0));
    assert_eq!(work(&url, "ralph/demo"), work(&one.root(), "main"));
}

#[test]
fn what_two_rounds_could_not_push_lands_in_the_third() {
    let mut hub = Hub::fleet(TASK, &FILES);
    hub.instead.push(WORK);
    let url = hub.human.beside("github/me/repo");
    let nobody: Meddle<'_> = &|_, _, _| {};
    let dead = ["b", "c", "d", "e"].map(|name| (name, "exit 1"));
    let with = |text| [&dead[..], &[("a", text)]].concat();

    // Nothing lands: the round is green, and the last one.
    let forged = lie("a", "echo a >a.txt", "refs/tags/v1");
    let jobs = round(&hub, "turns: []", &with(&forged), nobody);
    assert!(!jobs["prove"].failed && jobs["push"].skipped, "{}", story(&jobs));
    assert!(jobs["prove"].log.contains("0 of 1 landed"), "{}", story(&jobs));
    assert_eq!((hub.refs(), hub.dispatched()), (Vec::new(), false));

    let work = lie("a", "echo a >a.txt", "");
    for instead in [work.as_str(), "exit 1"] {
        let meddle = |job: &str, step: &str, at: &Path| a_human_pushes(&url, job, step, at);
        let jobs = round(&hub, "turns: []", &with(instead), &meddle);
        assert!(jobs["push"].log.contains("moved meanwhile"), "{}", story(&jobs));
        assert!(hub.dispatched(), "{}", story(&jobs));
    }
    let jobs = round(&hub, "turns: []", &with("exit 1"), nobody);
    let tip = git(&url, "git rev-parse ralph/demo");
    assert_eq!(tip, jobs["prove"].outputs["proven"], "{}", story(&jobs));
    assert_eq!(git(&url, "git show ralph/demo:a.txt ralph/demo:human.txt"), "a\nmine\nmine");
}
