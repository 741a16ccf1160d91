//! Two stacks of real scripts, one answer.

use serde_json::{Value, json};

use crate::project::{Project, bash};

const XPIA: &str = ".claude/tools/xpia/hooks/pre_tool_use.py";
const AMPLIHACK: &str = ".claude/tools/amplihack/hooks/pre_tool_use.py";

/// A Python hook that prints this text and ends with this code.
fn prints(text: &str, code: i32) -> String {
    let text = Value::from(text);
    format!("import sys\nsys.stdin.read()\nsys.stdout.write({text})\nsys.exit({code})\n")
}

/// One that prints it in another encoding.
fn encoded(text: &str, encoding: &str) -> String {
    let text = Value::from(text);
    format!("import sys\nsys.stdin.read()\nsys.stdout.buffer.write({text}.encode('{encoding}'))\n")
}

/// A project whose two hooks print this; none is a script that is not there.
fn stacked(xpia: Option<&str>, amplihack: Option<&str>) -> Project {
    let project = Project::repository();
    for (path, text) in [(XPIA, xpia), (AMPLIHACK, amplihack)] {
        if let Some(text) = text {
            project.write(path, &prints(text, 0));
        }
    }
    project
}

/// The bare output for a harmless call.
#[track_caller]
fn output(project: &Project) -> String {
    let ended = project.hook(&["preToolUse"], &bash("pwd"));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    ended.stdout.trim_end().to_owned()
}

#[test]
fn the_four_rows() {
    let payload = |decision: &str, by: &str| {
        format!("{{\"message\": \"{by}\", \"permissionDecision\":\"{decision}\",  \"x\": 1}}")
    };
    for decision in ["allow", "deny", "ask"] {
        let (x, a) = (payload(decision, "xpia"), payload("deny", "amplihack"));
        for amplihack in [None, Some(a.as_str()), Some("{\"block\": true}"), Some("{}")] {
            assert_eq!(output(&stacked(Some(&x), amplihack)), x, "row 1: {amplihack:?}");
        }
        let a = payload(decision, "amplihack");
        for xpia in [None, Some("{}"), Some(""), Some("{\"permissionDecision\": \"maybe\"}")] {
            assert_eq!(output(&stacked(xpia, Some(&a))), a, "row 2: {xpia:?}");
        }
    }
    for (block, message) in [
        (json!({ "block": true, "message": "not here" }), "not here"),
        (json!({ "block": true }), "Blocked by amplihack pre-tool-use hook."),
    ] {
        let answer: Value =
            serde_json::from_str(&output(&stacked(Some("{}"), Some(&block.to_string()))))
                .expect("JSON");
        assert_eq!(answer["permissionDecision"], "deny", "row 3");
        assert_eq!(answer["message"], message, "row 3");
        assert_eq!(answer["permissionDecisionReason"], format!("BLOCKED: {message}"), "row 3");
    }
    for (xpia, amplihack) in [
        (Some("{}"), Some("{}")),
        (Some("{}"), None),
        (None, Some("{}")),
        (Some(""), Some("checked\n")),
        (Some("{\"block\": true}"), Some("{\"block\": false}")),
    ] {
        assert_eq!(output(&stacked(xpia, amplihack)), "{}", "row 4: {xpia:?} {amplihack:?}");
    }
}

#[test]
fn of_what_a_hook_prints_the_last_decision_wins_and_a_deny_survives() {
    let allow = r#"{"permissionDecision":"allow"}"#;
    let deny = r#"{"permissionDecision":"deny","message":"no"}"#;
    let pretty = "{\n  \"permissionDecision\": \"deny\",\n  \"message\": \"no\"\n}";
    for (printed, wins) in [
        (format!("{allow}\n{{}}\nchecked\n"), allow),
        (format!("{deny}\n{allow}\n"), deny),
        (format!("{allow}\n{deny}\n"), deny),
        (format!("{pretty}\n"), pretty),
        (format!("checking\n{pretty}\n{allow}\n"), pretty),
        (r#"{"permissionDecision":" DENY","message":"no"}"#.to_owned(), deny),
        (format!("{{\"permissionDecision\":\"Ask\"}}\n{allow}\n{{torn\n"), allow),
    ] {
        assert_eq!(output(&stacked(Some(&printed), None)), wins, "{printed}");
        assert_eq!(output(&stacked(None, Some(&printed))), wins, "{printed}");
    }
}

#[test]
fn a_hook_that_fails_denies() {
    let allow = r#"{"permissionDecision":"allow"}"#;
    let deny = r#"{"permissionDecision":"deny","message":"mine"}"#;
    for path in [XPIA, AMPLIHACK] {
        let project = Project::repository();
        for script in [
            prints(allow, 1),
            prints("", 2),
            prints("{\"permissionDecision\": \"den", 0),
            // With a mark of byte order, in capitals, in UTF-16, in Latin-1.
            prints(
                "\u{feff}{\"permissionDecision\": \"deny\", \"message\": \"BLOCKED: no\", \"permissionDecisionReason\": \"BLOCKED: no\"}",
                0,
            ),
            prints(
                "{\"permissionDecision\": \"DENY\", \"message\": \"BLOCKED: no\", \"permissionDecisionReason\": \"BLOCKED: no\"}",
                0,
            ),
            encoded(deny, "utf-16"),
            encoded(deny, "utf-16-le"),
            encoded("{\"permissionDecision\": \"d\u{e9}ny\"}", "latin-1"),
            "import no_such_module\n".to_owned(),
            "this is no Python\n".to_owned(),
        ] {
            project.write(path, &script);
            project.hook(&["preToolUse"], &bash("pwd")).denied();
        }
        project.write(path, &prints(deny, 1));
        assert_eq!(output(&project), deny, "its own words are kept");
    }
    // XPIA is in control of what it decides explicitly.
    let project = stacked(Some(allow), None);
    project.write(AMPLIHACK, &prints("", 1));
    assert_eq!(output(&project), allow);
}

#[test]
fn what_neither_decides_is_decided_as_if_they_were_not_there() {
    let project = stacked(Some("{}"), Some("{}"));
    let reason = project.hook(&["preToolUse"], &bash("rm -rf /important")).denied();
    assert!(reason.contains("program.delete"), "{reason}");
    project.script("hooks/core/pre-tool-use.sh", "#!/bin/sh\necho no >&2\nexit 2\n");
    assert_eq!(project.hook(&["preToolUse"], &bash("pwd")).denied(), "BLOCKED: no");
}

#[test]
fn both_are_told_the_call_by_both_worlds_names() {
    let project = Project::repository();
    let keeps = "#!/bin/sh\ncat > \"$CLAUDE_PROJECT_DIR/told-$(basename \"$(dirname \"$(dirname \"$0\")\")\")\"\n";
    // A script that names its interpreter and may be executed is run by that.
    project.script(XPIA, keeps);
    project.script(AMPLIHACK, keeps);
    assert_eq!(output(&project), "{}");
    for stack in ["xpia", "amplihack"] {
        let told: Value =
            serde_json::from_str(&project.read(&format!("told-{stack}"))).expect("JSON");
        assert_eq!((&told["tool_name"], &told["toolName"]), (&json!("Bash"), &json!("bash")));
        assert_eq!(told["tool_input"], json!({ "command": "pwd" }));
        assert_eq!(told["toolArgs"], json!("{\"command\":\"pwd\"}"));
    }
}

#[test]
fn the_engine_chooses_whose_amplihack_hook_is_asked() {
    let script = r#"{"permissionDecision":"ask","message":"script"}"#;
    let native = r#"{"permissionDecision":"ask","message":"native pre-tool-use"}"#;
    let by = |engine: &str| {
        let mut project = stacked(None, Some(script));
        project.program(
            "amplihack-hooks",
            "#!/bin/sh\nprintf '{\"permissionDecision\":\"ask\",\"message\":\"native %s\"}\\n' \"$1\"\n",
        );
        project.set("AMPLIHACK_HOOK_ENGINE", engine);
        project
    };
    for (engine, said) in [
        ("rust", native),
        ("RUST", native),
        ("python", script),
        ("Python", script),
        ("auto", script),
    ] {
        assert_eq!(output(&by(engine)), said, "{engine}");
    }
    // What the Rust engine has needs no script; what it has not, nobody asks.
    let mut bare = stacked(None, None);
    bare.set("AMPLIHACK_HOOK_ENGINE", "rust");
    bare.hook(&["preToolUse"], &bash("pwd")).assert_allowed();
    let mut bare = by("rust");
    std::fs::remove_file(bare.path(AMPLIHACK)).expect("removed");
    assert_eq!(output(&bare), native);
    bare.set("AMPLIHACK_HOOK_ENGINE", "auto");
    bare.hook(&["preToolUse"], &bash("pwd")).assert_allowed();
    let reason = by("ruby").hook(&["preToolUse"], &bash("pwd")).denied();
    assert!(reason.contains("AMPLIHACK_HOOK_ENGINE=ruby"), "{reason}");
}
