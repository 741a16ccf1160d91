//! The XPIA contract, with a defender that says what the test wants.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::project::Project;

/// A project beside a defender that prints this and ends with this code.
fn defended(said: &str, code: i32) -> Project {
    let project = Project::new();
    project.program("xpia-defend", &defender(said, code));
    project
}

fn defender(said: &str, code: i32) -> String {
    format!(
        "#!/bin/sh\nprintf '%s\\n' \"$@\" > \"$HOME/asked\"\ncat <<'SAID'\n{said}\nSAID\nexit {code}\n"
    )
}

fn pwd() -> String {
    json!({
        "tool_name": "Bash",
        "tool_input": { "command": "pwd" },
        "cwd": "/path/to/repo",
        "session_id": "s-1",
    })
    .to_string()
}

const FINE: &str = r#"{"is_valid": true, "risk_level": "none", "threats": [], "recommendations": [], "metadata": {}}"#;

/// The day's audit.
fn audit(project: &Project) -> (String, Vec<Value>) {
    let folder = project.beside("home/.claude/logs/xpia");
    let files: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    let Some(file) = files.first() else { return (String::new(), Vec::new()) };
    assert_eq!(files.len(), 1, "{files:?}");
    let name = file.file_name().expect("a name").to_string_lossy().into_owned();
    let text = fs::read_to_string(file).expect("read");
    (name, text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect())
}

#[test]
fn a_command_that_the_defender_clears_is_allowed_and_audited() {
    let project = defended(FINE, 0);
    assert_eq!(project.hook(&["xpia"], &pwd()).stdout, "{}\n");
    let asked = fs::read_to_string(project.beside("home/asked")).expect("asked");
    assert!(asked.starts_with("validate-bash\n--command\npwd\n"), "{asked}");
    let (name, lines) = audit(&project);
    let shape: String =
        name.chars().map(|letter| if letter.is_ascii_digit() { '0' } else { letter }).collect();
    assert_eq!(shape, "rust_security_00000000.log");
    let [line] = &lines[..] else { panic!("{lines:?}") };
    assert_eq!(
        (&line["event_type"], &line["backend"]),
        (&json!("pre_tool_validation"), &json!("rust"))
    );
    assert!(line["timestamp"].as_str().is_some_and(|at| at.contains('T')), "{line}");
    assert_eq!(
        line["data"],
        json!({
            "command": "pwd", "is_valid": true, "risk_level": "none", "threats": 0,
            "session_id": "s-1",
        })
    );
}

#[test]
fn anything_but_a_plain_yes_denies() {
    let threats = r#"{"is_valid": false, "risk_level": "high", "threats": [{"description": "a pipe to a shell"}]}"#;
    for (said, code) in [
        (threats, 0),
        (threats, 1),
        (r#"{"is_valid": true, "risk_level": "high"}"#, 0),
        (r#"{"is_valid": true, "risk_level": "critical"}"#, 0),
        (r#"{"is_valid": false, "risk_level": "low"}"#, 0),
        (r#"{"is_valid": true, "risk_level": "banana"}"#, 0),
        (r#"{"is_valid": "true", "risk_level": "none"}"#, 0),
        (r#"{"is_valid": true}"#, 0),
        (r#"{"risk_level": "none"}"#, 0),
        ("{}", 0),
        ("", 0),
        ("fine", 0),
        (FINE, 2),
        (FINE, 9),
    ] {
        let project = defended(said, code);
        let reason = project.hook(&["xpia"], &pwd()).denied();
        assert!(reason.contains("XPIA"), "{said}: {reason}");
        let (_, lines) = audit(&project);
        assert_eq!(lines.len(), 1, "{said}");
        assert_eq!(lines[0]["event_type"], "pre_tool_validation");
    }
    let reason = defended(threats, 1).hook(&["xpia"], &pwd()).denied();
    assert!(reason.contains("high") && reason.contains("a pipe to a shell"), "{reason}");
    let killed = Project::new();
    killed.program("xpia-defend", "#!/bin/sh\nkill -KILL $$\n");
    killed.hook(&["xpia"], &pwd()).denied();
}

#[test]
fn a_medium_risk_is_no_reason_to_deny() {
    for risk in ["low", "medium", "MEDIUM"] {
        let said = format!(r#"{{"is_valid": true, "risk_level": "{risk}"}}"#);
        assert_eq!(defended(&said, 0).hook(&["xpia"], &pwd()).stdout, "{}\n", "{risk}");
    }
}

#[test]
fn without_a_defender_no_command_passes() {
    let project = Project::new();
    let reason = project.hook(&["xpia"], &pwd()).denied();
    assert!(reason.contains("xpia-defend was not found"), "{reason}");
    assert_eq!(audit(&project).1[0]["data"]["is_valid"], false);
    // Its installers put it where PATH need not look.
    for folder in [".amplihack/bin", ".cargo/bin"] {
        let found = Project::new();
        let at = found.beside("home").join(folder);
        fs::create_dir_all(&at).expect("folder");
        found.program("xpia-defend", &defender(FINE, 0));
        fs::rename(found.beside("bin/xpia-defend"), at.join("xpia-defend")).expect("moved");
        assert_eq!(found.hook(&["xpia"], &pwd()).stdout, "{}\n", "{folder}");
    }
}

#[test]
fn what_does_not_concern_it_passes_unasked() {
    let project = Project::new();
    for input in [
        "",
        "\n",
        r#"{"tool_name":"Read","tool_input":{"file_path":"x"}}"#,
        r#"{"tool_name":"Edit","tool_input":{"command":"pwd"}}"#,
        r#"{"tool_name":"Bash","tool_input":{"command":""}}"#,
        r#"{"tool_name":"Bash","tool_input":{}}"#,
    ] {
        assert_eq!(project.hook(&["xpia"], input).stdout, "{}\n", "{input}");
    }
    assert_eq!(audit(&project).1.len(), 0);
}

#[test]
fn an_argument_goes_before_standard_input() {
    let project = defended(FINE, 0);
    let read = r#"{"tool_name":"Read","tool_input":{}}"#;
    assert_eq!(project.hook(&["xpia", &pwd()], "not json").stdout, "{}\n");
    assert!(project.beside("home/asked").exists(), "the argument's command was asked about");
    assert_eq!(project.hook(&["xpia", read], &pwd()).stdout, "{}\n");
    project.hook(&["xpia", "not json"], &pwd()).denied();
    project.hook(&["xpia", ""], "[]").denied();
    assert_eq!(project.hook(&["xpia", ""], &pwd()).stdout, "{}\n");
}

#[test]
fn input_that_is_not_understood_denies() {
    let project = defended(FINE, 0);
    for input in [
        "not json",
        "[]",
        r#"{"tool_name":"Bash","tool_input":"pwd"}"#,
        r#"{"tool_name":"Bash","tool_input":{"command":["pwd"]}}"#,
        r#"{"tool_input":{"command":"pwd"}}"#,
    ] {
        project.hook(&["xpia"], input).denied();
    }
}

#[test]
fn an_audit_that_cannot_be_written_denies() {
    let project = defended(FINE, 0);
    fs::write(project.beside("home/.claude"), "in the way").expect("written");
    let reason = project.hook(&["xpia"], &pwd()).denied();
    assert!(reason.contains("audit"), "{reason}");
}

#[test]
fn the_audit_keeps_a_hundred_characters_and_no_secret() {
    let project = defended(FINE, 0);
    let secret = "ghp_0123456789abcdefghijklmnopqrstuvwxyz";
    for command in [format!("echo {} {secret}", "x".repeat(75)), "é".repeat(300)] {
        let input = json!({ "tool_name": "Bash", "tool_input": { "command": command } });
        assert_eq!(project.hook(&["xpia"], &input.to_string()).stdout, "{}\n");
    }
    let (_, lines) = audit(&project);
    let kept: Vec<&str> =
        lines.iter().map(|line| line["data"]["command"].as_str().expect("text")).collect();
    assert!(!kept[0].contains("ghp_"), "{}", kept[0]);
    assert_eq!(kept[1], "é".repeat(100));
}
