//! The port, the token file, and who may ask for a gateway.

use std::net::TcpListener;

use ralph_copilot::model::EventKind;

use super::{AGENT, gateway, newest, notices, start, two};
use crate::repo::{collect, until};

#[test]
fn a_named_port_that_is_taken_ends_the_run_before_it_begins() {
    let repo = two();
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port();
    let ran = repo.run_command(AGENT, &[&format!("--gateway={port}")]).output().expect("it runs");
    let stderr = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(7), "{stderr}");
    assert!(stderr.contains(&format!("cannot listen on 127.0.0.1:{port}")), "{stderr}");
    assert!(newest(&repo).is_none());
}

#[test]
fn the_default_port_may_be_taken() {
    let repo = two();
    repo.write("flag", "");
    // If another program has it already, that is as good.
    let _taken = TcpListener::bind("127.0.0.1:9400");
    let ran = repo.run(AGENT, &["--gateway"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(!ran.stdout.contains("gateway_started"), "{}", ran.stdout);
    let notices = notices(&repo);
    assert!(
        notices.iter().any(|it| it.contains("9400, so this run has no gateway")),
        "{notices:?}"
    );
}

#[test]
fn a_second_gateway_leaves_the_first_one_s_file_alone() {
    let (first, second) = (two(), two());
    let one = start(&first, &["--gateway=0"]);
    let (_, file) = gateway(&first);
    let file = file.expect("a token file");
    let token = std::fs::read_to_string(&file).expect("a token");
    let mut command = second.run_command(AGENT, &["--gateway=0"]);
    command.env("HOME", first.beside("home"));
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let other = command.spawn().expect("the program starts");
    assert_eq!(gateway(&second).1, None);
    assert_eq!(std::fs::read_to_string(&file).expect("a token"), token);
    second.write("flag", "");
    assert_eq!(collect(other).code, Some(0));
    let told = notices(&second);
    let only = "the token goes only to programs that this run starts";
    assert!(told.iter().any(|it| it.contains(only)), "{told:?}");
    assert_eq!(std::fs::read_to_string(&file).expect("a token"), token);
    // A run that is killed leaves its file, which the next one replaces.
    let pid = one.id();
    crate::repo::signal(pid, rustix::process::Signal::KILL);
    drop(collect(one));
    assert!(std::path::Path::new(&file).exists());
    first.write("flag", "");
    let next = start(&first, &["--gateway=0"]);
    until("another token", || {
        std::fs::read_to_string(&file).ok().filter(|it| *it != token).map(|_| ())
    });
    assert_eq!(collect(next).code, Some(0));
    assert!(!std::path::Path::new(&file).exists());
}

#[test]
fn a_repository_cannot_ask_for_a_gateway_and_its_task_can() {
    let repo = two();
    repo.write("flag", "");
    repo.write(
        ".ralph/config.toml",
        "stuck_threshold = 2\n\n[[gateway.provider]]\ncommand = \"touch ../stolen\"\n",
    );
    repo.commit("a trap");
    let ran = repo.run(AGENT, &[]);
    assert_eq!(ran.code, Some(7), "{}", ran.stderr);
    assert!(ran.stderr.contains("config.toml: error at line 3"), "{}", ran.stderr);
    assert!(ran.stderr.contains("a repository's configuration cannot have a `[gateway]`"));
    assert!(!repo.beside("stolen").exists());

    repo.write(".ralph/config.toml", "stuck_threshold = 2\n");
    let task = repo.task();
    repo.write("tasks/demo/TASK.md", format!("---\ngateway: 0\n---\n{task}"));
    repo.commit("a gateway for this task");
    let shown = repo.ralph(&["run", "demo", "--dry-run", "--agent", &repo.agent(AGENT)]);
    assert!(shown.stdout.contains("gateway a free port on loopback"), "{}", shown.stdout);
    let shown = repo.ralph(&["check", "demo"]);
    assert!(shown.stdout.contains("gateway: 0"), "{}", shown.stdout);
    let ran = repo.run(AGENT, &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let started = |kind: &EventKind| matches!(kind, EventKind::GatewayStarted { .. });
    assert!(ran.events().iter().any(|event| started(&event.kind)));
}

#[test]
fn without_a_gateway_a_run_has_none() {
    let repo = two();
    repo.write("flag", "");
    let ran = repo.run(AGENT, &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(!ran.stdout.contains("gateway") && !ran.stdout.contains("provider"));
    assert!(!repo.beside("home/.copilot").exists());
}
