//! `--jobs`: the trees of workers, and what happens to them and to the human's.

#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::Command;

use super::parallel::{begun, notices, processes, started};
use super::{THREE, then_honest};
use crate::repo::{Repo, collect, signal, until};
use crate::tier::has_tier;

/// The tiers in which workers can work here.
fn tiers() -> Vec<&'static str> {
    ["full", "partial", "off"].into_iter().filter(|tier| has_tier(tier)).collect()
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
    let git = until("the half-done work", || {
        let mut find = Command::new("find");
        let found = find.arg(repo.beside("tmp")).args(["-name", "ready"]).output().expect("find");
        let at = String::from_utf8(found.stdout).expect("text");
        Some(Path::new(at.trim()).parent().filter(|it| it.is_absolute())?.join(".git"))
    });
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
