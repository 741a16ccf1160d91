//! Agents that fail: told apart, borne or not, and never an attempt on the criterion.

use ralph_copilot::model::EventKind;

use super::{HONEST, THREE, once_then_honest, only_a_proven, then_honest};
use crate::repo::{Ran, Repo, finish, processes_of, story};
use crate::sample;

/// How often the agent was started.
fn starts(ran: &Ran) -> usize {
    ran.events().iter().filter(|it| matches!(it.kind, EventKind::AgentStarted { .. })).count()
}

/// The last event.
fn outcome(ran: &Ran) -> serde_json::Value {
    let last = ran.stdout.lines().last().expect("events");
    serde_json::from_str(last).expect("an event")
}

/// Where the built-in agent can die outside of a turn, and how.
const MOMENTS: [&str; 6] =
    ["initialize", "initialized", "session_new", "session_ready", "prompt", "turn_ended"];
const ENDS: [&str; 3] = ["kill", "{exit: 1}", "close_stdout"];

/// How it dies at one of the moments: in every way with `tests/soak`, else as the seed draws.
fn ends(moment: usize) -> Vec<&'static str> {
    if sample::full() {
        return ENDS.to_vec();
    }
    let seed = usize::try_from(sample::seed() % 1000).expect("a number");
    vec![ENDS[(seed + moment) % ENDS.len()]]
}

#[test]
fn one_that_dies_once_is_started_again_at_whatever_moment_and_however_it_died() {
    let dies_at = |at: &str, by: &str| {
        let repo = Repo::new(THREE);
        let script = format!("memory: seen.txt\ndie: {{at: {at}, by: {by}, times: 1}}\n{HONEST}");
        let ran = repo.run(&script, &["--max-iterations", "1"]);
        assert_eq!(ran.code, Some(3), "{at} {by}: {}", ran.stderr);
        assert!(repo.task().contains("- [x] a is there"), "{at} {by}");
        assert_eq!(repo.state()["criteria"][0]["attempts"], 0, "{at} {by}");
        assert_eq!(repo.status(), "", "{at} {by}");
        assert_eq!(processes_of(ran.events()[0].run.as_str()), Vec::<String>::new(), "{at} {by}");
    };
    // Each waits half a second before it starts again: they wait together.
    std::thread::scope(|scope| {
        for (moment, at) in MOMENTS.into_iter().enumerate() {
            for by in ends(moment) {
                scope.spawn(move || dies_at(at, by));
            }
        }
    });
}

/// Each step is the last that the agent does in its first turn.
#[test]
fn one_that_dies_within_a_turn_is_started_again_at_whatever_moment() {
    let dies_after = |steps: &str| {
        let repo = Repo::new(THREE);
        let ran = repo.run(&once_then_honest(steps), &["--max-iterations", "1"]);
        assert_eq!(ran.code, Some(3), "{steps}: {} {}", ran.stdout, ran.stderr);
        assert!(repo.task().contains("- [x] a is there"), "{steps}");
        assert_eq!(repo.state()["criteria"][0]["attempts"], 0, "{steps}");
        assert_eq!(repo.status(), "", "{steps}");
        assert_eq!(starts(&ran), 2, "{steps}");
        assert_eq!(processes_of(ran.events()[0].run.as_str()), Vec::<String>::new(), "{steps}");
    };
    let moments = [
        // Within a stream of updates.
        "{say: working}, {say: on it}",
        // While its permission request is pending.
        "{ask_only: {run: 'echo x > x.txt'}}",
        // In the middle of a frame.
        "{raw: '{\"jsonrpc\":\"2.0\",\"id\":'}",
        // With a tool of its own still running.
        "{spawn: {command: 'sleep 1000'}}",
    ];
    std::thread::scope(|scope| {
        for (moment, steps) in moments.into_iter().enumerate() {
            for how in ends(moment) {
                scope.spawn(move || dies_after(&format!("{steps}, {{die: {how}}}")));
            }
        }
    });
}

/// The failure is the agent's death, not the file that its last line names.
#[test]
fn one_that_dies_after_reporting_a_missing_file_is_restarted_and_no_attempt_is_charged() {
    let dies_saying = |line: &str| {
        let repo = Repo::new(THREE);
        let script = once_then_honest(&format!(
            "{{spawn: {{command: \"echo '{line}' >&2\"}}}}, {{sleep: 200}}, {{die: {{exit: 1}}}}"
        ));
        let ran = repo.run(&script, &["--max-iterations", "1"]);
        assert_eq!(ran.code, Some(3), "{line}: {} {}", ran.stdout, ran.stderr);
        assert!(repo.task().contains("- [x] a is there"), "{line}: {}", ran.stdout);
        assert_eq!(repo.state()["criteria"][0]["attempts"], 0, "{line}");
        assert_eq!(starts(&ran), 2, "{line}: {}", ran.stdout);
    };
    std::thread::scope(|scope| {
        for line in [
            "Error: ENOENT: no such file or directory, open package.json",
            "Error: EACCES: permission denied, open package.json",
        ] {
            scope.spawn(move || dies_saying(line));
        }
    });
}

/// Its call is pending, and a process of its own keeps its output open: only its process
/// tells that it is gone.
#[test]
fn one_that_dies_while_its_child_holds_its_output_is_started_again_at_once() {
    let repo = Repo::new(THREE);
    let script = once_then_honest(
        "{spawn: {command: 'exec sleep 1000', hold_stdout: true, setsid: true}}, \
         {ask_only: {run: 'echo x > x.txt'}}, {die: kill}",
    );
    let ran = repo.run(&script, &["--max-iterations", "1"]);
    assert_eq!(ran.code, Some(3), "{} {}", ran.stdout, ran.stderr);
    assert!(repo.task().contains("- [x] a is there"), "{}", ran.stdout);
    assert_eq!((starts(&ran), &repo.state()["criteria"][0]["attempts"]), (2, &0.into()));
}

#[test]
fn one_that_dies_over_its_cancellation_costs_no_more_than_the_turn_that_was_stuck() {
    let repo = Repo::new(THREE);
    let stuck = once_then_honest("{say: hm}, {hang: }");
    let script = format!("die: {{at: cancel, by: kill, times: 1}}\n{stuck}");
    let ran = repo.run(&script, &["--max-iterations", "2", "--idle-timeout", "1s"]);
    assert_eq!(ran.code, Some(3), "{} {}", ran.stdout, ran.stderr);
    assert!(repo.task().contains("- [x] a is there"), "{}", ran.stdout);
    assert_eq!(repo.state()["criteria"][0]["attempts"], 1, "the stuck turn is an attempt");
    assert_eq!(processes_of(ran.events()[0].run.as_str()), Vec::<String>::new());
}

#[test]
fn one_that_dies_in_the_middle_of_its_work_is_started_again_and_goes_on() {
    let repo = Repo::new(THREE);
    let script = r#"
memory: seen.txt
turns:
- match: a is there
  times: 1
  steps: [{write: {path: half.txt, text: half}}, {tick: "{criterion}"}, {die: kill}]
- match: a is there
  steps: [{write: {path: a.txt, text: a}}, {tick: "{criterion}"}, {progress: did a}, {commit: a}]
"#;
    let ran = repo.run(script, &["--max-iterations", "1"]);
    insta::assert_snapshot!(story(&repo, &ran), @r"
    iteration 2: pass check
    exit 3: limit_reached
    - [x] a is there
    - [ ] b is there
    - [ ] c is there
    state: a is there, proven by check, 0 attempts failed
    on refs/heads/main
    commit: ralph(demo): state update
    commit: ralph(demo): [a is there] - a
    commit: ralph(demo): state update
    commit: ralph(demo): state update
    kept: refs/ralph/demo/attempts/1
    ");
}

#[test]
fn one_that_keeps_dying_is_given_up() {
    let repo = Repo::new(THREE);
    let ran = repo.run("turns: [{steps: [{die: {exit: 3}}]}]", &[]);
    insta::assert_snapshot!(story(&repo, &ran), @r"
    exit 5: agent_unusable
    - [ ] a is there
    - [ ] b is there
    - [ ] c is there
    on refs/heads/main
    commit: ralph(demo): state update
    ");
    assert_eq!(starts(&ran), 3);
    assert_eq!(outcome(&ran)["fault"]["class"], "died");
}

#[test]
fn one_that_never_comes_up_is_given_up_with_its_last_words() {
    let repo = Repo::new(THREE);
    let ran = finish(repo.run_command("turn: []\n", &[]));
    assert_eq!(ran.code, Some(5), "{}", ran.stderr);
    crate::shown(&repo, || {
        insta::assert_snapshot!(ran.stdout, @r"
        [clock] run [run]: demo (tasks/demo), 3 of 3 criteria open, ralph-copilot 0.1.0
        [clock] agent: [ralph-copilot] agent [beside]/agent.yaml, its default model
        [clock] note: this agent has no hooks: the guard only sees its permission requests
        [clock] note: sandbox: [tier]
        [clock] Baseline: 3 of 3 checks fail, as expected
        [clock] waiting until [time] ([span]): the agent was lost during initialize: its process exited with code 7; its last output: error: line 1 column 1: unknown field `turn`, expected one of task, turns, pace, mode, banner, session_error, die, ignore, memory
        [clock] waiting until [time] ([span]): the agent was lost during initialize: its process exited with code 7; its last output: error: line 1 column 1: unknown field `turn`, expected one of task, turns, pace, mode, banner, session_error, die, ignore, memory

        Stopped: the agent is unusable: the agent was lost during initialize: its process exited with code
          7; its last output: error: line 1 column 1: unknown field `turn`, expected one of task, turns,
          pace, mode, banner, session_error, die, ignore, memory.
        Next: see the agent's stderr.log and wire.log in the run's folder below .ralph/runs/
        ");
    });
    assert_eq!(repo.subjects(), Vec::<String>::new());
    assert_eq!(repo.status(), "");
}

#[test]
fn a_file_outside_that_its_command_names_from_the_tree_is_seen() {
    let repo = Repo::new(THREE);
    let absolute = repo.agent(HONEST);
    let beside = repo.beside("agent.yaml");
    let relative = absolute.replace(beside.to_str().expect("text"), "../agent.yaml");
    assert_ne!(relative, absolute);
    let ran = repo.ralph(&["run", "demo", "--agent", &relative]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn one_that_is_not_there_is_told_before_anything_is_done() {
    let repo = Repo::new(THREE);
    let ran = repo.ralph(&["run", "demo", "--agent", "no-such-agent --acp"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(5), ""));
    insta::assert_snapshot!(ran.stderr, @r"
    error: `no-such-agent` was not found: it is neither a file nor on the PATH
    hint: install `no-such-agent`, or name another agent with `--agent '<command>'`; without `--agent` it is the Copilot CLI
    ");
    // And the default agent, where there is none.
    let mut command = repo.command(&["run", "demo"]);
    let git = which::which("git").expect("git");
    std::fs::create_dir_all(repo.beside("bin")).expect("a folder");
    std::os::unix::fs::symlink(git, repo.beside("bin/git")).expect("a link");
    command.env("PATH", repo.beside("bin"));
    let ran = finish(command);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(5), ""));
    insta::assert_snapshot!(ran.stderr, @r"
    error: `copilot` was not found: it is not on the PATH
    hint: install it with `npm install -g @github/copilot`, or name it with COPILOT_CLI_PATH or `--agent '<command>'`
    ");
}

#[test]
fn nobody_logged_in() {
    let repo = Repo::new(THREE);
    let script = "session_error: {code: -32000, message: Authentication required}\nturns: []\n";
    let ran = repo.run(script, &[]);
    insta::assert_snapshot!(story(&repo, &ran), @r"
    exit 5: agent_unusable
    - [ ] a is there
    - [ ] b is there
    - [ ] c is there
    on refs/heads/main
    ");
    let last = outcome(&ran);
    assert_eq!(last["fault"]["class"], "auth");
    assert!(
        last["summary"]["next"][0].as_str().expect("next").contains("log in to the agent"),
        "{last}"
    );
    assert_eq!(starts(&ran), 1);
}

/// An agent that says what the CLI says where the provider refuses.
const LIMITED: &str = "turns: [{steps: [{say: 'Error: 429 Rate limit reached for requests'}]}]";

#[test]
fn a_rate_limit_beyond_the_patience() {
    let repo = Repo::new(THREE);
    let ran = repo.run(LIMITED, &["--max-wait", "1s"]);
    insta::assert_snapshot!(story(&repo, &ran), @r"
    exit 6: rate_limited
    - [ ] a is there
    - [ ] b is there
    - [ ] c is there
    on refs/heads/main
    commit: ralph(demo): state update
    ");
    let last = outcome(&ran);
    assert_eq!((&last["outcome"], &last["estimated"]), (&"rate_limited".into(), &true.into()));
    let resume = last["resume_at"].as_str().expect("a time");
    let resume: chrono::DateTime<chrono::Utc> = resume.parse().expect("RFC 3339");
    let ended = ran.events().last().expect("an end").time;
    assert!(resume > ended, "{resume} {ended}");
    // To the second: a minute that is cut would be too early.
    let next = last["summary"]["next"][0].as_str().expect("a next step");
    let at = resume.format("%Y-%m-%d %H:%M:%S UTC").to_string();
    assert!(next.starts_with(&format!("run again after {at}: ")), "{next} {at}");
}

/// However it is said, and whatever was said before: with one iteration allowed, none is used.
#[test]
fn a_rate_limit_as_plain_text_costs_no_iteration() {
    let hours = "You have hit your rate limit. Please try again in 58 hours.";
    let limited = |steps: &str, estimated: bool| {
        let repo = Repo::new(THREE);
        let script = format!("turns: [{{steps: [{steps}]}}]");
        let ran = repo.run(&script, &["--max-wait", "1s", "--max-iterations", "1"]);
        let last = outcome(&ran);
        assert_eq!(ran.code, Some(6), "{steps}: {last}");
        let told = (&last["outcome"], &last["estimated"]);
        assert_eq!(told, (&"rate_limited".into(), &estimated.into()), "{steps}");
        assert!(last["resume_at"].is_string(), "{last}");
        assert_eq!(repo.state()["criteria"].as_array().map_or(0, Vec::len), 0, "no attempt");
    };
    std::thread::scope(|scope| {
        for (steps, estimated) in [
            (format!("{{say: '{hours}'}}"), false),
            ("{say: \"Sorry, you have hit a rate limit. Try again in 58 hours.\"}".into(), false),
            ("{say: Rate limit exceeded}".into(), true),
            ("{say: 429 Too Many Requests}".into(), true),
            ("{say: 'Too many requests, please try again in 5 hours'}".into(), false),
            ("{say: 'Execution failed: Error: 429 Too Many Requests'}".into(), true),
            ("{say: \"Info: It failed. Retrying...\\nError: 429 Too Many Requests\"}".into(), true),
            ("{say: 'Error: 429 Too'}, {say: ' Many Requests'}".into(), true),
            (format!("{{read: TASK.md}}, {{say: 'I work on it. '}}, {{say: '{hours}'}}"), false),
            (
                "{error: {code: -32000, message: 429 Too Many Requests. Try again in 5 hours}}"
                    .into(),
                false,
            ),
        ] {
            scope.spawn(move || limited(&steps, estimated));
        }
    });
}

#[test]
fn an_answer_that_only_mentions_a_rate_limit_is_an_attempt() {
    let hours = "You have hit your rate limit. Please try again in 58 hours.";
    let mentioned = |text: &str| {
        let repo = Repo::new(THREE);
        let say = serde_json::to_string(text).expect("a string");
        let script = format!("turns: [{{steps: [{{say: {say}}}]}}]");
        let ran = repo.run(&script, &["--max-wait", "1s", "--max-iterations", "1"]);
        assert_eq!(ran.code, Some(3), "{text}: {}", ran.stdout);
        assert_eq!(repo.state()["criteria"][0]["attempts"], 1, "{text}");
    };
    std::thread::scope(|scope| {
        for text in [
            "The client now waits when it meets a rate limit.".to_owned(),
            "429 Too Many Requests is what the server answers.".to_owned(),
            format!("The page shows:\n```\n{hours}\n```\n"),
            format!("Who asks too often meets a rate limit:\n\n{hours}"),
            "Error: 429 Too Many Requests\nThat stands in the log. I added a retry.".to_owned(),
        ] {
            scope.spawn(move || mentioned(&text));
        }
    });
}

#[test]
fn work_that_ends_with_a_rate_limit_is_proven_all_the_same() {
    let repo = Repo::new(THREE);
    let script = r#"
turns:
- match: a is there
  steps: [{write: {path: a.txt, text: a}}, {tick: "{criterion}"}, {progress: did a}, {commit: a}, {say: Rate limit exceeded}]
- steps: [{say: Rate limit exceeded}]
"#;
    let ran = repo.run(script, &["--max-wait", "1s"]);
    assert_eq!(ran.code, Some(6), "{}", ran.stdout);
    assert!(repo.task().contains("- [x] a is there"), "{}", ran.stdout);
    assert_eq!(repo.state()["criteria"][0]["attempts"], 0);
}

#[test]
fn a_rate_limit_as_the_answer_to_a_prompt() {
    let repo = Repo::new(THREE);
    let script = "turns: [{steps: [{error: {code: -32603, message: Internal error, data: {statusCode: 429}}}]}]";
    let ran = repo.run(script, &["--max-wait", "1s"]);
    assert_eq!((ran.code, &outcome(&ran)["outcome"]), (Some(6), &"rate_limited".into()));
}

#[test]
fn a_number_of_retries_that_is_no_number_is_told() {
    let repo = Repo::new(THREE);
    let mut command = repo.run_command(LIMITED, &[]);
    command.env("COPILOT_MAX_RETRIES", "many");
    let ran = finish(command);
    assert_eq!(ran.code, Some(7));
    assert!(ran.stderr.contains("COPILOT_MAX_RETRIES=many"), "{}", ran.stderr);
}

#[test]
fn a_low_quota_is_told_where_a_script_knows_it_and_anything_but_a_number_is_ignored() {
    use std::os::unix::fs::PermissionsExt as _;
    for (prints, warns) in [
        ("echo 7", true),
        ("echo 42", false),
        ("echo none; exit 1", false),
        // What it leaves running holds its output open: that is no part of the answer.
        ("{ sleep 1000 & echo 7; }", true),
    ] {
        let repo = Repo::new(THREE);
        let script = repo.beside("bin/copilot-usage.sh");
        std::fs::create_dir_all(repo.beside("bin")).expect("a folder");
        let text = format!("#!/bin/sh\n[ \"$1\" = --remaining ] && {prints}\n");
        std::fs::write(&script, text).expect("written");
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&script, mode).expect("executable");
        let mut command = repo.run_command(HONEST, &["--max-iterations", "1"]);
        let path = std::env::var("PATH").expect("PATH");
        command.env("PATH", format!("{}:{path}", repo.beside("bin").display()));
        let ran = finish(command);
        assert_eq!(ran.code, Some(3), "{} {}", ran.stdout, ran.stderr);
        let told = ran.stdout.contains("Low premium request quota: 7 remaining");
        assert_eq!(told, warns, "{prints}: {}", ran.stdout);
    }
}

#[test]
fn via_cli_is_for_copilot_alone() {
    let repo = Repo::new(THREE);
    let ran = repo.run(HONEST, &["--via", "cli"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stdout);
    assert!(ran.stderr.contains("`--via cli` works with the Copilot CLI only"), "{}", ran.stderr);
    assert_eq!(repo.status(), "");
}

#[test]
fn a_model_that_is_not_there_and_a_network_that_is_not() {
    for (text, class) in [
        ("Error: Model 'x' not found on provider http://localhost", "model_unavailable"),
        ("Error: Could not connect to local model provider", "network"),
    ] {
        let repo = Repo::new(THREE);
        let script = format!("turns: [{{steps: [{{say: \"{text}\"}}]}}]");
        let ran = repo.run(&script, &["--max-wait", "1s"]);
        assert_eq!((ran.code, &outcome(&ran)["fault"]["class"]), (Some(5), &class.into()));
        assert_eq!(repo.state()["criteria"].as_array().map_or(0, Vec::len), 0, "no attempt");
    }
}

/// Only the Copilot CLI is told which model to use: another agent would be started again with
/// the very same one.
#[test]
fn an_agent_of_the_user_s_own_has_no_other_model_to_fall_back_to() {
    let repo = Repo::new(THREE);
    let script = "turns: [{steps: [{say: \"Error: Model 'x' not found\"}]}]";
    let mut command = repo.run_command(script, &["--json"]);
    command.env("RALPH_COPILOT_FALLBACK", "true");
    let ran = finish(command);
    assert_eq!(
        (ran.code, &outcome(&ran)["fault"]["class"]),
        (Some(5), &"model_unavailable".into())
    );
    assert!(!ran.stdout.contains("gpt-5"), "{}", ran.stdout);
}

/// A lost stream is opened again; a turn that only refuses is an attempt.
#[test]
fn cancelled_that_nobody_asked_for() {
    let repo = Repo::new(THREE);
    let ran = repo.run(&once_then_honest("{stop: cancelled}"), &["--max-iterations", "1"]);
    assert_eq!(story(&repo, &ran), only_a_proven(2));
}

#[test]
fn garbage_between_honest_frames_is_borne() {
    let repo = Repo::new(THREE);
    let script = r#"
banner: "Welcome to the agent!"
turns:
- steps:
  - line: this is no frame
  - hex: ff fe 0a
  - deep: 100000
  - line: '{"jsonrpc":"2.0","method":"unknown/thing","params":{}}'
  - update: {sessionUpdate: brand_new_kind, anything: [1, 2]}
  - flood: {count: 20000, bytes: 20}
  - write: {path: a.txt, text: a}
  - tick: "{criterion}"
  - progress: did a
  - commit: a
"#;
    let ran = repo.run(script, &["--max-iterations", "1"]);
    assert_eq!(story(&repo, &ran), only_a_proven(1));
    assert!(ran.stdout.contains("brand_new_kind"), "it is named once");
}

#[test]
fn a_line_that_never_ends_breaks_the_connection_and_not_the_runner() {
    let repo = Repo::new(THREE);
    let endless = "{flood: {count: 17, bytes: 1048576, lines: false}}";
    let ran = repo.run(&once_then_honest(endless), &["--max-iterations", "1"]);
    assert_eq!(story(&repo, &ran), only_a_proven(2));
    assert_eq!(starts(&ran), 2);
    assert!(ran.stdout.contains("waiting"), "{}", ran.stdout);
}

#[test]
fn processes_that_an_agent_leaves_behind_end_with_the_run() {
    let repo = Repo::new(THREE);
    let turns = then_honest(
        r#"
- match: a is there
  steps:
  - spawn: {command: "sleep 1000", setsid: true}
  - write: {path: a.txt, text: a}
  - tick: "{criterion}"
  - progress: did a
  - commit: a
"#,
    );
    let ran = repo.run(&format!("ignore: [eof]\n{turns}"), &["--max-iterations", "1"]);
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    assert_eq!(processes_of(ran.events()[0].run.as_str()), Vec::<String>::new());
}
