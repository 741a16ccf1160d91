//! What is staged, run as the CLI runs it.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use super::install::{defended, install};
use crate::project::{Answered, Project, bash};

const SCRIPTS: &str = ".claude/tools/amplihack/hooks";

/// A staged project without the XPIA hook, which needs its defender.
fn staged() -> Project {
    let project = Project::repository();
    super::install::hooks(&project, &["install", "--without-xpia"]);
    project
}

/// Runs a staged file by itself, as `"bash": "./…"` does.
fn run(project: &Project, path: &str, args: &[&str], input: &str) -> Answered {
    let mut command = Command::new(project.path(path));
    command.args(args);
    project.run(command, input)
}

fn wrapper(project: &Project, name: &str, input: &str) -> Answered {
    run(project, &format!(".github/hooks/{name}"), &["an argument"], input)
}

/// A Python hook that copies its input and ends with this code.
fn copies(to: &str, code: i32) -> String {
    format!(
        "import sys\nopen({to:?}, 'w').write(sys.stdin.read() + '|' + '|'.join(sys.argv[1:]))\n\
         print('{to}')\nsys.exit({code})\n"
    )
}

#[test]
fn the_scripts_are_valid_for_a_plain_shell() {
    let project = defended();
    install(&project);
    for path in super::install::STAGED.iter().filter(|path| !path.ends_with("json")) {
        let mut command = Command::new(if path.ends_with(".py") { "python3" } else { "sh" });
        let check: &[&str] = if path.ends_with(".py") { &["-m", "py_compile"] } else { &["-n"] };
        command.args(check).arg(path);
        let ended = project.run(command, "");
        assert_eq!(ended.code, Some(0), "{path}: {}", ended.stderr);
    }
}

#[test]
fn a_single_script_gets_all_and_keeps_its_exit_code() {
    let project = staged();
    for (name, script) in
        [("session-start", "session_start.py"), ("post-tool-use", "post_tool_use.py")]
    {
        let nothing = wrapper(&project, name, "{}");
        assert_eq!((nothing.code, nothing.stdout.as_str()), (Some(0), "{}\n"), "{name}");
        project.write(&format!("{SCRIPTS}/{script}"), &copies("told", 3));
        let ended = wrapper(&project, name, "{\"a\": \"b c\\n\"}\n\n");
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(3), "told\n"), "{name}");
        assert_eq!(project.read("told"), "{\"a\": \"b c\\n\"}\n\n|an argument");
    }
}

#[test]
fn of_several_scripts_each_gets_the_whole_input_and_a_failure_stops_none() {
    let project = staged();
    for (name, first, second) in [
        ("session-stop", "stop.py", "session_stop.py"),
        ("user-prompt-submit", "user_prompt_submit.py", "workflow_classification_reminder.py"),
    ] {
        let nothing = wrapper(&project, name, "{}");
        assert_eq!((nothing.code, nothing.stdout.as_str()), (Some(0), ""), "{name}");
        project.write(&format!("{SCRIPTS}/{first}"), &copies("first", 1));
        project.write(&format!("{SCRIPTS}/{second}"), &copies("second", 0));
        // Larger than an argument may be, with what a shell could take for its own.
        let input = format!("-n {{\"p\": \"$HOME `x` \\\\ %s {}\"}}\n\n", "é".repeat(200_000));
        let ended = wrapper(&project, name, &input);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "first\nsecond\n"), "{name}");
        for told in ["first", "second"] {
            assert!(project.read(told) == format!("{input}|an argument"), "{name}: {told}");
        }
    }
}

#[test]
fn the_rust_engine_is_asked_for_what_it_has() {
    let mut project = Project::repository();
    project.set("AMPLIHACK_HOOK_ENGINE", "rust");
    // On this machine the engine is not there yet.
    super::install::hooks(&project, &["export", "--without-xpia"]);
    for script in
        ["session_start.py", "user_prompt_submit.py", "workflow_classification_reminder.py"]
    {
        project.write(&format!("{SCRIPTS}/{script}"), &copies(script, 0));
    }
    assert_eq!(wrapper(&project, "session-start", "x").stdout, "session_start.py\n");
    // Where PATH does not lead, its installers' folders do, in the order of the installation.
    let folders = [(".cargo/bin", "cargo's"), (".amplihack/bin", "its own")];
    for (folder, whose) in folders {
        let folder = project.beside("home").join(folder);
        fs::create_dir_all(&folder).expect("folder");
        project.program("amplihack-hooks", &format!("#!/bin/sh\necho \"{whose} $1 $(cat)\"\n"));
        let native = "amplihack-hooks";
        fs::rename(project.beside("bin").join(native), folder.join(native)).expect("moved");
        let ended = wrapper(&project, "session-start", "x");
        assert_eq!(ended.stdout, format!("{whose} session-start x\n"));
    }
    project.program("amplihack-hooks", "#!/bin/sh\necho \"native $1 $(cat)\"\nexit 4\n");
    let ended = wrapper(&project, "session-start", "x");
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(4), "native session-start x\n"));
    assert_eq!(
        wrapper(&project, "user-prompt-submit", "x").stdout,
        "native user-prompt-submit x\nworkflow_classification_reminder.py\n"
    );
}

#[test]
fn the_pre_tool_use_wrapper_prints_one_object() {
    let project = staged();
    let pre = |project: &Project, input: &str| wrapper(project, "pre-tool-use", input);
    assert_eq!(pre(&project, &bash("pwd")).json(), json!({}));
    assert!(pre(&project, &bash("git push --force")).denied().contains("git.push"));
    pre(&project, "not json").denied();
    let ask = r#"{"permissionDecision":"ask","message":"sure?"}"#;
    project.write(&format!("{SCRIPTS}/pre_tool_use.py"), &format!("print('{ask}')\n"));
    assert_eq!(pre(&project, &bash("pwd")).stdout, format!("{ask}\n"));
    project.write(&format!("{SCRIPTS}/pre_tool_use.py"), "print('{\"block\": true}')\n");
    let said = pre(&project, &bash("pwd")).json();
    assert_eq!(said["message"], "Blocked by amplihack pre-tool-use hook.");
}

#[test]
fn where_the_program_is_gone_calls_are_denied() {
    let project = Project::new();
    super::install::hooks(&project, &["export", "--without-xpia"]);
    let adapter = "hooks/adapters/copilot-adapter.sh";
    wrapper(&project, "pre-tool-use", &bash("pwd")).denied();
    run(&project, adapter, &["preToolUse"], &bash("pwd")).denied();
    let after = run(&project, adapter, &["postToolUse"], "{}");
    assert_eq!((after.code, after.stdout.as_str()), (Some(0), ""));
    // One that dies without an answer has not allowed anything.
    project.program("ralph-copilot", "#!/bin/sh\nexit 1\n");
    wrapper(&project, "pre-tool-use", &bash("pwd")).denied();
    // One that is found in PATH is asked.
    project.program("ralph-copilot", "#!/bin/sh\necho '{\"permissionDecision\":\"ask\"}'\n");
    assert_eq!(wrapper(&project, "pre-tool-use", &bash("pwd")).json()["permissionDecision"], "ask");
}

#[test]
fn both_entrypoints_of_xpia_are_the_same_hook() {
    let project = defended();
    install(&project);
    let call = r#"{"tool_name":"Bash","tool_input":{"command":"pwd"}}"#;
    let folder = ".claude/tools/xpia/hooks";
    let ask = |name: &str, args: &[&str], input: &str| -> Value {
        let mut command = Command::new("python3");
        command.arg(format!("{folder}/{name}")).args(args);
        project.run(command, input).json()
    };
    fs::remove_file(project.beside("bin/xpia-defend")).expect("removed");
    for name in ["pre_tool_use.py", "pre_tool_use_rust.py"] {
        assert_eq!(ask(name, &[], call)["permissionDecision"], "deny", "no defender any more");
        assert_eq!(ask(name, &[], ""), json!({}));
    }
    project
        .program("xpia-defend", "#!/bin/sh\necho '{\"is_valid\":true,\"risk_level\":\"low\"}'\n");
    for name in ["pre_tool_use.py", "pre_tool_use_rust.py"] {
        assert_eq!(ask(name, &[], call), json!({}));
        assert_eq!(ask(name, &[call], "not json"), json!({}));
        let itself = run(&project, &format!("{folder}/{name}"), &[], call);
        assert_eq!(itself.json(), json!({}));
    }
    // Mounted, it is asked before everything else.
    assert_eq!(wrapper(&project, "pre-tool-use", &bash("pwd")).json(), json!({}));
    let high = "#!/bin/sh\necho '{\"is_valid\":false,\"risk_level\":\"high\"}'\n";
    project.program("xpia-defend", high);
    assert!(wrapper(&project, "pre-tool-use", &bash("pwd")).denied().contains("XPIA"));
}

/// The adapter's words: a safe command has no output.
#[test]
fn the_adapter_answers_a_safe_call_with_nothing_whatever_is_staged_beside_it() {
    let project = defended();
    install(&project);
    let adapter =
        |input: &str| run(&project, "hooks/adapters/copilot-adapter.sh", &["preToolUse"], input);
    fs::remove_file(project.beside("bin/xpia-defend")).expect("removed");
    // Without a defender the guard decides, while the wrapper lets nothing pass.
    adapter(&bash("ls -la")).assert_allowed();
    assert!(adapter(&bash("git push --force")).denied().contains("git.push"));
    wrapper(&project, "pre-tool-use", &bash("ls -la")).denied();
    let amplihack = format!("{SCRIPTS}/pre_tool_use.py");
    for (printed, allowed) in [
        ("{}", true),
        ("{\"permissionDecision\": \"allow\"}", true),
        ("{\"permissionDecision\": \"ask\"}", false),
        ("{\"block\": true}", false),
    ] {
        project.write(&amplihack, &format!("print('{printed}')\n"));
        assert_eq!(adapter(&bash("ls -la")).stdout.is_empty(), allowed, "{printed}");
    }
    project.write(&amplihack, "print('{}')\n");
    let high = "#!/bin/sh\necho '{\"is_valid\":false,\"risk_level\":\"high\"}'\n";
    project.program("xpia-defend", high);
    assert!(adapter(&bash("ls -la")).denied().contains("XPIA"));
    // Somebody's own hook of this name is asked whether there is a defender or not.
    std::fs::remove_file(project.beside("bin/xpia-defend")).expect("removed");
    project.write(".claude/tools/xpia/hooks/pre_tool_use.py", "raise SystemExit(1)\n");
    adapter(&bash("ls -la")).denied();
}

#[test]
fn the_staged_adapter_is_the_hook_of_its_project() {
    let project = staged();
    let adapter = "hooks/adapters/copilot-adapter.sh";
    run(&project, adapter, &["preToolUse"], &bash("ls -la")).assert_allowed();
    run(&project, adapter, &["preToolUse"], &bash("rm -rf /")).denied();
    project.script("hooks/core/pre-tool-use.sh", "#!/bin/sh\necho 'BLOCKED: mine' >&2\nexit 2\n");
    assert_eq!(run(&project, adapter, &["preToolUse"], &bash("ls")).denied(), "BLOCKED: mine");
    run(&project, adapter, &["postToolUse"], "{}").assert_allowed();
    assert!(project.has("logs/session-events.jsonl"));
    let unknown = run(&project, adapter, &["invalidHookType"], "");
    assert_eq!(unknown.code, Some(1));
    assert!(unknown.stderr.contains("Unknown hook type: invalidHookType"), "{}", unknown.stderr);
    // The project's own files stayed as they were.
    assert!(!project.has(".claude/settings.json"));
}
