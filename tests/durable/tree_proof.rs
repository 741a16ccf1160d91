//! With `proof: end` a run is killed or ended before its proof: what passed in the working tree is
//! not proven, and the next start proves it first.

use std::process::Stdio;

use rustix::process::Signal;

use super::{events, journals};
use crate::repo::{Repo, signal, until};
use ralph_copilot::model::EventKind;

const TASK: &str = "\
---
proof: end
---
# Demo

- [ ] a is there
  - verify: `test -e cache/a || test -e a.txt`
- [ ] b is there
  - verify: `test -e b.txt`
";
const IDLE: &str = "turns: [{steps: [{say: nothing}]}]";

/// A run that passed the first criterion in the tree with this file, ended in the second.
fn ended(file: &str, by: Signal) -> Repo {
    let repo = Repo::with(TASK, &[(".gitignore", "cache/\n")]);
    let script = format!(
        "turns:\n\
         - match: a is there\n  \
           steps: [{{write: {{path: {file}, text: a}}}}, {{write: {{path: notes.txt, text: a}}}}, \
         {{tick: \"{{criterion}}\"}}, {{progress: a}}, {{commit: a}}]\n\
         - match: b is there\n  \
           steps: [{{say: done}}, {{hang: null}}]\n"
    );
    let mut command = repo.run_command(&script, &[]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    until("the second iteration", || {
        let journal = journals(&repo.root()).pop()?;
        let is_second =
            |event: &EventKind| matches!(event, EventKind::PromptSent { iteration: 2, .. });
        events(&journal).iter().any(|event| is_second(&event.kind)).then_some(())
    });
    signal(child.id(), by);
    child.wait().expect("it is dead");
    repo
}

#[test]
fn what_only_the_tree_showed_is_not_proven_until_a_room_shows_it() {
    for by in [Signal::KILL, Signal::TERM] {
        let repo = ended("cache/a", by);
        assert_eq!(repo.state()["criteria"][0]["proof"], "tree", "{by:?}");
        let ran = repo.run(IDLE, &["--max-iterations", "1"]);
        assert_eq!(ran.code, Some(3), "{} {}", ran.stdout, ran.stderr);
        let reopened = ran.stdout.find("criterion_reopened").expect(&ran.stdout);
        let begun = ran.stdout.find("iteration_started").expect(&ran.stdout);
        assert!(reopened < begun, "{}", ran.stdout);
        assert!(repo.task().contains("- [ ] a is there"), "{}", repo.task());
        assert_eq!(repo.state()["criteria"][0].get("proof"), None, "{by:?}");
    }
}

#[test]
fn honest_work_of_a_run_that_was_ended_is_proven_at_the_next_start() {
    let repo = ended("a.txt", Signal::TERM);
    assert_eq!(repo.state()["criteria"][0]["proof"], "tree");
    let ran = repo.run(IDLE, &["--max-iterations", "1"]);
    assert_eq!(ran.code, Some(3), "{} {}", ran.stdout, ran.stderr);
    assert!(!ran.stdout.contains("criterion_reopened"), "{}", ran.stdout);
    assert_eq!(repo.state()["criteria"][0]["proof"], "check", "{}", ran.stdout);
}
