//! The token file: its form, its owner, its end; and the port.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::place::{Place, ended};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("there").permissions().mode() & 0o777
}

fn is_token(text: &str) -> bool {
    let digits = text.strip_prefix("ptk-").and_then(|rest| rest.strip_suffix('\n'));
    let hex = |c: char| matches!(c, '0'..='9' | 'a'..='f');
    digits.is_some_and(|digits| digits.len() == 32 && digits.chars().all(hex))
}

#[test]
fn both_tokens_are_private_and_gone_at_the_end() {
    let place = Place::new();
    let served = place.serve(&[]);
    let files = ["token_file", "mcp_token_file"].map(|key| served.path(key));
    assert_eq!(files[0], place.tokens().join(".provider-token"));
    let texts = files.clone().map(|file| fs::read_to_string(file).expect("read"));
    assert!(texts.iter().all(|text| is_token(text)) && texts[0] != texts[1], "{texts:?}");
    assert_eq!((mode(&files[0]), mode(&files[1]), mode(&place.tokens())), (0o600, 0o600, 0o700));
    assert_eq!(served.end(), Some(0));
    assert!(files.iter().all(|file| !file.exists()));
    // The next one has another token.
    let next = place.serve(&[]);
    assert_ne!(fs::read_to_string(next.path("token_file")).expect("read"), texts[0]);
}

#[test]
fn a_live_gateway_s_file_stays_and_a_dead_one_s_is_replaced() {
    let place = Place::new();
    let mut first = place.serve(&[]);
    let token = first.token("token_file");
    let output = place.run(&["serve", "--port", "0"]);
    let text = ended(&output, 7);
    assert!(text.contains("another gateway (process ") && text.contains("hint: "), "{text}");
    assert_eq!(first.token("token_file"), token);
    first.child.kill().expect("killed");
    first.child.wait().expect("waited");
    assert!(first.path("token_file").exists(), "a killed gateway leaves its file");
    let second = place.serve(&[]);
    assert_ne!(second.token("token_file"), token);
}

#[test]
fn a_second_gateway_on_the_same_port_is_told_of_the_first() {
    let place = Place::new();
    let first = place.serve(&[]);
    let text = ended(&place.run(&["serve", "--port", &first.port().to_string()]), 7);
    let other = format!("another gateway (process {}) is using the port", first.child.id());
    assert!(text.contains(&other), "{text}");
    assert_eq!(first.end(), Some(0));
}

#[test]
fn a_port_that_is_taken_ends_before_the_file_is_touched() {
    let place = Place::new();
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port().to_string();
    let text = ended(&place.run(&["serve", "--port", &port]), 7);
    assert!(text.contains(&format!("cannot listen on 127.0.0.1:{port}")), "{text}");
    assert!(!place.tokens().exists());
}

#[test]
fn json_says_why_it_cannot_start() {
    let place = Place::new();
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port().to_string();
    let output = place.run(&["serve", "--json", "--port", &port]);
    ended(&output, 7);
    let line: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a JSON line");
    assert_eq!((&line["event"], &line["exit_code"]), (&"refused".into(), &7.into()));
}

#[test]
fn it_needs_no_repository_and_lines_for_people_need_no_json() {
    let place = Place::new();
    let mut child = place
        .command(&["serve", "--port", "0", "--session", "a=A", "--session", "b"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("started");
    let stdout = child.stdout.take().expect("piped");
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(stdout));
    let line = lines.next().expect("a line").expect("text");
    assert!(line.starts_with("Gateway ready: ws://127.0.0.1:"), "{line}");
    child.kill().expect("killed");
    child.wait().expect("waited");
    for wrong in [["--session", "all"], ["--session", "../x"], ["--session", "a b"]] {
        let args: Vec<&str> = ["serve", "--port", "0"].into_iter().chain(wrong).collect();
        ended(&place.run(&args), 2);
    }
}
