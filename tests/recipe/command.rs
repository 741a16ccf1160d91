//! `recipe run`, `list` and `doctor`: what goes over to the runner, and what comes back.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::repo::{Repo, collect, finish, signal, until};
use crate::scene::{DONE, Scene};

const BANNERS: &str = "[amplihack] recipe-runner --- starting: hello\n\
                       [amplihack] recipe-runner --- executing: hello\n";

/// Notes its arguments, one a line.
const NOTE: &str = r#"printf '%s\n' "$@" > "$RECIPE_RUNNER_OUT/argv""#;

#[test]
fn an_answer_comes_back_and_both_banners_stand_on_standard_error() {
    let scene = Scene::new(DONE);
    let ran = scene.recipe(&["run", "hello", "--json"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), BANNERS));
    assert_eq!(
        ran.json(),
        json!({
            "success": true,
            "steps": [{"step_id": "greet", "status": "completed", "output": "hello", "error": "", "duration": 5.11e-7}],
            "context": {"who": "you"},
            "runner": {"path": scene.runner(), "rule": "RECIPE_RUNNER_RS_PATH", "version": "0.3.6"},
            "error": null,
        })
    );
    let ran = scene.recipe(&["run", "hello"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), BANNERS));
    assert!(ran.stdout.starts_with("completed  greet\nhello succeeded in "), "{}", ran.stdout);
    assert_eq!(scene.left(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn help_for_a_stranger() {
    let scene = Scene::new("exit 70");
    for args in [&["--help"][..], &["run", "--help"], &["install", "--help"]] {
        let ran = scene.recipe(args);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
        insta::assert_snapshot!(args.join("_").replace("--", ""), ran.stdout);
    }
}

#[test]
fn what_is_typed_goes_over_to_the_runner() {
    let scene = Scene::new(&format!("{NOTE}; pwd > \"$RECIPE_RUNNER_OUT/pwd\"; {DONE}"));
    scene.repo.write(
        "sub/values.json",
        r#"{"a":{"deep":"ä"},"list":[1,"a"],"n":7,"none":null,"who":"file","yes":true}"#,
    );
    let ran = scene.recipe(&[
        "run",
        "hello",
        "--context",
        "values.json",
        "--set",
        "who=typed",
        "--set",
        "eq=a=b",
        "-C",
        "sub",
        "-R",
        "one",
        "-R",
        "/two",
        "--dry-run",
        "--progress",
        "--no-auto-stage",
    ]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let sub = scene.repo.path("sub").display().to_string();
    let argv = scene.written("argv");
    let argv: Vec<&str> = argv.lines().collect();
    assert_eq!(
        argv,
        [
            "hello",
            "--output-format",
            "json",
            "-C",
            &sub,
            "--dry-run",
            "--no-auto-stage",
            "--progress",
            "-R",
            "one",
            "-R",
            "/two",
            "--set",
            "a={\"deep\":\"ä\"}",
            "--set",
            "list=[1,\"a\"]",
            "--set",
            "n=7",
            "--set",
            "none=null",
            "--set",
            "who=typed",
            "--set",
            "yes=true",
            "--set",
            "eq=a=b",
        ]
    );
    assert_eq!(scene.written("pwd").trim_end(), sub);
    // What is printed is what is run.
    let mut command = scene.command(&["run", "hello", "--print", "--set", "who=typed"]);
    command.arg("-C").arg("sub");
    let printed = crate::repo::finish(command).json();
    let runner = scene.runner().display().to_string();
    let expected =
        json!([runner, "hello", "--output-format", "json", "-C", sub, "--set", "who=typed"]);
    assert_eq!(printed["argv"], expected);
}

#[test]
fn progress_is_relayed_and_with_json_it_is_events() {
    let body = format!("echo '▶ greet' >&2; echo '  ✓ greet (0.1s)' >&2; {DONE}");
    let scene = Scene::new(&body);
    let ran = scene.recipe(&["run", "hello", "--progress"]);
    assert_eq!(ran.stderr, format!("{BANNERS}▶ greet\n  ✓ greet (0.1s)\n"));
    let ran = scene.recipe(&["run", "hello", "--progress", "--json"]);
    let events: Vec<Value> =
        ran.stderr.lines().skip(2).map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let event = |status: &str| json!({"event": "recipe_progress", "recipe": "hello", "step": "greet", "status": status});
    assert_eq!(events, [event("running"), event("completed")]);
    assert_eq!(scene.recipe(&["run", "hello"]).stderr, BANNERS);
}

/// Tells what the runner gets: of each `--set`, the beginning of its value, and of each
/// `file://` the size and modes of what lies there.
const LOOK: &str = r#"
while [ $# -gt 0 ]; do
  if [ "$1" = --set ]; then
    shift
    key=${1%%=*} value=${1#*=}
    case $value in
      file://*) file=${value#file://}; printf '%s file %s %s %s\n' "$key" "$(wc -c < "$file" | tr -d ' ')" \
        "$(ls -l "$file" | cut -c1-10)" "$(ls -ld "${file%/*}" | cut -c1-10)" >> "$RECIPE_RUNNER_OUT/values"
        printf '%s\n' "${file%/*}" > "$RECIPE_RUNNER_OUT/folder" ;;
      *) printf '%s inline %s\n' "$key" "${#value}" >> "$RECIPE_RUNNER_OUT/values" ;;
    esac
  fi
  shift
done
"#;

#[test]
fn large_and_secret_values_are_files_of_ours_alone_and_gone_at_the_end() {
    for (end, code) in [(DONE, 0), ("exit 2", 4), ("kill -KILL $$", 4)] {
        let scene = Scene::new(&format!("{LOOK}\n{end}"));
        let context = json!({
            "small": "x".repeat(32_767),
            "large": "x".repeat(32_768),
            "wide": "ä".repeat(16_384),
            "a/b": "y".repeat(40_000),
            "a_b": "z".repeat(40_001),
        });
        scene.repo.write("c.json", context.to_string());
        let args = ["run", "hello", "--json", "--context", "c.json", "--set", "api_key=s3cr3t"];
        let ran = scene.recipe(&args);
        assert_eq!(ran.code, Some(code), "{}", ran.stderr);
        let written = scene.written("values");
        let mut values: Vec<&str> = written.lines().collect();
        values.sort_unstable();
        assert_eq!(
            values,
            [
                "a/b file 40000 -rw------- drwx------",
                "a_b file 40001 -rw------- drwx------",
                "api_key file 6 -rw------- drwx------",
                "large file 32768 -rw------- drwx------",
                "small inline 32767",
                "wide file 32768 -rw------- drwx------",
            ]
        );
        let folder = scene.written("folder");
        assert!(!folder.is_empty() && !std::path::Path::new(folder.trim_end()).exists());
        assert_eq!(scene.left(), Vec::<std::path::PathBuf>::new(), "exit {code}");
    }
}

#[test]
fn print_tells_what_would_be_spilled_and_needs_no_runner() {
    let scene = Scene::new("exit 70");
    let large = format!("big={}", "x".repeat(40_000));
    let args = ["run", "hello", "--print", "--set", &large, "--set", "password=hunter22"];
    let printed = scene.recipe(&args).json();
    assert_eq!(printed["spilled"], json!(["big", "password"]));
    let argv = printed["argv"].to_string();
    assert!(argv.contains("big=file:///") && !argv.contains("hunter22"), "{argv}");
    let mut command = scene.command(&args);
    command.env("RECIPE_RUNNER_RS_PATH", "/nowhere").env("PATH", "/usr/bin:/bin");
    let ran = crate::repo::finish(command);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    assert_eq!(ran.json()["argv"][0], "recipe-runner-rs");
    assert_eq!(scene.left(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn the_environment_is_the_allowlist_and_is_what_is_printed() {
    let scene = Scene::new(&format!("env > \"$RECIPE_RUNNER_OUT/env\"; {DONE}"));
    let planted = |command: &mut std::process::Command| {
        for name in [
            "OPENAI_API_KEY",
            "ANTHROPIC_API_KEY",
            "AWS_SECRET_ACCESS_KEY",
            "GITHUB_ENV",
            "COPILOT_ALLOW_ALL",
            "SOMETHING",
            "LC_TIME",
            "GH_TOKEN",
            "COPILOT_MODEL",
            "AMPLIHACK_HOME",
            "HTTPS_PROXY",
        ] {
            command.env(name, "planted-value");
        }
        command.env("RECIPE_RUNNER_NO_UPDATE_CHECK", "0");
    };
    let mut command = scene.command(&["run", "hello"]);
    planted(&mut command);
    assert_eq!(crate::repo::finish(command).code, Some(0));
    let mut command = scene.command(&["run", "hello", "--print"]);
    planted(&mut command);
    let printed = crate::repo::finish(command).json();
    let printed: BTreeSet<&str> = printed["environment"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|name| name.as_str().expect("a name"))
        .collect();
    let written = scene.written("env");
    let mut seen: BTreeSet<&str> =
        written.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
    // The shell's own.
    for own in ["PWD", "OLDPWD", "SHLVL", "_"] {
        seen.remove(own);
    }
    assert_eq!(seen, printed);
    for name in ["LC_TIME", "GH_TOKEN", "COPILOT_MODEL", "AMPLIHACK_HOME", "HTTPS_PROXY"] {
        assert!(seen.contains(name), "{name}");
    }
    for name in
        ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GITHUB_ENV", "COPILOT_ALLOW_ALL", "SOMETHING"]
    {
        assert!(!seen.contains(name), "{name}");
    }
    let program = std::path::Path::new(crate::repo::PROGRAM).canonicalize().expect("there");
    for line in [
        format!("AMPLIHACK_LAUNCHER_BINARY={}", program.display()),
        "AMPLIHACK_AGENT_BINARY=copilot".to_owned(),
        "RECIPE_RUNNER_NO_UPDATE_CHECK=1".to_owned(),
        format!("RECIPE_RUNNER_RS_PATH={}", scene.runner().display()),
        "RALPH_COPILOT_DEPTH=1".to_owned(),
    ] {
        assert!(written.lines().any(|it| it == line), "{line} in {written}");
    }
}

/// Steps find the project's own files through it.
#[test]
fn the_project_is_the_folder_of_the_recipe_or_the_one_that_the_caller_names() {
    let scene =
        Scene::new(&format!("echo \"$CLAUDE_PROJECT_DIR\" > \"$RECIPE_RUNNER_OUT/dir\"; {DONE}"));
    scene.repo.write("sub/here", "");
    let said = |named: Option<&str>, folder: &str| {
        let mut command = scene.repo.command(&["-C", folder, "recipe", "run", "hello"]);
        scene.surround(&mut command);
        command.envs(named.map(|named| ("CLAUDE_PROJECT_DIR", named)));
        let ran = finish(command);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        scene.written("dir").trim_end().to_owned()
    };
    let root = scene.repo.root();
    assert_eq!(said(None, "."), root.display().to_string());
    assert_eq!(said(None, "sub"), root.join("sub").display().to_string());
    assert_eq!(said(Some(""), "."), root.display().to_string());
    assert_eq!(said(Some("/the/caller's"), "sub"), "/the/caller's");
}

#[test]
fn a_recipe_that_runs_itself_comes_to_an_end() {
    let body = format!(
        "echo run >> \"$RECIPE_RUNNER_OUT/runs\"\n\
         \"$AMPLIHACK_LAUNCHER_BINARY\" recipe run hello --json > \"$RECIPE_RUNNER_OUT/inner.$RALPH_COPILOT_DEPTH\"\n\
         echo $? > \"$RECIPE_RUNNER_OUT/code.$RALPH_COPILOT_DEPTH\"\n{DONE}"
    );
    let scene = Scene::new(&body);
    assert_eq!(scene.recipe(&["run", "hello"]).code, Some(0));
    assert_eq!(scene.written("runs").lines().count(), 3);
    assert_eq!(scene.written("code.3").trim_end(), "5");
    let inner: Value = serde_json::from_str(&scene.written("inner.3")).expect("JSON");
    assert_eq!(inner["error"]["kind"], "too_deep");
    let message = inner["error"]["message"].as_str().expect("a message");
    assert!(message.contains("3 deep") && message.contains("limit is 3"), "{message}");
}

/// The signal ends the recipe, what it started and its files; it is not left to itself.
#[test]
fn a_signal_ends_the_recipe_and_takes_its_values_away() {
    let body = "(trap '' TERM; exec sleep 600) & echo $! > \"$RECIPE_RUNNER_OUT/pid.tmp\"\n\
                mv \"$RECIPE_RUNNER_OUT/pid.tmp\" \"$RECIPE_RUNNER_OUT/pid\"; wait";
    let scene = Scene::new(body);
    let mut command = scene.command(&["run", "hello", "--json", "--set", "token=abcdefgh"]);
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let child = command.spawn().expect("started");
    let pid: u32 = until("the recipe", || scene.written("pid").trim_end().parse().ok());
    assert_eq!(scene.left().len(), 1);
    signal(child.id(), rustix::process::Signal::TERM);
    let ran = collect(child);
    assert_eq!(ran.code, Some(143), "{}", ran.stderr);
    assert_eq!(ran.json()["error"]["kind"], "stopped");
    assert_eq!(scene.left(), Vec::<std::path::PathBuf>::new());
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).expect("a pid")).expect("a pid");
    assert!(rustix::process::test_kill_process(pid).is_err(), "it outlived us");
}

/// Nobody is there to end anything, and yet neither a process nor a secret stays.
#[test]
fn a_kill_leaves_neither_a_process_nor_a_value_behind() {
    let body = "setsid sleep 600 & (trap '' TERM; exec sleep 600) &\n\
                echo $$ $! $(pgrep -P $$ | tr '\\n' ' ') > \"$RECIPE_RUNNER_OUT/pids.tmp\"\n\
                mv \"$RECIPE_RUNNER_OUT/pids.tmp\" \"$RECIPE_RUNNER_OUT/pids\"; wait";
    let scene = Scene::new(body);
    let mut command = scene.command(&["run", "hello", "--set", "token=abcdefgh"]);
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let child = command.spawn().expect("started");
    let pids: Vec<i32> = until("the recipe", || {
        let written = scene.written("pids");
        let pids: Vec<i32> =
            written.split_whitespace().filter_map(|pid| pid.parse().ok()).collect();
        (pids.len() > 2).then_some(pids)
    });
    assert_eq!(scene.left().len(), 1);
    signal(child.id(), rustix::process::Signal::KILL);
    collect(child);
    let lives = |pid: &i32| {
        let pid = rustix::process::Pid::from_raw(*pid).expect("a pid");
        rustix::process::test_kill_process(pid).is_ok()
    };
    until("the end of all", || (!pids.iter().any(lives) && scene.left().is_empty()).then_some(()));
}

#[test]
fn secrets_are_taken_out_of_what_is_told() {
    let token = format!("ghp_{}", "a1B2".repeat(9));
    let body = format!(
        "echo '▶ {token}' >&2; echo '{{\"success\":false,\"step_results\":[{{\"step_id\":\"s\",\"status\":\"failed\",\"output\":\"{token}\",\"error\":\"bad {token}\"}}],\"context\":{{\"a\":\"{token}\"}}}}'; exit 1"
    );
    let scene = Scene::new(&body);
    for args in [&["run", "hello", "--json", "--progress"][..], &["run", "hello", "--progress"]] {
        let ran = scene.recipe(args);
        assert_eq!(ran.code, Some(1));
        let told = format!("{}{}", ran.stdout, ran.stderr);
        assert!(!told.contains(&token) && told.contains("[REDACTED]"), "{told}");
    }
}

#[test]
fn recipes_are_listed_from_the_folders_in_their_order() {
    let scene = Scene::new("exit 70");
    for path in [
        "amplifier-bundle/recipes/a.yaml",
        ".claude/recipes/a.yaml",
        ".claude/recipes/b.yml",
        "r/c.yaml",
        "r/not.txt",
    ] {
        scene.repo.write(path, "name: x\nsteps: []\n");
    }
    let listed = scene.recipe(&["list", "--json"]).json();
    let recipe = |name: &str, path: &str| json!({"name": name, "path": scene.repo.path(path)});
    assert_eq!(
        listed["recipes"],
        json!([
            recipe("a", "amplifier-bundle/recipes/a.yaml"),
            recipe("b", ".claude/recipes/b.yml")
        ])
    );
    let listed = scene.recipe(&["list", "--json", "-R", "r"]).json();
    assert_eq!(listed["recipes"], json!([recipe("c", "r/c.yaml")]));
    assert_eq!(listed["folders"], json!([{"path": scene.repo.path("r"), "exists": true}]));
    let text = scene.recipe(&["list"]).stdout;
    assert!(text.contains("a.yaml") && text.contains("(missing)"), "{text}");
}

#[test]
fn doctor_tells_which_runner_by_which_rule_and_what_to_do() {
    let scene = Scene::new("exit 70");
    let ran = scene.recipe(&["doctor", "--json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let told = ran.json();
    assert_eq!(told["usable"], true);
    assert_eq!(told["minimum"], "0.3.5");
    assert_eq!(
        told["runner"],
        json!({"path": scene.runner(), "rule": "RECIPE_RUNNER_RS_PATH", "version": "0.3.6", "mode": "755"})
    );
    assert!(told["environment"].as_array().is_some_and(|names| names.contains(&json!("PATH"))));
    let old = Scene::with(Repo::empty(), "recipe-runner 0.3.4", "exit 70");
    let ran = old.recipe(&["doctor"]);
    assert_eq!(ran.code, Some(3));
    for word in ["0.3.4 is too old", "0.3.5", "recipe install"] {
        assert!(ran.stdout.contains(word), "{word} in {}", ran.stdout);
    }
}

#[test]
fn the_home_s_folders_are_looked_at_last() {
    let scene = Scene::new(DONE);
    let text = std::fs::read_to_string(scene.runner()).expect("read");
    let home = scene.repo.beside("home");
    let mut expected = Vec::new();
    for (folder, rule) in [(".local/bin", "~/.local/bin"), (".cargo/bin", "~/.cargo/bin")] {
        std::fs::create_dir_all(home.join(folder)).expect("made");
        let path = home.join(folder).join("recipe-runner-rs");
        crate::scene::script(&path, &text);
        expected.push((path, rule));
        let mut command = scene.command(&["run", "hello", "--json"]);
        command.env("RECIPE_RUNNER_RS_PATH", "/gone").env("PATH", "/usr/bin:/bin");
        let ran = crate::repo::finish(command);
        let (path, rule) = expected.last().expect("one");
        assert_eq!(ran.json()["runner"], json!({"path": path, "rule": rule, "version": "0.3.6"}));
    }
}
