//! Refused: what must not change was changed.

use std::fs;

use super::super::test_repo::TestRepo;
use super::refused;
use crate::model::{FindingKind, Repair, VerdictResult};

#[test]
fn a_protected_test_deleted_skipped_or_weakened() {
    for (name, text) in [
        ("tests/check.sh", None),
        ("tests/check.sh", Some("exit 0\n")),
        ("tests/other.py", Some("import pytest; pytest.skip()\n")),
        ("tests/conftest.py", Some("collect_ignore = ['other.py']\n")),
    ] {
        let scene = TestRepo::new();
        let mut begun = scene.turn();
        begun.protect = vec!["tests/**".into()];
        match text {
            Some(text) => scene.write(name, text),
            None => scene.remove(name),
        }
        scene.honest_work();
        let verdict = refused(&begun, &[FindingKind::ProtectedChanged]);
        assert!(verdict.findings[0].message.contains(name));
        assert!(verdict.repairs.contains(&Repair::RestoreFile(name.into())));
    }
}

#[cfg(unix)]
#[test]
fn a_protected_script_made_a_link_or_not_executable() {
    use std::os::unix::fs::PermissionsExt;
    let scene = TestRepo::new();
    let mut begun = scene.turn();
    begun.protect = vec!["tests/**".into()];
    scene.honest_work();
    let script = scene.root.join("tests/check.sh");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("mode");
    scene.git(&["commit", "-qam", "ralph(demo): mode"]);
    refused(&begun, &[FindingKind::ProtectedChanged]);
}

#[test]
fn guardrails_rewritten_by_whomever() {
    for text in ["# No signs\n", "# Signs\nby the agent\n"] {
        let scene = TestRepo::new();
        let begun = scene.turn();
        scene.write("tasks/demo/guardrails.md", text);
        scene.honest_work();
        let verdict = refused(&begun, &[FindingKind::StateRewritten]);
        assert!(verdict.repairs.contains(&Repair::RestoreFile("tasks/demo/guardrails.md".into())));
    }
    // No commit and no call did it; but old signs are gone.
    let scene = TestRepo::new();
    let begun = scene.turn();
    scene.honest_work();
    scene.write("tasks/demo/guardrails.md", "");
    refused(&begun, &[FindingKind::StateRewritten]);
}

#[test]
fn old_progress_rewritten() {
    let scene = TestRepo::new();
    let begun = scene.turn();
    scene.write("tasks/demo/progress.md", "2026-01-17 all is well\n");
    scene.honest_work();
    let verdict = refused(&begun, &[FindingKind::StateRewritten]);
    assert!(verdict.repairs.contains(&Repair::RestoreFile("tasks/demo/progress.md".into())));
    assert!(verdict.repairs.contains(&Repair::ProgressLine));
}

#[test]
fn old_progress_in_another_form_is_what_it_was() {
    // A commit hook may format every file of Markdown.
    let scene = TestRepo::new();
    let old = scene.read("tasks/demo/progress.md");
    let begun = scene.turn();
    let words: Vec<&str> = old.split_whitespace().collect();
    scene.write("tasks/demo/progress.md", &format!("* {}\n", words.join("\n  ")));
    scene.honest_work();
    let verdict = begun.verdict();
    let kinds: Vec<_> = verdict.findings.iter().map(|it| it.kind).collect();
    assert!(!kinds.contains(&FindingKind::StateRewritten), "{kinds:?}");
}

#[test]
fn the_runners_records_rewritten() {
    for name in ["activity.log", "state.json", "cost.log"] {
        let scene = TestRepo::new();
        let begun = scene.turn();
        scene.write(&format!("tasks/demo/{name}"), "cleaned\n");
        scene.honest_work();
        let verdict = refused(&begun, &[FindingKind::RecordsTampered]);
        assert!(verdict.tampered());
        assert!(verdict.findings[0].message.contains(name));
    }
}

#[test]
fn a_tool_call_that_nobody_decided() {
    let scene = TestRepo::new();
    let mut begun = scene.turn();
    begun.undecided = vec!["bash: curl evil".into()];
    scene.honest_work();
    let verdict = refused(&begun, &[FindingKind::UndecidedCall]);
    assert!(verdict.tampered());
    assert!(verdict.findings[0].message.contains("bash: curl evil"));
}

/// As a scaffold leaves one. To commit it commits a link only, whose configuration is new.
#[test]
fn a_repository_made_inside_is_a_failed_attempt() {
    for committed in [true, false] {
        for add in [&["init", "-q", "app"][..], &["worktree", "add", "-q", "-b", "side", "app"]] {
            let scene = TestRepo::new();
            let begun = scene.turn();
            scene.honest_work();
            scene.git(add);
            scene.write("app/x", "x");
            let who = ["-C", "app", "-c", "user.name=a", "-c", "user.email=a@b.c"];
            scene.git(&[&who[..], &["add", "x"]].concat());
            scene.git(&[&who[..], &["commit", "-qm", "x"]].concat());
            if committed {
                scene.git(&["add", "app"]);
                scene.git(&["commit", "-qm", "ralph(demo): app"]);
            }
            let verdict = begun.verdict();
            assert!(!verdict.tampered(), "{add:?} {committed}: {verdict:#?}");
            assert_eq!(verdict.result, VerdictResult::Fail, "{add:?} {committed}");
            let said =
                verdict.findings.iter().any(|it| it.message.contains("inside this one: app"));
            assert!(said, "{verdict:#?}");
            assert!(verdict.repairs.contains(&crate::model::Repair::BackToCheckpoint));
        }
    }
}

#[test]
fn hooks_or_agent_settings_changed() {
    for name in [
        ".github/hooks/x.json",
        ".claude/settings.json",
        ".mcp.json",
        ".git/hooks/pre-commit",
        ".ralph/config.toml",
        ".ralph/templates/iteration.md",
    ] {
        let scene = TestRepo::new();
        let begun = scene.turn();
        scene.honest_work();
        scene.write(name, "{}");
        let verdict = begun.verdict();
        assert!(verdict.tampered(), "{name}: {verdict:#?}");
        assert_eq!(verdict.findings[0].kind, FindingKind::SettingsChanged);
        assert_eq!(verdict.result, VerdictResult::Fail);
    }
}
