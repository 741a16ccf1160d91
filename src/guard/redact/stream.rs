//! Redaction of text that arrives in pieces: a secret may be cut anywhere, and so may a character.
//!
//! Invariant: the pieces of output together equal the redaction of the whole text, as long as no
//! secret is longer than [`MOST_WAITED`]. Whole lines are returned; an unfinished line or secret is
//! held back. Bytes that are not UTF-8 are replaced.

use super::redactor::Redactor;
use super::{blocks, keys, pairs};

/// Longest unfinished line that is held back as a whole.
const MOST_HELD: usize = 64 * 1024;

/// Held back of a line that is longer than that, as what follows may belong to a secret.
const TAIL: usize = 8 * 1024;

/// How far before a place a blank is preferred to it, in bytes.
const BLANK_WITHIN: usize = 1024;

/// Most of a text that is held while it has no place to cut it, or a secret in it has no end.
const MOST_WAITED: usize = 4 * MOST_HELD;

/// Text in pieces, redacted.
#[derive(Clone, Debug)]
pub struct RedactStream {
    redactor: Redactor,
    /// The beginning of a character that goes on in the next piece.
    begun: Vec<u8>,
    held: String,
}

impl Redactor {
    /// A redactor for text that arrives in pieces.
    pub fn stream(&self) -> RedactStream {
        RedactStream::new(self.clone())
    }
}

impl RedactStream {
    fn new(redactor: Redactor) -> Self {
        Self { redactor, begun: Vec::new(), held: String::new() }
    }

    /// Takes a piece; gives what can be shown by now.
    #[must_use]
    pub fn push(&mut self, piece: impl AsRef<[u8]>) -> String {
        let piece = piece.as_ref();
        self.begun.extend_from_slice(piece);
        let rest = self.begun.split_off(whole_characters(&self.begun));
        let whole = std::mem::replace(&mut self.begun, rest);
        self.held.push_str(&String::from_utf8_lossy(&whole));
        self.ready(piece.contains(&b'\n'))
    }

    /// Takes what is ready of the held text; `lines` is whether a line ended.
    fn ready(&mut self, lines: bool) -> String {
        // Within a line nothing gets ready.
        if !lines && self.held.len() <= MOST_HELD {
            return String::new();
        }
        let line = self.held.rfind('\n').map_or(0, |end| end + 1);
        let lines = &self.held[..line];
        let key = keys::open(lines);
        // A key may stand in quotes, and quotes in a block.
        let before = key.unwrap_or(line);
        let quote = pairs::open_quote(&lines[..before]);
        let before =
            quote.map_or(before, |name| lines[..name].rfind('\n').map_or(0, |end| end + 1));
        let whole = blocks::open(&lines[..before]).unwrap_or(before);
        if self.held.len() - whole <= MOST_HELD {
            return self.take(whole);
        }
        // A line that is too long is cut; a secret of several lines has no place for that.
        let cut = if whole == line { self.cut(whole) } else { None };
        self.take(match cut {
            Some(cut) => cut,
            None if self.held.len() > MOST_WAITED => self.held.len(),
            None => whole,
        })
    }

    /// A place behind `from` where the held text can be cut: redacting both parts alone gives
    /// what redacting the whole gives, so that no secret lies across it.
    fn cut(&self, from: usize) -> Option<usize> {
        let redact = |text: &str| self.redactor.redact_str(text).into_owned();
        let whole = redact(&self.held);
        let mut back = 0;
        loop {
            let at = self.held.len().checked_sub(TAIL + back).filter(|at| *at > from)?;
            let at = self.held.floor_char_boundary(at);
            let blank = self.held[..at].rfind(char::is_whitespace).map(|blank| blank + 1);
            let blank = blank.filter(|blank| at - blank <= BLANK_WITHIN && *blank > from);
            let cut = self.held.floor_char_boundary(blank.unwrap_or(at));
            let (head, tail) = self.held.split_at(cut);
            if cut > from && redact(head) + &redact(tail) == whole {
                return Some(cut);
            }
            back = (2 * back).max(32);
        }
    }

    /// Gives the rest.
    #[must_use]
    pub fn finish(&mut self) -> String {
        self.held.push_str(&String::from_utf8_lossy(&self.begun));
        self.begun.clear();
        self.take(self.held.len())
    }

    /// Gives what comes before `ready`.
    fn take(&mut self, ready: usize) -> String {
        if ready == 0 {
            return String::new();
        }
        let rest = self.held.split_off(ready);
        let done = std::mem::replace(&mut self.held, rest);
        self.redactor.redact_str(&done).into_owned()
    }
}

/// How many bytes end with a whole character, or with one that no more bytes can mend.
fn whole_characters(bytes: &[u8]) -> usize {
    let begun = bytes.utf8_chunks().last().map_or(0, |chunk| chunk.invalid().len());
    match std::str::from_utf8(&bytes[bytes.len() - begun..]) {
        Err(error) if error.error_len().is_none() => bytes.len() - begun,
        Ok(_) | Err(_) => bytes.len(),
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

    #[test]
    fn a_long_line_is_never_cut_within_a_secret() {
        let key = "-----BEGIN EC PRIVATE KEY-----\\nMIIEpAIBAAKCAQEA7bq4fWk0dN3x\\n".to_owned();
        let key =
            key + &"q4fWk0dN3xMIIEpAIBAAKCAQEA7b\\n".repeat(40) + "-----END EC PRIVATE KEY-----";
        let secrets = [
            "password=\"hunter2 with some more space\"".to_owned(),
            "--api-key 7z6ennQnwfAcBhwzjFLAf6PfPA".to_owned(),
            "Authorization: Bearer abc".to_owned(),
            "\"t\":\"ghp_dmbhDBzVmevP3MnvMPnHF9I4SGTVWM9bdvtH\"".to_owned(),
            format!("\"k\":\"{key}\""),
        ];
        for filler in ["word ", "{\"a\":1},", "Zm9vYmFy"] {
            for secret in &secrets {
                // Around every place where a line of this length is cut.
                for shift in (0..secret.len() + 2 * filler.len()).step_by(secret.len() / 16 + 1) {
                    let before = filler.repeat((MOST_HELD + 10 - TAIL - shift) / filler.len());
                    let text =
                        format!("{before} {secret} {}", filler.repeat(4 * TAIL / filler.len()));
                    let mut stream = Redactor::default().stream();
                    let mut out = String::new();
                    for piece in text.as_bytes().chunks(MOST_HELD + 10) {
                        out += &stream.push(std::str::from_utf8(piece).expect("plain letters"));
                    }
                    out += &stream.finish();
                    let want = Redactor::default().redact_str(&text).into_owned();
                    assert!(out == want, "{filler} {secret} {shift}");
                    assert!(!want.contains(secret.as_str()), "{secret} is not redacted");
                }
            }
        }
    }

    #[test]
    fn a_value_lines_after_its_name_waits_for_its_end() {
        let mut stream = Redactor::default().stream();
        assert_eq!(stream.push("a: 1\npassword: |\n"), "a: 1\n");
        assert_eq!(stream.push("  hunter2abc\n"), "");
        assert_eq!(stream.push("b: 2\n"), "password: |\n  [REDACTED]\nb: 2\n");
        assert_eq!(stream.push("- name: DB_PASSWORD\n"), "");
        assert_eq!(
            stream.push("  value: hunter2abc\n"),
            "- name: DB_PASSWORD\n  value: [REDACTED]\n"
        );
        assert_eq!(stream.push("login me\n"), "");
        assert_eq!(stream.push("password hunter2abc\n"), "login me\npassword [REDACTED]\n");
        assert_eq!(stream.push("apiVersion: v1\ndata:\n  a: YWRtaW4=\n"), "apiVersion: v1\n");
        let want = "data:\n  a: [REDACTED]\nkind: Secret\n";
        assert_eq!(stream.push("kind: Secret\n") + &stream.finish(), want);
    }
}
