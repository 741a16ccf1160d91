//! What is kept on disk: frames and stderr, redacted and capped.

use std::sync::Arc;

use serde_json::json;

use super::client_scene::{ClientScene, read};
use crate::agent::AgentKind;
use crate::agent::stderr::StderrTail;
use crate::agent::wire_log::{Way, WireLog};
use crate::guard::Redactor;

#[tokio::test(flavor = "multi_thread")]
async fn both_directions_and_noise_are_in_the_wire_log() {
    let (mut scene, mut peer) = ClientScene::new(AgentKind::Other);
    let (connection, ()) = tokio::join!(scene.introduced(), async {
        let (id, _) = peer.expect("initialize").await;
        peer.bytes(b"hello, I am a banner\n").await;
        peer.answer(&id, json!({"protocolVersion": 1})).await;
    });
    let mut connection = connection;
    connection.hang_up().await;
    drop(peer);
    connection.release_output().await;
    let text = scene.wire();
    let marks: Vec<&str> = text.lines().filter_map(|line| line.get(25..26)).collect();
    assert_eq!(marks, [">", "?", "<"], "{text}");
    assert!(text.contains("\"method\":\"initialize\""), "{text}");
}

#[tokio::test]
async fn the_last_words_are_waited_for_and_not_for_ever() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("stderr.log");
    let redactor = Arc::new(Redactor::new(Vec::<String>::new()));
    let ends = StderrTail::drain(&b"no login\n"[..], &path, Arc::clone(&redactor));
    assert_eq!(ends.last_words().await, "no login\n");
    let (_held, stream) = tokio::io::duplex(64);
    let stays_open = StderrTail::drain(stream, &path, redactor);
    assert_eq!(stays_open.last_words().await, "");
}

#[test]
fn a_frame_is_cut_and_the_cut_is_told() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("wire.log");
    let redactor = Arc::new(Redactor::new(Vec::<String>::new()));
    let (log, writer) = WireLog::open(&path, redactor).expect("open");
    log.note(Way::Received, &"x".repeat(200_000));
    log.note(Way::Sent, "short");
    drop(log);
    drop(writer);
    let text = read(&path);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].ends_with(&format!("[… {} bytes left out …]", 200_000 - 65_536)));
    assert!(lines[1].ends_with("Z > short"), "{}", lines[1]);
}

#[test]
fn frames_that_do_not_fit_are_counted_and_nobody_waits() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("wire.log");
    let redactor = Arc::new(Redactor::new(Vec::<String>::new()));
    let (log, writer) = WireLog::open(&path, redactor).expect("open");
    let frame = json!({"text": "y".repeat(60_000)}).to_string();
    for _ in 0..3000 {
        log.note(Way::Received, &frame);
    }
    drop(log);
    drop(writer);
    let text = read(&path);
    assert!(text.len() < 17 << 20, "{}", text.len());
    let last = text.lines().last().expect("a line");
    assert!(last.starts_with("# ") && last.contains("frames are missing"), "{last}");
}

#[test]
fn a_full_wire_log_is_moved_aside_and_the_newest_frames_are_there() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("wire.log");
    let before = folder.path().join("wire.log.1");
    std::fs::write(&path, vec![b'x'; 17 << 20]).expect("a full log");
    let redactor = Arc::new(Redactor::new(Vec::<String>::new()));
    let (log, writer) = WireLog::open(&path, redactor).expect("open");
    log.note(Way::Sent, "the newest");
    drop(log);
    drop(writer);
    assert_eq!(std::fs::metadata(&before).expect("moved").len(), 17 << 20);
    assert!(read(&path).ends_with(" > the newest\n"));
}

#[test]
fn the_end_of_the_run_does_not_wait_for_a_log_that_somebody_holds() {
    let folder = tempfile::tempdir().expect("folder");
    let redactor = Arc::new(Redactor::new(Vec::<String>::new()));
    let path = folder.path().join("wire.log");
    let (log, writer) = WireLog::open(&path, redactor).expect("open");
    drop(writer);
    log.note(Way::Sent, "late");
}

#[tokio::test]
async fn the_end_of_stderr_is_kept_from_a_whole_line_on() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("stderr.log");
    let redactor = Arc::new(Redactor::new(Vec::<String>::new()));
    let (mut out, input) = tokio::io::duplex(64 << 10);
    let tail = StderrTail::drain(input, &path, redactor);
    let lines: String = (0..2000).map(|number| format!("line {number:04}\n")).collect();
    tokio::io::AsyncWriteExt::write_all(&mut out, lines.as_bytes()).await.expect("write");
    drop(out);
    let text = async {
        while !std::fs::read_to_string(&path).is_ok_and(|text| text.ends_with("1999\n")) {
            tokio::task::yield_now().await;
        }
        tail.text()
    };
    let text = super::client_scene::within(text).await;
    assert!(text.starts_with("line ") && text.ends_with("line 1999\n"), "{text}");
    assert!(text.len() <= 8 << 10);
    assert_eq!(read(&path), lines);
}
