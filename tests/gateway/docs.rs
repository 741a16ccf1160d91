//! The providers of docs/gateway.md run as they are printed there.

use std::process::{Child, Command};

use crate::place::{Place, clients, ended, node, python};

/// The code block of this language that has the most lines.
fn block(language: &str) -> String {
    let page = include_str!("../../docs/gateway.md");
    let blocks = page.split("```").skip(1).step_by(2);
    let blocks = blocks.filter_map(|block| block.strip_prefix(&format!("{language}\n")));
    blocks.max_by_key(|block| block.lines().count()).expect("a block").to_owned()
}

/// Starts the provider, calls its tool, and stops the gateway, which stops the provider.
fn greets(place: &Place, mut command: Command) {
    let served = place.serve(&[]);
    let mut child: Child = command
        .env("TAP_PROVIDER_TOKEN", served.token("token_file"))
        .env("TAP_GATEWAY_PORT", served.port().to_string())
        .spawn()
        .expect("started");
    assert_eq!(served.event("bound")["provider"], "example-provider");
    assert_eq!(served.event("tools_changed")["tools"][0], "greet");
    let output = place.run(&["call", "greet", r#"{"name":"Alice"}"#]);
    assert_eq!(ended(&output, 0), "Hello, Alice!\n");
    assert_eq!(served.end(), Some(0));
    assert!(child.wait().expect("waited").success());
}

#[test]
fn the_provider_in_node_runs() {
    let Some(clients) = clients() else { return };
    let place = Place::new();
    greets(&place, node(&clients, &place, "provider.mjs", &block("js")));
}

#[test]
fn the_provider_in_python_runs() {
    let Some(clients) = clients() else { return };
    let place = Place::new();
    let mut command = python(&clients);
    command.args(["-c", &block("python")]);
    greets(&place, command);
}
