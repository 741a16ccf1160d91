//! `copilot -- ARGS` as a process: what it prints, what it refuses, and that it is
//! transparent for the CLI's exit status and for signals. The CLI is a script here, since
//! no real one ends with a status that it is told.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// A repository, a home, and a script that stands for the CLI.
struct Scene {
    dir: TempDir,
}

impl Scene {
    fn new(script: &str) -> Self {
        let scene = Self { dir: TempDir::new().expect("temp dir") };
        for folder in ["repo", "home", "tmp"] {
            fs::create_dir(scene.path(folder)).expect("folder");
        }
        let cli = scene.path("copilot");
        fs::write(&cli, format!("#!/bin/sh\n{script}\n")).expect("script");
        fs::set_permissions(&cli, fs::Permissions::from_mode(0o755)).expect("executable");
        let git =
            Command::new("git").args(["init", "-qb", "main"]).arg(scene.path("repo")).status();
        assert!(git.expect("git").success());
        scene
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().expect("canonical").join(name)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ralph-copilot"));
        command
            .arg("copilot")
            .args(words)
            .current_dir(self.path("repo"))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").expect("PATH"))
            .env("HOME", self.path("home"))
            .env("TMPDIR", self.path("tmp"))
            .env("COPILOT_CLI_PATH", self.path("copilot"));
        command
    }

    fn run(&self, words: &[&str]) -> Output {
        self.command(words).output().expect("started")
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A program that says how its hook was called, so that the guard counts as in force.
const GREETS: &str = r#"
for word; do case $last in --plugin-dir) plugin=$word;; esac; last=$word; done
socket=$(grep -o '"--socket","[^"]*"' "$plugin/hooks.json" | head -1 | cut -d'"' -f4)
runner=$(grep -o '"exec":"[^"]*"' "$plugin/hooks.json" | head -1 | cut -d'"' -f4)
echo '{"sessionId":"s","prompt":"hi"}' | "$runner" hook userPromptSubmitted --socket "$socket" >&2
"#;

#[test]
fn print_shows_the_arguments_as_json_and_needs_no_cli() {
    let scene = Scene::new("exit 9");
    fs::remove_file(scene.path("copilot")).expect("remove");
    let print = |words: &[&str]| -> Vec<String> {
        let output = scene.run(words);
        assert!(output.status.success(), "{}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).expect("a JSON array")
    };
    assert_eq!(
        print(&[
            "--print",
            "--no-guard",
            "--",
            "-p",
            "user",
            "--system-prompt=sys",
            "--model",
            "m"
        ]),
        ["--allow-all-tools", "--allow-all-paths", "--model", "m", "-p", "sys\n\nuser"]
    );
    assert_eq!(print(&["--print", "--no-guard"]), ["--allow-all-tools", "--allow-all-paths"]);
    let behind = print(&["--no-guard", "--print", "--", "-p", "x", "--", "--yolo"]);
    assert_eq!(behind, ["--allow-all-tools", "--allow-all-paths", "-p", "x", "--", "--yolo"]);
    // Without `--` the CLI's arguments begin with the first word that is no flag of ours.
    let bare = print(&["--print", "--no-guard", "--add-dir", "d", "-p", "x", "--print", "--", "y"]);
    let all = ["--allow-all-tools", "--allow-all-paths"];
    assert_eq!(bare, [&all[..], &["--add-dir", "d", "--print", "-p", "x", "--", "y"]].concat());
    let mut hidden = scene.command(&["--print", "--", "-p", "hi"]);
    let hidden = hidden.env("COPILOT_PROVIDER_API_KEY", "sk-1").output().expect("started");
    assert!(text(&hidden.stdout).contains("\"--secret-env-vars=COPILOT_PROVIDER_API_KEY\",\"-p\""));
    assert!(!text(&hidden.stdout).contains("sk-1"));
    let guarded = print(&["--print", "--", "--allow-all-tools", "-p", "hi"]);
    assert_eq!(guarded[0], "--plugin-dir");
    assert_eq!(guarded[2..], ["-p", "hi"]);
    assert_eq!(fs::read_dir(scene.path("tmp")).expect("tmp").count(), 0);
}

#[test]
fn without_the_guard_the_cli_takes_the_place_of_this_process() {
    let scene = Scene::new("printf '%s\\n' \"$@\"; echo \"depth $RALPH_COPILOT_DEPTH\"; exit 7");
    let output = scene.run(&["--no-guard", "--", "-p", "hi", "-x"]);
    assert_eq!(output.status.code(), Some(7), "{}", text(&output.stderr));
    let want = "--allow-all-tools\n--allow-all-paths\n-x\n-p\nhi\ndepth 1\n";
    assert_eq!(text(&output.stdout), want);
}

#[test]
fn the_exit_status_of_the_cli_is_passed_on() {
    for (script, code) in [
        (format!("{GREETS}exit 0"), 0),
        (format!("{GREETS}exit 42"), 42),
        (format!("{GREETS}kill -TERM $$"), 143),
        // One that fails before any hook has failed by itself, as one without a login does.
        ("exit 7".to_owned(), 7),
        ("exit 125".to_owned(), 125),
        ("kill -TERM $$".to_owned(), 143),
        ("kill -KILL $$".to_owned(), 137),
    ] {
        let scene = Scene::new(&script);
        let output = scene.run(&["--", "-p", "hi"]);
        assert_eq!(output.status.code(), Some(code), "{script}: {}", text(&output.stderr));
        assert_eq!(fs::read_dir(scene.path("tmp")).expect("tmp").count(), 0, "{script}");
    }
}

#[test]
fn a_prompt_that_no_hook_saw_is_a_failure() {
    let scene = Scene::new("exit 0");
    let output = scene.run(&["--", "-p", "hi"]);
    assert_eq!(output.status.code(), Some(125));
    assert!(text(&output.stderr).contains("was not active"), "{}", text(&output.stderr));
    // Without a prompt there is nothing for a hook to see.
    assert_eq!(scene.run(&["--", "--version"]).status.code(), Some(0));
}

#[test]
fn signals_reach_the_cli_and_nothing_of_it_is_left() {
    let script = "trap 'echo got TERM; exit 3' TERM\nsetsid sleep 300 &\necho $!\nwhile :; do sleep 0.05; done";
    let scene = Scene::new(script);
    let mut command = scene.command(&["--"]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("started");
    let mut lines = BufReader::new(child.stdout.take().expect("stdout")).lines();
    let sleeper = lines.next().expect("a line").expect("text");
    let pid = Pid::from_raw(i32::try_from(child.id()).expect("a pid")).expect("a pid");
    kill_process(pid, Signal::TERM).expect("signalled");
    assert_eq!(lines.next().expect("a line").expect("text"), "got TERM");
    let status = child.wait().expect("ended");
    assert_eq!((status.code(), status.signal()), (Some(3), None));
    assert!(gone(&sleeper), "{sleeper}");
}

/// As with `nohup`: what the caller ignores, the CLI ignores, too.
#[test]
fn a_hangup_that_is_ignored_stays_ignored() {
    let scene = Scene::new("kill -HUP $PPID $$; exit 5");
    let inner = scene.command(&["--"]);
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' HUP; exec \"$@\"", "sh"]).arg(inner.get_program());
    command.args(inner.get_args()).current_dir(scene.path("repo")).env_clear();
    for (name, value) in inner.get_envs() {
        command.envs(value.map(|value| (name, value)));
    }
    let output = command.output().expect("started");
    assert_eq!(output.status.code(), Some(5), "{}", text(&output.stderr));
}

/// The process that a number stands for has ended, or is but a status that nobody asked for.
fn gone(pid: &str) -> bool {
    let state = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    state.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with(['Z', 'X']))
}

#[test]
fn a_kill_takes_the_cli_and_what_it_started_along() {
    let scene = Scene::new("setsid sleep 300 &\necho $$ $!\nwhile :; do sleep 0.05; done");
    let mut command = scene.command(&["--", "-p", "hi"]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("started");
    let mut lines = BufReader::new(child.stdout.take().expect("stdout")).lines();
    let pids = lines.next().expect("a line").expect("text");
    child.kill().expect("killed");
    child.wait().expect("ended");
    let left = || fs::read_dir(scene.path("tmp")).expect("tmp").count();
    let until = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while left() > 0 || !pids.split(' ').all(gone) {
        assert!(std::time::Instant::now() < until, "{pids}, and {} folders", left());
        std::thread::yield_now();
    }
}

/// In a run, and in a recipe, whoever ends it finds what it started by these.
#[test]
fn the_marks_of_what_is_around_a_launch_stay_on_it() {
    let scene = Scene::new("echo \"$RALPH_RUN_ID|$RALPH_CHILD_ID\"");
    let socket = scene.path("guard.sock");
    let _run = std::os::unix::net::UnixListener::bind(&socket).expect("socket");
    let marked = |socket: Option<&PathBuf>| {
        let mut command = scene.command(&["--"]);
        command.env("RALPH_RUN_ID", "the-run").env("RALPH_CHILD_ID", "the-child");
        command.envs(socket.map(|socket| ("RALPH_COPILOT_SOCKET", socket)));
        text(&command.output().expect("started").stdout)
    };
    assert_eq!(marked(Some(&socket)), "the-run|the-child\n");
    let own = marked(None);
    assert!(own.ends_with("|the-child\n") && !own.starts_with("the-run"), "{own}");
}

#[test]
fn what_is_refused_says_why() {
    let scene = Scene::new("exit 0");
    let failed = |words: &[&str], variable: Option<(&str, &str)>| {
        let mut command = scene.command(words);
        command.envs(variable);
        let output = command.output().expect("started");
        (output.status.code(), text(&output.stderr))
    };
    let depth = failed(&["--", "-p", "x"], Some(("RALPH_COPILOT_DEPTH", "3")));
    assert_eq!(depth.0, Some(125));
    assert!(depth.1.contains("nested 3 deep"), "{}", depth.1);
    let socket = scene.path("gone.sock").display().to_string();
    let gone = failed(&["--", "-p", "x"], Some(("RALPH_COPILOT_SOCKET", &socket)));
    assert_eq!(gone.0, Some(125));
    assert!(gone.1.contains("does not answer"), "{}", gone.1);
    let unguarded = failed(&["--no-guard"], Some(("RALPH_COPILOT_SOCKET", &socket)));
    assert_eq!(unguarded.0, Some(125));
    assert!(unguarded.1.contains("not allowed inside a run"), "{}", unguarded.1);
    fs::remove_file(scene.path("copilot")).expect("remove");
    let missing = failed(&["--", "-p", "x"], None);
    assert_eq!(missing.0, Some(127));
    assert!(missing.1.contains("npm install -g @github/copilot"), "{}", missing.1);
}

#[test]
fn what_the_project_has_for_claude_is_staged_out_of_git_s_sight() {
    let scene = Scene::new("exit 0");
    let repo = scene.path("repo");
    for (path, content) in [
        (".claude/agents/core/reviewer.md", "reviews"),
        (".claude/agents/other/reviewer.md", "another"),
        (".claude/commands/[a]*? \\b.md ", "no command"),
        (".claude/commands/[a]*? \\b .md", "a command"),
        (".claude/tools/amplihack/hooks/stop.py", ""),
    ] {
        let path = repo.join(path);
        fs::create_dir_all(path.parent().expect("folder")).expect("mkdir");
        fs::write(path, content).expect("write");
    }
    let git = |words: &[&str]| {
        let output = Command::new("git").arg("-C").arg(&repo).args(words).output().expect("git");
        assert!(output.status.success());
        text(&output.stdout)
    };
    git(&["add", "-A"]);
    assert_eq!(scene.run(&["--no-stage", "--"]).status.code(), Some(0));
    assert!(!repo.join(".github").exists());
    let output = scene.run(&["--"]);
    assert!(
        text(&output.stderr).contains(".github/agents/reviewer.md"),
        "{}",
        text(&output.stderr)
    );
    assert_eq!(
        fs::read_to_string(repo.join(".github/agents/reviewer.md")).expect("staged"),
        "reviews"
    );
    let hooks: Value =
        serde_json::from_slice(&fs::read(repo.join(".github/hooks/hooks.json")).expect("staged"))
            .expect("JSON");
    assert!(hooks["hooks"].is_object());
    assert_eq!(git(&["ls-files", "--others", "--exclude-standard"]), "");
    let said = text(&output.stderr);
    assert!(said.contains("has the same name: .claude/agents/other/reviewer.md\n"), "{said}");
    // Only these files are hidden, and no other that a pattern could mean.
    fs::write(repo.join(".github/commands/axx \\b .md"), "").expect("write");
    assert_ne!(git(&["ls-files", "--others", "--exclude-standard"]), "");
    fs::write(repo.join(".claude/agents/core/reviewer.md"), "reviews more").expect("write");
    let said = text(&scene.run(&["--"]).stderr);
    assert!(said.contains("updated: .github/agents/reviewer.md\n"), "{said}");
}
