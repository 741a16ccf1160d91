//! The end of the runner's standard error, for errors about a runner that gave no answer.
//!
//! Invariant: pure.

use std::collections::VecDeque;

use rustix::process::Signal;

use super::progress::is_meaningful;

/// Lines of standard error that an error shows.
const SHOWN: usize = 5;
/// Lines of each kind that are kept.
const KEPT: usize = SHOWN;
/// Longest line that is kept, in bytes.
const LONGEST: usize = 2000;

/// The last lines of the runner's standard error.
#[derive(Debug, Default)]
pub(super) struct RunnerStderr {
    meaningful: VecDeque<String>,
    all: VecDeque<String>,
}

impl RunnerStderr {
    /// Adds the next line.
    pub(super) fn take(&mut self, line: &str) {
        let line = line.trim_end();
        if line.trim().is_empty() {
            return;
        }
        let line = &line[..line.floor_char_boundary(LONGEST)];
        if is_meaningful(line) {
            keep(&mut self.meaningful, line);
        }
        keep(&mut self.all, line);
    }

    /// The last meaningful lines or, without any, the last lines.
    pub(super) fn last(&self) -> Option<String> {
        let lines = if self.meaningful.is_empty() { &self.all } else { &self.meaningful };
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }
}

fn keep(lines: &mut VecDeque<String>, line: &str) {
    if lines.len() == KEPT {
        lines.pop_front();
    }
    lines.push_back(line.to_owned());
}

/// A signal's name, as in `SIGTERM`; its number where it has none.
pub(super) fn signal_name(number: i32) -> String {
    let known = [
        (Signal::HUP, "SIGHUP"),
        (Signal::INT, "SIGINT"),
        (Signal::QUIT, "SIGQUIT"),
        (Signal::ILL, "SIGILL"),
        (Signal::TRAP, "SIGTRAP"),
        (Signal::ABORT, "SIGABRT"),
        (Signal::BUS, "SIGBUS"),
        (Signal::FPE, "SIGFPE"),
        (Signal::KILL, "SIGKILL"),
        (Signal::USR1, "SIGUSR1"),
        (Signal::SEGV, "SIGSEGV"),
        (Signal::USR2, "SIGUSR2"),
        (Signal::PIPE, "SIGPIPE"),
        (Signal::ALARM, "SIGALRM"),
        (Signal::TERM, "SIGTERM"),
        (Signal::XCPU, "SIGXCPU"),
        (Signal::XFSZ, "SIGXFSZ"),
        (Signal::SYS, "SIGSYS"),
    ];
    let name = known.iter().find(|(signal, _)| signal.as_raw() == number);
    name.map_or_else(|| number.to_string(), |(_, name)| (*name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(lines: &[&str]) -> Option<String> {
        let mut said = RunnerStderr::default();
        lines.iter().for_each(|line| said.take(line));
        said.last()
    }

    #[test]
    fn a_line_without_an_end_is_cut() {
        assert_eq!(said(&[&"ä".repeat(5000)]).map(|said| said.len()), Some(2000));
    }
}
