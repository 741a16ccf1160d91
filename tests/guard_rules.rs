//! The guard's rules, one by one, on real folders: what it says about the task's
//! own files, the human's work, scopes, links, other shapes of the same call,
//! and about lines that are too long or too deep to be honest.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use ralph_copilot::guard::{Allow, Approval, Globs, OsFiles, Policy, TickRule, decide};
use ralph_copilot::model::{Asked, Decision, SessionId, Tier, ToolRequest, WriteScope};
use serde_json::{Value, json};

const TASK: &str = "# Täsk\r\n- [ ] one\r\n- [ ] two\r\n";

struct Place {
    _root: tempfile::TempDir,
    repo: PathBuf,
}

impl Place {
    fn new() -> Self {
        let root = tempfile::tempdir().expect("a temporary folder");
        let repo = root.path().canonicalize().expect("canonical").join("repo");
        for folder in ["src", "tests", "tasks/demo", ".git", "out", "_archive"] {
            fs::create_dir_all(repo.join(folder)).expect("a folder");
        }
        for (file, text) in [
            ("src/lib.rs", "x\n"),
            ("tests/a.rs", ""),
            ("tasks/demo/TASK.md", TASK),
            ("tasks/demo/progress.md", "- 2026-01-01 one\n"),
            (".env", "A=b\n"),
        ] {
            fs::write(repo.join(file), text).expect("a file");
        }
        Self { _root: root, repo }
    }

    fn policy(&self) -> Policy {
        let mut policy = Policy::new(&self.repo, self.repo.join("tasks/demo"));
        policy.focus = Some(TickRule { mark: TASK.find("[ ] one").expect("the box") + 1 });
        policy
    }

    fn path(&self, relative: &str) -> String {
        self.repo.join(relative).to_string_lossy().into_owned()
    }
}

fn call(tool: &str, input: Value, policy: &Policy) -> Decision {
    let request = ToolRequest {
        session: SessionId::new("s"),
        call: None,
        tool: tool.to_owned(),
        input,
        asked: Asked::Hook,
    };
    decide(&request, policy, &OsFiles)
}

fn bash(command: &str, policy: &Policy) -> Decision {
    call("bash", json!({ "command": command, "description": "d" }), policy)
}

#[track_caller]
fn denied(decision: &Decision, rule: &str) {
    assert!(!decision.allowed(), "allowed by {}", decision.rule);
    assert_eq!(decision.rule, rule, "{}", decision.reason);
    assert!(decision.reason.contains("Nothing was run"), "{}", decision.reason);
}

#[track_caller]
fn allowed(decision: &Decision) {
    assert!(decision.allowed(), "{}", decision.reason);
}

/// A diff as the Copilot CLI sends it with its permission request.
fn diff(path: &str, body: &str) -> Value {
    json!({"fileName": path, "diff": format!("\ndiff --git a{path} b{path}\nindex 0000000..0000000 100644\n--- a{path}\n+++ b{path}\n{body}")})
}

#[test]
fn only_the_tick_of_the_focus_may_change_the_task() {
    let place = Place::new();
    let policy = place.policy();
    let task = place.path("tasks/demo/TASK.md");
    let edit = |old: &str, new: &str| {
        call("edit", json!({"path": task, "old_str": old, "new_str": new}), &policy)
    };
    let tick = edit("- [ ] one", "- [x] one");
    allowed(&tick);
    assert_eq!(tick.writes, [PathBuf::from(&task)]);
    allowed(&call(
        "create",
        json!({"path": task, "file_text": TASK.replace("[ ] one", "[x] one")}),
        &policy,
    ));
    allowed(&call(
        "Edit",
        json!({"file_path": task, "old_string": "[ ] one", "new_string": "[X] one"}),
        &policy,
    ));
    denied(&edit("- [ ] two", "- [x] two"), "state.task");
    denied(&edit("- [ ] one", "- [x] one and more"), "state.task");
    denied(&edit("- [ ]", "- [x]"), "state.task");
    denied(&edit("- [ ] one\r\n", ""), "state.task");
    denied(
        &call("create", json!({"path": task, "file_text": "- [x] one\n"}), &policy),
        "state.task",
    );
    denied(&call("edit", json!({ "path": task }), &policy), "state.task");
    denied(
        &call(
            "edit",
            json!({"path": task, "old_str": "- [ ] one", "new_str": "- [x] one", "file_text": "x"}),
            &policy,
        ),
        "state.task",
    );
    let mut unfocused = policy.clone();
    unfocused.focus = None;
    denied(
        &call(
            "edit",
            json!({"path": task, "old_str": "- [ ] one", "new_str": "- [x] one"}),
            &unfocused,
        ),
        "state.task",
    );
}

#[test]
fn a_tick_passes_in_the_forms_of_other_agents_and_nothing_else_does() {
    let place = Place::new();
    let policy = place.policy();
    let task = place.repo.join("tasks/demo/TASK.md").to_string_lossy().into_owned();
    let line = TASK.lines().position(|line| line.ends_with("one")).expect("the line") + 1;
    let forms = |old: &str, new: &str| {
        let diff = format!("@@ -{line},1 +{line},1 @@\n-{old}\n+{new}\n");
        let update = json!({"type": "update", "unified_diff": diff, "move_path": null});
        let arguments = json!({"path": task, "old_string": old, "new_string": new});
        [
            json!({"call_id": "1", "changes": {(task.as_str()): update}}),
            json!({"tool": "patch", "arguments": arguments}),
            json!({"path": task, "before": old, "after": new}),
        ]
    };
    for form in forms("- [ ] one", "- [x] one") {
        allowed(&call("edit", form.clone(), &policy));
        let mut two_ways = form;
        two_ways["file_text"] = "x".into();
        denied(&call("edit", two_ways, &policy), "state.task");
    }
    for form in
        forms("- [ ] one", "- [x] one and more").into_iter().chain(forms("- [ ] two", "- [x] two"))
    {
        denied(&call("edit", form, &policy), "state.task");
    }
    let change = |change: Value| json!({"changes": {(task.as_str()): change}});
    for other in [
        json!({"type": "add", "content": "- [x] one\n"}),
        json!({"type": "update", "unified_diff": "@@ -1,1 +1,1 @@\n-a\n+b\n"}),
        json!({"type": "update"}),
    ] {
        denied(&call("edit", change(other), &policy), "state.task");
    }
    denied(&call("edit", change(json!({"type": "delete"})), &policy), "program.delete");
}

#[test]
fn a_change_by_name_is_a_deletion_or_a_move_where_it_says_so() {
    let place = Place::new();
    let policy = place.policy();
    let change =
        |path: &str, change: Value| call("edit", json!({"changes": {path: change}}), &policy);
    allowed(&change("src/new.rs", json!({"type": "add", "content": "x"})));
    denied(&change("src/lib.rs", json!({"type": "delete", "content": "x"})), "program.delete");
    let moved = |to: &str| json!({"type": "update", "unified_diff": "", "move_path": to});
    allowed(&change("src/lib.rs", moved("src/main.rs")));
    denied(&change("src/lib.rs", moved("../main.rs")), "path.outside");
    denied(&change("src/lib.rs", moved(".git/config")), "path.git");
}

#[test]
fn the_permission_request_is_decided_as_the_hook_was() {
    let place = Place::new();
    let policy = place.policy();
    let task = place.path("tasks/demo/TASK.md");
    let log = place.path("tasks/demo/progress.md");
    let source = place.path("src/lib.rs");
    let link = place.path("link.rs");
    std::os::unix::fs::symlink("/etc/hosts", &link).expect("a link");
    for (hook, permission) in [
        (
            ("bash", json!({"command": "cargo test", "description": "d"})),
            ("execute", json!({"command": "cargo test", "commands": ["cargo test"]})),
        ),
        (
            ("bash", json!({"command": "git push"})),
            ("execute", json!({"command": "git push", "commands": ["git push"]})),
        ),
        (
            ("edit", json!({"path": source, "old_str": "x", "new_str": "y"})),
            ("edit", diff(&source, "@@ -1,2 +1,2 @@\n-x\n+y\n \n")),
        ),
        (
            ("edit", json!({"path": link, "old_str": "x", "new_str": "y"})),
            ("edit", diff(&link, "@@ -1,2 +1,2 @@\n-x\n+y\n \n")),
        ),
        (
            ("edit", json!({"path": task, "old_str": "- [ ] one", "new_str": "- [x] one"})),
            (
                "edit",
                diff(&task, "@@ -1,4 +1,4 @@\n # Täsk\n-- [ ] one\n+- [x] one\r\n - [ ] two\n \n"),
            ),
        ),
        (
            ("edit", json!({"path": task, "old_str": "- [ ] two", "new_str": "- [x] two"})),
            (
                "edit",
                diff(&task, "@@ -1,4 +1,4 @@\n # Täsk\n - [ ] one\n-- [ ] two\n+- [x] two\r\n \n"),
            ),
        ),
        (
            (
                "edit",
                json!({"path": log, "old_str": "- 2026-01-01 one\n", "new_str": "- 2026-01-01 one\n- two\n"}),
            ),
            ("edit", diff(&log, "@@ -1,2 +1,3 @@\n - 2026-01-01 one\n+- two\n \n")),
        ),
        (
            ("edit", json!({"path": log, "old_str": "one", "new_str": "two"})),
            ("edit", diff(&log, "@@ -1,2 +1,2 @@\n-- 2026-01-01 one\n+- 2026-01-01 two\n \n")),
        ),
        (
            ("create", json!({"path": "new.txt", "file_text": "x\n"})),
            ("edit", diff(&place.path("new.txt"), "@@ -1,0 +1,1 @@\n+x\n")),
        ),
        (("view", json!({"path": "/etc/hosts"})), ("read", json!({"path": "/etc/hosts"}))),
    ] {
        let one = call(hook.0, hook.1.clone(), &policy);
        let two = call(permission.0, permission.1, &policy);
        assert_eq!(
            (one.answer, &one.rule, &one.writes),
            (two.answer, &two.rule, &two.writes),
            "{}: {} / {}",
            hook.1,
            one.reason,
            two.reason
        );
        // Older versions hand the arguments over as a JSON text.
        assert_eq!(call(hook.0, Value::String(hook.1.to_string()), &policy), one);
    }
}

#[test]
fn progress_is_only_added_to() {
    let place = Place::new();
    let policy = place.policy();
    let log = place.path("tasks/demo/progress.md");
    let written = bash("echo \"- $(date +%F) done\" >> tasks/demo/progress.md", &policy);
    allowed(&written);
    assert_eq!(written.writes, [PathBuf::from(&log)]);
    allowed(&call(
        "edit",
        json!({"path": log, "old_str": "one\n", "new_str": "one\n- two\n"}),
        &policy,
    ));
    for line in [
        "echo x > tasks/demo/progress.md",
        "sed -i 's/a/b/' tasks/demo/progress.md",
        "cp src/lib.rs tasks/demo/progress.md",
        "mv tasks/demo/progress.md src/",
    ] {
        denied(&bash(line, &policy), "state.progress");
    }
    denied(
        &call("edit", json!({"path": log, "old_str": "one", "new_str": ""}), &policy),
        "state.progress",
    );
    denied(&bash("echo x >> tasks/demo/guardrails.md", &policy), "state.runner");
}

#[test]
fn the_humans_work_is_neither_staged_nor_written() {
    let place = Place::new();
    let mut policy = place.policy();
    fs::write(place.repo.join("out2"), "").expect("a file");
    policy.human = vec![place.repo.join("out2"), place.repo.join("src/draft.rs")];
    for line in [
        "git add -A",
        "git add .",
        "git add -u",
        "git add --all",
        "git commit -am x",
        "git commit -a -m x",
        "git add -- .",
        "git add '*.rs'",
        "git add src",
        "git add out2",
        "git add -A .",
        "cd src && git add ..",
        "git add :/",
    ] {
        denied(&bash(line, &policy), "human.work");
    }
    denied(&bash("echo x > out2", &policy), "human.work");
    denied(&bash("mv src old", &policy), "path.protected");
    denied(
        &call("create", json!({"path": "src/draft.rs", "file_text": "x"}), &policy),
        "human.work",
    );
    for line in
        ["git add out", "git add src/lib.rs && git commit -m x", "git commit -m 'git add -A'"]
    {
        allowed(&bash(line, &policy));
    }
    allowed(&bash("git add -A && git commit -m 'x'", &place.policy()));
}

#[test]
fn protected_paths_scopes_and_settings_hold() {
    let place = Place::new();
    let mut policy = place.policy();
    policy.protect = Globs::new(["tests/**", "*.lock"]).expect("globs");
    policy.protect_paths = vec![place.repo.join("check.sh")];
    for line in [
        "echo x > tests/new.rs",
        "mv tests old",
        "echo x > check.sh",
        "sed -i s/x/y/ tests/*.rs",
        "cp src/lib.rs a.lock",
    ] {
        denied(&bash(line, &policy), "path.protected");
    }
    allowed(&bash("cat tests/a.rs && cargo test", &policy));
    policy.write_scope = WriteScope::Task;
    denied(&bash("echo x > src/new.rs", &policy), "path.scope");
    allowed(&bash("echo x > tasks/demo/notes.md", &policy));
    denied(&bash("echo x > tasks/demo/state.json", &policy), "state.runner");
    for (path, rule) in [
        (".git", "path.git"),
        (".GIT/hooks/x", "path.git"),
        (".github/hooks/x.json", "path.settings"),
        (".Claude/settings.json", "path.settings"),
        (".ralph/config.toml", "state.runner"),
        (".env.local", "secret.file"),
    ] {
        denied(&call("create", json!({"path": path, "file_text": "x"}), &place.policy()), rule);
    }
}

#[test]
fn without_approval_only_reads_pass() {
    let place = Place::new();
    let mut policy = place.policy();
    policy.approval = Approval::Human;
    allowed(&call("view", json!({"path": "src/lib.rs"}), &policy));
    allowed(&call("grep", json!({"pattern": "x"}), &policy));
    denied(&bash("git status", &policy), "approval.human");
    denied(
        &call("edit", json!({"path": "src/lib.rs", "old_str": "x", "new_str": "y"}), &policy),
        "approval.human",
    );
}

#[test]
fn what_the_task_allows_is_words_and_never_lifts_the_floor() {
    let place = Place::new();
    let mut policy = place.policy();
    policy.allow =
        Allow::new(["terraform plan", "frobnicate --check", "rm", "git push", "git reset", "sudo"])
            .expect("commands");
    allowed(&bash("terraform plan -out x", &policy));
    allowed(&bash("frobnicate --check && cargo test", &policy));
    denied(&bash("frobnicate", &policy), "shell.unknown-program");
    denied(&bash("terraform apply", &policy), "container");
    denied(&bash("frobnicate --check > /etc/x", &policy), "path.outside");
    for line in ["rm src/lib.rs", "rm -rf out", "git push", "git push -u origin main"] {
        allowed(&bash(line, &policy));
    }
    for (line, rule) in [
        ("rm -rf .git", "path.git"),
        ("rm -rf .", "path.protected"),
        ("rm ../x", "path.outside"),
        ("rm .env", "secret.file"),
        ("rm -rf tasks", "path.protected"),
        ("rm --no-preserve-root -rf /", "path.outside"),
        ("rm \"$X\"", "shell.not-understood"),
        ("git push --force", "git.push-force"),
        ("git push origin +main", "git.push-force"),
        ("git push origin :main", "git.push-force"),
        ("git reset --hard", "git.destructive"),
        ("sudo ls", "privilege"),
    ] {
        denied(&bash(line, &policy), rule);
    }
    assert!(Allow::new([" "]).is_err() && Allow::new(["'a"]).is_err());
}

#[test]
fn tools_are_judged_by_their_arguments() {
    let place = Place::new();
    let policy = place.policy();
    for (tool, input, rule) in [
        ("view", json!({"path": ".env"}), "secret.file"),
        ("read", json!({"path": "src/lib.rs", "command": "git push"}), "git.push"),
        ("read", json!({"path": ".git/x", "content": "x"}), "path.git"),
        ("view", json!({"path": ".git/HEAD"}), "path.git"),
        ("grep", json!({"pattern": "x", "path": ".git"}), "path.git"),
        ("grep", json!({"pattern": "x", "glob": ".git/*"}), "path.git"),
        ("glob", json!({"pattern": ".git/**"}), "path.git"),
        (
            "edit",
            json!({"path": "AGENTS.md", "old_str": "a", "new_str": "b", "command": "view"}),
            "path.settings",
        ),
        ("create", json!({"path": "AGENTS.md", "command": "view"}), "path.settings"),
        (
            "str_replace_editor",
            json!({"path": "AGENTS.md", "file_text": "x", "command": "view"}),
            "path.settings",
        ),
        ("bash", json!({"command": ["cargo test", "git push"]}), "git.push"),
        ("bash", json!({"command": "git", "args": ["push"]}), "git.push"),
        ("bash", json!({"command": ["git", "push", "origin", "main"]}), "git.push"),
        ("bash", json!({"cmd": ["git", "push", "origin", "main"]}), "git.push"),
        ("bash", json!({"argv": ["git", "push", "origin", "main"]}), "git.push"),
        ("bash", json!({"command": ["git"], "args": ["push", "origin"]}), "git.push"),
        ("bash", json!({"command": "git", "args": "push origin"}), "git.push"),
        ("bash", json!({"command": "git", "Args": ["push"]}), "git.push"),
        ("bash", json!({"command": "git", "argv": ["push"]}), "git.push"),
        ("bash", json!({"command": "git -C .", "args": ["push"]}), "git.push"),
        ("bash", json!({"command": ["bash", "-lc", "git push"]}), "git.push"),
        ("bash", json!({"command": ["ls", "git push"]}), "git.push"),
        ("bash", json!({"command": ["ls", "&&", "git", "push"]}), "git.push"),
        ("bash", json!({"command": 1}), "tool.malformed"),
        ("bash", Value::Null, "tool.malformed"),
        ("bash", json!({"command": "ls", "cwd": "/etc"}), "path.outside"),
        ("web_fetch", json!({"url": "https://x"}), "network"),
        ("other", json!({"url": "https://x"}), "network"),
        ("write_bash", json!({"shellId": "a", "input": "x"}), "tool.keystrokes"),
        ("delete", json!({"path": "src/lib.rs"}), "program.delete"),
        ("some-mcp-tool", json!({"x": 1}), "tool.unknown"),
        ("task", json!({"prompt": "x", "path": "/etc/x"}), "tool.unknown"),
        ("grep", json!({"pattern": "x", "glob": ".env"}), "secret.file"),
        ("glob", json!({"pattern": "../**"}), "path.outside"),
        ("grep", json!({"pattern": "x", "glob": "{.env,a}"}), "secret.file"),
        ("grep", json!({"pattern": "x", "glob": "*env"}), "secret.file"),
        ("grep", json!({"pattern": "x", "glob": "*"}), "secret.file"),
        ("grep", json!({"pattern": "x", "glob": "**"}), "secret.file"),
        ("grep", json!({"pattern": "x", "glob": ["*.rs", ".e*"]}), "secret.file"),
        ("grep", json!({"pattern": "x", "glob": ".e[[:alpha:]]v"}), "secret.file"),
        ("grep", json!({"pattern": "x", "path": "src/../", "glob": "**/*"}), "secret.file"),
        ("bash", json!({"command": "go build", "env": {"GOCACHE": "/srv/x"}}), "path.outside"),
        ("bash", json!({"command": "go build", "env": {"GOROOT": "/srv/x"}}), "env.injection"),
        (
            "edit",
            json!({"edits": [{"path": "/etc/x", "old_str": "a", "new_str": "b"}]}),
            "path.outside",
        ),
        ("create", json!({"path": "~/x", "file_text": ""}), "path.outside"),
        ("create", json!({"path": "file:///etc/x", "file_text": ""}), "path.outside"),
    ] {
        let decision = call(tool, input.clone(), &policy);
        assert!(
            !decision.allowed() && decision.rule == rule,
            "{tool} {input}: {} {}",
            decision.rule,
            decision.reason
        );
    }
    for (tool, input) in [
        ("sql", json!({"query": "select 1"})),
        ("task", json!({"prompt": "x", "agent_type": "explore"})),
        ("read_bash", json!({"shellId": "a", "delay": 1})),
        ("stop_bash", json!({"shellId": "a"})),
        ("list_agents", json!({})),
        ("glob", json!({"pattern": "**/*.rs"})),
        ("glob", json!({"pattern": "**/*"})),
        ("grep", json!({"pattern": "x"})),
        ("grep", json!({"pattern": "x", "glob": "*.rs"})),
        ("grep", json!({"pattern": "x", "glob": "src/**"})),
        ("grep", json!({"pattern": "x", "glob": "*.{ts,tsx}"})),
        ("grep", json!({"pattern": "x", "path": "src", "glob": "*"})),
        (
            "MultiEdit",
            json!({"file_path": "src/lib.rs", "edits": [{"old_string": "x", "new_string": "y"}]}),
        ),
        ("edit", json!({"locations": [{"path": "src/lib.rs"}]})),
        ("Bash", json!({"command": "cargo test"})),
        ("str_replace_based_edit_tool", json!({"command": "view", "path": "src/lib.rs"})),
    ] {
        let decision = call(tool, input.clone(), &policy);
        assert!(decision.allowed(), "{tool} {input}: {}", decision.reason);
    }
}

#[test]
fn an_allowed_line_says_what_it_writes() {
    let place = Place::new();
    let policy = place.policy();
    for (line, writes) in [
        ("echo x > a && touch b && echo y | tee c", &["a", "b", "c"][..]),
        ("cp src/lib.rs out/", &["out/lib.rs"]),
        ("mv src/lib.rs _archive/", &["_archive/lib.rs", "src/lib.rs"]),
        ("sed -i s/x/y/ src/*.rs", &["src/lib.rs"]),
        ("cd src && echo x > new.rs", &["src/new.rs"]),
        ("for f in a b; do echo x > \"$f.txt\"; done", &["a.txt", "b.txt"]),
        ("cat src/lib.rs > /dev/null 2>&1", &[]),
    ] {
        let decision = bash(line, &policy);
        allowed(&decision);
        let want: Vec<PathBuf> = writes.iter().map(|path| place.repo.join(path)).collect();
        let found: Vec<&PathBuf> =
            decision.writes.iter().filter(|path| path.starts_with(&place.repo)).collect();
        assert_eq!(found, want.iter().collect::<Vec<_>>(), "{line}");
    }
}

#[test]
fn every_offered_shell_alternative_passes() {
    let place = Place::new();
    let policy = place.policy();
    let reason = bash("rm src/lib.rs", &policy).reason;
    assert!(reason.contains("mkdir -p _archive && mv FILE _archive/"), "{reason}");
    for line in [
        "mkdir -p _archive && mv src/lib.rs _archive/",
        "git add src/lib.rs && git commit -m 'x'",
        "git restore --staged src/lib.rs",
        "git reset -- src/lib.rs",
        "git remote -v",
        "git show HEAD:src/lib.rs",
        "chmod +x src/lib.rs",
        "chmod 644 src/lib.rs",
        "git config --get user.name",
    ] {
        allowed(&bash(line, &policy));
    }
}

/// Every command that a denial offers, with its names filled in.
fn offered(reason: &str) -> Vec<String> {
    let Some((_, instead)) = reason.split_once(" Instead: ") else { return Vec::new() };
    let parts = instead.split('`').skip(1).step_by(2);
    let fill = |part: &str| {
        part.replace("FILE …", "src/lib.rs")
            .replace("FILE", "src/lib.rs")
            .replace("PATTERN", "x")
            .replace("REV:PATH", "HEAD:src/lib.rs")
    };
    // Settings, options and file names are quoted too; a command is more than a word.
    parts.map(fill).filter(|part| part.contains(' ')).collect()
}

#[test]
fn every_alternative_that_any_denial_offers_passes() {
    let place = Place::new();
    let policy = place.policy();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/lines.txt");
    let lines = fs::read_to_string(file).expect("the lines");
    let refused = lines.lines().filter_map(|line| line.strip_prefix("- "));
    let mut found = std::collections::BTreeSet::new();
    for line in refused {
        found.extend(offered(&bash(&line.replace("\\n", "\n"), &policy).reason));
    }
    assert!(found.len() >= 12, "{found:?}");
    for command in found {
        let decision = bash(&command, &policy);
        assert!(decision.allowed(), "`{command}` is offered: {}", decision.reason);
    }
}

#[test]
fn long_and_deep_lines_are_decided() {
    let place = Place::new();
    let policy = place.policy();
    allowed(&bash(&format!("echo '{}'", "a".repeat(100 * 1024)), &policy));
    allowed(&bash(&format!("{}true", "true && ".repeat(12_800)), &policy));
    denied(&bash(&format!("{}git push", "true && ".repeat(12_800)), &policy), "git.push");
    denied(&bash(&format!("echo '{}'", "a".repeat(300 * 1024)), &policy), "shell.too-long");
    allowed(&bash(&"a=1 ".repeat(2_500), &policy));
    for (open, close) in [
        ("(", ")"),
        ("( ", " )"),
        ("echo $(", ")"),
        ("echo \"$(", ")\""),
        ("{ ", "; }"),
        ("if true; then ", "; fi"),
        ("while true; do ", "; done"),
        ("case x in x) ", ";; esac"),
        ("echo ${a:-", "}"),
        ("cat <(", ")"),
        ("eval ", ""),
        ("! ", ""),
        ("{a,", "}"),
        ("f() { ", "; }"),
        ("env ", ""),
        ("timeout 1 ", ""),
        ("command ", ""),
        ("xargs ", ""),
        ("find . -exec ", " \\;"),
        ("for i in 1 2 3 4 5 6 7 8 9; do ", "; done"),
    ] {
        let line = format!("{}rm x{}", open.repeat(3000), close.repeat(3000));
        let decision = bash(&line, &policy);
        assert!(!decision.allowed(), "{open}: {}", decision.rule);
        // What is left open has to end too.
        let decision = bash(&open.repeat(3000), &policy);
        assert!(!decision.allowed(), "{open}: {}", decision.rule);
    }
    denied(&bash("f(){ f|f& };f", &policy), "shell.not-understood");
    denied(&bash(":(){ :|:& };:", &policy), "shell.not-understood");
}

/// The tokenizer asks for more and more memory over these, and never comes back.
#[test]
fn a_here_document_that_ends_at_a_substitution_is_refused() {
    let place = Place::new();
    let policy = place.policy();
    for line in [
        "x <<$(  ",
        "x <<$(  ) $(  ",
        "x << $(  ",
        "x <<-$(  ",
        "x <<a$(  ",
        "x <<\"a b\"$(  ",
        "x <<\\\n$(  ",
        "x <<$((  ",
        "<<$[\t\tA\t",
        "x <<A <<$(  ",
        "echo $(x <<$(  )",
        "bash -c 'x <<$(  '",
    ] {
        let decision = bash(line, &policy);
        denied(&decision, "shell.not-understood");
    }
    for line in ["cat <<A\n$(date)\nA", "cat <<A; echo $(date)\nA"] {
        denied(&bash(line, &policy), "shell.not-understood");
    }
    for line in ["cat <<'A'\n$(\nA", "cat <<< $(date)"] {
        allowed(&bash(line, &policy));
    }
}

#[test]
fn links_are_followed_for_reads_and_refused_for_writes() {
    let place = Place::new();
    let policy = place.policy();
    let link = |name: &str, to: &Path| {
        std::os::unix::fs::symlink(to, place.repo.join(name)).expect("a link")
    };
    link("inside", &place.repo.join("src"));
    link("outside", Path::new("/etc"));
    link("loop", &place.repo.join("loop"));
    link("hidden", &place.repo.join(".env"));
    allowed(&bash("cat inside/lib.rs", &policy));
    denied(&bash("echo x > inside/lib.rs", &policy), "path.symlink");
    denied(&bash("cat outside/hosts", &policy), "path.outside");
    denied(&bash("cat hidden", &policy), "secret.file");
    denied(&bash("cat loop", &policy), "path.unclear");
    denied(&bash("echo x > outside/../repo/x", &policy), "path.symlink");
    denied(&bash("ln -s src new && echo x > new/lib.rs", &policy), "shell.unknown-program");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_line_is_decided_without_a_panic(line in "\\PC{0,120}") {
        let place = Policy::new("/nowhere/repo", "/nowhere/repo/tasks/demo");
        bash(&line, &place);
    }

    #[test]
    fn any_soup_of_shell_is_decided_without_a_panic(parts in proptest::collection::vec(prop::sample::select(vec![
        "$(", ")", "`", "'", "\"", "${", "}", "((", "))", "[[", "]]", "<<EOF\n", "EOF\n", "<(", ">", "|", "&&", ";", "\n", "\\", "{a,", "case x in", "esac", "if", "fi",
        "do", "done", "for x in", "rm x", "echo", "$x", "~", "*", "[", "]", "!", "#", "=", "x=", "é", "\t", "function f", "()", "coproc", "<<<", "2>&1", "-",
    ]), 0..24)) {
        let policy = Policy::new("/nowhere/repo", "/nowhere/repo/tasks/demo");
        bash(&parts.join(" "), &policy);
        bash(&parts.concat(), &policy);
    }

    #[test]
    fn a_denied_command_stays_denied_wherever_it_stands(
        bad in prop::sample::select(vec!["rm -rf src", "git push origin main", "curl https://x", "cat .env", "echo x > /etc/x", "sudo ls", "python3 -c 'x'", "printenv", "./nothere"]),
        frames in proptest::collection::vec(prop::sample::select(vec![
            "true && @", "@ | cat", "true; @", "true | @", "false || @", "(:; @)", "{ @; }", "! @", "if @; then :; fi", "if :; then @; fi", "while @; do :; done", "for i in a b; do @; done",
            "case a in a) @ ;; esac", "f() { @; }; f", "@ &", "echo \"$(@)\"", "echo $(@)", "x=$(@)", "cat <(@)", "time @", "cat <<EOF\n$(@)\nEOF", "until @; do :; done", "echo hi\n@", "[[ -n $(@) ]]",
        ]), 1..4),
    ) {
        let place = Place::new();
        let line = frames.iter().fold(bad.to_owned(), |line, frame| frame.replace('@', &line));
        let decision = bash(&line, &place.policy());
        prop_assert!(!decision.allowed(), "{line}");
    }

    #[test]
    fn no_quoting_and_no_blanks_make_a_denied_command_pass(
        bad in prop::sample::select(vec![
            &["rm", "-r", "-f", "src"][..], &["git", "push", "origin", "main"], &["cat", ".env"],
            &["git", "reset", "--hard"], &["sudo", "ls"], &["find", ".", "-delete"], &["curl", "x"],
            &["sed", "-i", "s/a/b/", ".git/config"], &["python3", "-c", "x"], &["env"],
        ]),
        styles in proptest::collection::vec(0_usize..6, 64),
        blanks in proptest::collection::vec(prop::sample::select(vec![" ", "  ", "\t", " \\\n ", "\\\n\t"]), 6),
        order in any::<bool>(),
    ) {
        let place = Place::new();
        let mut words = bad.to_vec();
        if order && words.len() == 4 && words[0] == "rm" {
            words.swap(1, 3);
        }
        let mut styles = styles.into_iter().cycle();
        let quoted = |word: &&str| -> String {
            word.chars().map(|c| match styles.next() {
                Some(1) => format!("'{c}'"),
                Some(2) => format!("\"{c}\""),
                Some(3) => format!("\\{c}"),
                Some(4) => format!("$'\\x{:02x}'", u32::from(c)),
                Some(5) => format!("''{c}"),
                _ => c.to_string(),
            }).collect()
        };
        let words: Vec<String> = words.iter().map(quoted).collect();
        let rest = words[1..].iter().zip(blanks.iter().cycle()).fold(String::new(), |line, (word, blank)| line + blank + word);
        let line = format!("{}{}{rest}", blanks[0], words[0]);
        prop_assert!(!bash(&line, &place.policy()).allowed(), "{line}");
        let variable = format!("x={}; \"$x\"{rest}", words[0]);
        prop_assert!(!bash(&variable, &place.policy()).allowed(), "{variable}");
    }

    #[test]
    fn a_wrapped_denied_program_stays_denied(
        bad in prop::sample::select(vec!["rm x", "git push", "curl x", "sudo ls", "unknownthing"]),
        wrappers in proptest::collection::vec(prop::sample::select(vec!["env", "command", "timeout 5", "nice -n 3", "nohup", "xargs -n1", "setsid", "stdbuf -oL", "X=1", "exec", "env A=b", "time", "2>&1", "\\\n"]), 1..4),
    ) {
        let place = Place::new();
        let line = format!("{} {bad}", wrappers.join(" "));
        prop_assert!(!bash(&line, &place.policy()).allowed(), "{line}");
    }
}

#[test]
fn a_patch_is_judged_by_every_file_it_names() {
    let place = Place::new();
    let mut policy = place.policy();
    // Of a line that ends as on Windows it is not known what a patch leaves.
    let task = TASK.replace('\r', "");
    policy.focus = Some(TickRule { mark: task.find("[ ] one").expect("the box") + 1 });
    fs::write(place.repo.join("tasks/demo/TASK.md"), task).expect("a file");
    let ask = |body: &str| {
        let patch = format!("*** Begin Patch\n{body}\n*** End Patch");
        let forms = [json!(patch), json!({ "input": patch }), json!({ "patch": patch })];
        let decisions = forms.map(|form| call("apply_patch", form, &policy));
        let all: Vec<&Decision> = decisions.iter().collect();
        assert!(all.windows(2).all(|pair| pair[0] == pair[1]), "{all:?}");
        decisions.into_iter().next().expect("three")
    };
    let changed = ask("*** Add File: src/new.rs\n+x\n*** Update File: src/lib.rs\n@@\n-x\n+y");
    allowed(&changed);
    assert_eq!(changed.writes, ["src/lib.rs", "src/new.rs"].map(|path| place.repo.join(path)));
    let moved = ask("*** Update File: src/lib.rs\n*** Move to: src/main.rs\n@@\n-x\n+y");
    allowed(&moved);
    assert_eq!(moved.writes, ["src/lib.rs", "src/main.rs"].map(|path| place.repo.join(path)));
    let tick = "*** Update File: tasks/demo/TASK.md\n@@\n-- [ ] one\n+- [x] one";
    allowed(&ask(tick));
    allowed(&ask("*** Update File: tasks/demo/progress.md\n@@\n - 2026-01-01 one\n+- two"));
    denied(&ask(&tick.replace("one", "two")), "state.task");
    denied(&ask(&format!("{tick}\n+- [x] two")), "state.task");
    denied(
        &ask("*** Update File: tasks/demo/progress.md\n@@\n-- 2026-01-01 one\n+x"),
        "state.progress",
    );
    denied(&ask("*** Add File: src/a.rs\n+x\n*** Delete File: src/lib.rs"), "program.delete");
    denied(&ask("*** Add File: src/a.rs\n+x\n*** Add File: ../x\n+x"), "path.outside");
    denied(&ask("*** Add File: .git/hooks/pre-commit\n+x"), "path.git");
    denied(&ask("*** Update File: .env\n*** Move to: src/x\n@@\n-A=b\n+c"), "secret.file");
    denied(
        &ask("*** Update File: src/lib.rs\n*** Move to: .github/hooks/x.json\n@@\n-x\n+y"),
        "path.settings",
    );
    denied(&ask("*** Run File: src/lib.rs"), "tool.malformed");
    denied(&call("apply_patch", json!("x"), &policy), "tool.malformed");
    denied(&call("bash", json!("ls"), &policy), "tool.malformed");
}

#[test]
fn a_patch_in_any_form_is_judged_by_every_file_it_names() {
    let place = Place::new();
    let policy = place.policy();
    for (patch, rule) in [
        ("*** Update File: .git/config\n@@\n-a\n+b", "path.git"),
        ("*** Add File: ../x\n+b", "path.outside"),
        ("*** Delete File: src/lib.rs", "program.delete"),
        ("--- a/src/lib.rs\n+++ b/.env\n@@ -1 +1 @@\n-a\n+b", "secret.file"),
        ("+++ /etc/x\n@@ -0,0 +1 @@\n+b", "path.outside"),
        ("--- a/src/lib.rs\n+++ /dev/null\n@@ -1 +0,0 @@\n-x", "program.delete"),
        ("diff --git a/src/lib.rs b/.github/hooks/x\nrename from src/lib.rs", "path.settings"),
        ("@@ -1 +1 @@\n-a\n+b\n--- a/x\n+++ b/tasks/other/TASK.md", "state.task"),
    ] {
        for field in ["patch", "diff", "input", "patch_text"] {
            let decision = call("edit", json!({ "path": "src/lib.rs", field: patch }), &policy);
            denied(&decision, rule);
        }
    }
    for (path, patch) in [
        (
            "src/lib.rs",
            "--- a/src/lib.rs\n+++ b/src/lib.rs\n@@ -1,2 +1,2 @@\n--- .env\n+++ .env\n x",
        ),
        ("src/lib.rs", "*** Update File: src/new.rs\n@@\n-a\n+b"),
        ("src/lib.rs", "@@ -1 +1 @@\n-a\n+b"),
    ] {
        allowed(&call("edit", json!({ "path": path, "diff": patch }), &policy));
    }
}

#[test]
fn a_denied_judge_names_the_line_that_lets_it_change() {
    let place = Place::new();
    let mut policy = place.policy();
    policy.protect_paths = vec![place.repo.join("src/lib.rs")];
    let edit = json!({ "path": place.path("src/lib.rs"), "old_str": "x", "new_str": "y" });
    let decision = call("edit", edit.clone(), &policy);
    denied(&decision, "path.protected");
    assert!(decision.reason.contains("`may_change: [\"src/lib.rs\"]`"), "{}", decision.reason);
    policy.protect = Globs::new(["src"]).expect("a glob");
    let decision = call("edit", edit, &policy);
    denied(&decision, "path.protected");
    assert!(!decision.reason.contains("may_change"), "`protect` stays: {}", decision.reason);
}

#[test]
fn a_forced_deletion_by_git_in_a_sandbox_is_pointed_to_a_plain_one() {
    let place = Place::new();
    let mut policy = place.policy();
    let archived = bash("git rm src/lib.rs", &policy);
    assert!(archived.reason.contains("_archive/"), "{}", archived.reason);
    policy.tier = Tier::Full;
    allowed(&bash("git rm src/lib.rs", &policy));
    let decision = bash("git rm -f src/lib.rs", &policy);
    denied(&decision, "program.delete");
    assert!(decision.reason.contains("`git rm FILE`"), "{}", decision.reason);
}
