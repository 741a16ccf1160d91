//! The frame scripts of tests/corpus/gateway, over real WebSockets.

use std::collections::BTreeSet;

use crate::place::{clients, ended, python, repository};

fn play(script: &str) {
    let Some(clients) = clients() else { return };
    let output = python(&clients)
        .arg(repository("tests/gateway/play.py"))
        .arg(env!("CARGO_BIN_EXE_ralph-copilot"))
        .arg(repository("tests/corpus/gateway").join(script))
        .env_remove("TAP_PROVIDER_TOKEN")
        .output()
        .expect("python3");
    let text = ended(&output, 0);
    assert!(text.contains("scenarios passed"), "{text}");
}

/// A test for each script.
macro_rules! scripts {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            play(concat!(stringify!($name), ".frames"));
        })*

        const SCRIPTS: &[&str] = &[$(concat!(stringify!($name), ".frames")),*];
    };
}

scripts! { auth calls hello lifecycle limits push }

#[test]
fn every_script_is_played() {
    let there = std::fs::read_dir(repository("tests/corpus/gateway")).expect("scripts");
    let there: BTreeSet<String> = there
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    assert_eq!(there, SCRIPTS.iter().map(|name| (*name).to_owned()).collect());
}
