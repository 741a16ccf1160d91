//! Provider programs that a run starts.

use ralph_copilot::model::EventKind;

use super::{AGENT, gateway, journal, newest, notices, start, two, wait_for};
use crate::place::{clients, repository};
use crate::repo::{Repo, collect, processes_of, until};

/// The user's own configuration with this provider program.
fn configure(repo: &Repo, command: &str) {
    let folder = repo.beside("home/.config/ralph-copilot");
    std::fs::create_dir_all(&folder).expect("made");
    let command = toml::Value::String(command.to_owned());
    let text = format!("[gateway]\nport = 0\n\n[[gateway.provider]]\ncommand = {command}\n");
    std::fs::write(folder.join("config.toml"), text).expect("written");
}

#[test]
fn a_program_gets_the_token_is_started_again_and_ends_with_the_run() {
    let repo = two();
    let beside = repo.beside("");
    let script = beside.join("provider.sh");
    let text = format!(
        "cd {0:?}\necho \"my token is $TAP_PROVIDER_TOKEN\"\necho $TAP_GATEWAY_PORT >> ports\n\
         cat /proc/$PPID/environ > parent 2> parent.error\n\
         if [ -e twice ]; then sleep 1000 & sleep 1000; fi\n\
         if [ -e once ]; then touch twice; fi\ntouch once\nexit 3\n",
        beside
    );
    std::fs::write(&script, text).expect("written");
    configure(&repo, &format!("sh {script:?}"));
    let run = start(&repo, &[]);
    let (port, _) = gateway(&repo);
    let ports = || std::fs::read_to_string(beside.join("ports")).unwrap_or_default();
    until("the third start", || (ports().lines().count() == 3).then_some(()));
    assert!(ports().lines().all(|line| line == port.to_string()), "{}", ports());
    let name = journal(&repo)[0].run.as_str().to_owned();
    // Neither the agent nor the run itself has the token in its environment.
    let agent = wait_for(&repo, "the agent", |kind| match kind {
        EventKind::AgentStarted { pid, .. } => Some(*pid),
        _ => None,
    });
    if cfg!(target_os = "linux") {
        for pid in [agent, run.id()] {
            let read = std::fs::read(format!("/proc/{pid}/environ")).expect("readable");
            let text = String::from_utf8_lossy(&read).into_owned();
            assert!(!text.contains("ptk-") && !text.contains("TAP_PROVIDER_TOKEN"), "{text}");
        }
    }
    until("its child", || {
        processes_of(&name).iter().any(|it| it.contains("sleep 1000")).then_some(())
    });
    repo.write("flag", "");
    let ran = collect(run);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(processes_of(&name), Vec::<String>::new());
    let told = notices(&repo);
    let told: Vec<_> = told.iter().filter(|it| it.contains("the provider program")).collect();
    // The second failure is no news.
    assert_eq!(told.len(), 1, "{told:?}");
    let again = "ended (exit status: 3), and is started again up to 5 times; its output is in";
    assert!(told[0].contains(again), "{told:?}");
    let log = newest(&repo).expect("a run").join("provider-1.log");
    let log = std::fs::read_to_string(log).expect("the output");
    assert_eq!(log, "my token is [REDACTED]\n".repeat(3));
    // Its own start is no secret, and the settings tell where it comes from.
    let shown = repo.ralph(&["run", "demo", "--dry-run", "--agent", &repo.agent(AGENT)]);
    assert!(shown.stdout.contains("program sh "), "{}", shown.stdout);
}

#[test]
fn a_program_is_bound_while_the_run_lasts_and_says_goodbye() {
    let Some(clients) = clients() else { return };
    let repo = two();
    let page = std::fs::read_to_string(repository("docs/gateway.md")).expect("the page");
    let block = page.split("```python\n").nth(1).expect("a provider");
    let script = repo.beside("provider.py");
    std::fs::write(&script, block.split("```").next().expect("its end")).expect("written");
    let path = clients.join("python");
    configure(&repo, &format!("PYTHONPATH={path:?} python3 {script:?}"));
    let run = start(&repo, &[]);
    let name = wait_for(&repo, "the provider", |kind| match kind {
        EventKind::ProviderBound { provider, .. } => Some(provider.clone()),
        _ => None,
    });
    assert_eq!(name, "example-provider");
    repo.write("flag", "");
    assert_eq!(collect(run).code, Some(0));
    let left = wait_for(&repo, "its end", |kind| match kind {
        EventKind::ProviderLeft { reason, .. } => Some(reason.clone()),
        _ => None,
    });
    assert_eq!(left, "goodbye");
}
