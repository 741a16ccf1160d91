//! The guard against labelled cases: commands and tool calls that must pass or
//! must not, and texts whose secrets must go. The data are read, never run.

use std::fs;
use std::path::{Path, PathBuf};

use ralph_copilot::guard::{OsFiles, Policy, Redactor, decide};
use ralph_copilot::model::{Asked, Decision, SessionId, ToolRequest};
use serde_json::{Value, json};

/// A repository and a home folder like the ones the cases speak of.
struct Place {
    _root: tempfile::TempDir,
    repo: PathBuf,
    home: PathBuf,
}

impl Place {
    fn new() -> Self {
        let root = tempfile::tempdir().expect("a temporary folder");
        let base = root.path().canonicalize().expect("a canonical path");
        let (repo, home) = (base.join("w/repo"), base.join("home/dev"));
        for folder in [
            "src/core",
            "src/parser",
            "sub/deep",
            "tests",
            "scripts",
            "build",
            "target/debug",
            "node_modules/.bin",
            ".venv/bin",
            ".github/workflows",
            "tasks/other",
            "src/git/hooks",
            "docs",
            "tests/fixtures",
            "crates/core",
            "sub",
            "web",
            ".git",
            ".github/hooks",
            "tasks/demo",
            "config",
            "target",
        ] {
            fs::create_dir_all(repo.join(folder)).expect("a folder");
        }
        for folder in [".ssh", ".aws", "bin"] {
            fs::create_dir_all(home.join(folder)).expect("a folder");
        }
        for (file, text) in [
            ("README.md", "# x\n"),
            (".env", "TOKEN=x\n"),
            (".env.example", "TOKEN=\n"),
            ("src/lib.rs", "let x = 1;\n"),
            ("src/a.rs", ""),
            ("src/b.rs", ""),
            ("src/util.rs", ""),
            ("src/data.txt", "1\n"),
            ("tests/test_a.py", ""),
            ("Cargo.toml", ""),
            ("Makefile", ""),
            ("config/.env.production", "A=b\n"),
            ("tasks/demo/TASK.md", "# T\n- [ ] all tests pass\n- [ ] no unsafe code\n"),
            ("tasks/demo/guardrails.md", ""),
            ("tasks/demo/progress.md", ""),
            ("tasks/demo/activity.log", ""),
            (".git/config", "[core]\n"),
            (".git/HEAD", "ref: refs/heads/main\n"),
            ("evil.sh", "id\n"),
            ("check.sh", ""),
            ("tests/run.sh", ""),
            ("scripts/check.sh", ""),
            ("scripts/x.py", ""),
            ("x.js", ""),
            ("gradlew", ""),
            ("mvnw", ""),
            ("target/debug/app", ""),
            ("node_modules/.bin/tsc", ""),
            (".venv/bin/python", ""),
            (".venv/bin/pytest", ""),
            ("tasks/other/TASK.md", ""),
            ("data.csv", "1\n"),
            ("build.sh", "make\n"),
        ] {
            fs::write(repo.join(file), text).expect("a file");
        }
        std::os::unix::fs::symlink("/etc", repo.join("etclink")).expect("a link");
        Self { _root: root, repo, home }
    }

    /// The case's paths in this place.
    fn map(&self, text: &str) -> String {
        text.replace("/w/repo", &self.repo.to_string_lossy())
            .replace("/home/dev", &self.home.to_string_lossy())
    }

    fn policy(&self) -> Policy {
        let mut policy = Policy::new(&self.repo, self.repo.join("tasks/demo"));
        policy.home = Some(self.home.clone());
        policy
    }
}

fn lines(file: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(file);
    let text = fs::read_to_string(path).expect("the corpus");
    text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

/// Decides a case; each that makes links gets a place of its own.
fn decided(case: &Value, shared: &Place) -> Decision {
    let own = case["setup"].is_object().then(Place::new);
    let place = own.as_ref().unwrap_or(shared);
    for link in case["setup"]["symlinks"].as_array().into_iter().flatten() {
        let (at, to) = (link[0].as_str().expect("a name"), link[1].as_str().expect("a target"));
        std::os::unix::fs::symlink(place.map(to), place.repo.join(at)).expect("a link");
    }
    let raw = ["command", "path", "url"]
        .iter()
        .find_map(|key| case.get(*key).map(|value| json!({ *key: value })))
        .unwrap_or_else(|| case["rawInput"].clone());
    let input: Value = serde_json::from_str(&place.map(&raw.to_string())).expect("still JSON");
    let mut policy = place.policy();
    policy.cwd = PathBuf::from(place.map(case["cwd"].as_str().expect("a folder")));
    let request = ToolRequest {
        session: SessionId::new("s"),
        call: None,
        tool: case["tool_kind"].as_str().expect("a kind").to_owned(),
        input,
        asked: Asked::Permission,
    };
    decide(&request, &policy, &OsFiles)
}

#[test]
fn every_labelled_call_is_decided_as_labelled() {
    let shared = Place::new();
    let wrong: Vec<String> = lines("policy.jsonl")
        .iter()
        .filter_map(|case| {
            let decision = decided(case, &shared);
            let want = case["expected"] == "allow";
            (decision.allowed() != want).then(|| {
                let shown: String = case.to_string().chars().take(200).collect();
                format!("{shown}\n    {:?} {}: {}", decision.answer, decision.rule, decision.reason)
            })
        })
        .collect();
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_line_of_our_own_is_decided_as_marked() {
    let place = Place::new();
    let tmp = place.home.join("tmp");
    fs::create_dir_all(&tmp).expect("a folder");
    let mut policy = place.policy();
    policy.tmp = Some(tmp);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/lines.txt");
    let text = fs::read_to_string(path).expect("the lines");
    let marked = text
        .lines()
        .filter_map(|line| line.split_once(' ').filter(|(mark, _)| matches!(*mark, "+" | "-")));
    let mut seen = 0;
    let mut wrong = Vec::new();
    for (mark, line) in marked {
        seen += 1;
        let command = place.map(&line.replace("\\n", "\n"));
        let decision = decide(&bash(&command), &policy, &OsFiles);
        if decision.allowed() != (mark == "+") {
            wrong.push(format!("{mark} {line}\n    {}: {}", decision.rule, decision.reason));
        }
    }
    assert!(seen > 600, "only {seen} lines were found");
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

fn bash(command: &str) -> ToolRequest {
    ToolRequest {
        session: SessionId::new("s"),
        call: None,
        tool: "bash".to_owned(),
        input: json!({ "command": command }),
        asked: Asked::Hook,
    }
}

#[test]
fn every_labelled_text_is_redacted_as_labelled() {
    let redactor = Redactor::default();
    let mut wrong = Vec::new();
    for case in lines("redact.jsonl") {
        let text = case["text"].as_str().expect("a text");
        let mut outs = vec![redactor.redact_str(text).into_owned()];
        if let Some(chunks) = case["chunks"].as_array() {
            let mut stream = redactor.stream();
            let mut out: String =
                chunks.iter().map(|chunk| stream.push(chunk.as_str().expect("a chunk"))).collect();
            out.push_str(&stream.finish());
            outs.push(out);
        }
        let strings = |key: &str| -> Vec<String> {
            case[key]
                .as_array()
                .into_iter()
                .flatten()
                .map(|item| item.as_str().expect("a text").to_owned())
                .collect()
        };
        for out in outs {
            let leaks =
                strings("must_not_contain").iter().any(|secret| out.contains(secret.as_str()));
            let loses = strings("must_contain").iter().any(|kept| !out.contains(kept.as_str()));
            let changed = case["category"] == "fp" && out != text;
            if leaks || loses || changed {
                wrong.push(format!("{} {leaks} {loses} {changed}\n  {text}\n  {out}", case["id"]));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
