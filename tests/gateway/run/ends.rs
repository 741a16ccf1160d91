//! The end of a run whose provider does not go.

use ralph_copilot::model::{EventKind, Outcome};
use rustix::process::Signal;

use super::{bound, journal, wait_for};
use crate::repo::{Repo, collect, signal};

fn waits(repo: &Repo) {
    wait_for(repo, "the wait", |kind| match kind {
        EventKind::Notice { message } => {
            message.contains("to say goodbye (ci); Ctrl-C skips that").then_some(())
        }
        _ => None,
    });
}

fn outcome(repo: &Repo) -> Outcome {
    let last = journal(repo).pop().expect("events");
    match last.kind {
        EventKind::RunEnded { outcome, .. } => outcome,
        other => panic!("{}", other.name()),
    }
}

#[test]
fn ctrl_c_skips_the_wait_for_a_provider_that_stays() {
    let Some((repo, run, client)) = bound() else { return };
    repo.write("flag", "");
    waits(&repo);
    signal(run.id(), Signal::INT);
    let ran = collect(run);
    // The work was proven before.
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(outcome(&repo), Outcome::Proven);
    drop(client);
}

#[test]
fn after_a_signal_it_takes_a_second_one() {
    let Some((repo, run, client)) = bound() else { return };
    wait_for(&repo, "the agent", |kind| matches!(kind, EventKind::PromptSent { .. }).then_some(()));
    signal(run.id(), Signal::INT);
    waits(&repo);
    signal(run.id(), Signal::INT);
    let ran = collect(run);
    assert_eq!(ran.code, Some(130), "{}", ran.stderr);
    assert_eq!(outcome(&repo), Outcome::Interrupted { signal: 2 });
    assert!(!repo.beside("home/.copilot/extensions/tap/.provider-token").exists());
    drop(client);
}

#[test]
fn a_provider_has_ten_seconds_and_then_the_run_ends() {
    let Some((repo, run, client)) = bound() else { return };
    repo.write("flag", "");
    let ran = collect(run);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let journal = journal(&repo);
    let left = journal.iter().rev().find_map(|event| match &event.kind {
        EventKind::ProviderLeft { reason, .. } => Some(reason.as_str()),
        _ => None,
    });
    assert_eq!(left, Some("the session has ended"));
    drop(client);
}
