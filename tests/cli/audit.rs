//! The audit as somebody reads it after a run: everything asked, answered and done is
//! there, without secrets, and nothing runs where it cannot be written.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use chrono::{NaiveDate, Utc};
use serde_json::Value;

use crate::repo::{Ran, Repo, collect, finish, signal, story, until};

const TASK: &str = "# Demo\n\n- [ ] a is there\n  - verify: `test -e a.txt`\n";

const TOKEN: &str = "ghp_0123456789abcdefghijABCDEFGHIJ012345";

const HONEST: &str = r#"
turns:
- steps:
  - write: {path: a.txt, text: a}
  - run: "echo ghp_0123456789abcdefghijABCDEFGHIJ012345"
  - tick: "{criterion}"
  - progress: did a
  - commit: a
"#;

/// An agent that runs this first, and then works honestly.
fn runs_first(command: &str) -> String {
    format!(
        r#"
turns:
- times: 1
  steps: [{{run: "{command}"}}]
- steps: [{{write: {{path: a.txt, text: a}}}}, {{tick: "{{criterion}}"}}, {{progress: did a}}, {{commit: a}}]
"#
    )
}

/// A run whose audit is to be written into this folder.
fn audited_in(repo: &Repo, folder: &Path, script: &str) -> Ran {
    let mut command = repo.run_command(script, &["--json"]);
    command.env("COPILOT_AUDIT_LOG_DIR", folder);
    finish(command)
}

/// The audit's files of a folder, oldest first.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the audit's folder");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    files
}

/// Its lines, in order.
fn lines(folder: &Path) -> Vec<Value> {
    let mut lines = Vec::new();
    for file in files(folder) {
        let name = file.file_name().expect("a name").to_string_lossy().into_owned();
        let day = name.strip_prefix("audit-").and_then(|rest| rest.strip_suffix(".jsonl"));
        let day: NaiveDate = day.expect("audit-DAY.jsonl").parse().expect("a day");
        assert!((Utc::now().date_naive() - day).num_days() <= 1, "{name}");
        let text = std::fs::read_to_string(&file).expect("its text");
        assert!(text.ends_with('\n'));
        for line in text.lines() {
            let line: Value = serde_json::from_str(line).expect("a JSON object");
            let time = line["timestamp"].as_str().expect("a time");
            assert!(time.starts_with(&day.to_string()) && time.ends_with('Z'), "{time}");
            lines.push(line);
        }
    }
    lines
}

fn of<'l>(lines: &'l [Value], kind: &str) -> Vec<&'l Value> {
    lines.iter().filter(|line| line["hookType"] == kind).collect()
}

#[test]
fn a_run_is_audited_from_its_first_prompt_to_its_last_answer() {
    let repo = Repo::new(TASK);
    let ran = repo.run(HONEST, &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let lines = lines(&repo.path(".ralph/audit"));

    let kinds: Vec<&str> = lines.iter().filter_map(|line| line["hookType"].as_str()).collect();
    assert_eq!(kinds[..2], ["session_start", "prompt"]);
    assert_eq!(kinds.last(), Some(&"session_end"));
    let session = lines[0]["sessionId"].as_str().expect("a session");
    assert!(lines.iter().all(|line| line["sessionId"] == session));
    assert!(lines[1]["input"].as_str().expect("the prompt").contains("Focus on: a is there"));

    // The decision stands before what came of it, under the same arguments.
    let (before, after) = (of(&lines, "pre_tool_use"), of(&lines, "post_tool_use"));
    assert_eq!((before.len(), after.len()), (5, 5), "{kinds:?}");
    for (asked, ended) in before.iter().zip(&after) {
        assert_eq!((&asked["decision"], &asked["asked"]), (&"allow".into(), &"permission".into()));
        assert!(asked["rule"].as_str().is_some_and(|rule| !rule.is_empty()), "{asked}");
        assert_eq!(asked["toolName"], ended["toolName"]);
        for line in [asked, ended] {
            assert!(line["elapsedMs"].as_f64().is_some_and(|took| took >= 0.0), "{line}");
        }
        let at = |line: &Value| lines.iter().position(|other| other == line).expect("a line");
        assert!(at(asked) < at(ended));
    }
    let echo = after[1];
    assert!(echo["output"].to_string().contains("[REDACTED]"), "{echo}");
    assert!(before[1]["input"]["command"].as_str().expect("a command").contains("[REDACTED]"));
    for file in files(&repo.path(".ralph/audit")) {
        assert!(!std::fs::read_to_string(file).expect("text").contains(TOKEN));
    }
    assert_eq!(repo.status(), "", "the audit is no part of the tree");
}

#[test]
fn a_denial_is_audited_with_its_rule_and_has_no_result() {
    let repo = Repo::new(TASK);
    let ran = repo.run(&runs_first("git push origin main"), &[]);
    assert_eq!(ran.code, Some(0), "{}", story(&repo, &ran));
    let lines = lines(&repo.path(".ralph/audit"));
    let denied: Vec<_> = lines.iter().filter(|line| line["decision"] == "deny").collect();
    assert_eq!(denied.len(), 1);
    assert_eq!(denied[0]["input"]["command"], "git push origin main");
    assert!(denied[0]["rule"].as_str().expect("a rule").starts_with("git."), "{}", denied[0]);
    let pushes = |kind| {
        let of_kind = of(&lines, kind);
        of_kind.iter().filter(|line| line["input"].to_string().contains("git push")).count()
    };
    assert_eq!((pushes("pre_tool_use"), pushes("post_tool_use")), (1, 0));
}

#[test]
fn an_error_of_the_agent_is_audited() {
    let repo = Repo::new(TASK);
    let script = "turns: [{steps: [{error: {code: -32603, message: 401 Authentication failed}}]}]";
    let ran = repo.run(script, &[]);
    assert_eq!(ran.code, Some(5), "{}", ran.stderr);
    let lines = lines(&repo.path(".ralph/audit"));
    let errors = of(&lines, "error");
    assert!(!errors.is_empty());
    assert!(errors[0]["output"].to_string().contains("401"), "{}", errors[0]);
}

#[test]
fn the_session_of_a_run_that_is_ended_has_an_end() {
    let repo = Repo::new(TASK);
    let mut command = repo.run_command("turns: [{steps: [{say: hm}, {hang: }]}]", &["--json"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let folder = repo.path(".ralph/audit");
    until("the prompt", || {
        let mut entries = std::fs::read_dir(&folder).ok()?.flatten();
        let text = std::fs::read_to_string(entries.next()?.path()).ok()?;
        text.contains(r#""hookType":"prompt""#).then_some(())
    });
    signal(child.id(), rustix::process::Signal::TERM);
    let ran = collect(child);
    assert_eq!(ran.code, Some(143), "{}", ran.stderr);
    let lines = lines(&folder);
    assert_eq!(of(&lines, "session_end").len(), 1, "{lines:?}");
    assert_eq!(lines.last().expect("a line")["hookType"], "session_end");
}

#[test]
fn another_folder_can_be_named_also_one_in_the_repository() {
    let outside = Repo::new(TASK);
    for (repo, folder, named) in [
        (&outside, outside.beside("audit/of/all"), outside.beside("audit/of/all")),
        (&Repo::new(TASK), PathBuf::new(), PathBuf::from("logs/audit")),
    ] {
        let folder = if folder.as_os_str().is_empty() { repo.path("logs/audit") } else { folder };
        let ran = audited_in(repo, &named, HONEST);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert!(!lines(&folder).is_empty());
        assert!(!repo.path(".ralph/audit").exists());
        assert_eq!(repo.status(), "");
    }
}

#[test]
fn an_agent_cannot_write_to_an_audit_that_lies_in_the_repository() {
    let repo = Repo::new(TASK);
    let lies = runs_first("echo lies > logs/audit/audit-2026-01-01.jsonl");
    let ran = audited_in(&repo, &repo.path("logs/audit"), &lies);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(!repo.path("logs/audit/audit-2026-01-01.jsonl").exists());
}

#[test]
fn nothing_begins_that_cannot_be_audited() {
    let repo = Repo::new(TASK);
    std::fs::write(repo.beside("file"), "").expect("a file");
    let ran = audited_in(&repo, &repo.beside("file"), HONEST);
    assert_eq!(ran.code, Some(11), "{}", ran.stderr);
    assert!(ran.stderr.contains("COPILOT_AUDIT_LOG_DIR"), "{}", ran.stderr);
    assert!(!repo.path("a.txt").exists());
}

/// The folder goes away during the run, before the agent does anything.
#[test]
fn what_cannot_be_audited_any_more_does_not_run() {
    let repo = Repo::new("");
    let folder = repo.beside("audit");
    let away = format!("mv {0} {0}.gone && touch {0}", folder.display());
    repo.write("tasks/demo/TASK.md", format!("- [ ] a\n  - verify: `{away}; test -e a.txt`\n"));
    repo.commit("a task");
    let ran = audited_in(&repo, &folder, HONEST);
    assert_eq!(ran.code, Some(11), "{}", ran.stderr);
    assert!(ran.stderr.contains("audit-"), "{}", ran.stderr);
    assert!(!repo.path("a.txt").exists(), "a call ran that is nowhere audited");
}
