//! A question at the terminal, with a time limit.
//!
//! Invariant: input typed before the question does not answer it.

use std::fs::File;
use std::io::{self, IsTerminal as _, Read, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Longest answer, in bytes.
const LONGEST: usize = 256;

/// The terminal of this process; `None` if it has none.
pub fn terminal() -> Option<File> {
    // macOS cannot poll `/dev/tty`, only the terminal itself.
    let stdin = io::stdin();
    if stdin.is_terminal() {
        return stdin.as_fd().try_clone_to_owned().ok().map(File::from);
    }
    File::options().read(true).write(true).open("/dev/tty").ok()
}

/// Prints the question and waits for a line; `None` if none is typed in time.
///
/// # Errors
/// If the terminal cannot be written to or read from.
pub fn ask<T: Read + Write + AsFd>(
    terminal: &mut T,
    question: &str,
    limit: Duration,
) -> io::Result<Option<String>> {
    let end = Instant::now() + limit;
    let mut bytes = [0; LONGEST];
    while readable(terminal, Duration::ZERO)? {
        if terminal.read(&mut bytes)? == 0 {
            return Ok(None);
        }
    }
    terminal.write_all(question.as_bytes())?;
    terminal.flush()?;
    let mut line = Vec::new();
    while line.len() < LONGEST {
        let left = end.saturating_duration_since(Instant::now());
        if !readable(terminal, left)? {
            break;
        }
        let read = terminal.read(&mut bytes)?;
        line.extend_from_slice(&bytes[..read]);
        if read == 0 || line.contains(&b'\n') {
            break;
        }
    }
    let end = line.iter().position(|byte| *byte == b'\n');
    Ok(end.map(|end| String::from_utf8_lossy(&line[..end]).trim().to_owned()))
}

fn readable(terminal: &impl AsFd, limit: Duration) -> io::Result<bool> {
    let mut fds = [PollFd::new(terminal, PollFlags::IN)];
    let limit = Timespec {
        tv_sec: i64::try_from(limit.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: limit.subsec_nanos().into(),
    };
    match poll(&mut fds, Some(&limit)) {
        Ok(_) => Ok(fds[0].revents().intersects(PollFlags::IN | PollFlags::HUP)),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn the_line_typed_after_the_question_is_the_answer() {
        let (mut here, mut human) = UnixStream::pair().expect("a pair");
        human.write_all(b"y\ny\n").expect("typed ahead");
        let answers = std::thread::spawn(move || {
            let mut seen = [0; 2];
            human.read_exact(&mut seen).expect("the question");
            human.write_all(b" no \n").expect("an answer");
            human
        });
        let answer = ask(&mut here, "? ", Duration::from_secs(60)).expect("a terminal");
        assert_eq!(answer.as_deref(), Some("no"));
        drop(answers.join().expect("the human"));
    }

    #[test]
    fn silence_and_a_closed_terminal_give_no_answer() {
        let (mut here, human) = UnixStream::pair().expect("a pair");
        assert_eq!(ask(&mut here, "? ", Duration::ZERO).expect("a terminal"), None);
        drop(human);
        assert!(!matches!(ask(&mut here, "? ", Duration::from_secs(60)), Ok(Some(_))));
    }
}
