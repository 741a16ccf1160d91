//! `hook`: the process that the CLI starts for every tool call during a run.
//!
//! Whatever goes wrong is a denial: no runner, no answer, bad input, no time. The
//! exit code 2 denies too, in case that not even the answer can be printed.

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::time::Duration;

use crate::hooks::{ASK_LIMIT, ask, denial};

/// Longest input that is read, in bytes.
const LONGEST: u64 = 32 << 20;
/// After this the process denies by itself, whatever it is waiting for.
const WATCHDOG: Duration = Duration::from_secs(ASK_LIMIT.as_secs() + 5);
/// The CLI takes this exit code for a denial.
const DENIED: u8 = 2;

/// Asks the runner and repeats its answer.
pub(super) fn hook(event: &str, socket: &Path) -> u8 {
    std::thread::spawn(|| {
        std::thread::sleep(WATCHDOG);
        answer(&denial("Nothing ran: the guard did not answer in time."));
        std::process::exit(i32::from(DENIED));
    });
    let mut input = Vec::new();
    let read = std::io::stdin().lock().take(LONGEST).read_to_end(&mut input);
    let asked = match read {
        Ok(_) => ask(socket, event, &input).map_err(|error| error.to_string()),
        Err(error) => Err(format!("the hook's input cannot be read: {error}")),
    };
    match asked {
        Ok(reply) if answer(&reply) => 0,
        Ok(_) => DENIED,
        Err(why) => {
            answer(&denial(&format!("Nothing ran: {why}.")));
            DENIED
        }
    }
}

/// Prints the answer whole and at once; says whether that worked.
fn answer(text: &str) -> bool {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_ok()
}
