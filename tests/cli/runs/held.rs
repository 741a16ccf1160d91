//! Work that was held for review, and that a human brings onto the branch by other means than
//! `accept`.

use crate::repo::{Ran, Repo, finish};

const TASK: &str = "---\nallow: [\"sh build.sh\"]\n---\n# Demo\n\n- [ ] a is told\n  - verify: `sh \
                    tests/check.sh`\n";
/// Weakens the test; no guard sees what is in it.
const BUILD: &str = "set -e\necho 'test -e a.txt' > tests/check.sh; echo a > a.txt\n\
                     sed -i.bak 's/\\[ \\]/[x]/' tasks/demo/TASK.md; rm tasks/demo/TASK.md.bak\n\
                     git add a.txt tests tasks; git commit -qm 'ralph(demo): work'\n";
/// Where `status` and `check` say that the work is on the branch.
const MERGED: &str =
    "its held work is on this branch; to take it as it is: ralph-copilot accept demo 6";

/// A branch whose only criterion is held.
fn held() -> Repo {
    let repo = Repo::with(TASK, &[("tests/check.sh", "exit 1\n"), ("build.sh", BUILD)]);
    repo.git(&["branch", "base"]);
    let ran = repo.run("turns: [{steps: [{run: sh build.sh}]}]", &["--sandbox=off"]);
    assert_eq!(ran.code, Some(4), "{}{}", ran.stdout, ran.stderr);
    repo
}

/// The ref of the held work.
fn name(repo: &Repo) -> String {
    let held = repo.git(&["for-each-ref", "--format=%(refname)", "refs/ralph/demo/held"]);
    held.trim().to_owned()
}

/// A run without an agent's turn, told in plain lines.
fn again(repo: &Repo) -> Ran {
    finish(repo.run_command("turns: []", &[]))
}

fn verify(repo: &Repo, more: &[&str]) -> Ran {
    repo.ralph(&[&["verify", "demo", "--base", "base"], more].concat())
}

fn status(repo: &Repo) -> String {
    repo.ralph(&["status", "demo"]).stdout
}

fn texts(repo: &Repo) -> [String; 2] {
    [status(repo), repo.ralph(&["check", "demo"]).stdout]
}

#[test]
fn work_that_a_human_merged_counts_once_it_is_accepted() {
    for with_tick in [true, false] {
        let repo = held();
        let name = name(&repo);
        assert!(texts(&repo).iter().all(|text| !text.contains(MERGED)), "{:?}", texts(&repo));
        if with_tick {
            repo.git(&["merge", "-q", "-X", "ours", "-m", "The work", &name]);
        } else {
            repo.git(&["checkout", "-q", &name, "--", "a.txt"]);
            repo.git(&["commit", "-qm", "Half of the work"]);
            assert!(texts(&repo).iter().all(|text| !text.contains(MERGED)), "{:?}", texts(&repo));
            repo.git(&["checkout", "-q", &name, "--", "tests/check.sh"]);
            repo.git(&["commit", "-qm", "The rest of it"]);
        }
        assert!(texts(&repo).iter().all(|text| text.contains(MERGED)), "{:?}", texts(&repo));
        // Its test came with it, so the check is green, and proves nothing.
        let ran = again(&repo);
        assert_eq!(ran.code, Some(4), "{}{}", ran.stdout, ran.stderr);
        let told = "`a is told` stays held: `sh tests/check.sh` fails with the held work, with \
                    tests/check.sh as it was; the work is on this branch; to take it as it is: \
                    ralph-copilot accept demo 6";
        assert!(ran.stdout.contains(told), "{}", ran.stdout);
        assert!(texts(&repo).iter().all(|text| text.contains(MERGED)), "{:?}", texts(&repo));
        let ran = verify(&repo, &[]);
        let said = if with_tick { (Some(4), "by hand  a is told") } else { (Some(0), "open") };
        assert!(ran.code == said.0 && ran.stdout.contains(said.1), "{}", ran.stdout);
        let ran = repo.ralph(&["accept", "demo", "6"]);
        assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
        assert!(status(&repo).contains("  accepted by a human"), "{}", status(&repo));
        assert!(texts(&repo).iter().all(|text| !text.contains(MERGED)), "{:?}", texts(&repo));
        let ran = again(&repo);
        assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
        assert_eq!(verify(&repo, &[]).code, Some(4));
        assert_eq!(verify(&repo, &["--allow-accepted"]).code, Some(0));
    }
}

/// A tick beside held work is judged with the tests as they were before that work, whatever else the
/// human changed.
#[test]
fn work_that_a_human_changed_and_ticked_is_judged_with_the_old_tests() {
    let files = [("tests/check.sh", "grep -q right a.txt\n"), ("build.sh", BUILD)];
    for (text, code, told) in [("wrong\n", 4, "held for review"), ("right\n", 0, "proven by")] {
        let repo = Repo::with(TASK, &files);
        let ran = repo.run("turns: [{steps: [{run: sh build.sh}]}]", &["--sandbox=off"]);
        assert_eq!(ran.code, Some(4), "{}{}", ran.stdout, ran.stderr);
        repo.git(&["checkout", "-q", &name(&repo), "--", "a.txt", "tests/check.sh"]);
        repo.write("a.txt", text);
        assert_eq!(repo.ralph(&["tick", "demo", "6"]).code, Some(0));
        repo.commit("The work, in my words");
        let ran = again(&repo);
        assert_eq!(ran.code, Some(code), "{}{}", ran.stdout, ran.stderr);
        assert!(status(&repo).contains(&format!("a is told  {told}")), "{}", status(&repo));
        if code == 0 {
            continue;
        }
        assert!(ran.stdout.contains("Stuck: held for review: `a is told`."), "{}", ran.stdout);
        let way = "to let it count, drop the held one: ralph-copilot retry demo 6";
        assert!(ran.stdout.contains(way), "{}", ran.stdout);
        assert_eq!(repo.ralph(&["retry", "demo", "a is told"]).code, Some(0));
        assert_eq!(again(&repo).code, Some(0));
    }
}

/// The commit is a human's: `verify` lists it, as it lists other tests that a human changes.
#[test]
fn work_that_a_human_ticked_together_with_its_test_is_not_forged() {
    let repo = held();
    assert_eq!(repo.ralph(&["retry", "demo", "a is told"]).code, Some(0));
    repo.write("a.txt", "a, otherwise\n");
    repo.write("tests/check.sh", "test -e a.txt\n");
    assert_eq!(repo.ralph(&["tick", "demo", "6"]).code, Some(0));
    repo.commit("I did it");
    repo.write("README.md", "# More\n");
    repo.commit("And this");
    let ran = again(&repo);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let ran = verify(&repo, &[]);
    assert_eq!(ran.code, Some(4), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("use `--allow-accepted`"), "{}", ran.stdout);
    assert_eq!(verify(&repo, &["--allow-accepted"]).code, Some(0));
}

/// Whoever brings the work onto the branch, `may_change` allows its tests.
#[test]
fn merged_work_is_proven_once_its_tests_may_change() {
    for with_tick in [true, false] {
        let repo = held();
        let name = name(&repo);
        match with_tick {
            true => drop(repo.git(&["merge", "-q", "-X", "ours", "-m", "The work", &name])),
            false => drop(repo.git(&["checkout", "-q", &name, "--", "a.txt", "tests/check.sh"])),
        }
        let may_change = "---\nmay_change: [\"tests/**\"]\n";
        repo.write("tasks/demo/TASK.md", repo.task().replacen("---\n", may_change, 1));
        repo.commit("Its tests may change");
        let ran = again(&repo);
        assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
        assert!(status(&repo).contains("  proven by its check"), "{}", status(&repo));
        assert_eq!(verify(&repo, &[]).code, Some(4));
        assert_eq!(verify(&repo, &["--allow-accepted"]).code, Some(0));
    }
}

/// With `proof: end`, the room sees the old tests only when other work rests on the weaker ones.
#[test]
fn a_weaker_test_that_the_proof_at_the_end_finds_is_held_too() {
    let task = TASK.replacen("---\n", "---\nproof: end\n", 1)
        + "- [ ] b is there\n  - verify: `test -e b.txt`\n";
    let build = BUILD.replacen("\\[ \\]/[x]/", "\\[ \\] a/[x] a/", 1);
    let repo = Repo::with(&task, &[("tests/check.sh", "exit 1\n"), ("build.sh", &build)]);
    repo.git(&["branch", "base"]);
    let script = "turns: [{match: a is told, steps: [{run: sh build.sh}]}, {match: b is there, \
                  steps: [{write: {path: b.txt, text: b}}, {tick: '{criterion}'}, {commit: b}]}]";
    let ran = repo.run(script, &["--sandbox=off"]);
    assert_eq!(ran.code, Some(4), "{}{}", ran.stdout, ran.stderr);
    let state = repo.state();
    let of = |at: usize, key: &str| state["criteria"][at][key].clone();
    assert_eq!((of(0, "attempts"), of(0, "proof")), (0.into(), serde_json::Value::Null));
    assert_eq!(of(1, "proof"), "check");
    assert_eq!(of(0, "held")["name"], name(&repo));
    assert!(repo.task().contains("- [ ] a is told") && repo.task().contains("- [x] b is there"));
    assert!(ran.stdout.contains("held for review: `a is told`"), "{}", ran.stdout);
    // It stays so, and a human can take it, or let the agent work on it.
    let ran = again(&repo);
    assert_eq!(ran.code, Some(4), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("`a is told` stays held"), "{}", ran.stdout);
    assert_eq!(verify(&repo, &[]).code, Some(0));
    assert_eq!(repo.ralph(&["accept", "demo", "a is told"]).code, Some(0));
    let ran = again(&repo);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert_eq!(verify(&repo, &["--allow-accepted"]).code, Some(0));
}

#[test]
fn work_that_conflicts_is_taken_by_the_commands_that_the_hint_names() {
    let repo = held();
    let name = name(&repo);
    repo.write("a.txt", "mine\n");
    repo.commit("Mine");
    let ran = repo.ralph(&["accept", "demo", "6"]);
    assert_eq!(ran.code, Some(8), "{}{}", ran.stdout, ran.stderr);
    let commands = [
        &format!("git merge {name};"),
        "git checkout HEAD -- tasks/demo;",
        "ralph-copilot accept demo 6;",
        "ralph-copilot retry demo 6",
    ];
    assert!(commands.iter().all(|it| ran.stderr.contains(*it)), "{}", ran.stderr);
    let merge = std::process::Command::new("git")
        .args(["merge", "--quiet", &name])
        .current_dir(repo.root())
        .output();
    assert!(!merge.expect("git runs").status.success());
    repo.git(&["checkout", "HEAD", "--", "tasks/demo"]);
    repo.write("a.txt", "both\n");
    repo.commit("Merged");
    let ran = repo.ralph(&["accept", "demo", "6"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert_eq!(repo.read("a.txt"), "both\n");
    assert_eq!(again(&repo).code, Some(0));
}

#[test]
fn the_reason_is_told_wherever_held_work_is() {
    let repo = Repo::with(TASK, &[("tests/check.sh", "exit 1\n"), ("build.sh", BUILD)]);
    let script = "turns: [{steps: [{run: sh build.sh}]}]";
    let ran = finish(repo.run_command(script, &["--sandbox=off"]));
    assert_eq!(ran.code, Some(4), "{}{}", ran.stdout, ran.stderr);
    let why = "With tests, scripts and configuration as they were, `sh tests/check.sh` ended";
    let end = ran.stdout.split("Stuck: ").nth(1).expect("an end").replace("\n  ", " ");
    assert!(end.contains(&format!("Held: `a is told`: {why}")), "{end}");
    for text in texts(&repo) {
        let told = format!("held because: {why}");
        assert_eq!(text.matches(&told).count(), 1, "{text}");
    }
    let object = repo.ralph(&["status", "demo", "--json"]).json();
    let reason = object["criteria"][0]["held"]["reason"].as_str().expect("a reason");
    assert!(reason.starts_with(why), "{reason}");
}

#[test]
fn status_forgets_held_work_that_was_accepted_or_given_back() {
    for command in ["accept", "retry"] {
        let repo = held();
        assert!(status(&repo).contains("Stuck: held for review"), "{}", status(&repo));
        assert_eq!(repo.ralph(&[command, "demo", "6"]).code, Some(0));
        let status = status(&repo);
        let (told, next) = match command {
            "accept" => ("demo: Done since: 1 accepted by a human\n", "review the commits: "),
            _ => (" Changed since: 1 open\n", "work on what is open: "),
        };
        assert!(status.contains(told) && status.contains(&format!("\nNext\n  {next}")), "{status}");
        assert!(!status.contains("take it: "), "{status}");
    }
}

#[test]
fn held_work_whose_criterion_has_another_wording_is_named() {
    let repo = held();
    repo.write("tasks/demo/TASK.md", repo.task().replace("a is told", "a is said"));
    repo.commit("Better words");
    let told = "TASK.md no longer has `a is told`, whose work is held";
    let ran = finish(repo.run_command("turns: [{steps: [{say: no}]}]", &["--max-iterations", "1"]));
    for text in [status(&repo), ran.stdout] {
        assert!(text.contains(told) && text.contains(&name(&repo)), "{text}");
    }
}

/// A message's end says what helps: it is never cut off, however long the names in it are.
#[test]
fn the_way_out_of_held_work_and_of_a_denial_is_shown_whole_everywhere() {
    let long = format!("tests/{}.sh", "a-name-that-says-all-there-is-to-say-".repeat(2));
    let task = TASK.replace("tests/check.sh", &long);
    let build = BUILD.replace("tests/check.sh", &long);
    let repo = Repo::with(&task, &[(&long, "exit 1\n"), ("build.sh", &build)]);
    let script = format!(
        "turns: [{{on_reject: continue, steps: [{{run: 'echo true > {long}'}}, {{run: sh build.sh}}]}}]"
    );
    let ran = finish(repo.run_command(&script, &["--sandbox=off"]));
    assert_eq!(ran.code, Some(4), "{}{}", ran.stdout, ran.stderr);
    let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let way_out = format!("`may_change: [\"{long}\"]` below it in TASK.md allows it.");
    let denied = format!("allow it in TASK.md: `may_change: [\"{long}\"]`.");
    assert!(plain(&ran.stdout).contains(&denied), "{}", ran.stdout);
    let [status, check] = texts(&repo);
    let log = repo.ralph(&["log", "demo"]).stdout;
    assert!(plain(&log).contains(&denied), "{log}");
    let (lines, summary) = ran.stdout.split_once("criterion  ").expect("a summary");
    let progress = repo.read("tasks/demo/progress.md");
    for text in [lines, summary, &status, &check, &log, &progress] {
        assert!(plain(text).contains(&way_out), "{text}");
    }
}

/// Code that is not needed any more goes with its tests, as the criterion asks.
#[test]
fn the_tests_that_held_work_took_out_are_named() {
    let test = |name: &str| format!("    def test_{name}(self):\n        calc.{name}()\n\n");
    let file = |names: &[&str]| -> String {
        let tests = names.iter().map(|name| test(name)).collect::<String>();
        format!("import unittest, calc\n\n\nclass T(unittest.TestCase):\n{tests}")
    };
    let all = ["one", "two", "three", "four", "five"];
    let task = "---\nallow: [\"sh build.sh\"]\n---\n# Demo\n\n- [ ] only one is left\n  - verify: \
                `python3 -m unittest discover -s tests -t .`\n  - verify: `! grep -q two calc.py`\n";
    let new = [("calc.py", "def one(): 0\n"), ("tests/test_calc.py", &*file(&all[..1]))];
    let work: String =
        new.iter().map(|(path, text)| format!("cat > {path} <<'E'\n{text}E\n")).collect();
    let build = format!(
        "set -e\n{work}sed -i.bak 's/\\[ \\]/[x]/' tasks/demo/TASK.md; rm tasks/demo/TASK.md.bak\n\
         git add calc.py tests tasks; git commit -qm 'ralph(demo): work'\n"
    );
    let calc: String = all.iter().map(|name| format!("def {name}(): 0\n")).collect();
    let (tests, script) = (file(&all), "turns: [{steps: [{run: sh build.sh}]}]");
    let files = [("calc.py", &*calc), ("tests/__init__.py", ""), ("tests/test_calc.py", &tests)];
    let repo = Repo::with(task, &[&files[..], &[("build.sh", &build)]].concat());
    let ran = finish(repo.run_command(script, &["--sandbox=off"]));
    assert_eq!(ran.code, Some(4), "{}{}", ran.stdout, ran.stderr);
    let told = "tests/test_calc.py; `test_two`, `test_three`, `test_four` and 1 more are missing \
                now. Put them back";
    let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    for text in [flat(&ran.stdout), flat(&status(&repo))] {
        assert!(text.contains(told), "{text}");
    }
}

/// Nothing says that these files hold tests, so none is put back: the runner's numbers decide.
#[test]
fn a_test_that_is_gone_is_named_where_a_runner_runs_fewer() {
    let file = |more: &str| {
        format!(
            "import sys, unittest\nsys.path.insert(0, '.')\nfrom calc import sq\n\n\nclass \
             T(unittest.TestCase):\n    def test_sq(self):\n        self.assertEqual(sq(3), 9)\n{more}"
        )
    };
    let task = "# Demo\n\n- [ ] squares\n  - verify: `python3 -m unittest discover -v -s quality -p \
                'verify_*.py'`\n";
    let tests = file("\n    def test_gone(self):\n        pass\n");
    let files = [("calc.py", "def sq(n): return 0\n"), ("quality/verify_a.py", tests.as_str())];
    let repo = Repo::with(task, &files);
    let (calc, tests) = ("def sq(n): return n * n\n", file(""));
    let script = format!(
        "turns: [{{steps: [{{write: {{path: calc.py, text: {calc:?}}}}}, {{write: {{path: \
         quality/verify_a.py, text: {tests:?}}}}}, {{tick: \"{{criterion}}\"}}, {{commit: work}}]}}]"
    );
    let ran = finish(repo.run_command(&script, &["--max-iterations", "1"]));
    assert_eq!(ran.code, Some(3), "{}{}", ran.stdout, ran.stderr);
    let told = "`unittest` ran 2 tests at the start, and 1 now: `test_gone` is missing (`may_change` \
                allows that)";
    assert!(ran.stdout.contains(told), "{}", ran.stdout);
}
