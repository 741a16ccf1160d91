//! `--jobs`: the trees of workers, and what happens to them and to the human's.

#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::Command;

use ralph_copilot::model::EventKind;

use super::parallel::{begun, notices, processes, started};
use super::{THREE, then_honest};
use crate::repo::{Repo, collect, signal, until};
use crate::tier::has_tier;

/// The tiers in which workers can work here.
fn tiers() -> Vec<&'static str> {
    ["full", "partial", "off"].into_iter().filter(|tier| has_tier(tier)).collect()
}

/// Waits for a file that an agent makes. Returns the git folder beside it.
fn git_beside(repo: &Repo, name: &str) -> PathBuf {
    until("the file", || {
        let mut find = Command::new("find");
        let found = find.arg(repo.beside("tmp")).args(["-name", name]).output().expect("find");
        let at = String::from_utf8(found.stdout).expect("text");
        Some(Path::new(at.trim()).parent().filter(|it| it.is_absolute())?.join(".git"))
    })
}

/// `h.bin` is kept as `ENC:` and its line.
fn with_filter(repo: &Repo) {
    repo.git(&["config", "filter.x.clean", "sed s/^/ENC:/"]);
    repo.git(&["config", "filter.x.smudge", "sed s/^ENC://"]);
    repo.write(".gitattributes", "*.bin filter=x\n");
    repo.write("h.bin", "here\n");
    repo.git(&["add", "-A"]);
    repo.git(&["commit", "--quiet", "--message", "a filter"]);
}

#[test]
fn files_that_a_filter_makes_are_no_changes_in_a_workers_tree() {
    for tier in tiers() {
        let repo = Repo::new(THREE);
        with_filter(&repo);
        let work = "- match: a is there\n  steps: [{run: 'grep -q ^here h.bin && touch a.txt'}, \
                    {tick: '{criterion}'}, {commit: a}]\n";
        let ran = repo.run(&then_honest(work), &["-j2", &format!("--sandbox={tier}")]);
        assert_eq!(ran.code, Some(0), "{tier}: {}{}", ran.stdout, ran.stderr);
        assert_eq!((repo.read("h.bin").as_str(), repo.status().as_str()), ("here\n", ""));
        assert_eq!(repo.git(&["show", "HEAD:h.bin"]), "ENC:here\n");
    }
}

#[test]
fn work_on_files_that_a_filter_makes_lands_as_the_filter_makes_them() {
    let repo = Repo::new(THREE);
    with_filter(&repo);
    let work = "- match: a is there\n  steps: [{run: 'echo changed > h.bin; echo new > n.bin; \
                touch a.txt'}, {tick: '{criterion}'}, {commit: a}]\n";
    let ran = repo.run(&then_honest(work), &["-j2"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    for (path, text) in [("h.bin", "changed\n"), ("n.bin", "new\n")] {
        assert_eq!(repo.read(path), text);
        assert_eq!(repo.git(&["show", &format!("HEAD:{path}")]), format!("ENC:{text}"));
    }
    assert_eq!(repo.status(), "");
}

#[test]
fn the_settings_of_git_stay_closed_from_one_criterion_to_the_next() {
    if !has_tier("full") {
        return;
    }
    let task = format!("{THREE}- [ ] d is there\n  - verify: `test -e d.txt`\n");
    let probe = "for it in config hooks/pre-commit info/exclude; do\n\
                 true >> .git/$it && echo $it >> $1.txt\ndone\necho >> $1.txt\n";
    let repo = Repo::with(&task, &[("probe.sh", probe)]);
    let mut script = "turns:\n".to_owned();
    for name in ["a", "b", "c", "d"] {
        script.push_str(&format!(
            "- match: {name} is there\n  steps: [{{run: 'sh probe.sh {name}'}}, \
             {{tick: '{{criterion}}'}}, {{commit: {name}}}]\n"
        ));
    }
    let ran = repo.run(&script, &["-j2", "--sandbox=full"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    for name in ["a", "b", "c", "d"] {
        assert_eq!(repo.read(&format!("{name}.txt")), "\n", "{name}");
    }
}

#[test]
fn what_a_worker_did_before_it_died_is_kept_without_running_anything() {
    let repo = Repo::new(THREE);
    let half = "- match: b is there\n  times: 1\n  steps: [{run: 'echo b > half-b; echo c > half-c; \
                git add half-c && touch ready'}, {run: 'sleep 5'}]\n";
    let script = format!("memory: seen.txt\n{}", then_honest(half));
    let mut command = repo.run_command(&script, &["-j2", "--json", "--sandbox=off"]);
    std::fs::create_dir_all(repo.beside("tmp")).expect("a folder");
    command.env("TMPDIR", repo.beside("tmp"));
    let child = started(&mut command);
    let git = git_beside(&repo, "ready");
    let trap = repo.beside("trap");
    let runs = format!("\n\tclean = touch {0}\n[core]\n\tfsmonitor = touch {0}\n", trap.display());
    std::fs::write(git.join("config"), format!("[filter \"x\"]{runs}")).expect("written");
    std::fs::write(git.join("info/attributes"), "* filter=x\n").expect("written");
    std::fs::write(git.join("index.lock"), "").expect("written");
    let is_its = |line: &&(u32, String)| line.1.contains(" --worker {\"number\":2,");
    signal(processes(&repo).iter().find(is_its).expect("it").0, rustix::process::Signal::KILL);
    let ran = collect(child);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let said = notices(&ran).into_iter().find(|it| it.starts_with("worker 2 died"));
    let said = said.expect("it is said");
    let (_, kept) = said.rsplit_once("is kept in ").expect("where it is kept");
    for name in ["half-b", "half-c"] {
        assert_eq!(repo.git(&["show", &format!("{kept}:{name}")]), format!("{}\n", &name[5..]));
    }
    assert!(!trap.exists());
}

#[test]
fn all_that_is_kept_is_named_when_the_human_switches_branches() {
    let repo = Repo::new(THREE);
    let slow = "- match: a is there\n  steps: [{run: 'sleep 1; touch a.txt'}, \
                {tick: '{criterion}'}, {commit: a}]\n\
                - match: is there\n  steps: [{run: 'touch half'}, {run: 'sleep 30'}]\n";
    let mut command = repo.run_command(&then_honest(slow), &["-j3", "--json"]);
    let child = started(&mut command);
    begun(&repo, 3);
    repo.git(&["switch", "--quiet", "--create", "other"]);
    let ran = collect(child);
    assert_eq!(ran.code, Some(8), "{}{}", ran.stdout, ran.stderr);
    let kept: Vec<_> = repo.attempts().into_iter().filter(|it| it.contains("/attempts/")).collect();
    assert_eq!(kept.len(), 3, "{}", ran.stdout);
    for (name, file) in [("a", "a.txt"), ("b", "half"), ("c", "half")] {
        let about = format!("unfinished work on `{name} is there` is kept in ");
        let mut said = notices(&ran).into_iter();
        let at = said.find_map(|it| Some(it.strip_prefix(&about)?.to_owned()));
        let at = at.unwrap_or_else(|| panic!("{name}: {}", ran.stdout));
        assert_eq!(repo.git(&["show", &format!("{at}:{file}")]), "");
    }
}

#[test]
fn doubtful_work_is_named_where_it_is() {
    let hook = "mkdir -p .github/hooks && echo > .github/hooks/x.json && printf w > w.txt";
    let repo = Repo::with(THREE, &[("hook.sh", hook)]);
    let ran = repo.run("turns: [{steps: [{run: sh hook.sh}]}]", &["-j2", "--sandbox=off"]);
    assert_eq!(ran.code, Some(10), "{}{}", ran.stdout, ran.stderr);
    let (_, at) =
        ran.stdout.rsplit_once("not in your working tree: git log -p ").expect(&ran.stdout);
    let range = at.split('"').next().expect("a range");
    assert!(repo.git(&["log", "-p", range]).contains("w.txt"), "{range}");
    assert!(!ran.stdout.contains("was left as it was"), "{}", ran.stdout);
}

#[test]
fn that_a_landing_is_tried_again_is_said_once() {
    let repo = Repo::new("- [ ] a is there\n  - verify: `test ! -e a.txt || sleep 1`\n");
    let work = "turns: [{steps: [{run: 'touch a.txt'}, {tick: '{criterion}'}, {commit: a}]}]";
    let mut command = repo.run_command(work, &["-j2", "--json"]);
    let child = started(&mut command);
    for number in [1, 2] {
        until("the landing", || {
            let is_begin = |kind: &EventKind| matches!(kind, EventKind::IterationStarted { .. });
            let events = crate::journal(&repo);
            let begun = events.iter().filter(|event| is_begin(&event.kind)).count();
            (begun >= number).then_some(())
        });
        repo.git(&["commit", "--quiet", "--allow-empty", "--message", "by the human"]);
    }
    let ran = collect(child);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let told: Vec<_> =
        notices(&ran).into_iter().filter(|it| it.contains("cannot land yet")).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].ends_with("; it is tried again"), "{told:?}");
}

#[test]
fn a_turn_that_is_cut_off_and_proven_counts() {
    let repo = Repo::new("- [ ] a is there\n  - verify: `test -e a.txt`\n");
    let work = "turns: [{steps: [{run: 'touch a.txt'}, {tick: '{criterion}'}, {commit: a}, \
                {run: 'sleep 60'}]}]";
    let ran = repo.run(work, &["-j2", "--max-duration=3s"]);
    assert_eq!(ran.code, Some(3), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("\"iterations\":1,"), "{}", ran.stdout);
}

#[test]
fn a_stale_lock_in_a_workers_tree_is_said_to_be_there() {
    let repo = Repo::new("- [ ] a is there\n  - verify: `test -e a.txt`\n");
    let work = "turns: [{steps: [{run: 'touch a.txt ready'}, {run: 'sleep 3'}]}, \
                {steps: [{tick: '{criterion}'}, {commit: a}]}]";
    let mut command = repo.run_command(work, &["-j2", "--json"]);
    std::fs::create_dir_all(repo.beside("tmp")).expect("a folder");
    command.env("TMPDIR", repo.beside("tmp"));
    let child = started(&mut command);
    std::fs::write(git_beside(&repo, "ready").join("index.lock"), "").expect("written");
    let ran = collect(child);
    let of_locks = |it: &String| it.contains("removed stale git locks");
    let told = notices(&ran).into_iter().find(of_locks).expect(&ran.stdout);
    assert!(told.starts_with("worker 1: removed stale git locks"), "{told}");
}
