//! An agent says that a criterion cannot be met: no attempt, and a human's turn.

use crate::repo::{Ran, Repo, story};

/// A criterion that contradicts its check, in several languages, and its file.
const PAIRS: [(&str, &str, &str); 5] = [
    ("sq.sh", "echo 0\n", "test \"$(sh sq.sh 7)\" = 48"),
    ("sq.py", "print(0)\n", "test \"$(python3 sq.py 7)\" = 48"),
    ("sq.js", "console.log(0);\n", "test \"$(node sq.js 7)\" = 48"),
    ("sq.rb", "puts 0\n", "test \"$(ruby sq.rb 7)\" = 48"),
    ("sq.pl", "print 0;\n", "test \"$(perl sq.pl 7)\" = 48"),
];

const REASON: &str = "the square of 7 is 49, and the check wants 48";

fn task(file: &str, check: &str) -> String {
    format!(
        "# Demo\n\n- [ ] {file} prints the square of its argument\n  - verify: `{check}`\n\
         - [ ] b is there\n  - verify: `test -e b.txt`\n"
    )
}

/// An agent that says this line about squares, and does the rest.
fn agent(line: &str) -> String {
    format!(
        "turns:\n- match: square\n  steps: [{{run: {:?}}}]\n- steps: [{{write: {{path: b.txt, text: \
         b}}}}, {{tick: \"{{criterion}}\"}}, {{progress: did b}}, {{commit: b}}]\n",
        format!("echo '{line}' >> tasks/demo/progress.md")
    )
}

fn reason(ran: &Ran) -> String {
    let last = ran.events().pop().expect("an event");
    serde_json::to_value(last).expect("JSON")["reason"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_contradiction_is_blocked_with_its_reason_and_no_attempt() {
    for (file, text, check) in PAIRS {
        for (then, mark) in [("stop", "- [ ] b is there"), ("skip", "- [x] b is there")] {
            let repo = Repo::with(&task(file, check), &[(file, text)]);
            let line = format!("BLOCKED: contradiction: {REASON}");
            let ran = repo.run(&agent(&line), &["--on-stuck", then]);
            let told = story(&repo, &ran);
            assert_eq!(ran.code, Some(4), "{file} {then}: {told}\n{}", ran.stderr);
            assert!(told.contains("iteration 1: blocked"), "{file} {then}: {told}");
            let said = format!("(contradiction: {REASON})");
            assert!(reason(&ran).contains(&said), "{file} {then}: {}", reason(&ran));
            let entry = &repo.state()["criteria"][0];
            assert_eq!(entry["attempts"], 0, "{entry}");
            assert_eq!(entry["blocked_by"]["kind"], "contradiction", "{entry}");
            let signs = repo.path("tasks/demo/guardrails.md");
            assert!(!std::fs::read_to_string(signs).unwrap_or_default().contains("caused loop"));
            assert!(repo.task().contains(mark), "{file} {then}: {}", repo.task());
            assert_eq!(repo.status(), "", "{file} {then}");
            let status = repo.ralph(&["status", "demo"]);
            let check = repo.ralph(&["check", "demo"]);
            let (_, criteria) = status.stdout.split_once("\nCriteria\n").expect("criteria");
            for text in [criteria, &check.stdout] {
                assert!(text.contains(&format!("blocked {said}\n")), "{text}");
                assert_eq!(text.matches(REASON).count(), 1, "{text}");
            }
        }
    }
}

#[test]
fn prose_about_the_word_blocks_nothing() {
    let (file, text, check) = PAIRS[0];
    for line in [
        "the port was BLOCKED: missing: nc, so I used another one",
        "BLOCKED: nothing: at all",
        "BLOCKED: missing:",
        "BLOCKED: missing: nc\nbut then I found it",
    ] {
        let repo = Repo::with(&task(file, check), &[(file, text)]);
        let ran = repo.run(&agent(line), &["--stuck-threshold", "1"]);
        let told = story(&repo, &ran);
        assert!(told.contains("iteration 1: fail"), "{line}: {told}");
        assert_eq!(repo.state()["criteria"][0]["attempts"], 1, "{line}");
    }
}

/// What is committed is judged as ever: red is an attempt, and green is a pass, ticked or not.
#[test]
fn work_beside_the_claim_is_judged() {
    for (answer, code, told) in [(47, 4, "iteration 1: fail"), (48, 0, "iteration 1: pass check")] {
        let (file, text, check) = PAIRS[0];
        let repo = Repo::with(&task(file, check), &[(file, text)]);
        let script = format!(
            "turns:\n- match: square\n  steps: [{{write: {{path: sq.sh, text: \"echo {answer}\\n\"}}}}, \
             {{commit: sq}}, {{progress: \"BLOCKED: contradiction: {REASON}\"}}]\n- steps: [{{write: \
             {{path: b.txt, text: b}}}}, {{tick: \"{{criterion}}\"}}, {{commit: b}}]\n"
        );
        let ran = repo.run(&script, &["--stuck-threshold", "1"]);
        let story = story(&repo, &ran);
        assert!(story.contains(told), "{answer}: {story}");
        assert_eq!(ran.code, Some(code), "{answer}: {story}");
        assert_eq!(repo.task().contains("- [x] sq.sh"), code == 0, "{}", repo.task());
    }
}

/// What an earlier attempt committed is no base for the next criterion.
#[test]
fn the_commits_of_earlier_attempts_leave_the_branch() {
    let (file, text, check) = PAIRS[0];
    let repo = Repo::with(&task(file, check), &[(file, text)]);
    let script = format!(
        "memory: seen\nturns:\n- match: square\n  times: 1\n  steps: [{{write: {{path: odd.txt, text: odd}}}}, {{commit: odd}}]\n\
         - match: square\n  steps: [{{progress: \"**BLOCKED: decision: {REASON}**\"}}]\n- steps: \
         [{{write: {{path: b.txt, text: b}}}}, {{tick: \"{{criterion}}\"}}, {{commit: b}}]\n"
    );
    let ran = repo.run(&script, &["--on-stuck", "skip"]);
    assert_eq!(ran.code, Some(4), "{} {}", ran.stdout, ran.stderr);
    let why = &repo.state()["criteria"][0]["blocked_by"]["reason"];
    assert_eq!(why, REASON, "{}", story(&repo, &ran));
    assert!(repo.task().contains("- [x] b is there"), "{}", repo.task());
    assert!(!repo.path("odd.txt").exists(), "the attempt is still on the branch");
    let kept = repo.git(&["for-each-ref", "--format=%(refname)", "refs/ralph/demo/attempts"]);
    assert_eq!(repo.git(&["show", &format!("{}:odd.txt", kept.trim())]).trim(), "odd");
    assert!(ran.stdout.contains("are off the branch"), "{}", ran.stdout);
}

#[test]
fn retry_opens_a_blocked_criterion_once_for_each_kind() {
    let (file, text, check) = PAIRS[0];
    let repo = Repo::with(&task(file, check), &[(file, text)]);
    let script = agent("BLOCKED: decision: which of the two counts");
    assert_eq!(repo.run(&script, &[]).code, Some(4));
    let blocked = |repo: &Repo| {
        let status = repo.ralph(&["status", "demo", "--json"]).json();
        status["criteria"][0]["blocked_by"]["kind"] == "decision"
    };
    assert!(blocked(&repo));
    assert_eq!(repo.ralph(&["retry", "demo"]).code, Some(0));
    assert!(!blocked(&repo), "a human let it try again");
    assert_eq!(repo.run(&script, &[]).code, Some(4));
    let stays = repo.ralph(&["retry", "demo"]);
    assert!(stays.stderr.contains("stays blocked"), "{} {}", stays.stdout, stays.stderr);
    assert!(stays.stderr.contains("and name it: ralph-copilot retry demo 3"), "{}", stays.stderr);
    assert!(blocked(&repo));
    assert_eq!(repo.ralph(&["retry", "demo", "3"]).code, Some(0));
    assert!(!blocked(&repo));
}

#[test]
fn a_program_that_is_there_is_named_once() {
    let (file, text, check) = PAIRS[0];
    let repo = Repo::with(&task(file, check), &[(file, text)]);
    let ran = repo.run(&agent("BLOCKED: missing: git"), &[]);
    let told = story(&repo, &ran);
    assert!(told.contains("iteration 1: inconclusive"), "{told}");
    assert!(told.contains("iteration 2: blocked"), "{told}");
    assert!(ran.stdout.contains("`git` is on this machine: "), "{}", ran.stdout);
    assert_eq!(repo.state()["criteria"][0]["attempts"], 0);
    // Nothing of this name is there, and several words name no program.
    for missing in ["no-such-program", "test data of the customer"] {
        let repo = Repo::with(&task(file, check), &[(file, text)]);
        let ran = repo.run(&agent(&format!("BLOCKED: missing: {missing}")), &[]);
        assert!(story(&repo, &ran).contains("iteration 1: blocked"), "{missing}");
    }
}

#[test]
fn an_agent_that_blocks_everything_ends_the_run_after_three_in_a_row() {
    let mut task = "# Demo\n\n".to_owned();
    for name in ["a", "b", "c", "d"] {
        task.push_str(&format!("- [ ] {name} is there\n  - verify: `test -e {name}.txt`\n"));
    }
    let script = "turns: [{steps: [{progress: \"BLOCKED: decision: too hard\"}]}]";
    for jobs in ["1", "2"] {
        let repo = Repo::new(&task);
        let ran = repo.run(script, &["--on-stuck", "skip", "--jobs", jobs]);
        let told = story(&repo, &ran);
        assert_eq!(ran.code, Some(4), "{jobs}: {told}");
        assert!(reason(&ran).contains("3 criteria in a row are blocked"), "{}", reason(&ran));
        let blocked = |line: &&str| line.starts_with("iteration") && line.ends_with(": blocked");
        let blocked = told.lines().filter(blocked).count();
        assert!((3..=4).contains(&blocked), "{jobs}: {told}");
    }
}
