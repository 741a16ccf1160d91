//! `gateway serve`: a gateway without a run.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::call::signal_code;
use super::commands::obey;
use super::events::{json_lines, plain_line};
use super::folder::folder;
use super::folder::not_listening;
use super::host::{Host, wrong_id};
use crate::cli::args::ServeGatewayArgs;
use crate::cli::environment::redactor;
use crate::cli::failure::Failure;
use crate::cli::paths;
use crate::cli::print::{complain, say, say_line, say_lines};
use crate::cli::runtime::runtime;
use crate::gateway::{
    Gateway, GatewayEndpoints, GatewayEvent, GatewayToken, Listeners, SHUTDOWN_TIME, TokenFiles,
    direct_route, serve as serve_port,
};
use crate::model::ExitCode;
use crate::sys::shutdown::Shutdown;

/// Serves until a signal or, with `--json`, until the end of standard input.
pub(super) fn serve(directory: Option<&Path>, args: &ServeGatewayArgs) -> Result<u8, Failure> {
    let cwd = paths::directory(directory)?.to_string_lossy().into_owned();
    let sessions = sessions(args)?;
    let runtime = runtime()?;
    let code = runtime.block_on(run(args, sessions, cwd));
    // A read of standard input cannot be taken back: it must not keep the process.
    runtime.shutdown_background();
    code
}

/// Id and label of each session to begin with.
fn sessions(args: &ServeGatewayArgs) -> Result<Vec<(String, Option<String>)>, Failure> {
    if args.sessions.is_empty() {
        let dev = (!args.no_session).then(|| ("dev".to_owned(), None));
        return Ok(dev.into_iter().collect());
    }
    let split = |named: &String| match named.split_once('=') {
        Some((id, label)) => (id.to_owned(), Some(label.to_owned())),
        None => (named.clone(), None),
    };
    let sessions: Vec<(String, Option<String>)> = args.sessions.iter().map(split).collect();
    for (at, (id, _)) in sessions.iter().enumerate() {
        let twice = sessions[..at].iter().any(|(other, _)| other == id);
        let wrong =
            if twice { Some(format!("the session `{id}` is given twice")) } else { wrong_id(id) };
        if let Some(wrong) = wrong {
            return Err(Failure::new(ExitCode::Usage, wrong));
        }
    }
    Ok(sessions)
}

async fn run(
    args: &ServeGatewayArgs,
    sessions: Vec<(String, Option<String>)>,
    cwd: String,
) -> Result<u8, Failure> {
    let internal = |error| Failure::new(ExitCode::Internal, error);
    let (shutdown, at_once) = (Shutdown::default(), CancellationToken::new());
    let second = at_once.clone();
    shutdown.listen(move |_| second.cancel()).map_err(internal)?;
    let listeners = Listeners::bind(args.port).await;
    let listeners = listeners.map_err(|error| not_listening(error, args.port))?;
    let (token, mcp_token) = (GatewayToken::generate()?, GatewayToken::generate()?);
    let files = TokenFiles::write(folder()?, &token, Some(&mcp_token), listeners.port())?;
    let (gateway, events) = Gateway::start(token.clone());
    let endpoints = GatewayEndpoints::new(gateway.clone(), mcp_token, Arc::clone(redactor()));
    let port = listeners.port();
    let others = endpoints.routes().merge(direct_route(gateway.clone(), token));
    let host = Host::new(gateway, endpoints, cwd);
    for (id, label) in sessions {
        host.open(&id, label, None).await.map_err(|error| Failure::new(ExitCode::Usage, error))?;
    }
    ready(args.json, port, &files);
    let printer = tokio::task::spawn_blocking({
        let json = args.json;
        move || print_all(json, events)
    });
    serve_port(&host.gateway, listeners, others);
    let commands = async {
        if args.json {
            obey(&host, tokio::io::stdin()).await;
        } else {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        () = commands => {}
        () = shutdown.token().cancelled() => {}
    }
    tokio::select! {
        () = host.end_all() => {}
        () = at_once.cancelled() => {}
        () = say_that_it_waits() => {}
    }
    host.gateway.stop().await;
    drop(files);
    drop(host);
    // Whoever does not read the last events does not keep the process.
    drop(tokio::time::timeout(Duration::from_secs(2), printer).await);
    Ok(signal_code(&shutdown))
}

/// Tells people why the end takes a while. Never ends.
async fn say_that_it_waits() {
    tokio::time::sleep(Duration::from_millis(300)).await;
    let limit = SHUTDOWN_TIME.as_secs();
    complain(&format!(
        "waiting up to {limit} s for providers to say goodbye; press Ctrl-C again to skip that"
    ));
    std::future::pending::<()>().await;
}

fn ready(json: bool, port: u16, files: &TokenFiles) {
    let (url, mcp_url) = (format!("ws://127.0.0.1:{port}"), format!("http://127.0.0.1:{port}/mcp"));
    if json {
        return say_line(&json!({
            "event": "gateway_ready",
            "url": url,
            "token_file": files.token(),
            "mcp_url": mcp_url,
            "mcp_token_file": files.mcp_token(),
        }));
    }
    say(&format!("Gateway ready: {url}, token in {}", files.token().display()));
    say(&format!("MCP: {mcp_url}/<session>, token in {}", files.mcp_token().display()));
}

fn print_all(json: bool, mut events: mpsc::Receiver<GatewayEvent>) {
    while let Some(event) = events.blocking_recv() {
        if json {
            say_lines(&json_lines(&event));
        } else {
            say(&plain_line(&event));
        }
    }
}
