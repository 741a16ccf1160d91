//! `redact`: the redaction as a filter, from standard input to standard output.

use std::io::{self, Read, Write};

use super::args::RedactArgs;
use super::environment;
use super::failure::{Failure, unreadable};
use crate::guard::RedactStream;
use crate::model::ExitCode;

/// Read at once, in bytes.
const PIECE: usize = 64 * 1024;
/// Says that there was more.
const TRUNCATED: &str = "\n[truncated]";

/// Copies standard input to standard output without its secrets.
pub(super) fn redact(args: &RedactArgs) -> Result<u8, Failure> {
    let shown =
        Shown { out: io::stdout().lock(), left: args.max_chars.unwrap_or(usize::MAX), cut: false };
    match filter(io::stdin().lock(), shown, environment::redactor().stream()) {
        Ok(()) => Ok(0),
        // A closed stream ends the command without an error.
        Err(Broken::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(0),
        Err(Broken::Output(error)) => Err(Failure::new(ExitCode::Write, error)),
        Err(Broken::Input(error)) => Err(unreadable(error)),
    }
}

/// Which of the two streams failed.
#[derive(Debug)]
enum Broken {
    Input(io::Error),
    Output(io::Error),
}

fn filter(
    mut input: impl Read,
    mut shown: Shown<impl Write>,
    mut stream: RedactStream,
) -> Result<(), Broken> {
    let mut piece = vec![0; PIECE];
    loop {
        let read = match input.read(&mut piece) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(Broken::Input(error)),
        };
        shown.show(&stream.push(&piece[..read])).map_err(Broken::Output)?;
    }
    shown.show(&stream.finish()).map_err(Broken::Output)
}

/// The output, up to a number of characters.
struct Shown<W> {
    out: W,
    left: usize,
    cut: bool,
}

impl<W: Write> Shown<W> {
    /// Shows as much as there is room for. Text after the cut is still read to its end, so that a
    /// closed pipe does not end the writer.
    fn show(&mut self, text: &str) -> io::Result<()> {
        if self.cut || text.is_empty() {
            return Ok(());
        }
        let end = text.char_indices().nth(self.left).map(|(at, _)| at);
        let part = &text[..end.unwrap_or(text.len())];
        self.out.write_all(part.as_bytes())?;
        if end.is_some() {
            self.cut = true;
            self.out.write_all(TRUNCATED.as_bytes())?;
        } else if self.left != usize::MAX {
            self.left -= part.chars().count();
        }
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::Redactor;

    /// Gives its bytes in pieces of one size.
    struct Dripping<'t>(&'t [u8], usize);

    impl Read for Dripping<'_> {
        fn read(&mut self, piece: &mut [u8]) -> io::Result<usize> {
            let taken = self.0.len().min(self.1);
            piece[..taken].copy_from_slice(&self.0[..taken]);
            self.0 = &self.0[taken..];
            Ok(taken)
        }
    }

    fn filtered(text: &[u8], piece: usize, left: usize) -> String {
        let mut out = Vec::new();
        let shown = Shown { out: &mut out, left, cut: false };
        let redactor = Redactor::default();
        filter(Dripping(text, piece), shown, redactor.stream()).expect("written to memory");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn pieces_of_any_size_give_what_the_whole_gives() {
        let text = "é ghp_dmbhDBzVmevP3MnvMPnHF9I4SGTVWM9bdvtH 漢\nbroken \u{1F600} end";
        for piece in 1..40 {
            assert_eq!(
                filtered(text.as_bytes(), piece, usize::MAX),
                "é [REDACTED] 漢\nbroken \u{1F600} end",
                "pieces of {piece}"
            );
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced_once_and_nothing_is_lost() {
        for piece in 1..8 {
            assert_eq!(filtered(b"a\xffb\xe2\x82", piece, usize::MAX), "a\u{fffd}b\u{fffd}");
        }
    }

    #[test]
    fn it_is_cut_after_the_redaction_and_says_so() {
        let token = "key ghp_dmbhDBzVmevP3MnvMPnHF9I4SGTVWM9bdvtH\nmore";
        assert_eq!(filtered(token.as_bytes(), 7, 10), "key [REDAC\n[truncated]");
        assert_eq!(filtered(token.as_bytes(), 7, 15), "key [REDACTED]\n\n[truncated]");
        assert_eq!(filtered("äöü".as_bytes(), 1, 3), "äöü");
        assert_eq!(filtered("äöüß".as_bytes(), 1, 3), "äöü\n[truncated]");
        assert_eq!(filtered(b"x", 1, 0), "\n[truncated]");
        assert_eq!(filtered(b"", 1, 0), "");
    }
}
