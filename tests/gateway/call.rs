//! `gateway call`: a call by hand.

use std::process::{Child, Output, Stdio};

use serde_json::{Value, json};

use crate::place::{Place, Served, clients, ended, python};

/// A provider in Python that greets, fails, and waits.
const PROVIDER: &str = r#"
import asyncio, json, sys, websockets

async def main(url, token):
    tools = [{"name": name, "description": "d", "parameters": {}} for name in ["greet", "fail", "wait"]]
    async with websockets.connect(url) as socket:
        await socket.send(json.dumps({"type": "auth", "token": token}))
        async for raw in socket:
            frame = json.loads(raw)
            if frame["type"] == "sessions":
                hello = {"type": "hello", "name": "p", "protocolVersion": 2, "tools": tools}
                await socket.send(json.dumps({**hello, "session": frame["active"][0]["id"]}))
            elif frame["type"] == "tool.call":
                result = {"type": "tool.result", "id": frame["id"]}
                if frame["tool"] == "greet":
                    await socket.send(json.dumps({**result, "data": f"Hello, {frame['args']['name']}!"}))
                elif frame["tool"] == "fail":
                    await socket.send(json.dumps({**result, "error": "broken", "errorCode": "INTERNAL"}))
            elif frame["type"] == "tool.cancel":
                print("cancelled", frame["reason"], flush=True)

asyncio.run(main(*sys.argv[1:]))
"#;

/// The provider, which is killed at the end.
pub(crate) struct Provider(pub(crate) Child);

impl Drop for Provider {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

pub(crate) fn provider(served: &Served) -> Option<Provider> {
    let clients = clients()?;
    let child = python(&clients)
        .args(["-c", PROVIDER, served.ready["url"].as_str().expect("a URL")])
        .arg(served.token("token_file"))
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3");
    served.event("bound");
    Some(Provider(child))
}

#[test]
fn the_result_is_printed_and_a_failure_has_its_code() {
    let place = Place::new();
    let served = place.serve(&[]);
    let Some(_provider) = provider(&served) else { return };
    let output = place.run(&["call", "greet", r#"{"name":"Alice"}"#]);
    assert_eq!(ended(&output, 0), "Hello, Alice!\n");
    assert_eq!(ended(&place.run(&["call", "fail"]), 1), "error: INTERNAL: broken\n");
    let text = ended(&place.run(&["call", "other"]), 1);
    assert!(text.starts_with("error: NOT_FOUND: "), "{text}");
    let text = ended(&place.run(&["call", "wait", "{}", "--timeout", "50"]), 3);
    assert_eq!(text, "error: TIMEOUT: no result within 50 ms\n");
    let event = served.event("result");
    assert_eq!((&event["as"], &event["data"]), (&serde_json::Value::Null, &"Hello, Alice!".into()));
}

#[test]
fn the_environment_names_the_gateway_before_the_folder() {
    let place = Place::new();
    let served = place.serve(&[]);
    let Some(_provider) = provider(&served) else { return };
    let elsewhere = Place::new();
    let output = elsewhere
        .command(&["call", "greet", r#"{"name":"Bob"}"#, "--session", "dev"])
        .env("TAP_PROVIDER_TOKEN", served.token("token_file"))
        .env("TAP_GATEWAY_PORT", served.port().to_string())
        .output()
        .expect("started");
    assert_eq!(ended(&output, 0), "Hello, Bob!\n");
    let output = place.command(&["call", "greet"]).env("TAP_PROVIDER_TOKEN", "ptk-0").output();
    let text = ended(&output.expect("started"), 7);
    assert!(text.contains("the gateway rejected the token"), "{text}");
}

#[test]
fn hanging_up_cancels_the_call() {
    let place = Place::new();
    let served = place.serve(&[]);
    let Some(mut provider) = provider(&served) else { return };
    let mut child = place.command(&["call", "wait"]).spawn().expect("started");
    served.event("call");
    child.kill().expect("killed");
    child.wait().expect("waited");
    assert_eq!(served.event("result")["error_code"], "CANCELLED");
    let stdout = provider.0.stdout.take().expect("piped");
    let line = std::io::BufRead::lines(std::io::BufReader::new(stdout)).next();
    assert_eq!(line.expect("a line").expect("text"), "cancelled interrupt");
}

#[test]
fn what_is_wrong_says_what_to_do() {
    let place = Place::new();
    let text = ended(&place.run(&["call", "greet"]), 7);
    assert!(text.contains("ralph-copilot gateway serve"), "{text}");
    let _served = place.serve(&["--session", "one", "--session", "two"]);
    let text = ended(&place.run(&["call", "greet"]), 2);
    assert!(text.contains("--session") && text.contains("one, two"), "{text}");
    let text = ended(&place.run(&["call", "greet", "--session", "three"]), 7);
    assert!(text.contains("no session `three`; its sessions: one, two"), "{text}");
    for args in [["call", "greet", "nonsense"], ["call", "greet", "[1]"]] {
        let text = ended(&place.run(&args), 2);
        assert!(text.contains("JSON object"), "{text}");
    }
    ended(&place.run(&["call", "greet", "{}", "--timeout", "0"]), 2);
}

/// The one line of standard output, as JSON.
#[track_caller]
fn line(output: &Output, code: i32) -> Value {
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!((output.status.code(), stdout.lines().count()), (Some(code), 1), "{stdout}");
    serde_json::from_str(&stdout).expect("JSON")
}

#[test]
fn a_program_gets_one_line_of_json_whatever_happens() {
    let place = Place::new();
    let call = |rest: &[&str]| place.run(&[&["call", "--json"], rest].concat());
    let refused = |rest: &[&str], code: i32| {
        let refused = line(&call(rest), code);
        assert_eq!((&refused["event"], &refused["exit_code"]), (&json!("refused"), &json!(code)));
        assert!(refused["reason"].is_string() && refused["hints"].is_array(), "{refused}");
    };
    refused(&["greet"], 7);
    let served = place.serve(&[]);
    for (rest, code) in [
        (&["greet", "nonsense"][..], 2),
        (&["greet", "{}", "--timeout", "0"], 2),
        (&["greet", "{}", "--session", "other"], 7),
    ] {
        refused(rest, code);
    }
    let missing = line(&call(&["other"]), 1);
    assert_eq!(
        (&missing["event"], &missing["error_code"]),
        (&json!("result"), &json!("NOT_FOUND"))
    );
    let Some(_provider) = provider(&served) else { return };
    let result = line(&call(&["greet", r#"{"name":"Alice"}"#]), 0);
    assert_eq!(result, json!({"event": "result", "data": "Hello, Alice!"}));
    let failed = line(&call(&["fail"]), 1);
    let expected = json!({"event": "result", "error_code": "INTERNAL", "error": "broken"});
    assert_eq!(failed, expected);
    let late = line(&call(&["wait", "{}", "--timeout", "50"]), 3);
    assert_eq!(late["error_code"], "TIMEOUT");
}

/// A script may repeat a call that was not made, and must be able to tell it from one that was.
#[test]
fn a_gateway_that_dies_in_a_call_is_no_missing_gateway() {
    let place = Place::new();
    let served = place.serve(&[]);
    let Some(_provider) = provider(&served) else { return };
    let child = place.command(&["call", "wait", "--json"]).stdout(Stdio::piped()).spawn();
    let child = child.expect("started");
    served.event("call");
    drop(served);
    let lost = line(&child.wait_with_output().expect("ended"), 1);
    assert_eq!(lost["error_code"], "DISCONNECTED", "{lost}");
}

#[test]
fn something_else_on_the_port_is_no_gateway() {
    for answer in ["HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\n\r\nno", "SSH-2.0-x\r\n"] {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let other = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a client");
            let mut request = Vec::new();
            while !request.ends_with(b"}") {
                let mut some = [0; 1024];
                let count = std::io::Read::read(&mut stream, &mut some).expect("a request");
                request.extend_from_slice(&some[..count]);
            }
            std::io::Write::write_all(&mut stream, answer.as_bytes()).expect("written");
        });
        let place = Place::new();
        let output = place
            .command(&["call", "greet"])
            .env("TAP_PROVIDER_TOKEN", "ptk-0")
            .env("TAP_GATEWAY_PORT", port.to_string())
            .output();
        let text = ended(&output.expect("started"), 7);
        assert!(text.contains("is not a gateway"), "{text}");
        other.join().expect("answered");
    }
}
