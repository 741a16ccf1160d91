//! Providers that stop: they neither read nor answer, and only time or a limit ends them.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::call::{Provider, provider};
use crate::place::Place;

fn stop(provider: &Provider) {
    let pid = provider.0.id().to_string();
    let status = Command::new("kill").args(["-STOP", &pid]).status().expect("kill");
    assert!(status.success());
}

#[test]
fn a_half_open_provider_is_found_dead_and_blocks_its_names_no_longer() {
    let place = Place::new();
    let served = place.serve(&[]);
    let Some(first) = provider(&served) else { return };
    let began = Instant::now();
    stop(&first);
    let unbound = served.event("unbound");
    assert_eq!(unbound["reason"], "silent for too long");
    let took = began.elapsed();
    assert!(took > Duration::from_secs(10) && took < Duration::from_secs(50), "{took:?}");
    // It is bound under the same names. If that is soon enough, nobody hears of a change.
    assert!(provider(&served).is_some());
}

#[test]
fn a_provider_that_does_not_read_is_cut_off_and_its_calls_end() {
    let place = Place::new();
    let mut served = place.serve(&[]);
    let Some(first) = provider(&served) else { return };
    stop(&first);
    let large = "x".repeat(1 << 20);
    for at in 0..64 {
        let label = at.to_string();
        served.command(&json!({"command": "call", "session": "dev", "tool": "wait",
            "args": {"x": large}, "as": label}));
    }
    let mut codes = Vec::new();
    while codes.len() < 64 {
        let event = served.event("result");
        codes.push(event["error_code"].as_str().expect("a code").to_owned());
    }
    // Those that came after the end found no tool.
    assert!(codes.iter().all(|code| code == "DISCONNECTED" || code == "NOT_FOUND"), "{codes:?}");
    assert!(codes.iter().filter(|code| *code == "DISCONNECTED").count() >= 16, "{codes:?}");
    assert_eq!(served.end(), Some(0));
}

#[test]
fn people_are_told_why_the_end_takes_a_while() {
    let place = Place::new();
    let mut command = place.command(&["serve", "--json", "--port", "0"]);
    command.stderr(std::process::Stdio::piped());
    let mut served = place.served(command);
    let Some(_first) = provider(&served) else { return };
    let signal = |served: &crate::place::Served| {
        let pid = served.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().expect("kill").success());
    };
    signal(&served);
    let stderr = served.child.stderr.take().expect("piped");
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(stderr));
    let line = lines.next().expect("a line").expect("text");
    assert!(line.contains("providers to say goodbye; press Ctrl-C again"), "{line}");
    signal(&served);
    assert_eq!(served.child.wait().expect("waited").code(), Some(130));
}
