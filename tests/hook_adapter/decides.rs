//! The CLI's JSON in, the decision of the project's own hooks or of the guard out.

use std::fs;

use ralph_copilot::sys::lock::TreeLock;
use serde_json::{Value, json};

use crate::project::{self, Project, bash, gone};

/// A hook that keeps what it was told and allows.
const TELLS: &str = "#!/bin/sh\ncat > \"$CLAUDE_PROJECT_DIR/told.json\"\n";
const CORE: &str = "hooks/core/pre-tool-use.sh";

#[test]
fn without_hooks_of_the_project_the_guard_decides() {
    for project in [Project::new(), Project::repository()] {
        for (input, rule) in [
            (bash("rm -rf /"), "program.delete"),
            (bash("rm -rf /important"), "program.delete"),
            (bash("rm -r -f x"), "program.delete"),
            (bash("git push --force"), "git.push"),
            (bash("git push origin main --force"), "git.push"),
            (json!({"toolName": "read", "toolArgs": "{\"path\":\".env\"}"}).to_string(), "secret"),
            (json!({"toolName": "view", "toolArgs": {"path": ".env"}}).to_string(), "secret"),
            (
                json!({"toolName": "create", "toolArgs": {"path": "k.pem", "file_text": ""}})
                    .to_string(),
                "secret",
            ),
        ] {
            let reason = project.hook(&["preToolUse"], &input).denied();
            assert!(reason.contains(rule), "{input}: {reason}");
        }
        for input in [
            bash("ls -la"),
            bash("echo rm -rf"),
            json!({"toolName": "bash", "toolArgs": {"command": "ls -la"}}).to_string(),
            json!({"toolName": "bash", "toolInput": {"command": "ls -la"}}).to_string(),
            json!({"tool_name": "Bash", "tool_input": {"command": "ls -la"}}).to_string(),
            json!({"toolName": "view", "toolArgs": {"path": ".env.example"}}).to_string(),
            json!({"toolName": "bash", "toolArgs": "{\"command\":\"ls -la\"}", "cwd": "/tmp"})
                .to_string(),
            json!({"toolName": "bash", "toolArgs": "{\"command\":\"ls -la\"}", "cwd": "/no/such"})
                .to_string(),
        ] {
            project.hook(&["preToolUse"], &input).assert_allowed();
        }
    }
}

#[test]
fn the_guard_follows_the_repository_s_settings_and_the_session_s_folder() {
    let project = Project::repository();
    project.write("sub/file.txt", "x");
    let tool = bash("frobnicate --all");
    project.hook(&["preToolUse"], &tool).denied();
    project.write(".ralph/config.toml", "allow = [\"frobnicate\"]\nprotect = [\"keep/**\"]\n");
    project.hook(&["preToolUse"], &tool).assert_allowed();
    let create = |path: &str, cwd: &str| {
        let arguments = json!({ "path": path, "file_text": "x" });
        json!({ "toolName": "create", "toolArgs": arguments, "cwd": project.path(cwd) }).to_string()
    };
    project.hook(&["preToolUse"], &create("new.txt", "sub")).assert_allowed();
    project.hook(&["preToolUse"], &create("../new.txt", "sub")).assert_allowed();
    project.hook(&["preToolUse"], &create("../../new.txt", "sub")).denied();
    project.hook(&["preToolUse"], &create("../keep/new.txt", "sub")).denied();
    project.hook(&["preToolUse"], &create("tasks/a/TASK.md", "")).denied();
    project.write(".ralph/config.toml", "allow = 7\n");
    let reason = project.hook(&["preToolUse"], &bash("ls")).denied();
    assert!(reason.contains("config.toml"), "{reason}");
}

/// What the session says of its folder is where relative paths begin, and no more.
#[test]
fn a_folder_that_the_session_names_elsewhere_widens_nothing() {
    let other = Project::repository();
    other.write(".ralph/config.toml", "allow = [\"frobnicate\"]\n");
    let call = |tool: &str, arguments: Value, cwd: &str| {
        json!({ "toolName": tool, "toolArgs": arguments, "cwd": cwd }).to_string()
    };
    let create =
        |path: &str, cwd: &str| call("create", json!({ "path": path, "file_text": "y" }), cwd);
    let run = |line: &str, cwd: &str| call("bash", json!({ "command": line }), cwd);
    let elsewhere = other.root().display().to_string();
    for project in [Project::new(), Project::repository()] {
        for cwd in ["/", "/etc", "/usr", "/usr/local/bin", "/var", "/opt", "/root"] {
            let zz = format!("{cwd}/zz");
            for input in [
                create(&zz, cwd),
                create("zz", cwd),
                run(&format!("echo x > {zz}"), cwd),
                run("echo x > zz", cwd),
                run("touch zz", cwd),
            ] {
                project.hook(&["preToolUse"], &input).denied();
            }
        }
        let own = project.root().display().to_string();
        project.hook(&["preToolUse"], &create(&format!("{own}/new.txt"), "/etc")).assert_allowed();
    }
    let project = Project::repository();
    for input in [run("frobnicate", &elsewhere), create("new.txt", &elsewhere)] {
        project.hook(&["preToolUse"], &input).denied();
    }
    // A hook that is mounted in no repository works for the session's.
    let project = Project::new();
    for input in [run("frobnicate", &elsewhere), create("new.txt", &elsewhere)] {
        project.hook(&["preToolUse"], &input).assert_allowed();
    }
    // A hook that is started in one of the machine's own folders has no workspace.
    for cwd in ["/", "/etc", "/usr/local"] {
        let mut command = std::process::Command::new(project::PROGRAM);
        let audit = project.beside("audit");
        command.args(["-C", cwd, "hook", "preToolUse"]).env("COPILOT_AUDIT_LOG_DIR", audit);
        project.run(command, &create("zz", cwd)).denied();
    }
}

/// The user's home is no workspace, though a session may be in it.
#[test]
fn where_all_that_the_user_has_would_be_the_workspace_nothing_is_written() {
    let project = Project::new();
    let at = project.beside("");
    let call = |tool: &str, arguments: Value| {
        json!({ "toolName": tool, "toolArgs": arguments, "cwd": at }).to_string()
    };
    let profile = call("create", json!({ "path": "home/.profile", "file_text": "x" }));
    project.hook(&["preToolUse"], &profile).denied();
    let redirect = call("bash", json!({ "command": "echo x >> home/.profile" }));
    project.hook(&["preToolUse"], &redirect).denied();
    let list = call("bash", json!({ "command": "ls -la" }));
    project.hook(&["preToolUse"], &list).assert_allowed();
}

#[test]
fn what_is_no_call_is_denied() {
    let project = Project::new();
    for input in [
        "",
        "not json",
        "[]",
        "{}",
        r#"{"toolName":"bash","toolArgs":"ls"}"#,
        r#"{"toolName":"bash","toolArgs":"[1]"}"#,
        r#"{"toolName":"bash","toolArgs":7}"#,
        r#"{"toolArgs":{"command":"ls"}}"#,
        r#"{"toolName":"bash"}"#,
    ] {
        project.hook(&["preToolUse"], input).denied();
    }
    let mut whole = Project::new();
    whole.set("COPILOT_AUDIT_LOG_DIR", whole.beside("audit").display().to_string());
    let reason = whole.hook(&["preToolUse", "{"], "").denied();
    assert!(reason.contains("cannot read"), "{reason}");
}

#[test]
fn a_type_that_is_not_there_is_a_usage_error() {
    let project = Project::new();
    for name in ["foo", "PreToolUse", "pretooluse", "PRETOOLUSE", "sessionStart", ""] {
        let args: &[&str] = if name.is_empty() { &[] } else { &[name] };
        let ended = project.hook(args, "{}");
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{name}");
        let expected = format!("Unknown hook type: {name}\nUsage: ");
        assert!(ended.stderr.contains(&expected), "{}", ended.stderr);
    }
}

#[test]
fn a_claude_hook_is_told_the_call_in_claude_s_words() {
    let project = Project::repository();
    project.script(CORE, TELLS);
    let input = json!({
        "sessionId": "s-1",
        "timestamp": 1_704_614_600_000_u64,
        "cwd": project.root(),
        "toolName": "bash",
        "toolArgs": "{\"command\":\"rm -rf /important\",\"path\":\"/some/file\"}",
    });
    project.hook(&["preToolUse"], &input.to_string()).assert_allowed();
    let told: Value = serde_json::from_str(&project.read("told.json")).expect("JSON");
    assert_eq!(
        told,
        json!({
            "session_id": "s-1",
            "cwd": project.root(),
            "hook_event_name": "PreToolUse",
            "tool_name": "Bash",
            "tool_input": { "command": "rm -rf /important", "path": "/some/file" },
        })
    );
    let view = json!({"toolName": "view", "toolArgs": {"path": "a.txt"}}).to_string();
    project.hook(&["preToolUse"], &view).assert_allowed();
    let told: Value = serde_json::from_str(&project.read("told.json")).expect("JSON");
    assert_eq!(told["tool_name"], "Read");
    assert_eq!(told["tool_input"], json!({ "path": "a.txt", "file_path": "a.txt" }));
}

#[test]
fn the_end_of_a_claude_hook_is_the_decision() {
    let project = Project::repository();
    for (script, reason) in [
        ("exit 0", None),
        ("echo all is well; exit 0", None),
        ("echo 'BLOCKED: not here' >&2; exit 2", Some("BLOCKED: not here")),
        ("echo 'not here' >&2; exit 2", Some("BLOCKED: not here")),
        ("printf 'say \"no\"\\n\\ttwice' >&2; exit 2", Some("BLOCKED: say \"no\"\n\ttwice")),
        (
            "exit 2",
            Some("BLOCKED: the hook `hooks/core/pre-tool-use.sh` denied the call without a reason"),
        ),
        (
            "echo oops >&2; exit 1",
            Some("BLOCKED: the hook `hooks/core/pre-tool-use.sh` ended with exit code 1: oops"),
        ),
        (
            "exit 127",
            Some("BLOCKED: the hook `hooks/core/pre-tool-use.sh` ended with exit code 127"),
        ),
        (
            "kill -KILL $$",
            Some("BLOCKED: the hook `hooks/core/pre-tool-use.sh` was killed by signal 9"),
        ),
        (
            r#"echo '{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"no"}}'"#,
            Some("BLOCKED: no"),
        ),
    ] {
        project.script(CORE, &format!("#!/bin/sh\n{script}\n"));
        let ended = project.hook(&["preToolUse"], &bash("ls"));
        match reason {
            None => ended.assert_allowed(),
            Some(reason) => assert_eq!(ended.denied(), reason, "{script}"),
        }
    }
    project.script(CORE, "#!/bin/sh\necho '{\"decision\":\"ask\",\"reason\":\"sure?\"}'\n");
    let asked = project.hook(&["preToolUse"], &bash("ls")).json();
    assert_eq!((&asked["permissionDecision"], &asked["message"]), (&json!("ask"), &json!("sure?")));
    // A hook that cannot be started is one that fails.
    project.write("hooks/core/pre-tool-use.sh", "#!/no/such/interpreter\n");
    project.hook(&["preToolUse"], &bash("ls")).denied();
}

fn settings(hooks: &Value) -> String {
    json!({ "permissions": { "deny": [] }, "hooks": hooks }).to_string()
}

fn deny_with(matcher: &str, word: &str) -> Value {
    let hook = json!({ "type": "command", "command": format!("echo {word} >&2; exit 2") });
    json!({ "matcher": matcher, "hooks": [hook] })
}

#[test]
fn the_project_s_settings_name_hooks_by_their_matchers() {
    let project = Project::repository();
    let pre =
        json!({ "PreToolUse": [deny_with("Edit|Write", "writes"), deny_with("bash", "shell")] });
    project.write(".claude/settings.json", &settings(&pre));
    let create = json!({"toolName": "create", "toolArgs": {"path": "a", "file_text": ""}});
    let create = create.to_string();
    let view = json!({"toolName": "view", "toolArgs": {"path": "a.txt"}}).to_string();
    assert_eq!(project.hook(&["preToolUse"], &create).denied(), "BLOCKED: writes");
    assert_eq!(project.hook(&["preToolUse"], &bash("ls")).denied(), "BLOCKED: shell");
    project.hook(&["preToolUse"], &view).assert_allowed();
    let local = json!({ "PreToolUse": [deny_with("*", "local")] });
    project.write(".claude/settings.local.json", &settings(&local));
    assert_eq!(project.hook(&["preToolUse"], &view).denied(), "BLOCKED: local");
    // Where none of them looks at a call, the guard does.
    fs::remove_file(project.path(".claude/settings.local.json")).expect("removed");
    let secret = json!({"toolName": "view", "toolArgs": {"path": ".env"}}).to_string();
    assert!(project.hook(&["preToolUse"], &secret).denied().contains("secret.file"));
}

#[test]
fn hooks_of_the_settings_get_the_project_s_folder_and_run_once() {
    let project = Project::repository();
    project.script(CORE, "#!/bin/sh\necho run >> \"$CLAUDE_PROJECT_DIR/runs\"\n");
    let hook = json!({ "type": "command", "command": "\"$CLAUDE_PROJECT_DIR\"/hooks/core/pre-tool-use.sh" });
    let pre = json!({ "PreToolUse": [{ "matcher": "Bash", "hooks": [hook] }] });
    project.write(".claude/settings.json", &settings(&pre));
    // A hook that allows what the guard would not: it is the project's to decide.
    project.hook(&["preToolUse"], &bash("rm -rf x")).assert_allowed();
    assert_eq!(project.read("runs"), "run\n");
    // The script is asked about what no matcher means, too.
    let view = json!({"toolName": "view", "toolArgs": {"path": ".env"}}).to_string();
    project.hook(&["preToolUse"], &view).assert_allowed();
    assert_eq!(project.read("runs"), "run\nrun\n");
    // From a folder below, the project is the same.
    fs::create_dir(project.path("sub")).expect("folder");
    let below = project.path("sub").display().to_string();
    let mut command = std::process::Command::new(project::PROGRAM);
    command.args(["-C", &below, "hook", "preToolUse"]);
    project.run(command, &bash("rm -rf x")).assert_allowed();
    assert_eq!(project.read("runs"), "run\nrun\nrun\n");
}

#[test]
fn settings_that_are_not_understood_deny() {
    let project = Project::repository();
    project.write(".claude/settings.json", "{ \"hooks\": ");
    let reason = project.hook(&["preToolUse"], &bash("ls")).denied();
    assert!(reason.contains(".claude/settings.json"), "{reason}");
}

#[test]
fn a_hook_that_only_claude_can_run_leaves_the_call_to_the_guard() {
    let project = Project::repository();
    let hook = json!({ "type": "prompt", "prompt": "is this safe?" });
    let pre = json!({ "PreToolUse": [{ "hooks": [hook] }] });
    project.write(".claude/settings.json", &settings(&pre));
    project.hook(&["preToolUse"], &bash("ls")).assert_allowed();
    project.hook(&["preToolUse"], &bash("rm -rf x")).denied();
}

#[test]
fn a_hook_that_asks_us_again_gets_the_guard_s_answer() {
    let project = Project::repository();
    project.script(CORE, &format!("#!/bin/sh\nexec '{}' hook preToolUse\n", project::PROGRAM));
    project.hook(&["preToolUse"], &bash("ls")).assert_allowed();
    assert!(project.hook(&["preToolUse"], &bash("rm -rf x")).denied().contains("program.delete"));
}

#[test]
fn a_hook_over_its_limit_denies_and_ends_with_everything_it_started() {
    let project = Project::repository();
    let line = "sleep 600 & echo $! > child; echo $$ > own; wait";
    let hook = json!({ "type": "command", "command": line, "timeout": 1 });
    let pre = json!({ "PreToolUse": [{ "hooks": [hook] }] });
    project.write(".claude/settings.json", &settings(&pre));
    let reason = project.hook(&["preToolUse"], &bash("ls")).denied();
    assert!(reason.contains("did not answer within 1 s"), "{reason}");
    for file in ["child", "own"] {
        assert!(gone(&project.read(file)), "{file} is still there");
    }
}

/// The limit of ours, for a hook that names none: 25 s, below the CLI's 30 s.
#[test]
fn a_hook_without_an_end_denies_before_the_cli_would_let_the_call_pass() {
    let project = Project::repository();
    project.script(CORE, "#!/bin/sh\necho $$ > own\nsleep 600\n");
    let reason = project.hook(&["preToolUse"], &bash("ls")).denied();
    assert!(reason.contains("did not answer within 25 s"), "{reason}");
    assert!(gone(&project.read("own")), "it is still there");
}

#[test]
fn after_a_call_a_line_is_logged_and_git_does_not_see_it() {
    let project = Project::repository();
    let input = json!({
        "timestamp": 1_704_614_700_000_u64,
        "cwd": "/tmp",
        "toolName": "ba\"sh\n",
        "toolArgs": "{}",
        "toolResult": { "resultType": "success", "textResultForLlm": "fine" },
    });
    for _ in 0..2 {
        project.hook(&["postToolUse"], &input.to_string()).assert_allowed();
    }
    let log = project.read("logs/session-events.jsonl");
    assert_eq!(log.lines().count(), 2);
    let line = log.lines().last().expect("a line");
    let mut event: Value = serde_json::from_str(line).expect("JSON");
    let timestamp = event["timestamp"].take();
    let shape: String = timestamp.as_str().expect("a time").chars().map(digit).collect();
    assert_eq!(shape, "0000-00-00T00:00:00Z");
    assert_eq!(
        event,
        json!({
            "timestamp": null, "agent": "copilot", "model": "unknown", "mode": "tool",
            "format": "text", "event": "ba\"sh\n", "status": "success", "attempt": 0,
            "details": { "cwd": "/tmp", "timestamp": 1_704_614_700_000_u64 },
        })
    );
    assert_eq!(project.git(&["status", "--porcelain"]), "");
    // That something ran is logged even where it is not understood.
    project.hook(&["postToolUse"], "not json").assert_allowed();
    let log = project.read("logs/session-events.jsonl");
    let last = log.lines().nth(2).expect("a third line");
    assert!(last.contains(r#""event":"unknown","status":"unknown""#), "{last}");
}

fn digit(letter: char) -> char {
    if letter.is_ascii_digit() { '0' } else { letter }
}

#[test]
fn the_project_s_own_script_writes_the_line_where_it_can() {
    let project = Project::new();
    let writes = "#!/bin/sh\nmkdir -p logs\n\
        echo \"{\\\"agent\\\":\\\"$1\\\",\\\"event\\\":\\\"$5\\\",\\\"n\\\":$#,\\\"details\\\":$8}\" >> logs/session-events.jsonl\n";
    project.script("hooks/core/log-event.sh", writes);
    let input = json!({"toolName": "bash", "cwd": "/w", "toolResult": {"resultType": "success"}});
    project.hook(&["postToolUse"], &input.to_string()).assert_allowed();
    let lines: Vec<Value> = lines(&project.read("logs/session-events.jsonl"));
    let details = json!({ "cwd": "/w", "timestamp": 0 });
    let expected = json!({ "agent": "copilot", "event": "bash", "n": 8, "details": details });
    assert_eq!(lines, [expected]);
    // One that fails, or that pastes what is no JSON, does not lose the line.
    for script in
        ["#!/bin/sh\nexit 1\n", "#!/bin/sh\necho '{\"agent\":' >> logs/session-events.jsonl\n"]
    {
        project.script("hooks/core/log-event.sh", script);
        project.hook(&["postToolUse"], &input.to_string());
        let log = project.read("logs/session-events.jsonl");
        let last: Value = serde_json::from_str(log.lines().last().expect("a line")).expect("JSON");
        assert_eq!((&last["agent"], &last["status"]), (&json!("copilot"), &json!("success")));
    }
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// In a session of a run the runner's own hook decides, which knows the task: only a run that
/// holds the working tree at this moment is one.
#[test]
fn in_a_session_of_a_run_only_the_project_s_hooks_are_asked() {
    let mut project = Project::repository();
    let tick = json!({"path": "tasks/a/TASK.md", "old_str": "- [ ] a", "new_str": "- [x] a"});
    let tick = json!({"toolName": "edit", "toolArgs": tick, "cwd": project.root()}).to_string();
    project.write("tasks/a/TASK.md", "- [ ] a\n");
    project.set("RALPH_RUN_ID", "the-run");
    project.hook(&["preToolUse"], &tick).denied();
    project.write(".ralph/runs/lock", "");
    let at = project.path(".ralph/runs/lock");
    let other = TreeLock::take(&at, "another-run").expect("taken");
    project.hook(&["preToolUse"], &tick).denied();
    drop(other);
    let _run = TreeLock::take(&at, "the-run").expect("taken");
    project.hook(&["preToolUse"], &tick).assert_allowed();
    project.script(CORE, "#!/bin/sh\necho no >&2\nexit 2\n");
    assert_eq!(project.hook(&["preToolUse"], &tick).denied(), "BLOCKED: no");
    // The run watches git's settings: a hook that changed them would be tampering.
    let before = project.read(".git/info/exclude");
    project.hook(&["postToolUse"], "{}").assert_allowed();
    assert!(project.has("logs/session-events.jsonl"));
    assert_eq!(project.read(".git/info/exclude"), before);
}

#[test]
fn every_decision_is_audited_and_what_cannot_be_is_denied() {
    let mut project = Project::repository();
    project.hook(&["preToolUse"], &bash("ls")).assert_allowed();
    project.hook(&["preToolUse"], &bash("git push --force")).denied();
    let folder = project.path(".ralph/audit");
    let files: Vec<_> = fs::read_dir(&folder).expect("audit").flatten().collect();
    let [file] = &files[..] else { panic!("{files:?}") };
    let audit = lines(&fs::read_to_string(file.path()).expect("read"));
    let decisions: Vec<_> =
        audit.iter().map(|line| (&line["hookType"], &line["decision"])).collect();
    let pre = json!("pre_tool_use");
    assert_eq!(decisions, [(&pre, &json!("allow")), (&pre, &json!("deny"))]);
    assert_eq!(project.git(&["status", "--porcelain"]), "");
    project.write("in-the-way", "");
    project.set("COPILOT_AUDIT_LOG_DIR", project.path("in-the-way").display().to_string());
    let reason = project.hook(&["preToolUse"], &bash("ls")).denied();
    assert!(reason.contains("cannot be audited"), "{reason}");
}
