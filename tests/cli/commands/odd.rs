//! Odd surroundings: a folder that is gone, no temporary folder, names that no task can
//! have, streams that cannot be read. Each is told with a next step, or makes no difference.

use std::fs::File;
use std::process::Command;

use ralph_copilot::sys::lock::TreeLock;

use crate::repo::{Repo, finish};
use crate::runs::{HONEST, THREE};

const LISTING: &str = r#"{"toolName":"bash","toolArgs":"{\"command\":\"ls\"}"}"#;

#[test]
fn what_init_makes_the_other_commands_take() {
    let repo = Repo::new(THREE);
    let long = "l".repeat(120);
    for name in ["my task", "a\"b", "x~1", "@{", "a\nb", "x.lock", "x.", &long] {
        let ran = repo.ralph(&["init", name]);
        assert_eq!(ran.code, Some(2), "{name:?}: {}", ran.stdout);
        assert!(ran.stderr.contains("is not a valid task name: "), "{}", ran.stderr);
        assert!(ran.stderr.contains("\nhint: "), "{}", ran.stderr);
    }
    assert_eq!(repo.status(), "");
    let ran = repo.ralph(&["check", "my task"]);
    assert!(!ran.stderr.contains("init my task"), "{}", ran.stderr);
}

#[test]
fn what_does_not_exist_is_told_with_what_does() {
    let repo = Repo::new(THREE);
    for (words, code, says) in [
        (
            &["accept", "demo", "99"][..],
            2,
            "error: no criterion on line 99 of the TASK.md of `demo`\nhint: lines with a criterion",
        ),
        (
            &["mcp", "install", "claude", "--allow-task", "nope"],
            7,
            "error: no task named `nope`; available tasks: demo\n",
        ),
    ] {
        let ran = repo.ralph(words);
        assert_eq!(ran.code, Some(code), "{words:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(says), "{words:?}: {}", ran.stderr);
    }
    assert_eq!(repo.status(), "");
    repo.run(HONEST, &[]);
    let ran = repo.ralph(&["log", "--stream", "builds"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""));
    let says = "nothing was pushed to `builds` in this run; its streams: none\n";
    assert_eq!(ran.stderr, says);
}

/// A value may be attached or be a word of its own; a bare option is no value of the next.
#[test]
fn the_value_of_an_option_may_be_the_next_word() {
    let repo = Repo::new(THREE);
    let agent = repo.agent(HONEST);
    let plan = |words: &[&str]| {
        let ran = repo.ralph(&[words, &["--agent", &agent, "--dry-run", "--json"]].concat());
        assert_eq!(ran.code, Some(0), "{words:?}: {}", ran.stderr);
        ran.json()
    };
    for words in [
        &["tasks/demo", "--sandbox", "off", "--gateway", "9401"][..],
        &["--sandbox", "off", "--gateway", "9401", "tasks/demo"],
        &["run", "--sandbox", "off", "tasks/demo", "--gateway=9401"],
    ] {
        assert_eq!(
            plan(words)["gateway"],
            plan(&["tasks/demo", "--gateway=9401"])["gateway"],
            "{words:?}"
        );
    }
    assert_eq!(plan(&["--sandbox", "tasks/demo"])["task"], "demo");
    let ran = repo.ralph(&["tasks/demo", "--sandbox", "ful"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
}

#[test]
fn an_option_that_is_given_twice_is_named() {
    let repo = Repo::new(THREE);
    for words in [&["tasks/demo"][..], &["run", "tasks/demo"], &["doctor", "demo"]] {
        let ran = repo.ralph(&[words, &["--model", "a", "--model", "b"]].concat());
        assert_eq!(ran.code, Some(2), "{words:?}");
        let says = "error: the argument '--model <MODEL>' cannot be used multiple times\n";
        assert!(ran.stderr.starts_with(says), "{words:?}: {}", ran.stderr);
    }
}

#[test]
fn an_unknown_command_names_the_one_that_was_meant() {
    let repo = Repo::new(THREE);
    for (words, says) in [
        (&["chekc", "demo"][..], "error: unknown command `chekc`; did you mean `check`?\n"),
        (
            &["statsu", "demo", "--json"],
            "error: unknown command `statsu`; did you mean `status`?\n",
        ),
        (&["frobnicate", "demo"], "error: unknown command `frobnicate`\n"),
    ] {
        let ran = repo.ralph(words);
        assert_eq!(ran.code, Some(2), "{words:?}");
        assert!(ran.stderr.starts_with(says), "{}", ran.stderr);
    }
    // A word that is not a task may be a mistyped command.
    for words in [&["stauts"][..], &["run", "stauts"]] {
        let ran = repo.ralph(words);
        assert_eq!(ran.code, Some(7), "{}", ran.stderr);
        let error = "error: no task named `stauts`; available tasks: demo\n";
        assert_eq!(ran.stderr, format!("{error}hint: did you mean the command `status`?\n"));
    }
    for words in [&["dmeo"][..], &["check", "dmeo"]] {
        let ran = repo.ralph(words);
        assert!(ran.stderr.ends_with("hint: did you mean the task `demo`?\n"), "{}", ran.stderr);
    }
    let ran = repo.ralph(&["demo", "demo"]);
    assert!(
        !ran.stderr.contains("unknown command") && !ran.stderr.contains("did you mean"),
        "{}",
        ran.stderr
    );
}

#[test]
fn the_folder_of_minus_c_counts_for_every_path() {
    let repo = Repo::new(THREE);
    let beside = repo.beside("").display().to_string();
    let root = repo.root().display().to_string();
    let joined = format!("-C{root}");
    for words in [["-C", &root, "check", "demo"].as_slice(), &[&joined, "check", "demo"]] {
        let mut command = repo.command(words);
        command.current_dir("/");
        let ran = finish(command);
        assert_eq!(ran.code, Some(0), "{words:?}: {}", ran.stderr);
    }
    std::fs::write(repo.beside("script.yaml"), "turns: []\n").expect("written");
    let ran = repo.ralph(&["-C", &beside, "agent", "script.yaml"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let ran = repo.ralph(&["agent", "script.yaml"]);
    assert_eq!(ran.code, Some(7), "{}", ran.stderr);
    assert!(ran.stderr.contains("\nhint: "), "{}", ran.stderr);
    let ran = repo.ralph(&["-C", &beside, "demo", "made here", "--json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(repo.beside("made here/tasks/hello").is_dir());
    assert!(ran.stderr.contains("made here' log --oneline"), "{}", ran.stderr);
    let ran = repo.ralph(&["-C", "/no such folder", "check", "demo"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains("\nhint: "), "{}", ran.stderr);
}

/// A shell stands in a folder that somebody else has removed.
#[test]
fn a_folder_that_is_gone() {
    let repo = Repo::new(THREE);
    let gone = repo.beside("gone");
    let from_there = |words: &str| {
        std::fs::create_dir(&gone).expect("made");
        let ours = repo.command(&[]);
        let script = format!("rmdir '{}' && exec \"$0\" {words}", gone.display());
        let mut command = Command::new("sh");
        command.arg("-c").arg(script).arg(ours.get_program()).current_dir(&gone);
        command.envs(ours.get_envs().filter_map(|(name, value)| Some((name, value?))));
        finish(command)
    };
    let ran = from_there("check demo");
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains("current folder"), "{}", ran.stderr);
    assert!(ran.stderr.contains("\nhint: "), "{}", ran.stderr);
    let ran = from_there(&format!("-C '{}' check demo", repo.root().display()));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}

/// A variable that is set to nothing is as good as none: it names no folder.
#[test]
fn an_empty_tmpdir_is_none() {
    let repo = Repo::new(THREE);
    let mut command = repo.run_command(HONEST, &["--json"]);
    command.env("TMPDIR", "");
    let ran = finish(command);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(repo.status(), "");
    let mut command = repo.command(&["demo", "--json"]);
    command.env("TMPDIR", "");
    let ran = finish(command);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(repo.status(), "");
    let (_, kept) = ran.stderr.split_once("git -C ").expect("where it is");
    let kept = kept.split(' ').next().expect("a folder");
    assert!(kept.contains("/ralph-demo-"), "{kept}");
    std::fs::remove_dir_all(kept).expect("removed");
}

#[test]
fn a_tmpdir_that_is_of_no_use_is_told_of() {
    let repo = Repo::new(THREE);
    let long = repo.beside(&"l".repeat(100));
    std::fs::create_dir(&long).expect("made");
    for folder in [&repo.beside("missing"), &long] {
        let mut command = repo.run_command(HONEST, &[]);
        command.env("TMPDIR", folder);
        let ran = finish(command);
        assert_eq!(ran.code, Some(11), "{}", ran.stderr);
        assert!(ran.stderr.contains("\nhint: "), "{}", ran.stderr);
        assert!(ran.stderr.contains("TMPDIR"), "{}", ran.stderr);
    }
}

/// What a person set for their runs is not for the demo's agent, which is a script.
#[test]
fn the_demo_is_driven_over_acp_whatever_is_set() {
    let repo = Repo::empty();
    let mut command = repo.command(&["demo", "made", "--json"]);
    command.env("RALPH_COPILOT_VIA", "cli");
    let ran = finish(command);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}

/// A run's surroundings: a Copilot CLI that is never reached, and a provider's settings.
const PROVIDER: [(&str, &str); 2] =
    [("COPILOT_CLI_PATH", "/usr/bin/true"), ("COPILOT_BYOK_PROVIDER", "nobody")];

#[test]
fn a_dry_run_refuses_a_provider_that_a_run_refuses() {
    let repo = Repo::new(THREE);
    let refused = |words: &[&str]| {
        let mut command = repo.command(words);
        command.envs(PROVIDER);
        let ran = finish(command);
        (ran.code, ran.stderr)
    };
    let run = refused(&["run", "demo"]);
    assert_eq!(run.0, Some(7), "{}", run.1);
    assert_eq!(refused(&["run", "demo", "--dry-run"]), run);
}

#[test]
fn a_dry_run_ends_as_a_run_would_if_every_open_criterion_is_blocked() {
    let repo = Repo::new(THREE);
    let state = serde_json::json!({ "version": 1, "iteration": 6, "criteria": [
        { "text": "a is there", "attempts": 3, "blocked": true },
        { "text": "b is there", "attempts": 3, "blocked": true },
    ]});
    repo.write("tasks/demo/state.json", state.to_string());
    repo.commit("stuck");
    // One criterion is left to work on.
    let dry = finish(repo.run_command(HONEST, &["--dry-run"]));
    assert_eq!(dry.code, Some(0), "{}", dry.stderr);
    assert!(dry.stdout.contains("Focus on: c is there"), "{}", dry.stdout);
    repo.write("tasks/demo/TASK.md", THREE.replace("[ ] c is", "[x] c is"));
    repo.commit("ticked");
    let dry = finish(repo.run_command(HONEST, &["--dry-run"]));
    assert_eq!(dry.code, Some(4), "{}", dry.stdout);
    assert!(
        dry.stdout.contains("stuck: `a is there`, `b is there`")
            && dry.stdout.contains("ralph-copilot retry demo"),
        "{}",
        dry.stdout
    );
    let object = finish(repo.run_command(HONEST, &["--dry-run", "--json"]));
    assert_eq!(object.code, Some(4), "{}", object.stderr);
    assert_eq!(object.json()["blocked"], serde_json::json!(["a is there", "b is there"]));
    assert_eq!(finish(repo.run_command(HONEST, &[])).code, Some(4));
}

/// What is refused at the start of a run is refused before it.
#[test]
fn a_dry_run_refuses_what_a_run_refuses() {
    let repo = Repo::new(THREE);
    for (flags, code) in
        [(&["--require-checks", "--no-baseline"][..], Some(2)), (&["--protect", "["], Some(7))]
    {
        let run = finish(repo.run_command(HONEST, flags));
        let flags = [flags, &["--dry-run"]].concat();
        let dry = finish(repo.run_command(HONEST, &flags));
        assert_eq!((run.code, run.stderr.as_str()), (code, dry.stderr.as_str()), "{flags:?}");
        assert_eq!(dry.code, code, "{flags:?}");
    }
}

/// Text of files, agents and commands does not steer the terminal; JSON says what it is.
#[test]
fn what_would_steer_a_terminal_is_shown_as_its_picture() {
    let repo = Repo::new("# T\n\n- [ ] a \u{1b}[31mred\u{7} \u{9b}31mb\n");
    for words in [["check", "demo"], ["status", "demo"]] {
        let ran = repo.ralph(&words);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert!(ran.stdout.contains("a ␛[31mred␇ \u{fffd}31mb"), "{:?}", ran.stdout);
    }
    let told = repo.ralph(&["check", "demo", "--json"]).json();
    assert_eq!(told["criteria"][0]["text"], "a \u{1b}[31mred\u{7} \u{9b}31mb");
}

#[test]
fn a_task_without_criteria_has_no_line_to_tick() {
    let ran = Repo::new("# nothing\n").ralph(&["tick", "demo", "1"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains("\nhint: the file has no criteria"), "{}", ran.stderr);
}

#[test]
fn a_standard_input_that_cannot_be_read_is_told_of() {
    let repo = Repo::new(THREE);
    for words in [&["redact"][..], &["classify"], &["policy", "check", "--stdin"]] {
        let mut command = repo.command(words);
        command.stdin(File::open("/").expect("a folder"));
        let ran = finish(command);
        assert_eq!(ran.code, Some(2), "{words:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("cannot read standard input"), "{}", ran.stderr);
        assert!(ran.stderr.contains("\nhint: "), "{}", ran.stderr);
    }
}

#[test]
fn doctor_says_how_to_get_a_branch_with_a_commit() {
    let ran = Repo::empty().ralph(&["doctor", "--agent", "true"]);
    assert_eq!(ran.code, Some(8), "{}", ran.stdout);
    assert!(ran.stdout.contains("on no branch with a commit\n  "), "{}", ran.stdout);
    let (_, after) = ran.stdout.split_once("with a commit\n").expect("the finding");
    assert!(after.trim_start().starts_with('→'), "{}", ran.stdout);
}

/// The audit's folder is named by a path with `..` or a link in it: it is the same folder.
#[test]
fn an_audit_in_the_repository_is_out_of_git_s_sight_however_it_is_named() {
    let repo = Repo::new(THREE);
    std::os::unix::fs::symlink(repo.root(), repo.beside("link")).expect("linked");
    let roundabout = repo.beside("repo/../repo/roundabout");
    for folder in [roundabout, repo.beside("link/linked")] {
        let mut command = repo.run_command(HONEST, &["--json", "--max-iterations", "1"]);
        command.env("COPILOT_AUDIT_LOG_DIR", &folder);
        let ran = finish(command);
        assert_eq!(ran.code, Some(3), "{}", ran.stderr);
        assert!(folder.is_dir());
        assert_eq!(repo.status(), "");
    }
    let mut command = repo.run_command(HONEST, &[]);
    command.env("COPILOT_AUDIT_LOG_DIR", repo.root());
    let ran = finish(command);
    assert_eq!(ran.code, Some(7), "{}", ran.stderr);
    assert!(ran.stderr.contains("\nhint: "), "{}", ran.stderr);
}

/// A run watches git's settings: whatever else is started here leaves them as they are.
#[test]
fn while_a_run_works_here_git_s_settings_stay() {
    let repo = Repo::with(THREE, &[(".claude/agents/mine.md", "# mine\n")]);
    repo.write(".ralph/runs/lock", "");
    let _run = TreeLock::take(&repo.path(".ralph/runs/lock"), "the-run").expect("taken");
    let before = repo.read(".git/info/exclude");
    let mut second = repo.run_command(HONEST, &[]);
    second.env("COPILOT_AUDIT_LOG_DIR", repo.path("elsewhere"));
    let ran = finish(second);
    assert_eq!(ran.code, Some(9), "{}", ran.stderr);
    // A human's own session, with the hooks installed.
    let ran = repo.ralph(&["hook", "preToolUse", LISTING]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{}", ran.stderr);
    let mut launch = repo.command(&["copilot", "--no-guard", "--", "--version"]);
    launch.env("COPILOT_CLI_PATH", "/usr/bin/true");
    let ran = finish(launch);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("is working in this repository: nothing was staged"),
        "{}",
        ran.stderr
    );
    assert!(!repo.path(".github").exists());
    assert_eq!(repo.read(".git/info/exclude"), before);
}

#[test]
fn what_cannot_be_written_or_is_not_there_comes_with_a_next_step() {
    let repo = Repo::new(THREE);
    for (words, code) in [
        (&["demo", "README.md/sub"][..], 11),
        (&["hooks", "export", "README.md/sub"], 11),
        (&["log", "../x"], 2),
        (&["log", "x"], 2),
        (&["log"], 2),
        (&["retry", "demo", "7"], 2),
    ] {
        let ran = repo.ralph(words);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(code), ""), "{words:?}");
        assert!(ran.stderr.starts_with("error: "), "{words:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("\nhint: "), "{words:?}: {}", ran.stderr);
    }
}
