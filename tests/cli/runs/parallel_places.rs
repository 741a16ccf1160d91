//! `--jobs`: the trees of workers, and what happens to them and to the human's.

#![cfg(target_os = "linux")]

use super::{THREE, then_honest};
use crate::repo::Repo;
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
