//! `hook`: the process that the CLI starts for every tool call.
//!
//! With a run's socket, it asks the runner. Without one, it is the adapter to the project's own
//! hooks, or asks the guard if there are none.
//!
//! Every failure is a denial: no runner, no answer, bad input, no time. With a socket, exit code 2
//! also denies, in case the answer cannot be printed. Without one, the code is 0 as long as the
//! answer is printed, as hooks of a repository must end. A hook that only reports always ends with
//! 0: it allows nothing, and must not block anything.

mod adapter;
mod after;
mod hook_context;
mod xpia;

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use tokio::time::Instant;

use self::adapter::{Contract, refuse};
pub(super) use self::xpia::find_defender;
use super::args::HookArgs;
use super::environment;
use super::print::complain;
use crate::hooks::{HOOK_USAGE, HookKind, ask, ask_limit, denial, observes, pass};

/// Longest input that is read, in bytes.
const LONGEST: u64 = 32 << 20;
/// The time that the process waits beyond its own limit before it answers by itself.
const WATCHDOG: Duration = Duration::from_secs(5);
/// How long the project's hooks may take, all together: the CLI lets a call pass whose hook
/// takes longer than the 30 s that it is given there.
const SCRIPTS: Duration = Duration::from_secs(25);
/// After this the adapter answers by itself: there is something that even killing the
/// scripts did not end, or an input without an end.
const ADAPTER: Duration = Duration::from_secs(28);
/// The usual stack size of a program's first thread, in bytes, which other threads do not have.
const STACK: usize = 8 << 20;
/// The CLI takes this exit code for a denial.
const DENIED: u8 = 2;
/// An unknown hook.
const UNKNOWN: u8 = 1;

/// Answers a hook.
pub(super) fn hook(directory: Option<&Path>, args: &HookArgs) -> u8 {
    let name = args.kind.as_deref().unwrap_or_default();
    if let (Some(socket), false) = (&args.socket, name.is_empty()) {
        return of_the_run(name, socket);
    }
    match HookKind::read(name) {
        Some(kind) => {
            let contract = if args.adapter { Contract::Adapter } else { Contract::Wrapper };
            of_the_project(kind, contract, directory, args.json.as_deref())
        }
        None => {
            complain(&format!("Error: Unknown hook type: {name}\n{HOOK_USAGE}"));
            UNKNOWN
        }
    }
}

/// Asks the runner and repeats its answer.
fn of_the_run(event: &str, socket: &Path) -> u8 {
    let only_reports = observes(event);
    let limit = ask_limit(event) + WATCHDOG;
    let (event, socket) = (event.to_owned(), socket.to_owned());
    let asked = within(limit, move || {
        let mut input = Vec::new();
        match std::io::stdin().lock().take(LONGEST).read_to_end(&mut input) {
            Ok(_) => ask(&socket, &event, &input).map_err(|error| error.to_string()),
            Err(error) => Err(format!("the hook's input cannot be read: {error}")),
        }
    });
    match asked {
        Ok(Ok(reply)) if repeat(&reply) || only_reports => 0,
        Ok(Ok(_)) => DENIED,
        Ok(Err(why)) => fail(&why, only_reports),
        Err(RecvTimeoutError::Timeout) => fail("the guard did not answer in time", only_reports),
        Err(RecvTimeoutError::Disconnected) => fail("the hook failed", only_reports),
    }
}

/// The result of the work, if it ends within the limit. It runs on a separate thread, since a read
/// of standard input cannot be cancelled; the process ends without it.
fn within<T: Send + 'static>(
    limit: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, RecvTimeoutError> {
    let (done, result) = mpsc::sync_channel(1);
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(move || {
        // The receiver is gone if this took too long.
        let _late = done.send(work());
    });
    // A thread that did not begin has dropped its end of the channel, as one that panics does.
    drop(thread);
    result.recv_timeout(limit)
}

/// Answers without the runner; gives the exit code.
fn fail(why: &str, only_reports: bool) -> u8 {
    if only_reports {
        answer(&pass());
        return 0;
    }
    answer(&denial(&format!("Nothing ran: {why}.")));
    DENIED
}

/// Asks the project's own hooks, or the guard.
fn of_the_project(
    kind: HookKind,
    contract: Contract,
    directory: Option<&Path>,
    json: Option<&str>,
) -> u8 {
    let until = Instant::now() + SCRIPTS;
    // An empty argument asks nothing: the input may be on standard input.
    let json = json.filter(|json| !json.trim().is_empty()).map(str::to_owned);
    let directory = directory.map(Path::to_owned);
    let decided =
        within(ADAPTER, move || decide(kind, contract, directory.as_deref(), json, until));
    deliver(
        kind,
        decided.unwrap_or_else(|none| match none {
            RecvTimeoutError::Timeout => refuse("no decision in time"),
            RecvTimeoutError::Disconnected => refuse("the hook failed"),
        }),
    )
}

fn decide(
    kind: HookKind,
    contract: Contract,
    directory: Option<&Path>,
    json: Option<String>,
    until: Instant,
) -> String {
    let input = match json.map_or_else(read_input, |json| Ok(json.into_bytes())) {
        Ok(input) => input,
        Err(why) => return refuse(&why),
    };
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return refuse(&error.to_string()),
    };
    runtime.block_on(async {
        match kind {
            HookKind::PreToolUse => adapter::before(directory, contract, &input, until).await,
            HookKind::PostToolUse => after::after(directory, &input, until).await,
            HookKind::Xpia => xpia::validate(&input, until).await,
        }
    })
}

/// Prints the answer; a call that has been made cannot be denied any more.
fn deliver(kind: HookKind, mut text: String) -> u8 {
    if !text.is_empty() {
        text.push('\n');
    }
    match kind {
        HookKind::PostToolUse => 0,
        HookKind::PreToolUse | HookKind::Xpia if text.is_empty() => 0,
        HookKind::PreToolUse | HookKind::Xpia if answer(&text) => 0,
        HookKind::PreToolUse | HookKind::Xpia => DENIED,
    }
}

/// Standard input, whole.
fn read_input() -> Result<Vec<u8>, String> {
    let mut input = Vec::new();
    let read = std::io::stdin().lock().take(LONGEST + 1).read_to_end(&mut input);
    read.map_err(|error| format!("the hook's input cannot be read: {error}"))?;
    if input.len() as u64 > LONGEST {
        return Err("the call is too large".to_owned());
    }
    Ok(input)
}

/// Prints the answer whole and at once; says whether that worked.
fn answer(text: &str) -> bool {
    repeat(&environment::redactor().redact_str(text))
}

/// Prints an answer of the runner, which has redacted it.
fn repeat(text: &str) -> bool {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_of_work_that_ends_or_fails_or_lasts_too_long() {
        let long = Duration::from_secs(60);
        assert_eq!(within(long, || 7), Ok(7));
        let failed = within(long, || -> u8 { std::panic::panic_any("broken") });
        assert_eq!(failed, Err(RecvTimeoutError::Disconnected));
        let (_never, forever) = mpsc::channel::<()>();
        let late = within(Duration::ZERO, move || forever.recv().is_ok());
        assert_eq!(late, Err(RecvTimeoutError::Timeout));
    }
}
