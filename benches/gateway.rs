//! What the gateway's table carries: calls through 100 providers with 1,000 in flight, and the
//! memory of a million pushed events.
//!
//! `cargo bench --bench gateway` prints the numbers; `-- --check` fails below 10,000 calls a second
//! or if memory grows. Memory is read from /proc, so only on Linux. Sockets are not measured.

#![expect(clippy::print_stdout, reason = "a benchmark's result is what it prints")]

#[expect(dead_code, reason = "other benchmarks measure whole runs")]
mod support;

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use ralph_copilot::gateway::{
    CallKey, CallRequest, ConnectionId, Effect, GatewayTable, GatewayToken, ProviderFrame,
    SessionInfo,
};
use serde_json::{Value, json};

use support::{Outcome, mib, peak_of};

const PROVIDERS: u64 = 100;
const IN_FLIGHT: usize = 1_000;
const CALLS: u64 = 200_000;
const PUSHES: u64 = 1_000_000;
/// Calls a second that must be possible.
const FAST: f64 = 10_000.0;
/// Growth that counts as none, in bytes.
const FLAT: u64 = 1 << 20;

fn main() -> Outcome<()> {
    let check = std::env::args().any(|arg| arg == "--check");
    let mut table = table()?;
    let rate = calls(&mut table)?;
    println!("{PROVIDERS} providers, {IN_FLIGHT} calls in flight: {rate:.0} calls/s");
    let grown = pushes(&mut table)?;
    println!("{PUSHES} pushes: {:.2} MiB more after the first tenth", mib(grown));
    if check && (rate < FAST || grown > FLAT) {
        return Err("too slow, or memory grows".into());
    }
    Ok(())
}

/// A table with a session and its providers, each with one tool.
fn table() -> Outcome<GatewayTable> {
    let token = GatewayToken::generate()?;
    let auth = json!({"type": "auth", "token": token.expose()}).to_string();
    let mut table = GatewayTable::new(token);
    let session = SessionInfo { id: "s".into(), label: "s".into(), cwd: "/".into() };
    table.open(session).ok_or("a new session")?;
    for at in 1..=PROVIDERS {
        let id = ConnectionId(at);
        table.arrive(id, Duration::ZERO);
        table.frame(id, ProviderFrame::read(auth.as_bytes()), Duration::ZERO);
        let tool = json!({"name": format!("t{at}"), "description": "d", "parameters": {}});
        let hello = json!({"type": "hello", "name": format!("p{at}"), "protocolVersion": 2,
            "session": "s", "tools": [tool]});
        table.frame(id, ProviderFrame::read(hello.to_string().as_bytes()), Duration::ZERO);
    }
    table.take_effects();
    Ok(table)
}

/// Calls a second, from the request to the outcome, with every frame written and read.
fn calls(table: &mut GatewayTable) -> Outcome<f64> {
    let mut waiting = VecDeque::new();
    let (mut made, mut settled) = (0, 0);
    let start = Instant::now();
    while settled < CALLS {
        if made < CALLS && waiting.len() < IN_FLIGHT {
            made += 1;
            let tool = format!("t{}", made % PROVIDERS + 1);
            let args = json!({"name": "Alice"}).as_object().cloned().unwrap_or_default();
            let (session, label, timeout) = ("s".to_owned(), None, None);
            let request = CallRequest { session, tool, args, label, timeout };
            table.call(CallKey(made), request, start.elapsed());
        } else if let Some((provider, id)) = waiting.pop_front() {
            let result = json!({"type": "tool.result", "id": id, "data": "Hello, Alice!"});
            table.frame(
                provider,
                ProviderFrame::read(result.to_string().as_bytes()),
                start.elapsed(),
            );
        }
        for effect in table.take_effects() {
            match effect {
                Effect::Send(to, text) => {
                    let frame: Value = serde_json::from_str(&text)?;
                    waiting.push_back((to, frame["id"].as_str().ok_or("an id")?.to_owned()));
                }
                Effect::Settle(_, outcome) => {
                    outcome.map_err(|failure| failure.to_string())?;
                    settled += 1;
                }
                _ => {}
            }
        }
    }
    Ok(CALLS as f64 / start.elapsed().as_secs_f64())
}

/// How much the peak grows from the first tenth to the last, in bytes.
fn pushes(table: &mut GatewayTable) -> Outcome<u64> {
    let push = json!({"type": "push", "level": "inject", "event": "x".repeat(200)}).to_string();
    let mut now = Duration::from_secs(1000);
    let (mut events, mut early) = (0, 0);
    for at in 0..PUSHES {
        // As fast as one provider may.
        now += Duration::from_millis(2);
        table.frame(ConnectionId(at % PROVIDERS + 1), ProviderFrame::read(push.as_bytes()), now);
        let effects = table.take_effects();
        events += effects.iter().filter(|it| matches!(it, Effect::Report(_))).count() as u64;
        if at == PUSHES / 10 {
            early = peak_of(std::process::id());
        }
    }
    if events != PUSHES {
        return Err(format!("{events} events of {PUSHES} pushes").into());
    }
    Ok(peak_of(std::process::id()).saturating_sub(early))
}
