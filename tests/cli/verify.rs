//! `verify`: what a branch carries of its proof, derived on any clone from its commits alone.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::path::Path;

use serde_json::{Value, json};

use crate::repo::{Ran, Repo, story};

const TASK: &str = "\
---
protect: [\"LICENSE\"]
---
# Demo

- [ ] squares
  - verify: `sh tests/run.sh`
- [ ] notes
";
const TEST: &str = "test \"$(sh sq.sh 7)\" = 49\n";
const WRONG: &str = "echo 0\n";
const RIGHT: &str = "echo $(($1 * $1))\n";
const FILES: [(&str, &str); 3] =
    [("tests/run.sh", TEST), ("sq.sh", WRONG), ("LICENSE", "All of it.\n")];

/// Works honestly on each criterion.
const HONEST: &str = "\
turns:
- match: squares
  steps: [{write: {path: sq.sh, text: 'echo $(($1 * $1))'}}, {tick: '{criterion}'}, {progress: a}, {commit: a}]
- match: notes
  steps: [{write: {path: notes.txt, text: n}}, {tick: '{criterion}'}, {progress: a}, {commit: a}]
";

/// A repository whose base holds the task, with a branch that is checked out.
fn branch() -> Repo {
    let repo = Repo::with(TASK, &FILES);
    repo.git(&["switch", "--quiet", "--create", "work"]);
    repo
}

/// The same after a run.
fn worked(args: &[&str]) -> Repo {
    let repo = branch();
    let ran = repo.run(HONEST, args);
    assert!([Some(0), Some(3)].contains(&ran.code), "{}", story(&repo, &ran));
    repo
}

fn verify(repo: &Repo, more: &[&str]) -> Ran {
    let args: Vec<&str> =
        ["verify", "demo", "--base", "main", "--json"].iter().chain(more).copied().collect();
    repo.ralph(&args)
}

/// The exit code, each criterion's result, and the kind of each remark.
fn found(ran: &Ran) -> (Option<i32>, Vec<String>, Vec<String>) {
    if ran.code.is_some_and(|code| [2, 7, 8].contains(&code)) {
        return (ran.code, Vec::new(), vec![ran.stderr.clone()]);
    }
    let json = ran.json();
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let of = |list: &str, key: &str| -> Vec<String> {
        json[list].as_array().expect("a list").iter().map(|it| text(&it[key])).collect()
    };
    assert_eq!(json["exit_code"].as_i64(), ran.code.map(i64::from), "{json:#}");
    (ran.code, of("criteria", "result"), of("remarks", "kind"))
}

fn is(repo: &Repo, more: &[&str], code: i32, results: [&str; 2], remarks: &[&str]) {
    let ran = verify(repo, more);
    let (was, of, kinds) = found(&ran);
    let seen = (
        was,
        of.iter().map(String::as_str).collect::<Vec<_>>(),
        kinds.iter().map(String::as_str).collect::<Vec<_>>(),
    );
    assert_eq!(
        seen,
        (Some(code), results.to_vec(), remarks.to_vec()),
        "{} {}",
        ran.stdout,
        ran.stderr
    );
}

/// Ticks a criterion in TASK.md.
fn tick(repo: &Repo, criterion: &str) {
    repo.write(
        "tasks/demo/TASK.md",
        repo.task().replace(&format!("[ ] {criterion}"), &format!("[x] {criterion}")),
    );
}

/// Writes a state.json that claims proofs.
fn claim(repo: &Repo, proofs: &[(&str, &str)]) {
    let mut state = match repo.state() {
        Value::Null => json!({ "version": 1, "iteration": 0, "attempt_refs": 0, "criteria": [] }),
        state => state,
    };
    state["iteration"] = json!(state["iteration"].as_u64().unwrap_or(0) + 1);
    let iteration = state["iteration"].clone();
    let list = state["criteria"].as_array_mut().expect("a list");
    for (text, proof) in proofs {
        list.retain(|entry| entry["text"] != *text);
        list.push(json!({ "text": text, "proof": proof, "iteration": iteration }));
    }
    repo.write("tasks/demo/state.json", format!("{state:#}\n"));
}

#[test]
fn an_honest_branch_is_proven_and_two_clones_say_the_same() {
    let repo = worked(&[]);
    is(&repo, &[], 0, ["check", "commit"], &[]);
    is(&repo, &["--require-checks"], 4, ["check", "not proven"], &[]);
    let mut said = Vec::new();
    for name in ["one", "two/deeper"] {
        let to = repo.beside(name).display().to_string();
        repo.git(&["clone", "--quiet", "--branch", "work", ".", &to]);
        let mut command = repo.command(&["verify", "demo", "--base", "origin/main", "--json"]);
        command.current_dir(&to);
        let ran = crate::repo::finish(command);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert!(!ran.stdout.contains(&repo.beside("").display().to_string()), "{}", ran.stdout);
        let mut json = ran.json();
        for criterion in json["criteria"].as_array_mut().expect("a list") {
            for check in criterion["checks"].as_array_mut().expect("a list") {
                assert!(check["millis"].take().is_u64());
            }
        }
        said.push(json);
        let status = std::process::Command::new("git")
            .args(["-C", &to, "status", "--short"])
            .output()
            .expect("git runs");
        assert_eq!(status.stdout, b"");
    }
    assert_eq!(said[0], said[1]);
}

#[test]
fn people_read_who_did_what() {
    let repo = worked(&["--max-iterations", "1"]);
    tick(&repo, "notes");
    repo.commit("I looked at it");
    let ran = repo.ralph(&["verify", "demo", "--base", "main"]);
    assert_eq!(ran.code, Some(4), "{}", ran.stderr);
    crate::shown(&repo, || {
        insta::assert_snapshot!(ran.stdout, @r"
    demo: 4 commits from [commit] to [commit]

        6  check    squares  ([commit])
        8  by hand  notes  ([commit])

    `notes`
      no commit of `notes` changes more than the task's state files, white space, line endings, or file modes

    by hand: [commit] (Human <human@example.com>) ticks `notes` by hand

    Not proven: some ticks rest on a human's word, which an agent can imitate. If you know who wrote these commits, use `--allow-accepted`.
    ")
    });
}

#[test]
fn a_branch_that_is_not_finished_holds_and_says_so() {
    let repo = worked(&["--max-iterations", "1"]);
    is(&repo, &[], 0, ["check", "open"], &[]);
    assert_eq!(verify(&repo, &[]).json()["complete"], json!(false));
}

#[test]
fn a_claim_without_work_is_forged() {
    // Only the state and the tick.
    let repo = branch();
    tick(&repo, "squares");
    claim(&repo, &[("squares", "check")]);
    repo.commit("ralph(demo): state update");
    is(&repo, &[], 10, ["forged", "open"], &[]);
    // A hundred commits do not hide it.
    for number in 0..100 {
        repo.git(&["commit", "--quiet", "--allow-empty", "-m", &format!("more {number}")]);
    }
    is(&repo, &[], 10, ["forged", "open"], &[]);
    // A commit that was not made.
    let repo = branch();
    tick(&repo, "notes");
    claim(&repo, &[("notes", "commit")]);
    repo.commit("ralph(demo): state update");
    is(&repo, &[], 10, ["open", "forged"], &[]);
}

#[test]
fn a_test_that_was_weakened_proves_nothing() {
    for test in
        ["exit 0\n", "test \"$(sh sq.sh 7)\" = 0\n", "exit 0\ntest \"$(sh sq.sh 7)\" = 49\n"]
    {
        let repo = branch();
        repo.write("tests/run.sh", test);
        repo.write("sq.sh", "echo 0 # better\n");
        tick(&repo, "squares");
        claim(&repo, &[("squares", "check")]);
        repo.commit("ralph(demo): work");
        is(&repo, &[], 10, ["forged", "open"], &[]);
    }
}

/// The work holds with the test put back, and people should know all the same.
#[test]
fn a_test_that_is_another_one_at_the_head_is_listed() {
    let repo = worked(&[]);
    is(&repo, &[], 0, ["check", "commit"], &[]);
    repo.write("tests/run.sh", "exit 0\n");
    repo.commit("tidy");
    is(&repo, &[], 0, ["check", "commit"], &["listed"]);
    // A check that runs every test in a folder names none.
    let test = |body: &str| {
        format!(
            "import unittest\nfrom sq import sq\n\nclass T(unittest.TestCase):\n    def \
             test_sq(self):\n        {body}\n"
        )
    };
    let right = test("self.assertEqual(sq(7), 49)");
    let task = "# Demo\n\n- [ ] squares\n  - verify: `python3 -m unittest discover tests`\n\
                - [ ] notes\n  - verify: `test -e notes.txt`\n";
    let files = [("sq.py", "def sq(n): return 0\n"), ("tests/test_sq.py", right.as_str())];
    let repo = Repo::with(task, &files);
    repo.git(&["switch", "--quiet", "--create", "work"]);
    let script = HONEST
        .replace("sq.sh, text: 'echo $(($1 * $1))'", "sq.py, text: 'def sq(n): return n * n'");
    assert_eq!(repo.run(&script, &[]).code, Some(0));
    repo.write("tests/test_sq.py", test("pass"));
    repo.commit("tidy");
    is(&repo, &[], 0, ["check", "check"], &["listed"]);
    let ran = verify(&repo, &[]);
    let json = ran.json();
    assert_eq!(
        json["remarks"][0]["what"],
        "changes tests/test_sq.py, and proofs hold with the old one"
    );
    assert_eq!(json["criteria"][1]["why"], json!([]), "{json:#}");
}

#[test]
fn checks_and_rules_come_from_the_base() {
    let repo = branch();
    repo.write("tasks/demo/TASK.md", TASK.replace("sh tests/run.sh", "true"));
    repo.commit("simpler");
    tick(&repo, "squares");
    claim(&repo, &[("squares", "check")]);
    repo.write("sq.sh", "echo 1\n");
    repo.commit("work");
    is(&repo, &[], 4, ["not proven", "open"], &["by_hand"]);
    let told = repo.ralph(&["verify", "demo", "--base", "main"]).stdout;
    let line = "its checks are those of the base; at the head: `true`";
    assert!(told.contains(line), "{told}");
    // With it, the branch's own criteria count: the check was green before the work, so that only
    // the commit proves it.
    is(&repo, &["--allow-accepted"], 0, ["commit", "open"], &["by_hand"]);
    is(&repo, &["--allow-accepted", "--require-checks"], 4, ["not proven", "open"], &["by_hand"]);
    // The base's own check was green, too, and no proof is older.
    let repo = Repo::with(&TASK.replace("sh tests/run.sh", "true"), &FILES);
    repo.git(&["switch", "--quiet", "--create", "work"]);
    tick(&repo, "squares");
    claim(&repo, &[("squares", "check")]);
    repo.write("sq.sh", "echo 1\n");
    repo.commit("work");
    is(&repo, &["--allow-accepted"], 10, ["forged", "open"], &[]);
    let repo = worked(&[]);
    repo.write("LICENSE", "None.\n");
    repo.commit("free");
    is(&repo, &[], 4, ["check", "commit"], &["not_proven"]);
    // Settings of the branch do not count, either.
    let repo = branch();
    repo.write(".ralph/config.toml", "verify_timeout = \"nonsense\"\n");
    repo.write("sq.sh", RIGHT);
    tick(&repo, "squares");
    repo.commit("work");
    is(&repo, &[], 0, ["check", "open"], &[]);
}

/// The runner takes back what an agent wrote into TASK.md: nothing of it is left.
#[test]
fn an_edit_of_the_task_that_is_taken_back_is_only_listed() {
    for edit in [TASK.replace("sh tests/run.sh", "true"), TASK.replace("LICENSE", "x")] {
        let repo = branch();
        repo.write("tasks/demo/TASK.md", edit);
        repo.commit("simpler");
        is(&repo, &[], 4, ["open", "open"], &["by_hand"]);
        repo.write("tasks/demo/TASK.md", TASK);
        repo.commit("as before");
        let ran = repo.run(HONEST, &[]);
        assert_eq!(ran.code, Some(0), "{}", story(&repo, &ran));
        is(&repo, &[], 0, ["check", "commit"], &["listed", "listed"]);
        // The rules of the base hold all the same.
        repo.write("LICENSE", "None.\n");
        repo.commit("free");
        is(&repo, &[], 4, ["check", "commit"], &["listed", "listed", "not_proven"]);
    }
}

#[test]
fn a_proof_of_an_open_criterion_is_named() {
    let repo = branch();
    claim(&repo, &[("squares", "check")]);
    repo.commit("work");
    is(&repo, &[], 0, ["open", "open"], &["listed"]);
    let ran = repo.ralph(&["verify", "demo", "--base", "main"]);
    let told = "has a proof of `squares` in state.json and an open box";
    assert!(ran.stdout.contains(told), "{}", ran.stdout);
}

#[test]
fn records_do_not_change() {
    let repo = worked(&[]);
    claim(&repo, &[("squares", "commit")]);
    repo.commit("ralph(demo): state update");
    is(
        &repo,
        &[],
        10,
        ["forged", "commit"].map(|it| if it == "forged" { "check" } else { it }),
        &["forged"],
    );
    let repo = worked(&[]);
    repo.write("sq.sh", "echo $(($1 * $1)) # faster\n");
    repo.write("tasks/demo/activity.log", "nothing\n");
    repo.commit("ralph(demo): state update (iteration 9)");
    is(&repo, &[], 10, ["check", "commit"], &["forged"]);
    let repo = worked(&[]);
    repo.git(&["rm", "--quiet", "tasks/demo/state.json"]);
    repo.git(&["commit", "--quiet", "-m", "tidy"]);
    is(&repo, &[], 10, ["check", "commit"], &["forged", "forged"]);
    let repo = worked(&[]);
    repo.write("tasks/demo/state.json", "{");
    repo.commit("tidy");
    is(&repo, &[], 10, ["check", "commit"], &["forged"]);
}

#[test]
fn work_that_is_gone_at_the_head_is_no_proof() {
    let repo = worked(&[]);
    repo.write("sq.sh", WRONG);
    repo.commit("faster");
    is(&repo, &[], 10, ["forged", "commit"], &[]);
}

#[test]
fn work_from_before_the_base_that_the_branch_broke_is_named() {
    let repo = worked(&["--max-iterations", "1"]);
    repo.git(&["branch", "night"]);
    let ran = repo.run(HONEST, &[]);
    assert_eq!(ran.code, Some(0), "{}", story(&repo, &ran));
    let args = ["verify", "demo", "--base", "night", "--json"];
    let ran = repo.ralph(&args);
    assert_eq!(found(&ran).0, Some(0), "{}", ran.stdout);
    repo.write("sq.sh", WRONG);
    repo.commit("faster");
    let ran = repo.ralph(&args);
    let (code, results, _) = found(&ran);
    assert_eq!((code, results), (Some(4), vec!["not proven".to_owned(), "commit".to_owned()]));
    let why = ran.json()["criteria"][0]["why"][0].clone();
    assert_eq!(why, "`sh tests/run.sh` passes at the base, and fails at the head");
}

#[test]
fn a_branch_may_be_rebased_or_squashed() {
    let repo = worked(&[]);
    repo.git(&["switch", "--quiet", "main"]);
    repo.write("other.txt", "other\n");
    repo.commit("meanwhile");
    repo.git(&["switch", "--quiet", "work"]);
    is(&repo, &[], 0, ["check", "commit"], &[]);
    repo.git(&["merge", "--quiet", "--no-edit", "main"]);
    is(&repo, &[], 0, ["check", "commit"], &[]);
    repo.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    repo.git(&["rebase", "--quiet", "main"]);
    is(&repo, &[], 0, ["check", "commit"], &[]);
    repo.git(&["reset", "--quiet", "--soft", "main"]);
    repo.git(&["commit", "--quiet", "-m", "All of it"]);
    is(&repo, &[], 0, ["check", "commit"], &[]);
    // A squashed lie stays one.
    repo.write("sq.sh", WRONG);
    repo.write("tests/run.sh", "exit 0\n");
    repo.git(&["add", "--all"]);
    repo.git(&["commit", "--quiet", "--amend", "-m", "All of it"]);
    is(&repo, &[], 10, ["forged", "commit"], &[]);
}

#[test]
fn a_task_that_the_branch_adds_is_listed_with_its_author() {
    let repo = Repo::with("# Other\n\n- [ ] x\n", &FILES);
    repo.git(&["rm", "--quiet", "tasks/demo/TASK.md"]);
    repo.git(&["commit", "--quiet", "-m", "none"]);
    repo.git(&["switch", "--quiet", "--create", "work"]);
    repo.write("tasks/demo/TASK.md", TASK);
    repo.commit("A task");
    let ran = repo.run(HONEST, &[]);
    assert_eq!(ran.code, Some(0), "{}", story(&repo, &ran));
    is(&repo, &[], 0, ["check", "commit"], &["listed"]);
    repo.git(&["reset", "--quiet", "--soft", "main"]);
    repo.git(&["commit", "--quiet", "-m", "All of it"]);
    is(&repo, &[], 0, ["check", "commit"], &["listed"]);
    let ran = repo.ralph(&["verify", "other", "--base", "main"]);
    assert_eq!(ran.code, Some(7), "{}", ran.stderr);
}

/// Where the base has the task, there it is.
#[test]
fn a_task_of_the_same_name_elsewhere_does_not_count() {
    let easy = TASK.replace("sh tests/run.sh", "test -f n").replace("[ ]", "[x]");
    for place in [".ralph/active/demo", "tasks/demo/demo"] {
        let repo = branch();
        repo.write(&format!("{place}/TASK.md"), &easy);
        repo.write("n", "x\n");
        repo.commit("ralph(demo): work");
        is(&repo, &[], 0, ["open", "open"], &[]);
    }
    for moves in [
        "mkdir -p .ralph/active; git mv tasks/demo .ralph/active/demo",
        "git mv tasks/demo tasks/real; ln -s real tasks/demo",
        "git mv tasks other; ln -s other tasks",
    ] {
        let repo = branch();
        let mut moved = std::process::Command::new("sh");
        moved.args(["-c", moves]).current_dir(repo.root());
        assert!(moved.status().expect("sh runs").success());
        let task = ["tasks/demo/TASK.md", ".ralph/active/demo/TASK.md"];
        let task = task.iter().find(|it| repo.path(it).exists()).expect("the task");
        repo.write(task, &easy);
        repo.write("n", "x\n");
        repo.commit("ralph(demo): work");
        let ran = verify(&repo, &[]);
        assert_eq!(ran.code, Some(4), "{moves}: {} {}", ran.stdout, ran.stderr);
    }
}

/// A human's word stands for a proof, not for a check that is red.
#[test]
fn a_tick_by_hand_with_a_red_check_is_not_proven_even_if_it_is_allowed() {
    let repo = branch();
    tick(&repo, "squares");
    repo.commit("I looked at it");
    is(&repo, &["--allow-accepted"], 4, ["not proven", "open"], &[]);
    repo.write("sq.sh", RIGHT);
    tick(&repo, "notes");
    repo.commit("and at this");
    is(&repo, &["--allow-accepted"], 0, ["by hand", "commit"], &["by_hand"]);
}

#[test]
fn what_a_human_accepted_is_listed_and_counts_if_the_caller_says_so() {
    let repo = branch();
    let build = "set -e\necho 'echo seven' > sq.sh\necho 'test $(sh sq.sh 7) = seven' > tests/run.sh\n\
                 sed -i.bak 's/\\[ \\] squares/[x] squares/' tasks/demo/TASK.md\nrm tasks/demo/TASK.md.bak\n\
                 echo '- 2026-01-01 did it' >> tasks/demo/progress.md\ngit add -A\ngit commit -qm 'ralph(demo): work'\n";
    repo.write("build.sh", build);
    repo.commit("a script");
    let ran = repo
        .run("turns: [{steps: [{run: sh build.sh}]}]", &["--max-iterations", "1", "--sandbox=off"]);
    assert!(story(&repo, &ran).starts_with("iteration 1: held\n"), "{}", story(&repo, &ran));
    assert_eq!(repo.ralph(&["accept", "demo", "squares"]).code, Some(0));
    is(&repo, &[], 4, ["by hand", "open"], &["by_hand"]);
    is(&repo, &["--allow-accepted"], 0, ["by hand", "open"], &["by_hand"]);
}

#[test]
fn what_a_clone_lacks_is_named_with_the_way_out() {
    let repo = worked(&[]);
    for end in ["--base", "--head"] {
        let ran = repo.ralph(&["verify", "demo", end, "nowhere"]);
        assert_eq!(ran.code, Some(8));
        let told = "error: no commit named `nowhere`\nhint: name a branch that `git branch --all` \
                    lists, or fetch it first: `git fetch origin`\n";
        assert_eq!(ran.stderr, told);
    }
    let misspelled = repo.ralph(&["verify", "demo", "--head", "wrok"]).stderr;
    assert!(misspelled.contains("hint: did you mean `work`?"), "{misspelled}");
    let unborn = Repo::empty().ralph(&["verify", "demo"]);
    assert_eq!(unborn.code, Some(8));
    assert!(unborn.stderr.contains("hint: create the first commit"), "{}", unborn.stderr);
    let to = repo.beside("shallow").display().to_string();
    let from = format!("file://{}", repo.root().display());
    repo.git(&["clone", "--quiet", "--depth", "1", "--branch", "work", &from, &to]);
    let mut command = repo.command(&["verify", "demo", "--json"]);
    command.current_dir(Path::new(&to));
    let ran = crate::repo::finish(command);
    assert_eq!(ran.code, Some(8), "{}", ran.stdout);
    assert!(ran.stderr.contains("fetch-depth: 0"), "{}", ran.stderr);
    // A dependency that only this machine had.
    let task = "# Demo\n\n- [ ] app\n  - verify: `sh tools/check.sh`\n- [ ] notes\n";
    let files = [("tools/check.sh", "quern --check app.txt\n"), (".gitignore", "bin/\n")];
    let repo = Repo::with(task, &files);
    repo.git(&["switch", "--quiet", "--create", "work"]);
    repo.write("app.txt", "app\n");
    tick(&repo, "app");
    claim(&repo, &[("app", "check")]);
    repo.commit("work");
    let ran = verify(&repo, &[]);
    assert_eq!(ran.code, Some(7), "{}", ran.stdout);
    assert!(ran.stderr.contains("setup:"), "{}", ran.stderr);
}

#[test]
fn a_base_that_holds_the_head_is_no_base() {
    for repo in [branch(), worked(&[])] {
        let ran = repo.ralph(&["verify", "demo", "--base", "HEAD"]);
        assert_eq!(ran.code, Some(8), "{}", ran.stdout);
        assert!(ran.stderr.contains("nothing to verify"), "{}", ran.stderr);
    }
}

/// A clone has no ignored files, and no commit can bring them.
#[test]
fn a_clone_without_an_ignored_program_lacks_it() {
    for (check, code) in [(".venv/bin/check app.txt", 7), ("./tools/check.sh app.txt", 10)] {
        let task = format!("# Demo\n\n- [ ] app\n  - verify: `{check}`\n");
        let repo = Repo::with(&task, &[(".gitignore", ".venv/\n")]);
        repo.git(&["switch", "--quiet", "--create", "work"]);
        repo.write("app.txt", "app\n");
        tick(&repo, "app");
        claim(&repo, &[("app", "check")]);
        repo.commit("work");
        let ran = verify(&repo, &[]);
        assert_eq!(ran.code, Some(code), "{check}: {} {}", ran.stdout, ran.stderr);
        assert_eq!(ran.stderr.contains("setup:"), code == 7, "{}", ran.stderr);
    }
}

/// What needs a service says nothing about the work while the service does not run.
#[test]
fn a_service_that_does_not_run_is_no_forgery() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("bound").port();
    let answers = std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a client");
            let mut said = String::new();
            // A client may only look whether anyone is there.
            drop(stream.write_all(b"yes").and_then(|()| stream.read_to_string(&mut said)));
            if said == "stop" {
                break;
            }
        }
    });
    let asks = format!(
        "import socket; assert socket.create_connection((\"127.0.0.1\", {port})).recv(3) == b\"yes\""
    );
    let check = format!("grep -q app app.txt && python3 -c '{asks}'");
    let task =
        format!("---\nservices: [{port}]\n---\n# Demo\n\n- [ ] app\n  - verify: `{check}`\n");
    let repo = Repo::with(&task, &[]);
    repo.git(&["switch", "--quiet", "--create", "work"]);
    repo.write("app.txt", "app\n");
    tick(&repo, "app");
    claim(&repo, &[("app", "check")]);
    repo.commit("work");
    let up = verify(&repo, &[]);
    assert_eq!(up.code, Some(0), "{}{}", up.stdout, up.stderr);
    let mut last = TcpStream::connect(("127.0.0.1", port)).expect("connected");
    last.write_all(b"stop").expect("told");
    last.shutdown(Shutdown::Write).expect("told");
    answers.join().expect("it ended");
    let down = verify(&repo, &[]);
    assert_eq!(down.code, Some(7), "{}{}", down.stdout, down.stderr);
    assert!(down.stderr.contains(&format!("nothing listens on port {port}")), "{}", down.stderr);
}

/// An honest run on another night, after the human corrected what decides.
#[test]
fn what_a_human_corrected_is_not_forged() {
    let easier = "test \"$(sh sq.sh 7)\" -ge 49\n";
    for (base, changes, remarks) in [
        (
            TEST,
            (
                "tasks/demo/TASK.md",
                "sh tests/run.sh`\n",
                "sh tests/run.sh`\n  - may_change: [\"tests/**\"]\n",
            ),
            &["by_hand"][..],
        ),
        (TEST, ("tasks/demo/TASK.md", "sh tests/runn.sh", "sh tests/run.sh"), &["by_hand"]),
        ("test \"$(sh sq.sh 7)\" = 48\n", ("tests/run.sh", "48", "49"), &[]),
    ] {
        let (path, old, new) = changes;
        let wrong = old.contains("runn");
        let task = if wrong { TASK.replace(new, old) } else { TASK.to_owned() };
        let repo = Repo::with(&task, &[("tests/run.sh", base), FILES[1], FILES[2]]);
        repo.git(&["switch", "--quiet", "--create", "work"]);
        repo.write(path, repo.read(path).replace(old, new));
        repo.commit("it was wrong");
        repo.write("sq.sh", RIGHT);
        if new.contains("may_change") {
            repo.write("sq.sh", "echo 50\n");
            repo.write("tests/run.sh", easier);
        }
        tick(&repo, "squares");
        claim(&repo, &[("squares", "check")]);
        repo.commit("ralph(demo): work");
        is(&repo, &[], 4, ["not proven", "open"], remarks);
        let ran = repo.ralph(&["verify", "demo", "--base", "main"]);
        assert!(ran.stdout.contains("--allow-accepted"), "{path}: {}", ran.stdout);
        is(&repo, &["--allow-accepted"], 0, ["check", "open"], remarks);
    }
}

/// A branch chooses where it begins.
#[test]
fn rules_that_the_base_has_by_now_are_not_left_out() {
    let stronger = "for n in 2 7; do test \"$(sh sq.sh $n)\" = $(($n * $n)) || exit 1; done\n";
    for (path, text) in [
        ("tests/run.sh", stronger.to_owned()),
        ("tasks/demo/TASK.md", TASK.replace("sh tests/run.sh", "sh tests/run.sh && test -f n")),
    ] {
        let repo = branch();
        repo.write("sq.sh", "echo 49\n");
        tick(&repo, "squares");
        repo.commit("work");
        is(&repo, &[], 0, ["check", "open"], &[]);
        repo.git(&["switch", "--quiet", "main"]);
        repo.write(path, &text);
        repo.commit("stronger");
        repo.git(&["switch", "--quiet", "work"]);
        is(&repo, &[], 4, ["check", "open"], &["not_proven"]);
        let ran = repo.ralph(&["verify", "demo", "--base", "main"]);
        let told = ran.stdout.contains(path) && ran.stdout.contains("merge it into the branch");
        assert!(told, "{}", ran.stdout);
        // After it, the new rules count.
        if path.ends_with("run.sh") {
            repo.git(&["merge", "--quiet", "--no-edit", "main"]);
            is(&repo, &[], 4, ["not proven", "open"], &[]);
        }
    }
}

/// `make` runs no recipe for a target that is there.
#[test]
fn a_file_with_the_name_of_a_target_proves_nothing() {
    let task = TASK.replace("sh tests/run.sh", "make check");
    let makefile = ("Makefile", "check: unit\nunit:\n\t@sh tests/run.sh\n");
    for (path, code) in [("check", 10), ("unit", 10), ("unit/notes.txt", 10), ("sq.sh", 0)] {
        let repo = Repo::with(&task, &[FILES[0], FILES[1], FILES[2], makefile]);
        repo.git(&["switch", "--quiet", "--create", "work"]);
        repo.write(path, RIGHT);
        tick(&repo, "squares");
        claim(&repo, &[("squares", "check")]);
        repo.commit("ralph(demo): work");
        is(&repo, &[], code, [if code == 0 { "check" } else { "forged" }, "open"], &[]);
    }
}
