//! Redaction of text that arrives in pieces: a secret may be cut anywhere.
//!
//! Invariant: what comes out, put together, is what redacting the whole text
//! would give, as long as lines stay below the limit. Whole lines are given out;
//! an unfinished one, or an unfinished private key, is held back.

use super::Redactor;

/// Longest unfinished line, and longest unfinished private key, held back.
const MOST_HELD: usize = 64 * 1024;

/// Held back of a line that is longer than that: no secret is longer.
const TAIL: usize = 8 * 1024;

const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";
const KEY: &str = "PRIVATE KEY";

/// Text in pieces, redacted.
#[derive(Clone, Debug)]
pub struct Stream {
    redactor: Redactor,
    held: String,
}

impl Stream {
    pub(super) fn new(redactor: Redactor) -> Self {
        Self { redactor, held: String::new() }
    }

    /// Takes a piece; gives what can be shown by now.
    #[must_use]
    pub fn push(&mut self, piece: &str) -> String {
        self.held.push_str(piece);
        let ready = self.ready();
        if ready == 0 {
            return String::new();
        }
        let rest = self.held.split_off(ready);
        let done = std::mem::replace(&mut self.held, rest);
        self.redactor.redact_str(&done).into_owned()
    }

    /// Gives the rest.
    #[must_use]
    pub fn finish(&mut self) -> String {
        let done = std::mem::take(&mut self.held);
        self.redactor.redact_str(&done).into_owned()
    }

    /// How many bytes cannot be changed by what comes next.
    fn ready(&self) -> usize {
        let line = self.held.rfind('\n').map_or(0, |end| end + 1);
        let whole = match self.open_key(line) {
            Some(key) => key,
            None => line,
        };
        if self.held.len() - whole <= MOST_HELD {
            return whole;
        }
        // Too long to wait for its end: cut at a blank, far enough from the end.
        let cut = self.held.floor_char_boundary(self.held.len() - TAIL);
        self.held[..cut].rfind(char::is_whitespace).map_or(cut, |blank| blank + 1).max(whole)
    }

    /// Where a private key begins that has not ended within the whole lines.
    fn open_key(&self, line: usize) -> Option<usize> {
        let lines = &self.held[..line];
        let begin = lines.rfind(BEGIN)?;
        let after = &lines[begin..];
        let is_key = after.lines().next().is_some_and(|line| line.contains(KEY));
        let ended = after.find(END).is_some_and(|end| after[end..].contains(KEY));
        (is_key && !ended).then(|| lines[..begin].rfind('\n').map_or(0, |end| end + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_cut_anywhere_is_found() {
        let text = "the token is ghp_dmbhDBzVmevP3MnvMPnHF9I4SGTVWM9bdvtH as printed\nnext";
        for cut in 0..=text.len() {
            let mut stream = Redactor::default().stream();
            let out = stream.push(&text[..cut]) + &stream.push(&text[cut..]) + &stream.finish();
            assert_eq!(out, "the token is [REDACTED] as printed\nnext", "cut at {cut}");
        }
    }

    #[test]
    fn whole_lines_come_at_once_and_keys_wait_for_their_end() {
        let mut stream = Redactor::default().stream();
        assert_eq!(stream.push("one\ntw"), "one\n");
        assert_eq!(stream.push("o\n-----BEGIN RSA PRIVATE KEY-----\nabc\n"), "two\n");
        assert_eq!(
            stream.push("def\n-----END RSA PRIVATE KEY-----\nafter\n"),
            "[REDACTED]\nafter\n"
        );
    }

    #[test]
    fn a_line_without_end_is_not_held_for_ever() {
        let mut stream = Redactor::default().stream();
        let piece = "word ".repeat(1000);
        let mut out = 0;
        for _ in 0..100 {
            out += stream.push(&piece).len();
        }
        assert!(out > 300_000, "{out}");
        assert!(stream.held.len() <= MOST_HELD + piece.len());
    }
}
