//! `hook`: the process that the CLI starts for every tool call during a run.
//!
//! Whatever goes wrong is a denial: no runner, no answer, bad input, no time. The
//! exit code 2 denies too, in case that not even the answer can be printed. A hook that
//! only reports ends well whatever happens: it allows nothing, and must hold up nothing.

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::time::Duration;

use crate::hooks::{ask, ask_limit, denial, observes, pass};

/// Longest input that is read, in bytes.
const LONGEST: u64 = 32 << 20;
/// So much longer than the runner's limit the process waits before it answers by itself.
const WATCHDOG: Duration = Duration::from_secs(5);
/// The CLI takes this exit code for a denial.
const DENIED: u8 = 2;

/// Asks the runner and repeats its answer.
pub(super) fn hook(event: &str, socket: &Path) -> u8 {
    let only_reports = observes(event);
    let limit = ask_limit(event) + WATCHDOG;
    std::thread::spawn(move || {
        std::thread::sleep(limit);
        let code = fail("the guard did not answer in time", only_reports);
        std::process::exit(i32::from(code));
    });
    let mut input = Vec::new();
    let read = std::io::stdin().lock().take(LONGEST).read_to_end(&mut input);
    let asked = match read {
        Ok(_) => ask(socket, event, &input).map_err(|error| error.to_string()),
        Err(error) => Err(format!("the hook's input cannot be read: {error}")),
    };
    match asked {
        Ok(reply) if answer(&reply) || only_reports => 0,
        Ok(_) => DENIED,
        Err(why) => fail(&why, only_reports),
    }
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

/// Prints the answer whole and at once; says whether that worked.
fn answer(text: &str) -> bool {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_ok()
}
