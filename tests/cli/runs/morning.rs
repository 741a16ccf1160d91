//! The morning after: what a human reads about a night that did not go well, and what helps.

use super::{HONEST, THREE};
use crate::repo::{Ran, Repo, finish};

/// A run of one attempt, told in plain lines.
fn plain(repo: &Repo, script: &str, args: &[&str]) -> Ran {
    finish(repo.run_command(script, &[&["--stuck-threshold", "1"], args].concat()))
}

/// One line: the table at the end is wrapped.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn status(repo: &Repo) -> String {
    repo.ralph(&["status", "demo"]).stdout
}

fn progress(repo: &Repo) -> String {
    repo.read("tasks/demo/progress.md")
}

/// What the agent was asked, from the audit.
fn prompts(repo: &Repo) -> Vec<String> {
    let files = std::fs::read_dir(repo.path(".ralph/audit")).expect("the audit");
    let texts = files.map(|file| std::fs::read_to_string(file.expect("a file").path()));
    let text = texts.map(|text| text.expect("its text")).collect::<String>();
    let lines = text.lines().map(|line| serde_json::from_str(line).expect("JSON"));
    let prompts = lines.filter(|line: &serde_json::Value| line["hookType"] == "prompt");
    prompts.map(|line| line["input"].as_str().expect("a prompt").to_owned()).collect()
}

/// The end of the output only sums up; the reason is far above it.
#[test]
fn a_failing_check_is_told_with_the_line_that_says_why() {
    let task = "# Demo\n\n- [ ] a is there\n  - verify: `sh check.sh`\n";
    let check = "test -e a.txt && exit; echo start; echo 'error: no a here'; i=0\n\
                 while [ $i -lt 3000 ]; do echo \"line $i\"; i=$((i+1)); done; exit 3\n";
    let repo = Repo::with(task, &[("check.sh", check)]);
    let script = "turns: [{steps: [{write: {path: b.txt, text: b}}, {tick: '{criterion}'}, \
                  {progress: did}, {commit: b}]}]";
    let ran = plain(&repo, script, &[]);
    assert_eq!(ran.code, Some(4), "{}{}", ran.stdout, ran.stderr);
    let said = "`sh check.sh` ended with exit code 3. Its output says: error: no a here";
    for text in [&ran.stdout, &progress(&repo), &repo.read("tasks/demo/guardrails.md")] {
        assert!(text.contains(said), "{text}");
    }
    let status = status(&repo);
    assert!(status.contains(said), "{status}");
    assert!(status.lines().count() < 20, "it fits on one screen: {status}");
    // The excerpt has it, too, and names what it leaves out.
    let report = repo.ralph(&["report", "demo"]).stdout;
    let excerpt: Vec<&str> = report.lines().map(str::trim_start).collect();
    let excerpt = excerpt.join("\n");
    assert!(excerpt.contains("\nerror: no a here\nline 0\n"), "{report}");
    assert!(
        excerpt.contains(" lines left out …]\n") && excerpt.contains("\nline 2999\n"),
        "{report}"
    );
}

#[test]
fn an_agent_that_got_stuck_on_denials_is_told_with_the_most_frequent_one() {
    let repo = Repo::new(THREE);
    let script = "turns: [{on_reject: continue, steps: [{run: git push origin x}, {run: curl -O \
                  http://a.invalid/x}, {run: curl -O http://a.invalid/y}, {say: I give up}]}]";
    let ran = plain(&repo, script, &[]);
    assert_eq!(ran.code, Some(4), "{}{}", ran.stdout, ran.stderr);
    let said = "the guard denied 3 calls, most often (2 times): Denied (network): `curl -O \
                http://a.invalid/x`";
    let signs = repo.read("tasks/demo/guardrails.md");
    for text in [flat(&ran.stdout), progress(&repo), signs, status(&repo)] {
        assert!(text.replace("The guard", "the guard").contains(said), "{text}");
    }
    let next =
        "if `a is there` needs what the guard denied (network), name the command in `network_for:`";
    for text in [flat(&ran.stdout), status(&repo)] {
        assert!(text.contains(next), "{text}");
    }
}

/// An agent whose turn a denial ends is asked again, and may try the same again.
#[test]
fn a_denial_that_comes_again_is_told_once_with_its_count_and_first() {
    let repo = Repo::new(THREE);
    let script = "turns: [{steps: [{run: git push origin x}]}]";
    let ran = plain(&repo, script, &[]);
    assert_eq!(ran.code, Some(4), "{}{}", ran.stdout, ran.stderr);
    let lines = ran.stdout.split("\n\n").next().expect("lines");
    let denied = "Denied (git.push): `git push origin x` sends to a remote. Nothing was run. \
                  Instead: commit only; a human pushes.";
    let told: Vec<&str> = lines.lines().map(|line| &line["00:00:00 ".len()..]).collect();
    let count = |wanted: &str| told.iter().filter(|line| **line == wanted).count();
    assert_eq!(count(&format!("  {denied}")), 1, "{lines}");
    assert_eq!(count("  the denial ended the turn"), 1, "{lines}");
    assert_eq!(lines.matches("sends to a remote").count(), 1, "{lines}");
    let first = |denied: &str| {
        format!("added the missing progress line): The guard denied 4 calls: {denied}")
    };
    assert!(lines.contains(&first("as above.")), "{lines}");
    assert!(progress(&repo).contains(&first(denied)), "{lines}");
    // The sign counts them over all attempts, and says it once.
    let signs = repo.read("tasks/demo/guardrails.md");
    assert_eq!(signs.matches("Denied (git.push)").count(), 1, "{signs}");
}

/// The tree stays as it was, for the human; what the run has to say about it is there as well.
#[test]
fn a_run_that_ends_for_tampering_says_what_to_look_at_and_keeps_its_lines() {
    let repo = Repo::new(THREE);
    let hook = "mkdir -p .github/hooks && echo > .github/hooks/x.json && printf a > a.txt";
    let script = format!("turns: [{{ask: never, steps: [{{run: '{hook}'}}, {{hang: }}]}}]");
    let ran = plain(&repo, &script, &["--sandbox=off"]);
    assert_eq!(ran.code, Some(10), "{}{}", ran.stdout, ran.stderr);
    let next = "the working tree was left as it was, so that nothing is hidden: git status; \
                git diff; ralph-copilot status demo; ralph-copilot log demo";
    for text in [flat(&ran.stdout), status(&repo)] {
        assert!(text.contains(next), "{text}");
        assert!(text.contains("then commit or undo the changes, and run: "), "{text}");
    }
    let line = "iteration 1: FAIL \"a is there\"";
    assert!(progress(&repo).contains(line), "{}", progress(&repo));
    assert!(progress(&repo).contains(".github/hooks/x.json"), "{}", progress(&repo));
    assert_eq!(repo.read("a.txt"), "a");
    // As it says: what is there is undone, and the next run works.
    std::fs::remove_file(repo.path("a.txt")).expect("removed");
    std::fs::remove_dir_all(repo.path(".github")).expect("removed");
    let again = repo.run(HONEST, &[]);
    assert_eq!(again.code, Some(0), "{}{}", again.stdout, again.stderr);
    assert_eq!(progress(&repo).matches(line).count(), 1, "{}", progress(&repo));
    assert_eq!(repo.status(), "");
}

/// Nothing is left to do, and no proof is possible: the human reads it before any attempt, and the
/// agent in its prompt and in the verdict.
#[test]
fn a_check_that_passes_before_any_work_is_named_at_the_start_and_to_the_agent() {
    let task = "# Demo\n\n- [ ] a is there\n  - verify: `test -e a.txt`\n- [ ] b is there\n  \
                - verify: `test -e b.txt`\n";
    let repo = Repo::with(task, &[("a.txt", "a")]);
    let script = "turns: [{steps: [{tick: '{criterion}'}, {progress: it was there}, {commit: t}]}]";
    let ran = finish(repo.run_command(script, &["--stuck-threshold", "2"]));
    assert_eq!(ran.code, Some(4), "{}{}", ran.stdout, ran.stderr);
    let (start, rest) = ran.stdout.split_once("iteration 1: ").expect("an iteration");
    let note = "note: the check of `a is there` passes before any work, so it proves nothing: only \
                a commit counts. If the criterion is met, tick it, and commit: ralph-copilot tick \
                demo 3; otherwise, give it a check that fails now\n";
    assert!(start.contains(note) && !start.contains("b is there"), "{start}");
    let told = "contain no work. Its check passed before any work, so it cannot prove that nothing \
                is left to do. If nothing is, leave the box open and say so in progress.md: only the \
                human can tick it (`ralph-copilot tick`), or give it a check that fails.";
    assert!(rest.contains(told), "{rest}");
    let prompts = prompts(&repo);
    assert_eq!(prompts.len(), 2);
    let said = "commands passed before any work, so they prove nothing";
    assert!(prompts.iter().all(|prompt| prompt.contains(said)), "{prompts:?}");
    assert!(prompts[1].contains(told), "{prompts:?}");
}

#[test]
fn a_criterion_that_was_met_before_can_be_ticked_by_hand() {
    let task = "# Demo\n\n- [ ] a is there\n  - verify: `test -e a.txt`\n";
    let repo = Repo::with(task, &[("a.txt", "a")]);
    let way = "passed before any work; if you agree that it is met, tick it, and commit: \
               ralph-copilot tick demo 3";
    assert!(!repo.ralph(&["check", "demo"]).stdout.contains(way), "no run has looked");
    let ran = plain(&repo, "turns: [{steps: [{say: It is met already.}]}]", &[]);
    assert_eq!(ran.code, Some(4), "{}{}", ran.stdout, ran.stderr);
    let check = repo.ralph(&["check", "demo"]).stdout;
    for text in [flat(&ran.stdout), status(&repo), check] {
        assert!(text.contains(way), "{text}");
    }
    assert_eq!(repo.ralph(&["tick", "demo", "3"]).code, Some(0));
    repo.git(&["commit", "-qam", "It is met"]);
    assert!(!status(&repo).contains("its check passed before"), "{}", status(&repo));
    let ran = plain(&repo, "turns: []", &[]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("1 criterion: 1 proven."), "{}", ran.stdout);
}

/// One with a check that fails at the start is not met.
#[test]
fn a_criterion_that_is_not_met_is_not_called_so() {
    let repo = Repo::new(THREE);
    let ran = plain(&repo, "turns: [{steps: [{say: It is met already.}]}]", &[]);
    assert_eq!(ran.code, Some(4), "{}{}", ran.stdout, ran.stderr);
    for text in [ran.stdout.clone(), status(&repo), repo.ralph(&["check", "demo"]).stdout] {
        assert!(!text.contains("passed before any work"), "{text}");
    }
}
