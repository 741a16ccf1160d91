//! `hooks install` and `hooks export`: which files come to be, and which stay as they were.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use serde_json::{Value, json};

use crate::project::{Answered, PROGRAM, Project};

pub(crate) const STAGED: [&str; 9] = [
    ".claude/tools/xpia/hooks/pre_tool_use.py",
    ".claude/tools/xpia/hooks/pre_tool_use_rust.py",
    ".github/hooks/hooks.json",
    ".github/hooks/post-tool-use",
    ".github/hooks/pre-tool-use",
    ".github/hooks/session-start",
    ".github/hooks/session-stop",
    ".github/hooks/user-prompt-submit",
    "hooks/adapters/copilot-adapter.sh",
];

pub(crate) fn hooks(project: &Project, args: &[&str]) -> Answered {
    let mut command = Command::new(PROGRAM);
    command.arg("hooks").args(args);
    project.run(command, "")
}

/// A repository on a machine that has the defender of XPIA.
pub(crate) fn defended() -> Project {
    let project = Project::repository();
    project.program("xpia-defend", "#!/bin/sh\nexit 9\n");
    project
}

#[track_caller]
pub(crate) fn install(project: &Project) -> Value {
    hooks(project, &["install", "--json"]).json()
}

#[test]
fn a_dry_run_says_what_would_be_and_does_nothing() {
    let bare = Project::new();
    bare.program("xpia-defend", "#!/bin/sh\n");
    for project in [bare, defended()] {
        for command in ["install", "export"] {
            let ended = hooks(&project, &[command, "--dry-run"]);
            assert_eq!(ended.code, Some(0), "{ended:?}");
            assert!(
                ended.stdout.contains("Would create .github/hooks/hooks.json\n"),
                "{}",
                ended.stdout
            );
            let said = hooks(&project, &[command, "--dry-run", "--json"]).json();
            assert_eq!(said["created"], json!(STAGED));
            assert_eq!(said["dry_run"], true);
        }
        assert!(!project.has(".github") && !project.has(".claude") && !project.has("hooks"));
    }
}

#[test]
fn everything_is_staged_once() {
    let project = defended();
    let ended = hooks(&project, &["install"]);
    assert!(ended.stdout.contains("✓ Created .github/hooks/hooks.json\n"), "{}", ended.stdout);
    assert!(!ended.stdout.contains("note: "), "{}", ended.stdout);
    for path in STAGED {
        let mode = fs::metadata(project.path(path)).expect(path).permissions().mode();
        assert_eq!(mode & 0o111 != 0, !path.ends_with(".json"), "{path}");
    }
    let before: Vec<String> = STAGED.iter().map(|path| project.read(path)).collect();
    let again = install(&project);
    assert_eq!(again["unchanged"], json!(STAGED));
    assert_eq!(before, STAGED.map(|path| project.read(path)));
    let hooks: Value =
        serde_json::from_str(&project.read(".github/hooks/hooks.json")).expect("JSON");
    assert_eq!(hooks["version"], 1);
    for event in ["preToolUse", "postToolUse"] {
        let hook = &hooks["hooks"][event][0];
        assert_eq!((&hook["type"], &hook["timeoutSec"]), (&json!("command"), &json!(30)));
    }
}

#[test]
fn a_user_s_file_is_never_overwritten() {
    let project = Project::repository();
    let own = [
        ".github/hooks/hooks.json",
        ".github/hooks/session-start",
        "hooks/adapters/copilot-adapter.sh",
    ];
    for path in own {
        project.write(path, "mine");
    }
    let said = install(&project);
    assert_eq!(said["kept"], json!(own));
    let notes = said["notes"].to_string();
    assert!(notes.contains("hooks.json is your own"), "{notes}");
    // What somebody edited is theirs from then on; what nobody did is renewed.
    let edited = project.read(".github/hooks/session-stop") + "# mine\n";
    project.write(".github/hooks/session-stop", &edited);
    let mut project = project;
    project.program("amplihack-hooks", "#!/bin/sh\n");
    project.set("AMPLIHACK_HOOK_ENGINE", "rust");
    let said = install(&project);
    assert_eq!(
        said["updated"],
        json!([
            ".github/hooks/post-tool-use",
            ".github/hooks/pre-tool-use",
            ".github/hooks/user-prompt-submit",
        ])
    );
    assert_eq!(project.read(".github/hooks/session-stop"), edited);
    for path in own {
        assert_eq!(project.read(path), "mine");
    }
    let told = hooks(&project, &["install"]).stdout;
    assert!(told.contains("Left alone hooks/adapters/copilot-adapter.sh"), "{told}");
}

#[test]
fn the_engine_is_a_known_word_in_any_case() {
    for (engine, staged) in [
        ("python", "python"),
        ("PYTHON", "python"),
        ("rust", "rust"),
        ("Rust", "rust"),
        ("auto", "python"),
        ("AUTO", "python"),
        ("", "python"),
    ] {
        let mut project = Project::repository();
        project.set("AMPLIHACK_HOOK_ENGINE", engine);
        if staged == "rust" {
            project.program("amplihack-hooks", "#!/bin/sh\n");
        }
        assert_eq!(install(&project)["engine"], staged, "{engine}");
    }
    let mut native = Project::repository();
    native.program("amplihack-hooks", "#!/bin/sh\n");
    native.set("AMPLIHACK_HOOK_ENGINE", "auto");
    assert_eq!(install(&native)["engine"], "rust");
    let mut unknown = Project::repository();
    unknown.set("AMPLIHACK_HOOK_ENGINE", "ruby");
    let ended = hooks(&unknown, &["install"]);
    assert_eq!(ended.code, Some(7), "{ended:?}");
    assert!(ended.stderr.contains("AMPLIHACK_HOOK_ENGINE=ruby"), "{}", ended.stderr);
    assert!(!unknown.has(".github"));
}

/// The scripts would run in its place, and nothing would say so.
#[test]
fn the_rust_engine_is_refused_where_it_is_missing() {
    let mut project = Project::repository();
    project.set("AMPLIHACK_HOOK_ENGINE", "rust");
    for args in [&["install"][..], &["install", "--dry-run"]] {
        let ended = hooks(&project, args);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(7), ""), "{ended:?}");
        assert!(ended.stderr.contains("`amplihack-hooks` was not found"), "{}", ended.stderr);
        assert!(ended.stderr.contains("\nhint: "), "{}", ended.stderr);
    }
    assert!(!project.has(".github"));
    // Another machine may have it.
    let said = hooks(&project, &["export", "there", "--json"]).json();
    assert_eq!(said["engine"], "rust");
    assert!(said["notes"].to_string().contains("amplihack-hooks"), "{said}");
    project.program("amplihack-hooks", "#!/bin/sh\n");
    assert_eq!(install(&project)["engine"], "rust");
}

/// With the hook and without its defender, every shell command would be denied.
#[test]
fn xpia_is_mounted_only_where_its_defender_is() {
    let project = Project::repository();
    let said = install(&project);
    assert!(said["notes"].to_string().contains("xpia-defend was not found"), "{said}");
    assert!(!project.has(".claude"));
    let mut wrapper = Command::new(project.path(".github/hooks/pre-tool-use"));
    wrapper.current_dir(project.root());
    assert_eq!(project.run(wrapper, &crate::project::bash("pwd")).json(), json!({}));
    project.program("xpia-defend", "#!/bin/sh\nexit 9\n");
    assert_eq!(install(&project)["created"], json!(STAGED[..2]));
    // What is mounted already is renewed, and the reason why nothing passes is named.
    fs::remove_file(project.beside("bin/xpia-defend")).expect("removed");
    let said = install(&project);
    assert_eq!(said["unchanged"], json!(STAGED));
    assert!(said["notes"].to_string().contains("denies every shell command"), "{said}");
}

#[test]
fn a_project_s_own_xpia_hook_stays_alone() {
    let project = Project::repository();
    project.write(STAGED[0], "print('{}')\n");
    for command in ["install", "export"] {
        let said = hooks(&project, &[command, "--json"]).json();
        let notes = said["notes"].to_string();
        assert!(notes.contains("your own and was left alone"), "{notes}");
        assert!(!notes.contains("denies every shell command"), "{notes}");
    }
    project.program("xpia-defend", "#!/bin/sh\nexit 9\n");
    install(&project);
    assert_eq!(project.read(STAGED[0]), "print('{}')\n");
    assert!(!project.has(STAGED[1]));
}

#[test]
fn install_finds_the_repository_and_export_any_folder() {
    let project = Project::repository();
    fs::create_dir(project.path("sub")).expect("folder");
    let mut command = Command::new(PROGRAM);
    command.args(["-C", "sub", "hooks", "install"]);
    assert_eq!(project.run(command, "").code, Some(0));
    assert!(project.has(".github/hooks/hooks.json") && !project.has("sub/.github"));
    let said = hooks(&project, &["export", "new project", "--json"]).json();
    assert_eq!(said["created"], json!(STAGED));
    // What goes to other machines says nothing about this one.
    for path in STAGED {
        let text = project.read(&format!("new project/{path}"));
        assert!(!text.contains(PROGRAM), "{path}");
    }
    assert!(project.read(".github/hooks/pre-tool-use").contains(PROGRAM));
}

#[test]
fn the_xpia_hook_can_be_left_out() {
    let project = Project::repository();
    let said = hooks(&project, &["install", "--without-xpia", "--json"]).json();
    assert_eq!(said["notes"], json!([]));
    assert!(!project.has(".claude"));
}
